"""The registry of systems. A new system is its own folder and one line here; no other code names a broker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from contract.durability import LEVELS, Durability
from provisioning.errors import InvalidInput
from provisioning.hosts.requirement import Requirement, distinct
from provisioning.software.software import Software
from systems.kafka.system import KAFKA
from systems.nats.system import NATS
from systems.pulsar.system import PULSAR
from systems.rabbitmq.system import RABBITMQ
from systems.redpanda.system import REDPANDA
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


def requirements(names: Iterable[str] = SYSTEMS) -> tuple[Requirement, ...]:
    """What hosts need for these systems, each once."""
    return distinct(one for name in names for one in SYSTEMS[name].requirements)


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
