"""What happened in each second of a trial."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from analysis.records.counting import Times
from analysis.records.seconds import (
    CONSUMED_LATENCY,
    PRODUCED_LATENCY,
    coarse_bucket,
    count_produced_events,
    count_received_events,
)
from tests.analysis.records.tables import ALWAYS, consumed, produced

S = 1_000_000_000


def over_time(rows: list[dict[str, Any]], *, parts: int = 1) -> list[dict[str, Any]]:
    """Response latency per second, of rows that are read in so many parts."""
    tables = [PRODUCED_LATENCY.count(produced(rows[part::parts]), ALWAYS) for part in range(parts)]
    found: list[dict[str, Any]] = PRODUCED_LATENCY.finish(PRODUCED_LATENCY.merge(pa.concat_tables(tables))).to_pylist()
    return found


def test_throughput_is_counted_in_the_second_it_happened() -> None:
    """A message scheduled in second 0, acknowledged in 1 and received in 2 counts once in each; of a load that never began, nothing."""
    rows = produced([{"intended_ns": S - 1, "sent_ns": S - 1, "acked_ns": S}, {"intended_ns": 5}])
    receipts = consumed([{"intended_ns": S - 1, "received_ns": 2 * S}])
    found = [*count_produced_events(rows, ALWAYS).to_pylist(), *count_received_events(receipts, ALWAYS).to_pylist()]
    assert sorted((row["event"], row["subscription"], row["second"], row["messages"]) for row in found) == [
        ("acknowledged", "", 1, 1),
        ("received", "s", 2, 1),
        ("scheduled", "", 0, 2),
        ("sent", "", 0, 1),
    ]
    assert len(count_produced_events(rows, Times(None, None, {}))) == 0


def test_latency_over_time_needs_ten_samples_beyond() -> None:
    """20 samples carry a median and a maximum, but no p99; each within 1 % above the exact value, however many files they lie in."""
    rows = [{"sent_ns": 0, "acked_ns": 1000 * n} for n in range(1, 21)]
    for parts in (1, 3):
        (found,) = over_time(rows, parts=parts)
        assert (found["metric"], found["subscription"], found["second"]) == ("response_latency", "", 0)
        assert 10_000 <= found["p50_ns"] <= 10_100
        assert (found["p99_ns"], found["max_ns"], found["samples"]) == (None, 20_000, 20)


def test_what_was_never_answered_is_later_than_all_else_of_its_second() -> None:
    """With a third unanswered the median is known and the maximum isn't; with two thirds neither is. Other seconds are their own."""
    answered = [{"acked_ns": 1000 + n} for n in range(2000)]
    few: list[dict[str, Any]] = [{}] * 1000
    many = few * 4
    (found,) = over_time([*answered, *few])
    assert found["p50_ns"] is not None and (found["p99_ns"], found["max_ns"]) == (None, None)
    (found,) = over_time([*answered, *many])
    assert (found["p50_ns"], found["samples"]) == (None, 6000)
    later = [{"intended_ns": S, "acked_ns": S + 7}] * 20
    assert [row["max_ns"] for row in over_time([*answered, *few, *later])] == [None, 7]


def test_end_to_end_over_time_is_by_subscription() -> None:
    """And by the second of the intended time."""
    rows = [{"subscription": name, "intended_ns": 3 * S, "received_ns": 3 * S + 7} for name in ("b", "a", "b")]
    found = CONSUMED_LATENCY.finish(CONSUMED_LATENCY.count(consumed(rows), ALWAYS)).to_pylist()
    assert [(row["subscription"], row["second"], row["samples"], row["max_ns"]) for row in found] == [
        ("a", 3, 1, 7),
        ("b", 3, 2, 7),
    ]


def test_coarse_buckets_are_narrow() -> None:
    """Values of one bucket differ by less than 1 %."""
    values = sorted({2**power + step for power in range(10, 47) for step in range(-50, 50)})
    by_bucket: dict[int, list[int]] = {}
    for value, number in zip(values, coarse_bucket(pa.array(values).to_numpy()).tolist(), strict=True):
        by_bucket.setdefault(number, []).append(value)
    assert all(max(each) < 1.01 * min(each) for each in by_bucket.values())
