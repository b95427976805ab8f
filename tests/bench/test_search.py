"""The search for the highest sustained rate: what it tries, what it believes, what it keeps."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import pytest

from bench.load.bracket import NARROW, Tried, bracket
from bench.load.load import LoadResult, LoadSpec
from bench.load.search import find_highest
from bench.load.search_result import Found
from contract.workload import Workload
from tests.bench.test_sustained import samples_of

WORKLOAD = Workload(
    name="max", rate_per_s=1_000_000, message_bytes=1024, measure_s=60, pacing="search", expected_rate_per_s=10_000
)
SPEC = LoadSpec(WORKLOAD, "", "", {}, ("t",), seed=1)


def loaded(spec: LoadSpec, achieved_per_s: float, **changes: object) -> LoadResult:
    """What a run comes to in which the system achieves so much."""
    workload = spec.workload
    samples = samples_of(achieved_per_s, workload.warmup_s + workload.measure_s)
    result = LoadResult(f"load/{workload.rate_per_s}", (), (), (), samples, None, 0, None, None)
    return dataclasses.replace(result, **changes)  # type: ignore[arg-type]


def system(limit_per_s: float) -> Callable[[LoadSpec], LoadResult]:
    """A system that acknowledges what it is offered, up to its limit."""
    return lambda spec: loaded(spec, min(spec.workload.rate_per_s, limit_per_s))


def search(
    run: Callable[[LoadSpec], LoadResult],
    workload: Workload = WORKLOAD,
    *,
    discard: Callable[[LoadResult], None] = lambda _load: None,
    octaves_below: float = 0.0,
) -> Found:
    """What a search finds, that begins where it is expected to."""
    return find_highest(dataclasses.replace(SPEC, workload=workload), run, discard, octaves_below=octaves_below)


@pytest.mark.parametrize("limit", [1, 7, 999, 10_000, 123_456, 999_999, 1_000_000])
@pytest.mark.parametrize("begin", [1, 10_000, 1_000_000])
def test_the_bracket_closes_on_the_limit(limit: int, begin: int) -> None:
    """Whatever it begins with, it ends at a sustained rate, near one that isn't; and in few steps."""
    tried: list[int] = []

    def step(rate: int, _tries: int) -> Tried:
        tried.append(rate)
        return Tried(rate <= limit, min(rate, limit), 1)

    found = bracket(step, begin, 1, 1_000_000, most_runs=99).rate_per_s
    assert found is not None
    assert found <= limit
    assert limit <= max(found * NARROW, found + 1)
    assert len(tried) <= 29


def test_what_failed_too_early_is_tried_again() -> None:
    """A system that sustains little at first and more later, as one does that compiles its code: the later limit counts."""
    tries_seen: list[int] = []

    def step(rate: int, tries: int) -> Tried:
        tries_seen.append(tries)
        limit = 40_000 if 1 in tries_seen else 1_000
        return Tried(rate <= limit, min(rate, limit), 1)

    found = bracket(step, 10_000, 1, 1_000_000).rate_per_s
    assert found is not None
    assert 40_000 / NARROW <= found <= 40_000


def test_what_was_far_off_is_not_tried_again() -> None:
    """Half of the rate is no hiccup; a tenth less may be one."""
    tried: list[int] = []

    def run(spec: LoadSpec) -> LoadResult:
        rate = spec.workload.rate_per_s
        tried.append(rate)
        return loaded(spec, {20_000: 18_000, 40_000: 20_000}.get(rate, rate))

    search(run)
    assert tried.count(20_000) >= 2
    begins = dataclasses.replace(WORKLOAD, expected_rate_per_s=40_000)
    tried.clear()
    search(run, begins)
    assert tried[:3] == [40_000, 40_000, 40_000], "two warm-ups, one step"
    assert tried[3] == 20_000


def test_a_workload_may_ask_for_fewer_steps() -> None:
    """The best so far is confirmed, and the search says that it didn't come near the limit."""
    hurried = dataclasses.replace(WORKLOAD, search_steps=3)
    found = search(system(500_000), hurried)
    assert [attempt.rate_per_s for attempt in found.attempts if attempt.kind == "step"] == [10_000, 20_000, 40_000]
    assert (found.rate_per_s, found.closed) == (40_000, False)


def test_nothing_sustained_is_nothing_found() -> None:
    """Not even one message a second."""
    assert bracket(lambda _rate, _tries: Tried(False, 0.0, 1), 1000, 1, 5000).rate_per_s is None


def test_a_testbed_whose_speed_wanders_is_not_searched_for_ever() -> None:
    """Whatever was sustained once fails the next time: the search takes the best so far, and says that it isn't narrow."""
    chance, runs = random.Random(1), 0
    sustained: list[int] = [0]

    def step(rate: int, tries: int) -> Tried:
        nonlocal runs
        runs += tries
        limit = chance.choice([2_000, 8_000, 32_000])
        if rate <= limit:
            sustained.append(rate)
        return Tried(rate <= limit, min(rate, limit), tries)

    found = bracket(step, 10_000, 1, 1_000_000, most_runs=16)
    assert not found.closed
    assert found.rate_per_s == sustained[-1]
    assert 16 <= runs <= 16 + 3


@pytest.mark.parametrize("begin", [500, 3_000, 10_000, 40_000])
def test_a_trough_is_no_limit(begin: int) -> None:
    """From 1,000 to 6,000 messages a second every one costs an entry of its own; above, batches are full, and 9,000 are sustained.

    Only a search that begins below doesn't see it.
    """

    def step(rate: int, _tries: int) -> Tried:
        sustained = rate <= 1_000 or 6_000 <= rate <= 9_000
        return Tried(sustained, rate if sustained else 0.95 * rate if rate < 6_000 else 9_000, 1)

    found = bracket(step, begin, 1, 1_000_000).rate_per_s
    assert found is not None
    assert (found <= 1_000) if begin <= 3_000 else 9_000 / NARROW <= found <= 9_000


def test_the_found_rate_is_confirmed_at_full_length() -> None:
    """The records kept are those of the confirmation; every other run's are discarded; all of it is recorded."""
    discarded: list[str] = []
    found = search(system(77_000), discard=lambda load: discarded.append(load.directory))
    assert found.rate_per_s is not None
    assert 77_000 / NARROW <= found.rate_per_s <= 77_000 * 1.005
    assert found.attempts[-1].kind == "confirmation"
    assert found.attempts[-1].seconds == 60
    assert (found.attempts[0].kind, found.attempts[0].seconds) == ("warm-up", 15)
    assert {(attempt.kind, attempt.seconds) for attempt in found.attempts[1:-1]} == {("step", 10)}
    assert len(discarded) == len(found.attempts) - 1
    assert found.load.directory == f"load/{found.rate_per_s}"
    assert next(attempt["rate_per_s"] for attempt in found.to_json()["attempts"]) == 10_000


@pytest.mark.parametrize(
    ("achieved", "warmups"),
    [
        ([20, 5_000, 5_900], 3),
        ([10_000], 1),
        ([900, 900], 2),
        ([10, 20, 40, 80], 4),
    ],
)
def test_cold_brokers_are_warmed_up_until_they_get_no_better(achieved: list[int], warmups: int) -> None:
    """A run that reaches its rate ends it, as does one that is hardly better than the one before, or the fourth."""
    seen: list[float] = []

    def run(spec: LoadSpec) -> LoadResult:
        if spec.workload.warmup_s == 0 and len(seen) < len(achieved):
            seen.append(achieved[len(seen)])
            return loaded(spec, seen[-1])
        return system(50_000)(spec)

    found = search(run)
    assert sum(attempt.kind == "warm-up" for attempt in found.attempts) == warmups


def test_a_hiccup_is_no_limit() -> None:
    """A step that fails once and then holds is sustained: one try in four fails for no reason of the system's."""
    chance = random.Random(3)

    def run(spec: LoadSpec) -> LoadResult:
        achieved = min(spec.workload.rate_per_s, 80_000)
        hiccup = spec.workload.measure_s < 60 and chance.random() < 0.1
        return loaded(spec, achieved * (0.9 if hiccup else 1))

    found = search(run)
    assert found.rate_per_s is not None
    assert found.rate_per_s >= 80_000 / NARROW


def test_a_rate_that_does_not_last_is_lowered() -> None:
    """Steps of ten seconds sustain more than a minute does: the confirmation goes down until it holds."""
    found = search(lambda spec: system(50_000 if spec.workload.measure_s < 60 else 46_000)(spec))
    kinds = [
        (attempt.kind, attempt.judgement.sustained) for attempt in found.attempts if attempt.kind == "confirmation"
    ]
    assert kinds[0] == ("confirmation", False)
    assert kinds[-1] == ("confirmation", True)
    assert found.rate_per_s is not None
    assert found.rate_per_s <= 46_000 * 1.005


def test_a_rate_that_is_far_off_is_lowered_half_of_the_way() -> None:
    """Overdriven, a system may do less than it can: there is a rate between what was offered and what was acknowledged."""
    found = search(lambda spec: system(50_000 if spec.workload.measure_s < 60 else 32_000)(spec))
    rates = [attempt.rate_per_s for attempt in found.attempts if attempt.kind == "confirmation"]
    assert rates[1] == pytest.approx((rates[0] * 32_000) ** 0.5, rel=0.001)
    assert rates[0] > rates[1] > rates[2] > 32_000


def test_a_rate_that_never_lasts_is_not_found_but_its_last_run_kept() -> None:
    """The system's outcome, with records to show for it."""
    found = search(lambda spec: system(50_000 if spec.workload.measure_s < 60 else 1_000)(spec))
    assert found.rate_per_s is None
    assert found.load.samples
    assert len([attempt for attempt in found.attempts if attempt.kind == "confirmation"]) == 4


def test_an_abort_ends_the_search() -> None:
    """A system that stopped answering isn't asked for less."""
    abort = {"rule": "nothing-acknowledged", "axis": "outcome", "reason": "", "host": None}

    def run(spec: LoadSpec) -> LoadResult:
        return loaded(spec, 1e9, abort=abort if spec.workload.rate_per_s > 30_000 else None)

    found = search(run)
    assert found.load.abort == abort
    assert found.rate_per_s is None
    assert [attempt.rate_per_s for attempt in found.attempts] == [10_000, 10_000, 20_000]
