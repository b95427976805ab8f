"""How large a system's processes are, by the memory that a broker host has for them. Data, one file per system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from provisioning.document import parse_document

MEMORY_SCHEMA = 1

Memory = Mapping[str, Mapping[str, str]]  # process -> name of a size -> the size, in the system's own words


@dataclass(frozen=True)
class MemoryClass:
    """The sizes for broker hosts that each have at least `least_bytes`."""

    least_bytes: int
    memory: Memory


@dataclass(frozen=True)
class MemoryClasses:
    """One of them is for hosts that have, or tell, next to nothing: `least_bytes` 0."""

    schema: int
    classes: tuple[MemoryClass, ...]

    def for_hosts(self, broker_memory_bytes: int | None) -> Memory:
        """Those of the largest class that the smallest broker host reaches; None = nobody knows, which counts as small."""
        fitting = [each for each in self.classes if each.least_bytes <= (broker_memory_bytes or 0)]
        return max(fitting, key=lambda each: each.least_bytes).memory


# of a system whose processes take what they need
ANY_MEMORY = MemoryClasses(MEMORY_SCHEMA, (MemoryClass(0, {}),))


def memory_classes(file: Path) -> MemoryClasses:
    """Reads a system's file. Raises InvalidInput."""
    return parse_document(MemoryClasses, file, schema=MEMORY_SCHEMA)
