"""Places of several contestants, on values made by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from analysis.bounded import Bounded, exactly
from analysis.campaign import Trial
from analysis.checks import Check
from analysis.comparison import Comparison, compare, excluded_trials
from analysis.evidence import Counts, Evidence
from analysis.metrics import Measurement
from analysis.ranking import HIGHER, LOWER, Ranking, headlines, rank
from analysis.ranking_document import rankings_document
from analysis.words import RATE
from tests.analysis.synthetic_results import Plan, Shape, trial_document

P50, P99 = "response_latency_p50", "response_latency_p99"
SCATTER = (1.0, 1.1, 0.95, 1.05, 0.9, 1.08, 0.98, 1.02)  # up and down: no drift
NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {})


@dataclass
class World:
    """Trials of one cell with their checks and measurements; `pacing` is the workload's."""

    pacing: str = "open-loop"
    trials: list[Evidence] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    measured: list[Measurement] = field(default_factory=list)

    def run(
        self,
        system: str,
        values: Sequence[float | Bounded],
        metric: str = P99,
        *,
        kind: str = "A/B",
        validity: Mapping[int, str] = {},
        not_met: Mapping[int, str] = {},
    ) -> None:
        """One trial of `system` per value, in blocks 1, 2, ...; `validity` and `not_met` (an outcome check) by block."""
        for block, value in enumerate(values, start=1):
            name = f"{'aa' if kind == 'A/A' else 'b'}{block:02}-{system}"
            if name not in {each.trial.name for each in self.trials}:
                document = trial_document(Plan(name, block, len(self.trials), system), Shape(), 0, {}, 0)
                document |= {"block_kind": kind, "workload": {**document["workload"], "pacing": self.pacing}}
                trial = Trial(name, document)
                self.trials.append(Evidence(trial, (trial,), NOTHING, (), (), (), (), ()))
                self.checks.append(Check(name, "steal", "validity", validity.get(block, "valid"), "Stolen."))
                verdict = "not met" if block in not_met else "met"
                self.checks.append(Check(name, not_met.get(block, "no-loss"), "outcome", verdict, "Lost."))
            known = value if isinstance(value, Bounded) else exactly(value)
            self.measured.append(Measurement(name, metric, "msg/s" if metric == RATE else "ms", known, 1000))

    def comparisons(self) -> list[Comparison]:
        return compare(self.trials, self.checks, self.measured)

    def rankings(self) -> list[Ranking]:
        excluded = excluded_trials(self.trials, self.checks)
        return rank(self.trials, excluded, self.checks, self.measured, self.comparisons())

    def ranking(self) -> Ranking:
        (found,) = self.rankings()
        return found


def around(value: float, scatter: Sequence[float] = SCATTER) -> list[float]:
    return [value * factor for factor in scatter]


@pytest.fixture
def world() -> World:
    """c is far ahead of a and b, which differ from each other by chance, now this way and now that."""
    found = World()
    found.run("a", around(10.0))
    found.run("b", around(10.2, SCATTER[::-1]))
    found.run("c", around(2.0))
    return found


def test_a_place_is_as_open_as_the_verdicts_leave_it(world: World) -> None:
    """Whoever is shown to be better comes before; the two that aren't told apart share what is left."""
    found = world.ranking()
    assert [(each.contestant, each.first, each.last, each.words) for each in found.places] == [
        ("c", 1, 1, "1"),
        ("a", 2, 3, "2–3"),
        ("b", 2, 3, "2–3"),
    ]
    assert [each.better_than for each in found.places] == [("a", "b"), (), ()]
    assert [each.worse_than for each in found.places] == [(), ("c",), ("c",)]
    assert [each.not_told_from for each in found.places] == [(), ("b",), ("a",)]
    assert (found.better, found.tested, found.missing) == (LOWER, True, ())


def test_the_sentence_has_the_values_and_who_is_alike(world: World) -> None:
    """The words of page and report.json."""
    assert world.ranking().sentence == (
        "response latency p99, lowest median first: c 2.02 ms, a 10.1 ms, b 10.3 ms. "
        "2 of 3 pairs are told apart. Not told apart: a from b."
    )


def test_few_blocks_give_an_order_and_no_place() -> None:
    """Three blocks, ten times apart: every place is open, and nobody is told from anybody."""
    world = World()
    for system, value in {"a": 100.0, "b": 10.0, "c": 1.0}.items():
        world.run(system, around(value, SCATTER[:3]))
    found = world.ranking()
    assert [(each.contestant, each.words) for each in found.places] == [("c", "1–3"), ("b", "1–3"), ("a", "1–3")]
    assert not found.tested
    assert found.sentence == "response latency p99, lowest median first: c 1.00 ms, b 10.0 ms, a 100 ms."
    assert found.order == "No two are told apart: with fewer than 6 blocks no 95 % interval is possible."


def test_of_rates_the_highest_is_first() -> None:
    """What searches found; a rate that was offered isn't ranked."""
    world = World(pacing="search")
    world.run("a", around(1000.0), RATE)
    world.run("b", around(9000.0), RATE)
    found = world.ranking()
    assert (found.better, found.called) == (HIGHER, "highest sustained rate")
    assert [(each.contestant, each.words) for each in found.places] == [("b", "1"), ("a", "2")]
    offered = World()
    offered.run("a", around(1000.0), RATE)
    offered.run("b", around(9000.0), RATE)
    assert [each.metric for each in offered.comparisons()] == [RATE]
    assert offered.rankings() == []


@pytest.mark.parametrize("pacing", ["open-loop", "search"])
def test_what_has_only_a_bound_comes_last(pacing: str) -> None:
    """A percentile among messages never answered is more than something; a search that confirmed no rate, less than something."""
    world, metric = World(pacing), P99 if pacing == "open-loop" else RATE
    bound = Bounded(None, 3.0, math.inf) if pacing == "open-loop" else Bounded(None, 0.0, 900.0)
    world.run("a", [bound] * 8, metric)
    world.run("b", around(5.0), metric)
    assert [each.contestant for each in world.ranking().places] == ["b", "a"]


def test_only_sound_trials_of_two_count() -> None:
    """Invalid trials and those of A/A blocks are in no median; whoever has no other is named."""
    world = World()
    world.run("a", [100.0, *around(10.0)[1:]], validity={1: "invalid"})
    world.run("b", around(20.0))
    world.run("c", around(1.0), validity=dict.fromkeys(range(1, 9), "unknown"))
    world.run("b", [500.0, 600.0], kind="A/A")
    found = world.ranking()
    assert [(each.contestant, each.trials, each.range.high) for each in found.places] == [
        ("a", 7, 11.0),
        ("b", 8, 22.0),
    ]
    assert found.missing == ("c",)
    assert found.sentence.endswith("Without a value: c.")


def test_what_was_not_met_stands_beside_the_place() -> None:
    """The fastest lost messages in two trials, one of which isn't sound: nothing of that is in its latency."""
    world = World()
    world.run("a", around(10.0))
    world.run("b", around(2.0), validity={1: "invalid"}, not_met={1: "no-loss", 2: "no-loss", 3: "order"})
    assert {each.contestant: each.not_met for each in world.ranking().places} == {
        "a": {},
        "b": {"no-loss": 1, "order": 1},
    }


def test_places_need_no_transitive_verdicts() -> None:
    """b varies too much to be told from either neighbour; a and c, which don't, are told apart."""
    world = World()
    world.run("a", around(10.0))
    world.run("b", [11.5 * factor for factor in (0.5, 2.0, 0.6, 1.8, 1.0, 1.1, 0.7, 1.6)])
    world.run("c", around(13.0))
    assert [(each.contestant, each.words) for each in world.ranking().places] == [
        ("a", "1–2"),
        ("b", "1–3"),
        ("c", "2–3"),
    ]


def test_all_stand_against_the_best(world: World) -> None:
    """Each over the one listed first, turned round where the comparison was the other way."""
    of_a = next(each for each in world.comparisons() if (each.first, each.second) == ("a", "c"))
    (best, *others) = world.ranking().places
    assert (best.contestant, best.against_best) == ("c", None)
    against = {each.contestant: each.against_best for each in others}
    assert against["a"] is not None
    assert (against["a"].median, against["a"].interval) == (of_a.median, of_a.certainty.interval)
    world = World()
    world.run("c", around(2.0))
    world.run("a", around(10.0, SCATTER[::-1]))
    (found,) = world.comparisons()
    turned = world.ranking().places[1].against_best
    assert turned is not None
    assert found.certainty.interval is not None
    assert turned.interval is not None
    assert turned.median.value == pytest.approx(1 / (found.median.value or 0))
    assert turned.interval.low == pytest.approx(1 / found.certainty.interval.high)
    assert turned.interval.high == pytest.approx(1 / found.certainty.interval.low)
    assert [entry.first.value for entry in turned.blocks] == around(10.0, SCATTER[::-1])


def test_an_end_that_is_not_known_stays_unknown_the_other_way_round() -> None:
    """1 over anything up to infinity is anything from 0 on, and in report.json the other way is null."""
    world = World()
    world.run("a", around(10.0))
    world.run("b", [Bounded(None, 50.0, math.inf)] * 8)
    (entry,) = rankings_document([world.ranking()])
    against = entry["places"][1]["against_best"]
    assert against["interval"]["high"] is None
    assert against["interval"]["low"] > 1
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry


def test_one_metric_stands_for_a_cell(world: World) -> None:
    """The response latency's p99 where there is one."""
    world.run("a", around(5.0), P50)
    world.run("b", around(6.0), P50)
    found = world.rankings()
    assert [each.metric for each in found] == [P50, P99]
    assert [each.metric for each in headlines(found).values()] == [P99]
    assert [(each["metric"], each["headline"]) for each in rankings_document(found)] == [(P50, False), (P99, True)]
