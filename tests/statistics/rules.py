"""The report's rules for thousands of campaigns at once: every figure is asked of analysis.certainty, only looked up here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.certainty.bootstrap import RESAMPLES, SEED
from analysis.certainty.correction import FALSE_SHARE, corrected
from analysis.certainty.interval import CONFIDENCE, exact_interval, p_value
from tests.statistics.worlds import Floats

Flags = NDArray[np.bool_]


def intervals(ratios: Floats) -> tuple[Floats, Floats]:
    """Both ends of the exact interval along axis 1 (blocks): order statistics commute with numbering."""
    blocks = ratios.shape[1]
    ranks = exact_interval([float(rank) for rank in range(1, blocks + 1)])
    assert ranks is not None
    ascending = np.sort(ratios, axis=1)
    return ascending[:, int(ranks.low) - 1], ascending[:, int(ranks.high) - 1]


def bootstrapped(ratios: Floats) -> tuple[Floats, Floats]:
    """Both ends of the bootstrap's interval along axis 1: it draws the same places for every campaign, so only those are drawn."""
    blocks = ratios.shape[1]
    drawn = np.sort(np.random.default_rng(SEED).integers(0, blocks, (RESAMPLES, blocks)), axis=1)
    middle, times = np.unique(drawn[:, [(blocks - 1) // 2, blocks // 2]], axis=0, return_counts=True)
    medians = np.sort(ratios, axis=1)[:, middle].mean(axis=2)
    order = np.argsort(medians, axis=1)
    up_to_here = np.cumsum(times[order], axis=1)

    def percentile(share: float) -> Floats:
        place = share * (RESAMPLES - 1)
        below, above = (
            np.take_along_axis(medians, np.take_along_axis(order, (up_to_here > at).argmax(axis=1)[:, None], 1), 1)[
                :, 0
            ]
            for at in (np.floor(place), np.ceil(place))
        )
        found: Floats = below + (place - np.floor(place)) * (above - below)
        return found

    return percentile((1 - CONFIDENCE) / 2), percentile((1 + CONFIDENCE) / 2)


def p_values(ratios: Floats) -> Floats:
    """Along axis 1 (blocks): one for each number of ratios above 1."""
    blocks = ratios.shape[1]
    table = np.array([p_value([2.0] * above + [0.5] * (blocks - above)) for above in range(blocks + 1)])
    found: Floats = table[(ratios > 1).sum(axis=1)]
    return found


@dataclass(frozen=True)
class Called:
    """Which metrics of which campaigns are called different: (campaigns, metrics). `median_leaves`: the median is outside the band."""

    by_correction: Flags
    by_band: Flags
    median_leaves: Flags

    @property
    def shown(self) -> Flags:
        """By the report's rule: both."""
        return self.by_correction & self.by_band


def called(ratios: Floats, aa_ratios: Floats) -> Called:
    """Of (campaigns, blocks, metrics) each."""
    low, high = intervals(ratios)
    aa_low, aa_high = intervals(aa_ratios)
    widest, median = np.maximum(aa_high, 1 / aa_low), np.median(ratios, axis=1)
    return Called(
        by_correction=corrected(p_values(ratios)) <= FALSE_SHARE,
        by_band=(low > widest) | (high < 1 / widest),
        median_leaves=(median > widest) | (median < 1 / widest),
    )


def standard_error(share: float, campaigns: int) -> float:
    """Of a share seen in so many campaigns, if it is truly `share`."""
    return float(np.sqrt(share * (1 - share) / campaigns))
