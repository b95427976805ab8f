"""The report's rules for thousands of campaigns at once: every figure is asked of analysis.certainty, only looked up here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from analysis.certainty.bootstrap import RESAMPLES, SEED
from analysis.certainty.interval import CONFIDENCE, exact_interval, p_value
from analysis.certainty.serial import allowed, estimates, lag1, student_of
from analysis.certainty.verdict import FALSE_SHARE, corrected
from tests.statistics.worlds import Floats

Flags = NDArray[np.bool_]
RHOS = np.linspace(0.0, 0.95, 381)


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
class Printed:
    """What a report prints of campaigns: both ends of the interval and the p-value, and what is allowed for in them."""

    low: Floats
    high: Floats
    p: Floats
    allowed: Floats


def printed(ratios: Floats) -> Printed:
    """Along axis 1 (blocks)."""
    blocks, logs = ratios.shape[1], np.log(ratios)
    rho = allowed(*estimates(lag1(np.moveaxis(logs, 1, -1)), blocks))
    students = [student_of(blocks, float(each)) for each in RHOS]
    stretch, freedom = (
        np.interp(rho, RHOS, [getattr(each, name) for each in students]) for name in ("stretch", "freedom")
    )
    mean, error = logs.mean(axis=1), stretch * logs.std(axis=1, ddof=1) / np.sqrt(blocks)
    reach = error * t.ppf((1 + CONFIDENCE) / 2, freedom)
    low, high = intervals(ratios)
    p = np.maximum(p_values(ratios), 2 * t.sf(np.abs(mean) / error, freedom))
    return Printed(np.minimum(low, np.exp(mean - reach)), np.maximum(high, np.exp(mean + reach)), p, rho)


@dataclass(frozen=True)
class Called:
    """Which metrics of which campaigns are called different: (campaigns, metrics).

    `as_if_independent`: by the exact interval and the sign test, corrected and outside the band. `median_leaves`: the median is outside
    the band, whatever the interval is.
    """

    by_correction: Flags
    by_band: Flags
    median_leaves: Flags
    as_if_independent: Flags

    @property
    def shown(self) -> Flags:
        """By the report's rule: both."""
        return self.by_correction & self.by_band


def called(ratios: Floats, aa_ratios: Floats | None = None) -> Called:
    """Of (campaigns, blocks, metrics) each; without A/A blocks there is no band, which all are outside of."""
    found, (low, high), median = printed(ratios), intervals(ratios), np.median(ratios, axis=1)
    widest: Floats | float = 0.0
    if aa_ratios is not None:
        aa_low, aa_high = intervals(aa_ratios)
        widest = np.maximum(aa_high, 1 / aa_low)

    def leaves(lower: Floats, upper: Floats) -> Flags:
        return (lower > widest) | (upper * widest < 1)

    by_sign_test = corrected(p_values(ratios)) <= FALSE_SHARE
    return Called(
        by_correction=corrected(found.p) <= FALSE_SHARE,
        by_band=leaves(found.low, found.high),
        median_leaves=leaves(median, median),
        as_if_independent=by_sign_test & leaves(low, high),
    )


def standard_error(share: float, campaigns: int) -> float:
    """Of a share seen in so many campaigns, if it is truly `share`."""
    return float(np.sqrt(share * (1 - share) / campaigns))
