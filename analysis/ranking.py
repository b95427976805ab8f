"""Which place each contestant of a cell has, metric by metric, as far as the comparisons of its pairs tell it.

It tests nothing itself: contestants are listed by the medians of their own trials, and a place is told by the verdicts of all pairs,
which were corrected together. Whoever is shown to be better than a contestant comes before it, whoever is shown to be worse comes after
it; between the two it may have any place.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations

from analysis.bounded import Bounded, exactly, median_of, range_of
from analysis.certainty.interval import TOO_FEW_BLOCKS, Interval, NoiseBand
from analysis.certainty.verdict import SHOWN, TOO_FEW
from analysis.checks import Check
from analysis.comparison import BlockRatio, Cell, Comparison, Exclusion, compared_trials
from analysis.evidence import Evidence
from analysis.formatting import bounded_quantity, listed, words
from analysis.metrics import Measurement
from analysis.words import NOT_MET, OUTCOME, RATE

HIGHER_IS_BETTER = frozenset({RATE, "drain_rate", "drain_rate_peak"})
LOWER, HIGHER = "lower", "higher"
_FEWEST_RANKED = 3  # of two, their one comparison says it all
_SEARCHED = "highest sustained rate"
_HEADLINES = ("response_latency_p99", "response_latency_p50", RATE, "drain_rate")


@dataclass(frozen=True)
class Against:
    """A contestant's value over that of the one that is listed first: their comparison, turned round where it was the other way."""

    blocks: tuple[BlockRatio, ...]
    median: Bounded
    interval: Interval | None
    band: NoiseBand | None
    verdict: str
    why: str


@dataclass(frozen=True)
class Place:
    """One contestant. `median`, `range`: of the values of its sound trials. It has one of the places from `first` to `last`, counted
    from 1. `not_told_from`: those of which it is neither shown to be better nor worse. `not_met`: outcome check -> in how many of these
    trials. `against_best` is None of the one listed first, and where no block has both.
    """

    contestant: str
    trials: int
    median: Bounded
    range: Bounded
    first: int
    last: int
    better_than: tuple[str, ...]
    worse_than: tuple[str, ...]
    not_told_from: tuple[str, ...]
    not_met: Mapping[str, int]
    against_best: Against | None

    @property
    def words(self) -> str:
        """The places: 2, or 2–4."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True)
class Ranking:
    """One metric of all contestants of one cell, those with the best medians first.

    `called`: the metric in words. `better`: LOWER or HIGHER values are. `missing`: who ran, and has no value in any sound trial.
    `tested`: whether any pair had blocks enough to be told apart.
    """

    cell: Cell
    metric: str
    called: str
    unit: str
    better: str
    places: tuple[Place, ...]
    missing: tuple[str, ...]
    tested: bool

    @property
    def sentence(self) -> str:
        """In words: the values in their order, and, where there are blocks enough to tell, who isn't told from whom."""
        told = [f"{each.contestant} {bounded_quantity(each.median.to_json(), self.unit)}" for each in self.places]
        direction = "lowest" if self.better == LOWER else "highest"
        said = f"{self.called}, {direction} median first: {', '.join(told)}."
        said += f" {self.order}" if self.tested else ""
        return f"{said} Without a value: {listed(self.missing)}." if self.missing else said

    @property
    def order(self) -> str:
        """How far the order is shown, as a sentence."""
        pairs = [(a, b) for a, b in combinations(self.places, 2) if b.contestant in a.not_told_from]
        count = len(self.places) * (len(self.places) - 1) // 2
        if not self.tested:
            return f"No two are told apart: {TOO_FEW_BLOCKS}."
        if not pairs:
            return "All are told apart."
        if len(pairs) == count:
            return "No two are told apart."
        alike = "; ".join(f"{a.contestant} from {listed([b.contestant for b in own])}" for a, own in _grouped(pairs))
        return f"{count - len(pairs)} of {count} pairs are told apart. Not told apart: {alike}."


def rank(
    trials: Sequence[Evidence],
    excluded: Iterable[Exclusion],
    checks: Iterable[Check],
    measured: Iterable[Measurement],
    comparisons: Sequence[Comparison],
) -> list[Ranking]:
    """Every metric that is compared in a cell, cell by cell in the order of `comparisons`. A rate that was offered isn't ranked:
    whether it was kept is an outcome.
    """
    sound = compared_trials(trials, excluded)
    values = {(each.trial, each.metric): each.known for each in measured}
    failed = [(check.trial, check.check) for check in checks if check.axis == OUTCOME and check.verdict == NOT_MET]
    found = []
    for cell in dict.fromkeys(each.cell for each in comparisons):
        own = [each for each in comparisons if each.cell == cell]
        inside = [each for each in sound if each.trial.cell == cell]
        ran = list(dict.fromkeys(e.trial.contestant for e in trials if e.trial.cell == cell and not e.trial.is_aa))
        offered = all(each.trial.has_offered_rate for each in inside)
        for metric in dict.fromkeys(each.metric for each in own):
            if metric != RATE or not offered:
                pairs = [each for each in own if each.metric == metric]
                found.append(_ranking(pairs, ran, inside, values, failed))
    return found


def several(rankings: Iterable[Ranking]) -> frozenset[Cell]:
    """The cells in which three contestants or more have a place, if only in one metric."""
    return frozenset(each.cell for each in rankings if len(each.places) >= _FEWEST_RANKED)


def headlines(rankings: Iterable[Ranking]) -> dict[Cell, Ranking]:
    """The one of each cell that stands for it where there is no room for more."""
    order = {metric: place for place, metric in enumerate(_HEADLINES)}
    found: dict[Cell, Ranking] = {}
    for each in rankings:
        known = found.setdefault(each.cell, each)
        if order.get(each.metric, len(order)) < order.get(known.metric, len(order)):
            found[each.cell] = each
    return found


def _ranking(
    pairs: Sequence[Comparison],
    ran: Sequence[str],
    trials: Sequence[Evidence],
    values: Mapping[tuple[str, str], Bounded],
    failed: Sequence[tuple[str, str]],
) -> Ranking:
    one = pairs[0]
    better = HIGHER if one.metric.split("[")[0] in HIGHER_IS_BETTER else LOWER
    own: dict[str, dict[str, Bounded]] = {name: {} for name in ran}
    for each in trials:
        known = values.get((each.trial.name, one.metric))
        if known is not None:
            own[each.trial.contestant][each.trial.name] = known
    order = sorted(
        (name for name in ran if own[name]), key=lambda name: _sorted_as(median_of(own[name].values()), better)
    )
    beaten = set(_shown(pairs, better))
    places = [_place(name, order, beaten, own[name], failed, _against(pairs, name, order[0])) for name in order]
    return Ranking(
        cell=one.cell,
        metric=one.metric,
        called=_SEARCHED if one.metric == RATE and all(each.trial.is_search for each in trials) else words(one.metric),
        unit=one.unit,
        better=better,
        places=tuple(places),
        missing=tuple(name for name in ran if not own[name]),
        tested=any(each.certainty.verdict != TOO_FEW for each in pairs),
    )


def _place(
    name: str,
    order: Sequence[str],
    beaten: AbstractSet[tuple[str, str]],
    known: Mapping[str, Bounded],
    failed: Iterable[tuple[str, str]],
    against_best: Against | None,
) -> Place:
    """`beaten`: (the better, the worse) of every pair that is told apart. `known`: trial -> value."""
    worse = tuple(other for other in order if (name, other) in beaten)
    better = tuple(other for other in order if (other, name) in beaten)
    return Place(
        contestant=name,
        trials=len(known),
        median=median_of(known.values()),
        range=range_of(known.values()),
        first=1 + len(better),
        last=len(order) - len(worse),
        better_than=worse,
        worse_than=better,
        not_told_from=tuple(other for other in order if other not in {name, *worse, *better}),
        not_met=dict(Counter(check for trial, check in failed if trial in known)),
        against_best=against_best,
    )


def _sorted_as(known: Bounded, better: str) -> tuple[bool, float]:
    """What has only bounds comes last: among latencies it is a lower one, and of a rate none was sustained."""
    told = known.low if known.value is None else known.value
    return known.value is None, told if better == LOWER else -told


def _shown(pairs: Iterable[Comparison], better: str) -> Iterator[tuple[str, str]]:
    """(the better, the worse) of every pair that is told apart."""
    for each in pairs:
        interval = each.certainty.interval
        if each.certainty.verdict == SHOWN and interval is not None and not interval.includes_one:
            first_is_better = (interval.high < 1) == (better == LOWER)
            yield (each.first, each.second) if first_is_better else (each.second, each.first)


def _against(pairs: Iterable[Comparison], name: str, best: str) -> Against | None:
    for each in pairs:
        certainty = each.certainty
        said = (certainty.band, certainty.verdict, certainty.why)  # a band is the same both ways round
        if (each.first, each.second) == (name, best):
            return Against(each.ratios, each.median, certainty.interval, *said)
        if (each.first, each.second) == (best, name):
            turned = tuple(BlockRatio(entry.block, entry.second, entry.first) for entry in each.ratios)
            return Against(turned, exactly(1.0).over(each.median), _turned(certainty.interval), *said)
    return None


def _turned(found: Interval | None) -> Interval | None:
    """The interval of the ratio the other way round."""
    if found is None:
        return None
    low = 0.0 if math.isinf(found.high) else 1 / found.high
    return Interval(low, 1 / found.low if found.low > 0 else math.inf, found.attained)


def _grouped(pairs: Sequence[tuple[Place, Place]]) -> Iterator[tuple[Place, list[Place]]]:
    for first in dict.fromkeys(pair[0].contestant for pair in pairs):
        own = [pair for pair in pairs if pair[0].contestant == first]
        yield own[0][0], [pair[1] for pair in own]
