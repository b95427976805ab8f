"""`samebox rehearse`: a campaign on AWS, played whole on this machine. No account, no money; the commands are the real ones."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from bench.campaign.campaign import load_campaign
from bench.campaign.choice import WHOLE, Choice
from bench.checkout import CHECKOUT, STATE
from bench.cli.options import choice_options, console, plain_option, shown
from bench.cli.outcome import Outcome
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.rehearsal.mark import NOTICE, VARIABLE, rehearsing
from provisioning.testbeds.aws.shape import read_stack_config, stack_file
from provisioning.testbeds.aws.stack import Stack, project_directory
from provisioning.testbeds.local.lock import exclusive

if TYPE_CHECKING:
    from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud

FOLDER = STATE / "rehearsal"
# for campaigns whose loads no single machine can bear
SCALE = "local"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Rehearsal:
    """AWS as it is played; `before`: what there was in it from the beginning, as in any account.

    `environment` is that of every command of the rehearsal, `project` the folder where they are typed.
    """

    cloud: Cloud
    before: frozenset[str]
    project: Path
    environment: Mapping[str, str]


@click.command()
@click.argument("campaign_file", metavar="[CAMPAIGN]", required=False, type=click.Path(path_type=Path))
@choice_options
@click.option("--stack", "stack_name", metavar="NAME", help="A stack of yours, or a preset; for a CAMPAIGN smoke.")
@click.option("--shell", is_flag=True, help="Instead of a campaign, a shell in which every command is part of it.")
@plain_option
def rehearse(campaign_file: Path | None, choice: Choice, stack_name: str | None, shell: bool, plain: bool) -> int:
    """Rehearse `campaign aws` on this machine: the real commands and Pulumi, hosts that are namespaces here, no account."""
    if shell is (campaign_file is not None):
        raise InvalidInput(
            "what is to be rehearsed? A CAMPAIGN, or, with --shell, what you will type.",
            next_step="samebox rehearse campaigns/demo.toml",
        )
    if rehearsing():
        raise InvalidInput("this is a rehearsal already.", next_step="`exit` ends it.")
    if campaign_file is None:
        with rehearsal(stack_name) as made:
            return _follow(made, _shell(), own_group=False)
    stack_name = stack_name or "smoke"
    command = ["samebox", "campaign", "aws", str(campaign_file.resolve()), "--stack", stack_name, "--yes", "--again"]
    command += [*_scaled(campaign_file, choice).typed.split(), *(["--plain"] if plain else [])]
    with rehearsal(stack_name) as made:
        return max(_follow(made, command, own_group=True), _tell_what_is_left(made))


def _scaled(campaign_file: Path, choice: Choice) -> Choice:
    """What was chosen, and the campaign's own scale for one machine where nothing was. Raises InvalidInput."""
    campaign = load_campaign(campaign_file)
    choice.require_known(campaign, where=str(campaign_file))
    if choice == WHOLE and SCALE in campaign.scales:
        console.print(f"{shown(campaign_file)} is run at its scale {SCALE}, because all hosts are this machine.")
        return Choice(SCALE)
    return choice


@contextmanager
def rehearsal(stack_name: str | None) -> Iterator[Rehearsal]:
    """AWS on this machine and a project with the config of that stack, until the block ends: then both are gone, but for results.

    Raises MissingRequirement saying what this machine lacks, InvalidInput for a stack that nobody has described.
    """
    # moto takes a second to import, which no other command should wait for
    from provisioning.testbeds.aws.rehearsal.cloud.hosts import require_hosts
    from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import local_cloud
    from provisioning.testbeds.aws.rehearsal.cloud.things import things
    from provisioning.testbeds.aws.rehearsal.engine.engine import find_engine
    from provisioning.testbeds.aws.rehearsal.project import environment_of, lay_out, make_key, write_stack

    template = stack_file(project_directory(Path.cwd(), CHECKOUT), stack_name) if stack_name else None
    if template:
        read_stack_config(template)
    require_hosts()
    console.print(NOTICE, soft_wrap=True)
    with exclusive(FOLDER):
        for old in ("cloud", "pulumi", "project"):
            shutil.rmtree(FOLDER / old, ignore_errors=True)
        with console.status("looking for Pulumi, which is built here once if it isn't installed"):
            engine = find_engine()
        with local_cloud(FOLDER / "cloud", hosts=True) as cloud:
            project = FOLDER / "project"
            lay_out(project, CHECKOUT)
            (project / "results").symlink_to(FOLDER / "results")  # as paths are typed
            (FOLDER / "pulumi").mkdir()
            make_key(FOLDER / "pulumi" / "ssh_key")
            if stack_name and template:
                write_stack(Stack(stack_name, project).config_file, template, FOLDER / "pulumi" / "ssh_key")
            environment = environment_of(FOLDER / "pulumi", cloud, engine)
            path = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
            ours = {"PATH": path, VARIABLE: str(FOLDER), "SAMEBOX_HOME": str(FOLDER)}
            yield Rehearsal(cloud, frozenset(things(cloud)), project, environment | ours)


def _shell() -> list[str]:
    """A shell that says in its prompt where it is; one that reads a file or a pipe has none."""
    if not sys.stdin.isatty():
        return ["bash", "-s"]
    settings = FOLDER / "pulumi" / "bashrc"
    settings.write_text(
        f'path="$PATH"\n[ -f ~/.bashrc ] && . ~/.bashrc\nPATH="$path" PS1="(rehearsal) $PS1"\necho "{NOTICE}"\n'
    )
    return ["bash", "--rcfile", str(settings), "-i"]


def _follow(made: Rehearsal, command: Sequence[str], *, own_group: bool) -> int:
    """Runs a command of the rehearsal to its end, and returns its exit status. Ctrl-C is the command's, which tidies up.

    In a group of its own it is told of signals; a shell, which reads the terminal, can't be, and gets its Ctrl-C from there.
    """
    process = subprocess.Popen(
        command,
        cwd=made.project,
        env=dict(made.environment),
        stdin=subprocess.DEVNULL if own_group else None,
        process_group=0 if own_group else None,
    )

    def hand_on(number: int, frame: FrameType | None) -> None:
        del frame
        if own_group or number != signal.SIGINT:
            process.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in ENDING}
    try:
        return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_what_is_left(made: Rehearsal) -> Outcome:
    """Says what exists in the cloud and didn't before, asking it and no tag; an ERROR if that is more than buckets of results."""
    from provisioning.testbeds.aws.rehearsal.cloud.things import buckets, things

    kept = sorted(buckets(made.cloud))
    others = sorted(things(made.cloud) - made.before - set(kept))
    console.print(f"Left on AWS as it was played: {', '.join(kept) or 'no bucket'}, kept on purpose.", soft_wrap=True)
    for each in others:
        console.print(f"Left, and not on purpose: {each}", markup=False, soft_wrap=True)
    console.print(f"It is gone now. Results and reports of rehearsals: {shown(FOLDER / 'results')}", soft_wrap=True)
    return Outcome.ERROR if others else Outcome.DONE
