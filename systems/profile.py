"""What settings and sizes a system gets, as data: its vendor's settings or a published campaign's, and sizes by the hosts' memory.

A profile also has what can't be applied everywhere: published sizes, for hosts of the published size only, and settings that samebox
doesn't make, each with the reason. The report shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from systems.settings import Settings, merged

MEMORY_SCHEMA = SYSTEM_PROFILE_SCHEMA = 1
VENDOR_DEFAULT = "vendor-default"
_GIBIBYTE = 2**30

Memory = Mapping[str, Mapping[str, str]]  # process -> name of a size -> the size, in the system's own terms


@dataclass(frozen=True)
class MemoryClass:
    """The sizes for broker hosts that each have at least `least_bytes`."""

    least_bytes: int
    memory: Memory


@dataclass(frozen=True)
class MemoryClasses:
    """How large a system's processes are. The class with `least_bytes` 0 is for hosts with little memory or an unknown amount."""

    schema: int
    classes: tuple[MemoryClass, ...]

    def for_hosts(self, broker_memory_bytes: int | None) -> Memory:
        """The sizes of the largest class that the smallest broker host reaches; None = its memory isn't known."""
        fitting = [each for each in self.classes if each.least_bytes <= (broker_memory_bytes or 0)]
        return max(fitting, key=lambda each: each.least_bytes).memory

    def of(self, process: str, memory: Memory) -> dict[str, str]:
        """The sizes of one process: those of `memory`, for the others those of small hosts."""
        return {**self.for_hosts(None)[process], **memory.get(process, {})}


# of a system whose processes take what they need
ANY_MEMORY = MemoryClasses(MEMORY_SCHEMA, (MemoryClass(0, {}),))


def memory_classes(file: Path) -> MemoryClasses:
    """Reads a system's file. Raises InvalidInput."""
    return parse_document(MemoryClasses, file, schema=MEMORY_SCHEMA)


@dataclass(frozen=True)
class LargeHosts:
    """Sizes, and the settings that only make sense with them, for broker hosts that each have at least so much memory."""

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
        """What of it applies where the smallest broker host has so much memory (None = unknown, which counts as small)."""
        large = self.large_hosts
        if large is None:
            return HostsProfile(name, self.source, self.settings, {}, self.not_set)
        if (broker_memory_bytes or 0) >= large.least_memory_bytes:
            return HostsProfile(name, self.source, merged(self.settings, large.settings), large.memory, self.not_set)
        reason = f"for broker hosts of {large.least_memory_bytes / _GIBIBYTE:.0f} GiB or more each; these have less"
        left_out = {
            f"{component}.{key}={value}": reason
            for part in (large.memory, large.settings)
            for component, each in part.items()
            for key, value in each.items()
        }
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
    """The profiles that a system has a file for, and its vendor's defaults."""
    files = folder.glob("*.toml") if folder is not None else ()
    return tuple(sorted({VENDOR_DEFAULT, *(file.stem for file in files)}))


def system_profile(folder: Path | None, name: str) -> SystemProfile:
    """A system's profile. Raises InvalidInput if it has no file of this name."""
    if name not in profile_names(folder):
        raise InvalidInput(f"no system profile {name!r} in {folder}. There are: {', '.join(profile_names(folder))}.")
    if folder is None:
        return SystemProfile(SYSTEM_PROFILE_SCHEMA, "what the vendor ships")
    return parse_document(SystemProfile, folder / f"{name}.toml", schema=SYSTEM_PROFILE_SCHEMA)
