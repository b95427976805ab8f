"""What a system's makers say of acknowledged messages under faults: beside what the level promises, in the report."""

from __future__ import annotations

from dataclasses import dataclass

from contract.survival import Extent

OUTAGES = ("kill", "freeze", "cut", "restart")


@dataclass(frozen=True)
class MakersWord:
    """`survives`: whether, by the system's documentation, what was acknowledged at one of these levels survives such a fault (a `do` of
    a workload's faults) of so many of those that hold it. `what`: what it says, in our words; `source`: where.
    """

    do: tuple[str, ...]
    extent: Extent
    durability: tuple[str, ...]
    survives: bool
    what: str
    source: str
