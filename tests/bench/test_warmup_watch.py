"""A warm-up until the system is steady: the rule on made-up rounds, and the watch on made-up reports with a made-up clock."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.load.phase_end import ANNOUNCED_NS, PhaseEnd
from bench.load.warmup_watch import REPORTED_NS, ROUNDS, ROUNDS_IN_BOUND, WarmupWatch, is_steady
from bench.load.workers import Worker
from bench.worker.schedule import SECOND_NS, Schedule

START_NS, BOUND_S, MEASURE_S = 10**18, 60, 30
SCHEDULE = Schedule(1000, 2, "constant", BOUND_S * SECOND_NS, MEASURE_S * SECOND_NS, seed=1, until_steady=True)
ROUND_S = BOUND_S // ROUNDS_IN_BOUND
FADING = [100 * (1 + 4 * 0.6**number) for number in range(ROUNDS_IN_BOUND)]


def report(
    watch: WarmupWatch, at_s: float, p50_ms: float | None, messages: int = 500, name: str = "producer-0"
) -> None:
    """What a producer says, so long after the start."""
    p50_ns = None if p50_ms is None else round(p50_ms * 1e6)
    latest = {"at_ns": START_NS + round(at_s * SECOND_NS), "answered": messages, "answered_p50_ns": p50_ns}
    said = SimpleNamespace(job=SimpleNamespace(worker=name), latest=latest, count=lambda key: latest[key] or 0)
    watch.note(cast(Worker, said))


def run(p50s_ms: list[float], watch: WarmupWatch | None = None) -> tuple[WarmupWatch, dict[float, PhaseEnd]]:
    """Two reports a second of these medians, round by round, and a look each time; what was found, by when."""
    watch, found = watch or WarmupWatch(SCHEDULE, START_NS), {}
    for half in range(1, 2 * BOUND_S):
        at_s = half / 2
        report(watch, at_s, p50s_ms[min(len(p50s_ms) - 1, int(at_s / ROUND_S))])
        if (phase_end := watch.found(START_NS + round(at_s * SECOND_NS))) is not None:
            found[at_s] = phase_end
    return watch, found


@pytest.mark.parametrize(
    ("medians", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([900, 100, 100, 100, 100, 100], True),  # only the last five count
        ([100, 100, 100, 100], False),
        ([100, 100, None, 100, 100], False),
        ([90, 110, 95, 105, 100], True),
        ([89, 111, 95, 105, 100], False),  # they span 22 % of their mean
        ([104.5, 102.5, 100, 97.5, 95.5], True),  # it moves by 9 %
        ([106, 103, 100, 97, 94], False),  # the line through them moves by 12 %
        ([94, 97, 100, 103, 106], False),
    ],
)
def test_rounds_are_steady_by_their_span_and_their_slope(medians: list[float | None], steady: bool) -> None:
    """At most 20 % and 10 % of their mean, over five of them, each with an answer."""
    assert is_steady(medians) is steady


def test_a_steady_system_is_measured_after_five_rounds() -> None:
    """And their last reports: the end is announced three seconds ahead, once, and the measurement has its whole length."""
    watch, found = run([7.0])
    at_s = ROUNDS * ROUND_S + REPORTED_NS / SECOND_NS
    begins_ns = START_NS + round(at_s * SECOND_NS) + ANNOUNCED_NS
    assert found == {at_s: PhaseEnd(begins_ns, begins_ns + MEASURE_S * SECOND_NS, in_time=True)}
    told = watch.to_json()
    assert (told["steady"], told["lasted_s"], told["bound_s"], told["round_s"]) == (True, at_s + 3, BOUND_S, ROUND_S)
    assert told["rounds_p50_ms"] == [7.0] * ROUNDS
    assert told["rule"] == {"rounds": 5, "range_share": 0.2, "slope_share": 0.1}


def test_a_system_that_warms_up_is_waited_for() -> None:
    """Until five rounds in a row are steady, and no longer."""
    watch, found = run(FADING)
    first = next(count for count in range(ROUNDS, ROUNDS_IN_BOUND) if is_steady(list(FADING[:count])))
    assert list(found) == [first * ROUND_S + REPORTED_NS / SECOND_NS]
    assert first > ROUNDS
    assert len(watch.to_json()["rounds_p50_ms"]) == first


def test_a_system_that_never_gets_steady_is_measured_at_the_bound() -> None:
    """Nobody is told anything, since the schedule ends the warm-up there; the trial's record says so."""
    watch, found = run([100.0, 150.0] * ROUNDS_IN_BOUND)
    assert found == {}
    told = watch.to_json()
    assert (told["steady"], told["lasted_s"]) == (False, BOUND_S)


def test_what_can_no_longer_be_announced_ahead_is_not_announced() -> None:
    """A look that comes too late leaves the warm-up to its bound, though it was steady: rows are written under the phases as told."""
    watch = WarmupWatch(SCHEDULE, START_NS)
    for half in range(1, 2 * BOUND_S):
        report(watch, half / 2, 7.0)
    assert watch.found(START_NS + BOUND_S * SECOND_NS - ANNOUNCED_NS) is None
    assert watch.to_json()["steady"] is False


def test_a_load_that_ends_before_has_no_verdict() -> None:
    """Neither steady nor at its bound."""
    watch = WarmupWatch(SCHEDULE, START_NS)
    report(watch, 1.0, 7.0)
    assert (watch.to_json()["steady"], watch.to_json()["lasted_s"]) == (None, None)


def test_a_round_is_the_median_of_its_producers_by_their_messages() -> None:
    """A producer with few answers doesn't count as much as one with many; a report that is seen twice counts once."""
    watch = WarmupWatch(SCHEDULE, START_NS)
    for _ in range(5):
        report(watch, 1.0, 90.0, messages=100)
    report(watch, 1.0, 10.0, messages=400, name="producer-1")
    report(watch, 1.5, None, messages=0, name="producer-2")
    watch.found(START_NS + (ROUND_S + 1) * SECOND_NS)
    assert watch.to_json()["rounds_p50_ms"] == [10.0]


def test_rounds_of_a_short_bound_last_a_second() -> None:
    """Workers report twice a second: anything shorter would be a report or none."""
    short = dataclasses.replace(SCHEDULE, warmup_ns=8 * SECOND_NS)
    assert WarmupWatch(short, START_NS).to_json()["round_s"] == 1.0


def schedule_of(**changes: Any) -> Schedule:
    return dataclasses.replace(SCHEDULE, **changes)


def test_the_schedule_has_its_phases_from_when_the_warm_up_ended() -> None:
    """Until that is known it lasts as long as it may; a warm-up of fixed length knows no other end."""
    at_ns, end_ns = START_NS + 20 * SECOND_NS, START_NS + 50 * SECOND_NS
    bound_ns = START_NS + BOUND_S * SECOND_NS
    told = [[phase.start_ns for phase in SCHEDULE.phases(START_NS, *known)] for known in ((), (at_ns, end_ns))]
    assert told == [[START_NS, bound_ns], [START_NS, at_ns]]
    assert SCHEDULE.phases(START_NS, at_ns, end_ns)[-1].end_ns == end_ns
    assert schedule_of(until_steady=False).phases(START_NS, at_ns)[-1].start_ns == bound_ns
