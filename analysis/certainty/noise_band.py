"""How far a system differs from itself: the band made of A/A blocks, inside of which a difference of two systems shows nothing."""

from __future__ import annotations

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


def noise_band(aa_ratios: Sequence[float], blocks: int) -> NoiseBand | None:
    """The exact interval of the A/A ratios, both ways round, since which of two equals comes first means nothing.

    None without at least 6 A/A blocks, and as many as there are A/B `blocks`.
    """
    interval = exact_interval(aa_ratios)
    if interval is None or len(aa_ratios) < blocks:
        return None
    widest = max(interval.high, 1 / interval.low)
    return NoiseBand(1 / widest, widest, interval.attained, len(aa_ratios))


def why_no_band(aa_blocks: int, blocks: int) -> str:
    """What a report says in the band's place."""
    if not aa_blocks:
        return "no block ran one system twice, so nothing here says how far two equal systems would differ"
    needed = max(blocks, FEWEST_BLOCKS)
    made = f"{aa_blocks} A/A blocks of these systems make" if aa_blocks > 1 else "1 A/A block of these systems makes"
    return f"{made} no noise band: {needed} are needed"
