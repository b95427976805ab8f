"""How far a system differs from itself: the band made of A/A blocks, inside of which a difference of two systems shows nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.certainty.interval import FEWEST_BLOCKS, Interval, exact_interval


@dataclass(frozen=True)
class NoiseBand:
    """From 1/high to high. `blocks`: A/A blocks that it was made of; `attained`: the level of their interval."""

    low: float
    high: float
    attained: float
    blocks: int

    def touches(self, interval: Interval) -> bool:
        """Whether some ratio lies in both."""
        return interval.low <= self.high and interval.high >= self.low


def noise_band(lows: Sequence[float], highs: Sequence[float], blocks: int) -> NoiseBand | None:
    """The exact interval of the A/A ratios, both ways round, since which of two equals comes first means nothing.

    The ratios' lower and upper bounds, in the same order. None without at least 6 A/A blocks, and as many as there are A/B `blocks`;
    without bounds (0 to infinity) where they have none.
    """
    interval = exact_interval(lows, highs)
    if interval is None or len(lows) < blocks:
        return None
    widest = max(interval.high, 1 / interval.low if interval.low > 0 else math.inf)
    return NoiseBand(1 / widest, widest, interval.attained, len(lows))


def why_no_band(aa_blocks: int, blocks: int) -> str:
    """What a report says in the band's place."""
    if not aa_blocks:
        return "no block ran one system twice, so nothing here says how far two equal systems would differ"
    needed = max(blocks, FEWEST_BLOCKS)
    made = f"{aa_blocks} A/A blocks of these systems make" if aa_blocks > 1 else "1 A/A block of these systems makes"
    return f"{made} no noise band: {needed} are needed"
