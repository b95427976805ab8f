"""What a report says of all its comparisons together: what so many of them on so few blocks can show, and how far blocks depend on
one another. Each in figures and in one sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from analysis.certainty.interval import FEWEST_BLOCKS, TOO_FEW_BLOCKS, Interval, smallest_p
from analysis.certainty.serial import MOST_ALLOWED
from analysis.certainty.verdict import FALSE_SHARE, Certainty, corrected

IN_NO_INTERVAL = "What all blocks have in common, such as these hosts, is in no interval."
_WORTH_SAYING = 1.1  # times as wide


@dataclass(frozen=True)
class Reach:
    """What a report can show. `metrics`: how many are tested together (rows of at least 6 blocks); `blocks`: the most of a row.

    `p`, `corrected_p`: the smallest possible ones of a row that differs alone. `together`: how many rows must reach p to be called.
    `blocks_needed`: from how many blocks on one row alone can be called. The last four are None where nothing can be tested.
    """

    metrics: int
    blocks: int
    p: float | None
    corrected_p: float | None
    together: int | None
    blocks_needed: int | None

    @property
    def sentence(self) -> str:
        """In words."""
        if self.p is None or self.corrected_p is None:
            return f"Nothing can be called a difference: {TOO_FEW_BLOCKS}."
        said = f"With {self.blocks} blocks the smallest p is {self.p:.2g}"
        if self.metrics == 1:
            return f"{said}: the one metric tested can be called."
        said += f"; after correction over {self.metrics} metrics that is {self.corrected_p:.2g}"
        if self.together == 1:
            return f"{said}, so one of them alone can be called."
        if self.together is not None and self.together <= self.metrics:
            said += f": none alone can be called, only {self.together} or more of them that all reach it"
        else:
            said += ": none can be called"
        return f"{said}. To call one of them {self.blocks_needed} blocks are needed."


def reach_of(blocks_by_row: Sequence[int]) -> Reach:
    """Of a report whose comparisons have so many blocks each."""
    tested = [blocks for blocks in blocks_by_row if blocks >= FEWEST_BLOCKS]
    most = max(blocks_by_row, default=0)
    if not tested:
        return Reach(0, most, None, None, None, None)
    p = smallest_p(most)
    together = math.ceil(round(len(tested) * p / FALSE_SHARE, 9))
    return Reach(
        metrics=len(tested),
        blocks=most,
        p=p,
        corrected_p=min(1.0, p * len(tested)),
        together=max(1, together),
        blocks_needed=blocks_needed(len(tested)),
    )


def blocks_needed(metrics: int) -> int:
    """From how many blocks on one metric alone can be called among so many."""
    blocks = FEWEST_BLOCKS
    while smallest_p(blocks) * metrics > FALSE_SHARE:
        blocks += 1
    return blocks


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
