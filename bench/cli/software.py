"""`samebox software`: which versions of which systems there are, and how to have others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.table import Table

from bench.cli.options import PATH, json_option
from bench.cli.terminal import print_json, say, shown, spinner, table_console
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput
from provisioning.software.software import Software, entry_of
from systems.project import pin
from systems.registry import SYSTEMS, lacking, releases_of
from systems.software.added import add, added


@dataclass(frozen=True)
class Row:
    """A version of a system. `from_`: who pins it. `cached`: whether it is on this machine."""

    system: str
    version: str
    default: bool
    pinned_by: str
    cached: bool


@click.group()
def software() -> None:
    """List the versions of all systems, and add others."""


@software.command(name="list")
@json_option
def list_software(as_json: bool) -> None:
    """List the versions of each system that a campaign may name.

    The default is what runs where no version is named. What isn't in the user's cache is downloaded when it is first needed.
    """
    rows = list(_rows())
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    table = Table(box=None)
    for heading in ("system", "version", "", "pinned by", "on this machine"):
        table.add_column(heading)
    for row in rows:
        default, cached = "default" if row.default else "", "yes" if row.cached else "not yet"
        table.add_row(row.system, row.version, default, row.pinned_by, cached)
    table_console().print(table)
    for name, command in lacking(added(user_cache())).items():
        say(f"{name}: nothing of it can be fetched; {command} adds its archive")


def _rows() -> Iterator[Row]:
    given = added(user_cache())
    for name in SYSTEMS:
        for release in releases_of(name):
            cached = entry_of(release.software[0], user_cache()).is_dir()
            by = "the project" if release.by_project else "samebox"
            yield Row(name, release.version, release.is_default, by, cached)
        if name in given:
            yield Row(name, given[name].version, default=True, pinned_by="its archive, which was added", cached=True)


@software.command(name="add")
@click.argument("system")
@click.argument("version", required=False)
@click.option("--file", "file", type=PATH, help="The archive as its makers publish it.")
def add_software(system: str, version: str | None, file: Path | None) -> None:
    """Pin another VERSION of a SYSTEM, or add the archive of one that can't be fetched.

    A version is resolved as those are that samebox pins, and downloaded. The hash of every file is recorded in
    software/SYSTEM/VERSION, to be committed with the campaigns that name it: what differs later is refused.

    With --file: checks the archive's layout and version, copies it into the user's cache and records its SHA-256. Every later
    command uses it until another one is added. Nothing is fetched.
    """
    if file is not None and version is None:
        _add_archive(system, file)
    elif version is not None and file is None:
        _add_version(system, version)
    else:
        raise InvalidInput(
            f"software add {system}: give either a version or --file.",
            next_step=f"samebox software add {system} VERSION, or samebox software add {system} --file FILE",
        )


def _add_version(system: str, version: str) -> None:
    with spinner(f"{system} {version}") as detail:
        release = pin(system, version, user_cache(), notice=detail)
    assert release.folder is not None
    say(f"{release.title} is pinned in {shown(release.folder)}: commit it with the campaigns that name it.")
    say(f"What it can't do is taken over from {release.facts.taken_from}: correct release.toml there where it differs.")
    for level, reason in release.facts.cannot.items():
        say(f"It can't be run at durability level {level}: {reason}.")
    for kind, keys in release.facts.without.items():
        say(f"Left out of the {kind}'s file, as this version doesn't know it: {', '.join(keys)}.")
    if release.known is None:
        say("Its settings aren't recorded: one that it doesn't know is found when it runs, not before.")


def _add_archive(system: str, file: Path) -> None:
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
