"""`samebox software`: what can't be fetched is given once, as the archive that its makers publish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from bench.cli.options import PATH
from bench.cli.terminal import say, shown
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput
from provisioning.software.software import Software
from systems.registry import SYSTEMS
from systems.software.added import add


@click.group()
def software() -> None:
    """Give samebox software that it can't fetch."""


@software.command(name="add")
@click.argument("system")
@click.option("--file", "file", required=True, type=PATH, help="The archive as its makers publish it.")
def add_software(system: str, file: Path) -> None:
    """Add the archive of a SYSTEM that can't be fetched.

    Checks the archive's layout and version, copies it into the user's cache and records its SHA-256. Every later command uses it
    until another one is added. Nothing is fetched.
    """
    record = add(system, _reader_of(system), file, user_cache())
    say(f"{system} {record.version}, SHA-256 {record.sha256}, kept as {shown(record.path(user_cache()))}")
    if untried := SYSTEMS[system].untried:
        say(untried)


def _reader_of(system: str) -> Callable[[Path], Software]:
    """What reads the archive of a system that comes as one. Raises InvalidInput for any other."""
    takers = {name: each.archive for name, each in SYSTEMS.items() if not each.software and each.archive is not None}
    if system in takers:
        return takers[system]
    valid = f"Valid choices: {', '.join(sorted(takers)) or 'none'}."
    if system not in SYSTEMS:
        raise InvalidInput(f"unknown system {system!r}. {valid}")
    raise InvalidInput(
        f"{system} is fetched by itself, in a pinned version. {valid}",
        next_step=f"Another release of it is given for one command: --software {system}=FILE",
    )
