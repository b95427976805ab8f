"""Where a series changes its level: E-divisive with a t-test, the algorithm of Hunter and Apache Otava. The only importer of ruptures.

E-divisive (Matteson and James, 2014) cuts a series in two where the energy statistic of both sides is highest, then does the same on
either side. Binary segmentation does exactly that if the cost of a segment is the sum of the distances of all pairs of its values,
divided by their number: what a cut saves of it is half the energy statistic. Whether a cut is one, a t-test of both sides tells instead
of permutations (Fleming et al., "Hunter", 2023); it is first taken at a higher p, and the weakest is dropped until all are below the p
that is asked for, because a cut can be hidden by another that isn't found yet.

Here a place of the series is a version with the values of all its blocks, and a cut lies between two versions: nothing else is known to
have changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from ruptures import Binseg
from ruptures.base import BaseCost
from scipy.stats import ttest_ind_from_stats

FIRST_PASS = 10  # times the p that is asked for
HIGHEST_FIRST_P = 0.5
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint:
    """`at`: the first place of the new level. `shift`: the mean of its values less that of the level before. `p`: of the t-test."""

    at: int
    shift: float
    p: float


def change_points(places: Sequence[Floats], p: float) -> list[ChangePoint]:
    """Where the level of the values changes from one place to the next, ascending. Every place has a value or more."""
    if len(places) < 2:
        return []
    search = Binseg(custom_cost=_Energy(places), min_size=1, jump=1).fit(np.arange(len(places)))
    found: list[int] = []
    for cuts in range(1, len(places)):
        new = {*search.predict(n_bkps=cuts)} - {*found, len(places)}
        if not new or _tested(places, sorted([*found, *new]), *new).p > min(FIRST_PASS * p, HIGHEST_FIRST_P):
            break
        found = sorted([*found, *new])
    return _without_the_weak(places, found, p)


def _without_the_weak(places: Sequence[Floats], cuts: list[int], p: float) -> list[ChangePoint]:
    while cuts:
        tested = [_tested(places, cuts, at) for at in cuts]
        weakest = max(tested, key=lambda each: each.p)
        if weakest.p <= p:
            return tested
        cuts = [at for at in cuts if at != weakest.at]
    return []


def _tested(places: Sequence[Floats], cuts: Sequence[int], at: int) -> ChangePoint:
    """A cut among the others: the values from the one before it against those up to the one after it."""
    edges = [0, *cuts, len(places)]
    place = edges.index(at, 1)
    before, after = (np.concatenate(list(places[edges[i] : edges[i + 1]])) for i in (place - 1, place))
    return ChangePoint(at, float(after.mean() - before.mean()), _p(before, after))


def _p(before: Floats, after: Floats) -> float:
    """Student's t-test, two-sided; 1 where there are too few values for one."""
    if len(before) + len(after) <= 2:
        return 1.0
    spreads = [float(np.std(each, ddof=1)) if len(each) > 1 else 0.0 for each in (before, after)]
    if max(spreads) == 0:
        return float(math.isclose(before.mean(), after.mean()))
    return float(
        ttest_ind_from_stats(before.mean(), spreads[0], len(before), after.mean(), spreads[1], len(after)).pvalue
    )


class _Energy(BaseCost):  # type: ignore[misc] # ships no types
    """The sum of the distances of all pairs of values in places `start` to `end`, divided by their number."""

    model = "energy"
    min_size = 1

    def __init__(self, places: Sequence[Floats]) -> None:
        self._counts = np.array([len(each) for each in places])
        self._distances = np.array([[np.abs(a[:, None] - b).sum() for b in places] for a in places])

    def fit(self, signal: Floats) -> _Energy:
        """`signal`: the places' numbers."""
        self.signal = signal
        return self

    def error(self, start: int, end: int) -> float:
        """The cost of a segment."""
        return float(self._distances[start:end, start:end].sum() / 2 / self._counts[start:end].sum())
