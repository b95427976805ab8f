"""Whose settings a system gets: the vendor's own, or those of a published campaign. Data, one file per system and profile.

What lies beside `settings` is what can't be had everywhere: published sizes, for hosts of the published size only, and
settings that samebox doesn't make, each with the reason. Neither is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from systems.memory import Memory
from systems.settings import Settings, merged

SYSTEM_PROFILE_SCHEMA = 1
VENDOR_DEFAULT = "vendor-default"
_GIBIBYTE = 2**30


@dataclass(frozen=True)
class LargeHosts:
    """Sizes, and what only makes sense with them, for broker hosts that each have at least so much memory."""

    least_memory_bytes: Annotated[int, Field(ge=1)]
    memory: Memory = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class SystemProfile:
    """`source`: where the values are published, for the report. `settings`: component -> key -> value, as a campaign's.

    `not_set`: a published setting -> why samebox doesn't make it.
    """

    schema: int
    source: str
    settings: Settings = field(default_factory=dict)
    large_hosts: LargeHosts | None = None
    not_set: Mapping[str, str] = field(default_factory=dict)

    def on_hosts(self, name: str, broker_memory_bytes: int | None) -> HostsProfile:
        """What of it holds where the smallest broker host has so much memory (None = nobody knows: it counts as small)."""
        large = self.large_hosts
        if large is None:
            return HostsProfile(name, self.source, self.settings, {}, self.not_set)
        if (broker_memory_bytes or 0) >= large.least_memory_bytes:
            return HostsProfile(name, self.source, merged(self.settings, large.settings), large.memory, self.not_set)
        reason = f"for broker hosts of {large.least_memory_bytes / _GIBIBYTE:.0f} GiB or more each; these have less"
        sizes = {f"{process}.{size}": value for process, each in large.memory.items() for size, value in each.items()}
        sizes |= {
            f"{component}.{key}": value for component, each in large.settings.items() for key, value in each.items()
        }
        left_out = {f"{key}={value}": reason for key, value in sizes.items()}
        return HostsProfile(name, self.source, self.settings, {}, self.not_set, left_out)


@dataclass(frozen=True)
class HostsProfile:
    """A system's profile on certain hosts. `memory` goes over the testbed's. `left_out`: "key=value" -> why not here."""

    name: str
    source: str
    settings: Settings
    memory: Memory
    not_set: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As the manifest has it."""
        return asdict(self)


def profile_names(folder: Path | None) -> tuple[str, ...]:
    """The profiles that a system has a file for; its vendor's defaults it has in any case."""
    files = folder.glob("*.toml") if folder is not None else ()
    return tuple(sorted({VENDOR_DEFAULT, *(file.stem for file in files)}))


def system_profile(folder: Path | None, name: str) -> SystemProfile:
    """A system's profile. Raises InvalidInput if it has no file of this name."""
    if name not in profile_names(folder):
        raise InvalidInput(f"no system profile {name!r} in {folder}. There are: {', '.join(profile_names(folder))}.")
    if folder is None:
        return SystemProfile(SYSTEM_PROFILE_SCHEMA, "what the vendor ships")
    return parse_document(SystemProfile, folder / f"{name}.toml", schema=SYSTEM_PROFILE_SCHEMA)
