"""The median of one metric's few ratios, how far off it may be, how likely such ratios are of two equals, and how far a system
differs from itself.

Exact, by order statistics: of n independent ratios the number below their distribution's median is binomial, whatever that
distribution is. So the interval goes from one of the ratios to another, and its level is one of a few (n = 6: 96.9 %).

A ratio of which only bounds are known is anywhere between them: the interval's lower end is found among the lower bounds, its upper
end among the upper ones, and in the sign test what may lie on either side of 1 stands for neither. So both hold at least what they say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import binom, quantile_test

CONFIDENCE = 0.95
FEWEST_BLOCKS = 6
TOO_FEW_BLOCKS = "with fewer than 6 blocks no 95 % interval is possible"


@dataclass(frozen=True)
class Interval:
    """Where the true median ratio lies. `attained`: in which share of repetitions such an interval holds it, at least CONFIDENCE.

    `low` is 0, or `high` infinite, where the ratios have no such bound.
    """

    low: float
    high: float
    attained: float

    @property
    def includes_one(self) -> bool:
        """Whether the two may be equal."""
        return self.low <= 1 <= self.high


def exact_interval(lows: Sequence[float], highs: Sequence[float] | None = None) -> Interval | None:
    """The shortest pair of ratios, as many from either end, that holds the median in 95 % of repetitions; None with fewer than 6.

    The ratios' lower and upper bounds in the same order; without `highs` they are known exactly.
    """
    rank = _rank(len(lows))
    if rank is None:
        return None
    ends = sorted(lows)[rank - 1], sorted(lows if highs is None else highs)[-rank]
    return Interval(float(ends[0]), float(ends[1]), attained_level(len(lows)))


@cache
def attained_level(blocks: int) -> float:
    """The level of the exact interval of so many blocks. Raises ValueError below FEWEST_BLOCKS."""
    rank = _rank(blocks)
    if rank is None:
        raise ValueError(TOO_FEW_BLOCKS)
    return float(1 - 2 * binom.cdf(rank - 1, blocks, 0.5))


def p_value(lows: Sequence[float], highs: Sequence[float] | None = None) -> float:
    """How often two equals would give ratios that are at least so one-sided: the sign test, in both directions. Bounds as above."""
    above = sum(low > 1 for low in lows)
    below = sum(high < 1 for high in (lows if highs is None else highs))
    return _sign_test(above, len(lows) - above - below, below)


def smallest_p(blocks: int) -> float:
    """The p-value when all blocks go the same way: it can't be smaller."""
    return p_value([2.0] * blocks)


@dataclass(frozen=True)
class NoiseBand:
    """From 1/high to high: a difference of two systems inside of it shows nothing. `blocks`: A/A blocks that it was made of;
    `attained`: the level of their interval.
    """

    low: float
    high: float
    attained: float
    blocks: int

    def touches(self, interval: Interval) -> bool:
        """Whether some ratio lies in both."""
        return interval.low <= self.high and interval.high >= self.low


def interval_document(found: Interval | NoiseBand | None) -> dict[str, Any] | None:
    """As report.json has it. JSON has no infinity: a high end of null is unbounded."""
    return {**asdict(found), "high": None if math.isinf(found.high) else found.high} if found else None


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


@cache
def _sign_test(above: int, tied: int, below: int) -> float:
    """Of so many ratios on either side of 1. A tie counts for whichever side makes the test less sure."""
    return float(quantile_test([2.0] * above + [1.0] * tied + [0.5] * below, q=1.0, p=0.5).pvalue)


@cache
def _rank(blocks: int) -> int | None:
    """Which of the sorted ratios are the interval's ends, from 1; None where even the outermost don't make 95 %."""
    if blocks < FEWEST_BLOCKS:
        return None
    low = quantile_test(np.arange(1, blocks + 1), p=0.5).confidence_interval(CONFIDENCE).low
    return None if math.isnan(low) else round(low)
