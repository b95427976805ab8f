"""A second interval of a median ratio, by resampling blocks, at those numbers of blocks at which it was found to hold what it claims.

It is shorter than the exact one where that one's level is far above 95 %, and only about right: what is told as its level is the
lowest share that was found. No verdict depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import bootstrap

from analysis.certainty.interval import CONFIDENCE, Interval

RESAMPLES = 1999
SEED = 1  # the same results make the same report
SIMULATED_CAMPAIGNS = 2000
TOLERANCE = 3 * (CONFIDENCE * (1 - CONFIDENCE) / SIMULATED_CAMPAIGNS) ** 0.5  # three standard errors
# Blocks -> the lowest and the highest share of so many simulated campaigns, over all simulated worlds, in which the interval held
# the truth. Made by `make test-statistics`, which prints it and fails when it is another.
COVERAGE: Mapping[int, tuple[float, float]] = {
    6: (0.933, 0.941),
    7: (0.867, 0.8785),
    8: (0.925, 0.934),
    9: (0.959, 0.9625),
    10: (0.936, 0.944),
    12: (0.9295, 0.942),
    15: (0.964, 0.97),
    20: (0.942, 0.947),
}


def has_coverage(blocks: int) -> bool:
    """Whether the simulation found the bootstrap to hold CONFIDENCE at so many blocks: in every world, to three standard errors."""
    return blocks in COVERAGE and all(abs(share - CONFIDENCE) <= TOLERANCE for share in COVERAGE[blocks])


def bootstrap_interval(ratios: Sequence[float]) -> Interval | None:
    """The percentile bootstrap of the median, a block's ratio drawn as a whole; None where it wasn't found to have its coverage."""
    if not has_coverage(len(ratios)) or len(set(ratios)) == 1:
        return None
    low, high = resampled(ratios)
    return Interval(low, high, min(COVERAGE[len(ratios)]))


def resampled(ratios: Sequence[float]) -> tuple[float, float]:
    """Its ends at any number of blocks: for the simulation that finds out where it may be used."""
    found = bootstrap(
        (np.sort(np.asarray(ratios, dtype=float)),),  # so that the order of the blocks doesn't matter
        np.median,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return float(found.low), float(found.high)
