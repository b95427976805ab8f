"""The driver's name in an export: the one free text of the format says what has no other place there, and comes back by import.

pulsar level 2-bypass, block 3, 200000 per s, 10 subscriptions, by samebox
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_AA, _NO_RATE = " (A/A)", "no fixed rate"
_LABEL = re.compile(
    r"(?P<system>[a-z0-9]+) level (?P<durability>[a-z0-9-]+), block (?P<block>\d+)(?P<aa> \(A/A\))?, "
    r"(?:(?P<rate>\d+(?:\.\d+)?) per s|no fixed rate), (?P<subscriptions>\d+) subscriptions?, by samebox"
)


@dataclass(frozen=True)
class OwnLabel:
    """What a trial was; `rate_per_s` None: it wasn't fixed beforehand."""

    system: str
    durability: str
    block: int
    is_aa: bool
    rate_per_s: float | None
    subscriptions: int

    def __str__(self) -> str:
        rate = _NO_RATE if self.rate_per_s is None else f"{self.rate_per_s:.15g} per s"
        plural = "" if self.subscriptions == 1 else "s"
        block = f"block {self.block}{_AA if self.is_aa else ''}"
        return f"{self.system} level {self.durability}, {block}, {rate}, {self.subscriptions} subscription{plural}, by samebox"


def own_label(driver: str) -> OwnLabel | None:
    """What the driver's name of an export says; None for another file's."""
    said = _LABEL.fullmatch(driver)
    if said is None:
        return None
    return OwnLabel(
        system=said["system"],
        durability=said["durability"],
        block=int(said["block"]),
        is_aa=said["aa"] is not None,
        rate_per_s=None if said["rate"] is None else float(said["rate"]),
        subscriptions=int(said["subscriptions"]),
    )
