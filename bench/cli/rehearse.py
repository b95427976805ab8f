"""`samebox rehearse`: a whole campaign on a simulated AWS on this machine. No account, no money; the commands are the real ones."""

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

from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import WHOLE, Choice
from bench.checkout import CHECKOUT, STATE
from bench.cli.options import choice_options, optional_campaign_argument, plain_option, stack_option
from bench.cli.outcome import Outcome
from bench.cli.target import project
from bench.cli.terminal import console, say, shown
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.rehearsal.mark import NOTICE, VARIABLE, rehearsing
from provisioning.testbeds.aws.shape import read_stack_config, stack_file
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.local.lock import exclusive

if TYPE_CHECKING:
    from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud

FOLDER = STATE / "rehearsal"
# of a campaign, for loads that are too much for a single machine
SCALE = "local"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Rehearsal:
    """The simulated AWS; `before`: what was in it from the beginning, as in any account.

    Every command of the rehearsal runs in the folder `project` with `environment`.
    """

    cloud: Cloud
    before: frozenset[str]
    project: Path
    environment: Mapping[str, str]


@click.command()
@optional_campaign_argument
@choice_options
@stack_option("A stack of yours, or a preset. Default for a CAMPAIGN: smoke.")
@click.option(
    "--shell", is_flag=True, help="Start a shell whose commands are part of the rehearsal, instead of a campaign."
)
@plain_option
def rehearse(campaign_file: Path | None, choice: Choice, stack_name: str | None, shell: bool, plain: bool) -> int:
    """Rehearse `campaign aws` on this machine, without an account.

    Runs the real commands and Pulumi against a simulated AWS, whose instances are namespaces of this machine.
    """
    if shell is (campaign_file is not None):
        raise InvalidInput(
            "what is to be rehearsed? Give a CAMPAIGN, or --shell to type commands.",
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
    """What was chosen; if nothing was, the campaign's own scale for one machine. Raises InvalidInput."""
    campaign = load_campaign(campaign_file)
    choice.require_known(campaign, where=str(campaign_file))
    if choice == WHOLE and SCALE in campaign.scales:
        say(f"{shown(campaign_file)} is run at its scale {SCALE}, because all hosts are this machine.")
        return Choice(SCALE)
    return choice


@contextmanager
def rehearsal(stack_name: str | None) -> Iterator[Rehearsal]:
    """A simulated AWS and a project with the config of that stack, until the block ends; only results are kept.

    Raises MissingRequirement saying what this machine lacks, InvalidInput for a stack without a config file.
    """
    # moto takes a second to import, which no other command should wait for
    from provisioning.testbeds.aws.rehearsal.cloud.hosts import require_hosts
    from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import local_cloud
    from provisioning.testbeds.aws.rehearsal.cloud.things import things
    from provisioning.testbeds.aws.rehearsal.engine.engine import find_engine
    from provisioning.testbeds.aws.rehearsal.project import environment_of, lay_out, make_key, write_stack

    template = stack_file(project(), stack_name) if stack_name else None
    if template:
        read_stack_config(template)
    require_hosts()
    say(NOTICE)
    with exclusive(FOLDER):
        for old in ("cloud", "pulumi", "project"):
            shutil.rmtree(FOLDER / old, ignore_errors=True)
        with console.status("looking for Pulumi (built here once if it isn't installed)"):
            engine = find_engine()
        with local_cloud(FOLDER / "cloud", hosts=True) as cloud:
            folder = FOLDER / "project"
            lay_out(folder, CHECKOUT)
            (folder / "results").symlink_to(FOLDER / "results")  # as paths are typed
            (FOLDER / "pulumi").mkdir()
            make_key(FOLDER / "pulumi" / "ssh_key")
            if stack_name and template:
                write_stack(Stack(stack_name, folder).config_file, template, FOLDER / "pulumi" / "ssh_key")
            environment = environment_of(FOLDER / "pulumi", cloud, engine)
            path = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
            ours = {"PATH": path, VARIABLE: str(FOLDER), "SAMEBOX_HOME": str(FOLDER)}
            yield Rehearsal(cloud, frozenset(things(cloud)), folder, environment | ours)


def _shell() -> list[str]:
    """A shell with a prompt of its own; one that reads a file or a pipe has no prompt."""
    if not sys.stdin.isatty():
        return ["bash", "-s"]
    settings = FOLDER / "pulumi" / "bashrc"
    settings.write_text(
        f'path="$PATH"\n[ -f ~/.bashrc ] && . ~/.bashrc\nPATH="$path" PS1="(rehearsal) $PS1"\necho "{NOTICE}"\n'
    )
    return ["bash", "--rcfile", str(settings), "-i"]


def _follow(made: Rehearsal, command: Sequence[str], *, own_group: bool) -> int:
    """Runs a command of the rehearsal to its end and returns its exit status. Ctrl-C goes to the command, which cleans up.

    In a group of its own it is sent the signals; a shell reads the terminal, and gets its Ctrl-C from there.
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
    """Prints what exists in the cloud and didn't before, whatever its tags; an ERROR if that is more than results buckets."""
    from provisioning.testbeds.aws.rehearsal.cloud.things import buckets, things

    kept = sorted(buckets(made.cloud))
    others = sorted(things(made.cloud) - made.before - set(kept))
    say(f"Left on the simulated AWS: {', '.join(kept) or 'no bucket'}, kept on purpose.")
    for each in others:
        say(f"Left, and not on purpose: {each}")
    say(f"The simulated AWS is gone now. Results and reports of rehearsals: {shown(FOLDER / 'results')}")
    return Outcome.ERROR if others else Outcome.DONE
