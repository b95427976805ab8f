"""Campaigns that a command writes by itself, from one line: their options, their file, and where they run."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import click
import tomli_w

from bench.campaign.campaign import LARGEST_SEED, slug_of
from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import WHOLE
from bench.campaign.prepared import Prepared, prepare
from bench.checkout import STATE
from bench.cli.campaign import Manner, run_on, whole_local_campaign
from bench.cli.options import PATH, F
from bench.cli.outcome import Outcome
from bench.cli.target import Target
from bench.cli.terminal import say, shown
from contract.workload import Workload
from provisioning.document import build, read_document
from provisioning.errors import InvalidInput

workload_option = click.option(
    "--workload",
    "workload_file",
    type=PATH,
    help="A TOML file with the keys of one workload. Default: 1,000 messages a second.",
)
durability_option = click.option(
    "--durability", metavar="LEVEL", default="1", show_default=True, help="The durability level."
)
seed_option = click.option(
    "--seed", type=click.IntRange(0, LARGEST_SEED), default=1, show_default=True, help="The random seed."
)


def blocks_option(help: str) -> Callable[[F], F]:
    """--blocks"""
    return click.option("--blocks", type=click.IntRange(1, 1000), default=10, show_default=True, help=help)


def require_known(what: str, name: str, known: Collection[str]) -> None:
    """Raises InvalidInput with the valid choices, and the one that may be meant."""
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(f"{what}: unknown {name!r}.{guess} Valid choices: {', '.join(known)}.")


def workload_in(file: Path) -> Workload:
    """Of a TOML file with a workload's keys, which is called by its file unless it has a name. Raises InvalidInput."""
    return build(Workload, {"name": slug_of(file.stem), **read_document(file)}, where=str(file), strict=True)


def prepared_for(target: Target, document: Mapping[str, Any], by: str, tarballs: Mapping[str, Path]) -> Prepared:
    """Writes the document as the campaign file of a command (`by`), and prepares it for its testbed. Raises SameboxError."""
    file = STATE / by / f"{document['name']}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    header = (
        f"# Written by `samebox {by}`. Copy it, change it, and run it with `samebox run` or `samebox campaign local`.\n"
    )
    file.write_text(header + tomli_w.dumps(document))
    say(f"As a campaign file: {shown(file)}")
    kind = "local" if target == Target() else target.inventory().testbed.kind
    return prepare(load_campaign(file), file, kind, WHOLE, tarballs)


def manner_of_this_line(*, plain: bool, again: bool, master: str) -> Manner:
    """To repeat it is to type the same line again."""
    return Manner(shlex.join(["samebox", *sys.argv[1:]]), plain=plain, again=again, master=master)


def run_there(target: Target, prepared: Prepared, tarballs: Mapping[str, Path], how: Manner) -> Outcome:
    """On a local testbed that is stood up and taken down, or on the hosts that the target names. Raises SameboxError."""
    if target == Target():
        return whole_local_campaign(prepared, tarballs, how)
    return run_on(target, prepared.campaign, prepared.campaign_file, WHOLE, tarballs, how)
