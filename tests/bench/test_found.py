"""What a search comes to: the bracket that it leaves the highest rate in, what it doesn't believe, what bounded it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from bench.load.bracket import NARROW
from bench.load.load import LoadResult, LoadSpec
from bench.load.search_result import Attempt, failed_above
from bench.load.sustained import GROWTH_SHARE, Judgement
from tests.bench.test_search import WORKLOAD, loaded, search, system
from tests.bench.test_sustained import samples_of

LIMIT = 77_000
HIGHEST = LIMIT / (1 - GROWTH_SHARE)
PRODUCER = {"worker": "producer-0", "role": "producer", "errors": 0, "unanswered": 0}
CONSUMER = {"worker": "consumer-0", "role": "consumer", "errors": 5, "unanswered": None}


def tried(kind: str, rate_per_s: int, acked_per_s: float, *, sustained: bool) -> Attempt:
    """A run that fails for some reason, or for none."""
    judgement = Judgement(acked_per_s, None, 0.0, 0, "" if sustained else "too slow")
    return Attempt(kind, rate_per_s, 10, judgement)  # type: ignore[arg-type]


@pytest.mark.parametrize("octaves_below", [0.0, 0.1, 0.37, 0.5, 0.99])
@pytest.mark.parametrize(("measure_s", "tolerance"), [(60, NARROW), (10, 1.1)])
def test_the_highest_rate_lies_in_the_bracket(octaves_below: float, measure_s: int, tolerance: float) -> None:
    """Wherever the search begins; and the bracket is as narrow as the search says."""
    found = search(
        system(LIMIT), dataclasses.replace(WORKLOAD, measure_s=measure_s), octaves_below=octaves_below
    ).to_json()
    assert found["rate_per_s"] <= HIGHEST < found["failed_per_s"]
    assert found["failed_per_s"] <= tolerance * found["rate_per_s"] + 1
    assert (found["closed"], found["tolerance"], found["bounded_by"]) == (True, tolerance, "system")


def test_searches_that_begin_elsewhere_step_on_other_rates() -> None:
    """Their errors differ, so that they don't repeat in every block."""
    found = [search(system(LIMIT), octaves_below=part * 0.618 % 1).rate_per_s for part in range(20)]
    assert len(set(found)) == 20
    assert max(map(float, filter(None, found))) > 1.01 * min(map(float, filter(None, found)))


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"unread": 7}, "7 messages were given up or lost"),
        ({"workers": ({**PRODUCER, "errors": 4}, PRODUCER)}, "4 messages were given up or lost"),
        ({"workers": (PRODUCER, {**PRODUCER, "unanswered": 3})}, "3 messages were given up or lost"),
        ({"unread": 2, "workers": ({**PRODUCER, "errors": 1, "unanswered": 1},)}, "4 messages were given up or lost"),
    ],
)
def test_a_rate_at_which_messages_are_lost_is_not_sustained(faults: dict[str, object], words: str) -> None:
    """Given up, never answered, or acknowledged and not received: no search ends above where that begins."""

    def run(spec: LoadSpec) -> LoadResult:
        rate = spec.workload.rate_per_s
        return loaded(spec, rate, **(faults if rate > 30_000 else {"workers": (PRODUCER, CONSUMER)}))

    found = search(run)
    assert found.rate_per_s is not None
    assert 30_000 / NARROW <= found.rate_per_s <= 30_000
    assert found.failed_per_s is not None
    assert 30_000 < found.failed_per_s <= 30_000 * NARROW
    assert {each.judgement.reason for each in found.attempts if each.rate_per_s > 30_000} == {words}


def test_a_loss_in_the_last_run_confirms_nothing() -> None:
    """Steps of ten seconds lose nothing; the minute does."""
    found = search(
        lambda spec: loaded(spec, min(spec.workload.rate_per_s, LIMIT), unread=int(spec.workload.measure_s == 60))
    )
    assert (found.rate_per_s, found.bounded_by) == (None, None)


def test_what_failed_for_good() -> None:
    """Twice or by far, and when it was tried last; above the rate that was confirmed; warm-ups aren't judged."""
    attempts = [
        tried("warm-up", 105, 10, sustained=False),
        tried("step", 400, 150, sustained=False),  # by far
        tried("step", 300, 290, sustained=False),
        tried("step", 300, 290, sustained=False),
        tried("step", 200, 190, sustained=False),
        tried("step", 200, 190, sustained=False),
        tried("step", 200, 200, sustained=True),  # the brokers had been cold
        tried("step", 250, 240, sustained=False),  # once and narrowly
        tried("step", 110, 110, sustained=True),
        tried("confirmation", 110, 108, sustained=False),  # sustained for a shorter time, then not: once
        tried("step", 90, 10, sustained=False),
        tried("confirmation", 100, 100, sustained=True),
    ]
    assert failed_above(attempts, 100) == 300
    assert failed_above(attempts, 300) == 400
    assert failed_above(attempts, 400) is None
    assert failed_above(attempts, None) == 90


def test_a_rate_that_lasts_less_long_widens_the_bracket() -> None:
    """Ten seconds sustain 50,000 and a minute 46,000: the bracket holds both."""
    found = search(lambda spec: system(50_000 if spec.workload.measure_s < 60 else 46_000)(spec))
    assert found.rate_per_s is not None
    assert found.failed_per_s is not None
    assert found.rate_per_s <= 46_000 / (1 - GROWTH_SHARE)
    assert 50_000 <= found.failed_per_s <= 50_000 * 1.04


def windowed(latency_s: float, limit_per_s: float) -> Callable[[LoadSpec], LoadResult]:
    """A system with a latency, two producers and their windows: what is in flight waits for room."""

    def run(spec: LoadSpec) -> LoadResult:
        workload = spec.workload
        least = min(limit_per_s, 2 * workload.in_flight / latency_s)
        in_flight = round(latency_s * workload.rate_per_s / 2) if workload.rate_per_s <= least else workload.in_flight
        achieved = min(workload.rate_per_s, least)
        samples = samples_of(achieved, workload.warmup_s + workload.measure_s, in_flight=in_flight)
        return loaded(spec, achieved, samples=samples)

    return run


@pytest.mark.parametrize(
    ("latency_s", "limit_per_s", "bounded_by"),
    [
        (0.1, 1e9, "client-window"),
        (0.1, 80_000, "system"),  # 4,000 of 5,000 in flight at 80,000, which it doesn't do
        (0.001, 80_000, "system"),
        (0.001, 1e9, "rate_per_s"),
    ],
)
def test_what_bounded_the_rate(latency_s: float, limit_per_s: float, bounded_by: str) -> None:
    """5,000 messages in flight of each of two producers at 100 ms are 100,000 a second, whatever the system could do."""
    found = search(windowed(latency_s, limit_per_s), dataclasses.replace(WORKLOAD, producers=2))
    assert found.to_json()["bounded_by"] == bounded_by
    assert (found.failed_per_s is None) == (bounded_by == "rate_per_s")


def test_too_few_steps_bound_a_search() -> None:
    """No rate failed: there is no upper end, and the search says why."""
    found = search(system(500_000), dataclasses.replace(WORKLOAD, search_steps=3))
    assert (found.rate_per_s, found.failed_per_s, found.bounded_by) == (40_000, None, "steps")
