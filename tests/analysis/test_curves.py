"""Curves of ladders: which rates were kept, which keep the goal, over blocks, and what they cost."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from analysis.bounded import Bounded
from analysis.certainty.interval import Interval
from analysis.curves.cost import GIB, cost_of
from analysis.curves.curve import Curve, highest
from analysis.curves.document import curves_document, interval_words, rate_words
from tests.analysis.ladders import CAPACITY_PER_S, KNEE_PER_S, RATES, SCATTER, LadderWorld

PRICES = {"broker-1": 1.0, "broker-2": 1.0, "broker-3": 1.6, "client-1": 0.4}


def climbed(goal_p99_ms: float | None = 20.0, **how: Any) -> Curve:
    """The curve of a single contestant."""
    world = LadderWorld(goal_p99_ms)
    world.climb("a", **how)
    return world.curves()["a"]


@pytest.mark.parametrize(
    ("passed", "bracket"),
    [
        ((True, True, False, False), Bounded(2.0, 2.0, 3.0)),
        ((True, True, True, True), Bounded(4.0, 4.0, math.inf)),
        ((False, False, False, False), Bounded(None, 0.0, 1.0)),
        ((True, False, True, False), Bounded(1.0, 1.0, 4.0)),
        ((False, True, True, False), Bounded(None, 0.0, 4.0)),
        ((True, None, None, False), Bounded(1.0, 1.0, 4.0)),
        ((None, None, None, None), Bounded(None, 0.0, math.inf)),
    ],
)
def test_the_highest_rung_is_a_bracket(passed: tuple[bool | None, ...], bracket: Bounded) -> None:
    """From the rung up to which all pass to the one from which on none does; unknown ones tell nothing."""
    assert highest(zip((1, 2, 3, 4), passed, strict=True)) == bracket


def test_rates_kept_and_goal_kept_are_told_apart() -> None:
    """At 9,500 the rate is kept, but not the goal."""
    curve = climbed()
    assert curve.highest_kept.median == Bounded(9500.0, 9500.0, 12_000.0)
    assert curve.at_goal is not None
    assert curve.at_goal.median == Bounded(8000.0, 8000.0, 9500.0)


def test_without_a_goal_none_is_told() -> None:
    """The knee is told all the same."""
    curve = climbed(None)
    assert curve.at_goal is None
    assert curve.knee is not None
    assert curve.knee.median.value == pytest.approx(KNEE_PER_S, rel=1e-3)


def test_a_rate_at_which_messages_are_lost_is_not_kept() -> None:
    """Whatever the latency of the others."""
    world = LadderWorld()
    world.trial("a", 1, 1000, 5.0)
    world.trial("a", 1, 2000, 5.0, lost=True)
    assert world.curves()["a"].highest_kept.median == Bounded(1000.0, 1000.0, 2000.0)


def test_a_rate_that_is_not_kept_keeps_no_goal() -> None:
    """Though most of what was acknowledged was acknowledged soon."""
    world = LadderWorld()
    world.trial("a", 1, 1000, 5.0)
    world.trial("a", 1, 2000, 5.0, kept=False)
    found = world.curves()["a"].at_goal
    assert found is not None
    assert found.median == Bounded(1000.0, 1000.0, 2000.0)


def test_a_rate_at_which_the_system_ended_the_trial_is_not_kept() -> None:
    """Its checks may be unknown."""
    world = LadderWorld()
    world.trial("a", 1, 1000, 5.0)
    world.trial(
        "a", 1, 2000, 5.0, abort={"rule": "nothing-acknowledged", "axis": "outcome", "reason": "", "host": None}
    )
    assert world.curves()["a"].highest_kept.median.high == 2000.0


def test_an_unsound_trial_is_in_no_curve() -> None:
    """The rung is missing from that block alone."""
    world = LadderWorld()
    for block in (1, 2):
        world.trial("a", block, 1000, 5.0)
        world.trial("a", block, 2000, 5.0, validity="invalid" if block == 1 else "valid")
    rungs = {rung.rate_per_s: [point.block for point in rung.points] for rung in world.curves()["a"].rungs}
    assert rungs == {1000: [1, 2], 2000: [2]}


def test_trials_of_other_workloads_are_in_no_curve() -> None:
    """A campaign without a ladder has none."""
    world = LadderWorld()
    world.climb("a", rates=(1000, 2000))
    for each in world.trials:
        each.trial.document["workload"]["ladder"] = None
    assert world.curves() == {}


def test_a_p99_among_messages_never_answered_fails_a_goal_that_it_exceeds() -> None:
    """More than 30 ms is too long for 20; whether more than 10 ms is, nobody knows."""
    world = LadderWorld()
    world.trial("a", 1, 1000, Bounded(None, 10.0, math.inf))
    world.trial("a", 1, 2000, Bounded(None, 30.0, math.inf))
    found = world.curves()["a"].at_goal
    assert found is not None
    assert found.median == Bounded(None, 0.0, 2000.0)


def test_six_blocks_give_exact_intervals() -> None:
    """From the smallest lower to the largest upper bound of the blocks, at 96.9 %."""
    curve = climbed(scatter=SCATTER)
    rung = curve.rungs[0].over_blocks("response_latency_p99")
    assert rung is not None
    assert rung.interval is not None
    values = [known.value for known in rung.blocks.values() if known.value is not None]
    assert (rung.interval.low, rung.interval.high) == (min(values), max(values))
    assert rung.interval.attained == pytest.approx(0.96875)
    assert curve.highest_kept.interval == Interval(9500.0, 12_000.0, rung.interval.attained)


def test_few_blocks_give_no_interval() -> None:
    """Five are too few for 95 %."""
    assert climbed(scatter=SCATTER[:5]).highest_kept.interval is None


def test_dollars_are_the_hosts_of_the_system_over_what_they_carry() -> None:
    """3.60 dollars an hour at 8,000 messages a second; what the clients cost is told beside it. The next rung bounds it below."""
    cost = cost_of(climbed(), PRICES)
    assert cost is not None
    assert (cost.at, cost.clients_hour) == ("goal", 0.4)
    assert cost.hour == pytest.approx(3.6)
    assert cost.million is not None
    assert cost.million.median.value == pytest.approx(3.6 / (8000 * 3600) * 1e6)
    assert cost.million.median.low == pytest.approx(3.6 / (9500 * 3600) * 1e6)
    assert cost.gib is not None
    assert cost.gib.median.value == pytest.approx(3.6 / (8000 * 1024 * 3600) * GIB)
    assert cost.million.interval is not None
    assert cost.million.interval.high == pytest.approx(3.6 / (8000 * 3600) * 1e6)


def test_without_prices_there_is_cpu_time_alone() -> None:
    """1.5 cores of brokers and 4 x 0.0333 of workers at 8,000 messages a second."""
    cost = cost_of(climbed(), {})
    assert cost is not None
    assert (cost.million, cost.hour) == (None, None)
    assert cost.brokers_core_s is not None
    assert cost.brokers_core_s.median.value == pytest.approx(1.5 / 8000 * 1e6)
    assert cost.clients_core_s is not None
    assert cost.clients_core_s.median.value == pytest.approx(4 * 0.2 / 6 / 8000 * 1e6)


def test_without_a_goal_the_cost_is_that_of_the_knee() -> None:
    """CPU time is of the highest rung up to it."""
    cost = cost_of(climbed(None), PRICES)
    assert cost is not None
    assert cost.at == "knee"
    assert cost.million is not None
    assert cost.million.median.value == pytest.approx(3.6 / (KNEE_PER_S * 3600) * 1e6, rel=1e-3)
    assert cost.brokers_core_s is not None
    assert cost.brokers_core_s.median.value == pytest.approx(1.5 / 6000 * 1e6)


def test_who_keeps_the_goal_nowhere_has_no_cost() -> None:
    """And comes last, whatever its price would be."""
    world = LadderWorld()
    world.climb("slow", base_ms=30.0, broker_cores=0.01)
    world.climb("dear", broker_cores=2.0)
    world.climb("cheap", broker_cores=1.0)
    assert [(curve.contestant, cost is None) for curve, cost in world.ladder().curves] == [
        ("cheap", False),
        ("dear", False),
        ("slow", True),
    ]


def test_with_prices_dollars_decide_the_order() -> None:
    """Who carries more within the goal costs less, whatever CPU time it takes for it."""
    world = LadderWorld()
    world.climb("less", capacity_per_s=CAPACITY_PER_S / 2, broker_cores=0.1)
    world.climb("more", broker_cores=2.0)
    assert [curve.contestant for curve, _ in world.ladder(PRICES).curves] == ["more", "less"]


def test_what_a_rate_is_known_as_is_put_into_words() -> None:
    """A value, a bracket, or one bound."""
    assert rate_words(Bounded(8000.0, 8000.0, 9500.0)) == "8,000 (below 9,500)"
    assert rate_words(Bounded(6667.0, 6473.0, 6867.0)) == "6,667"
    assert rate_words(Bounded(None, 2000.0, 6000.0)) == "2,000 to 6,000"
    assert rate_words(Bounded(None, 0.0, 1000.0)) == "below 1,000"
    assert rate_words(Bounded(9500.0, 9500.0, math.inf)) == "9,500 or more"
    assert rate_words(Bounded(None, 0.0, math.inf)) == "–"
    assert interval_words(Interval(8000.0, math.inf, 0.96875)) == "8,000 or more (96.9 %)"
    assert interval_words(None) == "none"


def test_the_sentence_names_how_far_each_keeps_the_goal_and_its_knee() -> None:
    """The cheapest first."""
    world = LadderWorld()
    world.climb("a")
    world.climb("b", capacity_per_s=3000.0)
    assert world.ladder().sentence == (
        "Ladder curve, durability level 1: a p99 of at most 20 ms is kept up to: a 8,000 (below 9,500), b 2,000 (below 4,000) msg/s; "
        "the knee of p99 over rate is at: a 6,667, b 1,000 to 4,000 msg/s."
    )


def test_the_document_is_json_with_every_rung_and_block() -> None:
    """No infinity; what was kept is counted."""
    world = LadderWorld()
    world.climb("a", scatter=SCATTER)
    (found,) = json.loads(
        json.dumps(curves_document([world.ladder(PRICES)], {"pinned": "2026-11-21"}), allow_nan=False)
    )
    (own,) = found["contestants"]
    assert [rung["rate_per_s"] for rung in own["rungs"]] == list(RATES)
    assert [(rung["kept"], rung["not_kept"]) for rung in own["rungs"]] == [(6, 0)] * 6 + [(0, 6)]
    assert own["knee"]["median"]["value"] == pytest.approx(KNEE_PER_S, rel=1e-3)
    assert len(own["fits"]) == len(own["at_goal"]["blocks"]) == 6
    assert own["cost"]["million_messages"]["median"]["value"] == pytest.approx(0.125)
    assert (found["ladder"], found["level"], found["goal_p99_ms"], found["prices_pinned"]) == (
        "curve",
        1,
        20.0,
        "2026-11-21",
    )
