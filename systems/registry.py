"""The registry of systems. A new system is its own folder and one line here; no other code names a broker."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from contract.durability import LEVELS, Durability
from provisioning.errors import InvalidInput
from provisioning.hosts.requirement import Requirement, distinct
from provisioning.software.software import Software
from systems.kafka.system import KAFKA
from systems.known import read_known
from systems.nats.system import NATS
from systems.pulsar.system import PULSAR
from systems.rabbitmq.system import RABBITMQ
from systems.redpanda.system import REDPANDA
from systems.release import Release, folders_of, project_folder, read_facts, required
from systems.software.pinning import order
from systems.system import System
from systems.valkey.system import VALKEY

SYSTEMS: dict[str, System] = {
    "kafka": KAFKA,
    "nats": NATS,
    "pulsar": PULSAR,
    "rabbitmq": RABBITMQ,
    "redpanda": REDPANDA,
    "valkey": VALKEY,
}

# every level, each followed by its variants, whichever system has them
DURABILITY: dict[str, Durability] = {
    each.name: each
    for level in LEVELS
    for each in (
        level,
        *(
            replace(level, name=f"{level.name}-{variant.name}", variant=variant)
            for system in SYSTEMS.values()
            for variant, levels in system.variants
            if level.name in levels
        ),
    )
}


def requirements() -> tuple[Requirement, ...]:
    """What hosts need for all systems, each once."""
    return distinct(one for system in SYSTEMS.values() for one in system.requirements)


def operator_requirements() -> tuple[Requirement, ...]:
    """What this machine needs to fetch all systems, each once."""
    return distinct(one for system in SYSTEMS.values() for one in system.operator_requirements)


def ports() -> tuple[int, ...]:
    """Every port that some system listens on."""
    return tuple(sorted({port for system in SYSTEMS.values() for port in system.ports}))


def lacking(given: Collection[str]) -> dict[str, str]:
    """Systems of which nothing is pinned and no archive is `given` -> the command that adds one."""
    return {
        name: f"samebox software add {name} --file {system.archive_name}"
        for name, system in SYSTEMS.items()
        if not system.software and name not in given
    }


def software(archives: Mapping[str, Path] | None = None) -> list[Software]:
    """The pinned software of all systems, then the operator's own `archives` (system -> file), which replace it.

    Raises InvalidInput for a name that takes no archive, or a file that isn't a release of it.
    """
    found = [each for system in SYSTEMS.values() for each in system.software]
    readers = {name: system.archive for name, system in SYSTEMS.items() if system.archive is not None}
    for name, path in (archives or {}).items():
        if name not in readers:
            raise InvalidInput(
                f"no archive can be given for {name!r}. Valid names: {', '.join(sorted(readers)) or 'none'}."
            )
        found.append(readers[name](path))
    return found


def release_of(system: str, version: str | None) -> Release:
    """One pinned version of a system; None = the one that it has by itself. Raises InvalidInput naming those that there are."""
    found = releases_of(system)
    for release in found:
        if version in (None, release.version):
            return release
    if version is None:
        return Release(system, (), SYSTEMS[system].requirements, is_default=True)
    if not found:
        raise InvalidInput(
            f"{system} has no pinned versions: it runs whichever archive was added.", next_step=lacking(())[system]
        )
    there = ", ".join(release.version for release in found)
    unknown = f"{system} {version} isn't pinned. Valid versions: {there}."
    if SYSTEMS[system].releases is None:
        raise InvalidInput(unknown)
    raise InvalidInput(unknown, next_step=f"To pin it: samebox software add {system} {version}")


def releases_of(system: str) -> tuple[Release, ...]:
    """The pinned versions of a system, the default first, then from the newest to the oldest. Raises InvalidInput.

    A system whose archive the operator gives has none.
    """
    if system not in SYSTEMS:
        close = difflib.get_close_matches(system, SYSTEMS, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInput(f"unknown system {system!r}.{guess} Valid choices: {', '.join(SYSTEMS)}.")
    its = SYSTEMS[system]
    if not its.software:
        return ()
    if its.releases is None:
        return (Release(system, its.software, its.requirements, is_default=True),)
    folders = folders_of(system)
    return _releases(
        system, id(its), tuple((version, folder, _changed_ns(folder)) for version, folder in folders.items())
    )


# Every cell of a campaign asks for its contestant's version, and reading them all takes milliseconds.
@cache
def _releases(system: str, _its: int, pinned: tuple[tuple[str, Path, int], ...]) -> tuple[Release, ...]:
    """`pinned`: version, its folder, and when that was last changed, so that changes are read."""
    its, folders = SYSTEMS[system], {version: folder for version, folder, _ in pinned}
    assert its.releases is not None, "it has folders"
    default = its.software[0].version
    known = {version: each for version, folder in folders.items() if (each := read_known(folder)) is not None}
    found = []
    for version in sorted(folders, key=lambda each: (each == default, order(each)), reverse=True):
        folder, is_default = folders[version], version == default
        facts = read_facts(folder)
        found.append(
            Release(
                system,
                its.software if is_default else (its.releases.pinning.read(folder), *its.software[1:]),
                required(facts, its.requirements, its.releases.requirements, where=f"{system} {version}"),
                facts,
                known.get(version),
                {each: its_known for each, its_known in known.items() if each != version},
                folder,
                by_project=folder.is_relative_to(project_folder()),
                is_default=is_default,
            )
        )
    return tuple(found)


def _changed_ns(folder: Path) -> int:
    return max((each.stat().st_mtime_ns for each in folder.iterdir()), default=0)
