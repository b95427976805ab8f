"""The schedule is fixed before the run: right count, right times, the same every time, flat in memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.worker.schedule import CHUNK_MESSAGES, SECOND_NS, Schedule


def schedule(**changes: Any) -> Schedule:
    """2,000 a second over two producers, 1 s warm-up, 4 s measurement."""
    fields: dict[str, Any] = {
        "rate_per_s": 2000, "producers": 2, "arrivals": "constant", "warmup_ns": SECOND_NS, "measure_ns": 4 * SECOND_NS,
        "seed": 7, **changes,
    }  # fmt: skip
    return Schedule(**fields)


def times(of: Schedule, producer: int) -> NDArray[np.int64]:
    """All intended offsets of one producer."""
    return np.concatenate([np.empty(0, np.int64), *of.offsets_ns(producer)])


@pytest.mark.parametrize(("rate", "producers"), [(2000, 2), (7, 3), (1, 1), (999_983, 7), (10, 10)])
def test_constant_arrivals_are_exactly_rate_times_time(rate: int, producers: int) -> None:
    """All producers together send rate x time messages, evenly, none twice and none outside."""
    it = schedule(rate_per_s=rate, producers=producers)
    merged = np.sort(np.concatenate([times(it, producer) for producer in range(producers)]))
    assert len(merged) == it.total() == rate * 5
    assert merged[0] == 0
    assert merged[-1] < it.duration_ns
    assert np.array_equal(merged, np.array([k * SECOND_NS // rate for k in range(rate * 5)]))


def test_producers_are_interleaved() -> None:
    """No two producers of a constant schedule send at the same instant."""
    it = schedule()
    assert list(times(it, 0)[:3]) == [0, 1_000_000, 2_000_000]
    assert list(times(it, 1)[:3]) == [500_000, 1_500_000, 2_500_000]


def test_a_rate_that_does_not_divide_the_time_is_rounded_up() -> None:
    """3 a second for 1.5 s: messages at 0, 1/3, 2/3, 1 and 4/3 s."""
    it = schedule(rate_per_s=3, producers=1, warmup_ns=0, measure_ns=3 * SECOND_NS // 2)
    assert it.total() == it.count(0) == len(times(it, 0)) == 5


def test_times_do_not_overflow_in_a_week_at_a_million_a_second() -> None:
    """The last chunk of a very long schedule is where it should be."""
    week, producers = 7 * 86_400, 100_000
    it = schedule(rate_per_s=1_000_000, producers=producers, measure_ns=week * SECOND_NS, warmup_ns=0)
    *_, chunk = it.offsets_ns(producers - 1)
    assert chunk[-1] == week * SECOND_NS - 1_000
    assert (np.diff(chunk) == producers * 1_000).all()


def test_poisson_arrivals_have_the_rate_and_the_spread() -> None:
    """Mean gap = 1 / rate, its standard deviation the same, counts within six standard deviations."""
    it = schedule(arrivals="poisson", rate_per_s=40_000)
    offsets = times(it, 0)
    expected = 20_000 * 5
    assert abs(len(offsets) - expected) < 6 * expected**0.5
    gaps = np.diff(offsets)
    assert (gaps >= 0).all()
    assert gaps.mean() == pytest.approx(50_000, rel=0.02)
    assert gaps.std() == pytest.approx(50_000, rel=0.03)
    assert it.count(0) == len(offsets)


def test_poisson_is_seeded_per_producer() -> None:
    """The same seed gives the same times; another producer or seed gives others."""
    first = times(schedule(arrivals="poisson"), 0)
    assert np.array_equal(first, times(schedule(arrivals="poisson"), 0))
    assert not np.array_equal(first[:100], times(schedule(arrivals="poisson"), 1)[:100])
    assert not np.array_equal(first[:100], times(schedule(arrivals="poisson", seed=8), 0)[:100])


@pytest.mark.parametrize("arrivals", ["constant", "poisson"])
def test_memory_is_flat(arrivals: str) -> None:
    """Ten million times are walked through with a few chunks in memory."""
    it = schedule(arrivals=arrivals, rate_per_s=1_000_000, producers=1, measure_ns=9 * SECOND_NS)
    tracemalloc.start()
    try:
        count = sum(len(chunk) for chunk in it.offsets_ns(0))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == pytest.approx(10_000_000, rel=0.001)
    assert peak_bytes < 8 * CHUNK_MESSAGES * 8


def test_chunks_are_whole_but_the_last() -> None:
    """A position in a chunk follows from the sequence number."""
    for arrivals in ("constant", "poisson"):
        *whole, _ = schedule(arrivals=arrivals, rate_per_s=100_000).offsets_ns(0)
        assert len(whole) >= 3
        assert {len(chunk) for chunk in whole} == {CHUNK_MESSAGES}


def test_phases_are_told_by_intended_time() -> None:
    """Warm-up and measurement touch without overlap; a warm-up of no length is no phase."""
    warmup, measure = schedule().phases(1000)
    assert (warmup.name, warmup.start_ns, warmup.end_ns) == ("warmup", 1000, 1000 + SECOND_NS)
    assert (measure.name, measure.start_ns, measure.end_ns) == ("measure", 1000 + SECOND_NS, 1000 + 5 * SECOND_NS)
    assert [phase.name for phase in schedule(warmup_ns=0).phases(0)] == ["measure"]
