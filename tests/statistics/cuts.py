"""The change points of thousands of series at once: `analysis.watch.change_points` in numpy, each step for all series together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analysis.watch.change_points import FIRST_PASS, HIGHEST_FIRST_P
from tests.statistics.rules import Flags
from tests.statistics.worlds import Floats

Places = NDArray[np.int64]


class Cuts:
    """Of series of (series, places, values): which boundaries of places are cuts.

    A boundary is numbered by the place that begins there. `flags`: (series, places + 1), of which the first and the last are the ends.
    """

    def __init__(self, values: Floats, p: float) -> None:
        self._series, self._places, self._per_place = values.shape
        self._all = np.arange(self._series)
        self._sums = _up_to(values.sum(axis=2))
        self._squares = _up_to((values**2).sum(axis=2))
        self._splits = self._best_splits(values)
        self.flags = np.zeros((self._series, self._places + 1), dtype=bool)
        self.flags[:, [0, -1]] = True
        self._split(min(FIRST_PASS * p, HIGHEST_FIRST_P))
        self._merge(p)

    def shift(self, at: int) -> Floats:
        """What the mean of the level that begins at a boundary has more than the one before it; 0 where there is no cut."""
        (before, after), here = self._edges(at), np.full(self._series, at)
        found: Floats = np.where(self.flags[:, at], self._mean(here, after) - self._mean(before, here), 0.0)
        return found

    def _best_splits(self, values: Floats) -> dict[tuple[int, int], tuple[Floats, Places]]:
        """Of each segment of two places or more, what its best cut saves, and where that is."""
        distances = np.zeros((self._series, self._places + 1, self._places + 1))
        for place in range(self._places):
            apart = np.abs(values[:, place, None, :, None] - values[:, : place + 1, None, :])
            distances[:, place + 1, 1 : place + 2] = apart.sum(axis=(2, 3))
            distances[:, 1 : place + 2, place + 1] = distances[:, place + 1, 1 : place + 2]
        area = distances.cumsum(axis=1).cumsum(axis=2)

        def cost(a: int, c: int) -> Floats:
            inside: Floats = area[:, c, c] - area[:, a, c] - area[:, c, a] + area[:, a, a]
            return inside / 2 / (self._per_place * (c - a))

        costs = {(a, c): cost(a, c) for a, c in combinations(range(self._places + 1), 2)}
        found = {}
        for a, c in costs:
            if c - a > 1:
                gains = np.stack([costs[a, c] - costs[a, k] - costs[k, c] for k in range(a + 1, c)], axis=1)
                last = (
                    gains.shape[1] - 1 - gains[:, ::-1].argmax(axis=1)
                )  # of equals the last, as `max` of pairs has it
                found[a, c] = gains[self._all, last], a + 1 + last
        return found

    def _split(self, p: float) -> None:
        active = np.ones(self._series, dtype=bool)
        while active.any():
            gain: Floats = np.full(self._series, -np.inf)
            at: Places = np.zeros(self._series, dtype=np.int64)
            low: Places = at
            high: Places = at
            for (a, c), (own, best) in self._splits.items():
                whole = self.flags[:, a] & self.flags[:, c] & ~self.flags[:, a + 1 : c].any(axis=1)
                better = whole & (own > gain)
                gain, at = np.where(better, own, gain), np.where(better, best, at)
                low, high = np.where(better, a, low), np.where(better, c, high)
            active &= np.isfinite(gain)
            active[active] = self._p(low, at, high)[active] <= p
            self.flags[self._all[active], at[active]] = True

    def _merge(self, p: float) -> None:
        while True:
            tested = np.zeros(self.flags.shape)
            for at in range(1, self._places):
                before, after = self._edges(at)
                own = self._p(before, np.full(self._series, at), after)
                tested[:, at] = np.where(self.flags[:, at], own, 0.0)
            weakest = tested.argmax(axis=1)
            drop = tested[self._all, weakest] > p
            if not drop.any():
                return
            self.flags[self._all[drop], weakest[drop]] = False

    def _edges(self, at: int) -> tuple[Places, Places]:
        """The cuts, or ends, before and after a boundary."""
        before = at - 1 - self.flags[:, :at][:, ::-1].argmax(axis=1)
        return before, at + 1 + self.flags[:, at + 1 :].argmax(axis=1)

    def _mean(self, low: Places, high: Places) -> Floats:
        count = self._per_place * np.maximum(high - low, 1)  # of what isn't looked at both are 0
        found: Floats = (self._sums[self._all, high] - self._sums[self._all, low]) / count
        return found

    def _p(self, low: Places, at: Places, high: Places) -> Floats:
        """Student's t-test of both sides of a boundary."""
        counts = [self._per_place * (at - low), self._per_place * (high - at)]
        means = [self._mean(low, at), self._mean(at, high)]
        total = self._squares[self._all, high] - self._squares[self._all, low]
        within = total - sum(count * mean**2 for count, mean in zip(counts, means, strict=True))
        freedom = np.maximum(counts[0] + counts[1] - 2, 1)
        error = np.sqrt(np.maximum(within, 0) / freedom * (1 / np.maximum(counts[0], 1) + 1 / np.maximum(counts[1], 1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = 2 * stdtr(freedom, -np.abs(means[0] - means[1]) / error)
        return found


def _up_to(values: Floats) -> Floats:
    """Sums of the places before each boundary."""
    return np.concatenate([np.zeros((len(values), 1)), values.cumsum(axis=1)], axis=1)


def cuts_of(values: Floats, p: float) -> tuple[Flags, Floats]:
    """(series, places): whether a place begins a new level, and by how much it is above the one before."""
    cuts = Cuts(values, p)
    places = values.shape[1]
    return cuts.flags[:, :places] & (np.arange(places) > 0), np.stack(
        [np.zeros(len(values)), *(cuts.shift(at) for at in range(1, places))], axis=1
    )
