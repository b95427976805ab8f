"""The series of a watch: of each version the ratios of its values to the anchor's in the same blocks, metric by metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from analysis.bounded import Bounded, from_json, median_of
from analysis.certainty.interval import Interval
from analysis.certainty.verdict import printed_interval
from analysis.watch.change_points import ChangePoint, Floats, change_points
from analysis.watch.recorded import HIGHER_IS_BETTER
from contract.watch_history import History, Round

SUSPECTED_P = 0.01  # of a change point: what it costs to be wrong here is blocks, not a false alarm


@dataclass(frozen=True)
class Place:
    """A version, and its ratio to the anchor in each block of all rounds that has both; one at least."""

    version: str
    ratios: tuple[Bounded, ...]

    @property
    def median(self) -> Bounded:
        return median_of(self.ratios)

    @property
    def interval(self) -> Interval | None:
        """As a report prints it; None with fewer than 6 blocks."""
        return printed_interval([each.low for each in self.ratios], [each.high for each in self.ratios])

    @property
    def logs(self) -> Floats:
        """Of those ratios that are known, or known from either side."""
        return np.array([log for each in self.ratios if (log := _log(each)) is not None])


@dataclass(frozen=True)
class Series:
    """One metric of all versions, in the order of the history. `changes`: where its level changes, ascending."""

    metric: str
    places: tuple[Place, ...]
    changes: tuple[ChangePoint, ...]

    def is_worse(self, log_ratio: float) -> bool:
        """Whether a ratio means that the first of two is worse."""
        return log_ratio < 0 if self.metric in HIGHER_IS_BETTER else log_ratio > 0

    @property
    def worse(self) -> list[tuple[str, str, ChangePoint]]:
        """The changes for the worse: the version before, the one with which the new level begins, and the change."""
        return [
            (self.places[each.at - 1].version, self.places[each.at].version, each)
            for each in self.changes
            if self.is_worse(each.shift)
        ]


def all_series(history: History) -> list[Series]:
    """One for each metric that was measured, by name."""
    metrics = sorted({name for each in history.rounds for name in each.metrics})
    return [series_of(history, metric) for metric in metrics]


def series_of(history: History, metric: str) -> Series:
    """Versions without any ratio that is known have no place in it."""
    places = [
        Place(version, tuple(_ratios_to(history.anchor, version, history.rounds, metric)))
        for version in history.versions
    ]
    known = tuple(each for each in places if each.ratios and len(each.logs))
    return Series(metric, known, tuple(change_points([each.logs for each in known], SUSPECTED_P)))


def ratios_in(one: Round, metric: str, first: str, second: str) -> Iterator[Bounded]:
    """First over second, in each block of a round in which both were measured."""
    for block in one.metrics.get(metric, ()):
        if first in block.values and second in block.values:
            ours, theirs = (from_json(asdict(block.values[version])) for version in (first, second))
            if min(ours.high, theirs.high) > 0:
                yield ours.over(theirs)


def _ratios_to(anchor: str, version: str, rounds: Sequence[Round], metric: str) -> Iterator[Bounded]:
    for each in rounds:
        yield from ratios_in(each, metric, version, anchor)


def _log(ratio: Bounded) -> float | None:
    """Of its value, or of the middle of its bounds; None where it has none on one side."""
    if ratio.value is not None and ratio.value > 0:
        return math.log(ratio.value)
    bounded = ratio.low > 0 and math.isfinite(ratio.high)
    return (math.log(ratio.low) + math.log(ratio.high)) / 2 if bounded else None
