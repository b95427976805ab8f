"""What a report says of how far its blocks depend on one another, over all its comparisons: in figures and in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from analysis.certainty.correction import FALSE_SHARE, corrected
from analysis.certainty.interval import Interval
from analysis.certainty.serial import MOST_ALLOWED
from analysis.certainty.verdict import Certainty

IN_NO_INTERVAL = "What all blocks have in common, such as these hosts, is in no interval."
_WORTH_SAYING = 1.1  # times as wide


@dataclass(frozen=True)
class Dependence:
    """Of the comparisons that have an interval. `seen`: those whose neighbouring blocks are more alike than chance makes independent
    ones, corrected for so many comparisons.

    `allowed`: the correlation that the middle one's interval allows for, `widening`: how many times as wide as the exact one, that of
    independent blocks, it is thereby. Both are None without any interval.
    """

    comparisons: int
    blocks: int
    seen: int
    allowed: float | None
    widening: float | None

    @property
    def sentence(self) -> str:
        """For the first screen; empty where nothing has an interval."""
        if self.allowed is None or self.widening is None:
            return ""
        if self.seen:
            found = (
                f"In {self.seen} of {self.comparisons} comparisons neighbouring blocks are more alike than independent ones "
                "would be: something drifted"
            )
        elif self.allowed >= MOST_ALLOWED:
            found = f"{self.blocks} blocks can't tell whether a system drifted from block to block"
        else:
            found = "No drift from block to block is seen, and a strong one is excluded"
        said = f"{found}; the intervals allow for a correlation of {self.allowed:.2f} between neighbouring blocks"
        if self.widening >= _WORTH_SAYING:
            said += f", which makes them {self.widening:.1f} times as wide as if blocks were independent"
        return f"{said}. {IN_NO_INTERVAL}"


def dependence_of(certainties: Sequence[Certainty], blocks: int) -> Dependence:
    """Of all comparisons of a report; `blocks`: the most of one."""
    tested = [
        (each.interval, each.if_independent, each.serial, each.allowed)
        for each in certainties
        if each.interval and each.if_independent and each.serial and each.allowed is not None
    ]
    if not tested:
        return Dependence(0, blocks, 0, None, None)
    seen = corrected([serial.p for _, _, serial, _ in tested]) <= FALSE_SHARE
    widenings = [_log_width(interval) / width for interval, exact, _, _ in tested if (width := _log_width(exact))]
    return Dependence(
        comparisons=len(tested),
        blocks=blocks,
        seen=int(seen.sum()),
        allowed=median(allowed for _, _, _, allowed in tested),
        widening=median(widenings) if widenings else 1.0,
    )


def _log_width(interval: Interval) -> float:
    """0 where there is none to speak of: all blocks are equal, or one end is unknown."""
    return math.log(interval.high / interval.low) if 0 < interval.low <= interval.high < math.inf else 0.0
