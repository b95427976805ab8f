"""Response latency in each window of the measured phase."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from analysis.records.counting import Times
from analysis.records.windows import PRODUCED_WINDOWS, WINDOWS, thirds_ns, window_of
from tests.analysis.records.tables import produced

MEASURED = (1_000, 1_000 + WINDOWS * 100)
TIMES = Times(0, MEASURED, {}, {"response_latency_first_third": MEASURED})
ROWS: list[dict[str, Any]] = [
    {"intended_ns": MEASURED[0] + window * 100 + n, "acked_ns": MEASURED[0] + window * 100 + n + 500 + window}
    for window in range(WINDOWS)
    for n in range(20)
]


def windows(rows: list[dict[str, Any]], times: Times = TIMES, *, parts: int = 1) -> list[dict[str, Any]]:
    """Of rows that are read in so many parts."""
    tables = [PRODUCED_WINDOWS.count(produced(rows[part::parts]), times) for part in range(parts)]
    found: list[dict[str, Any]] = PRODUCED_WINDOWS.finish(PRODUCED_WINDOWS.merge(pa.concat_tables(tables))).to_pylist()
    return found


@pytest.mark.parametrize("parts", [1, 3])
def test_each_window_has_the_latency_of_the_messages_intended_in_it(parts: int) -> None:
    """Its median is within 1 % above the exact one; warm-up and what comes after the phase are in none."""
    outside = [{"intended_ns": MEASURED[0] - 1, "acked_ns": 10**9}, {"intended_ns": MEASURED[1], "acked_ns": 10**9}]
    found = windows([*ROWS, *outside], parts=parts)
    assert [(row["window"], row["samples"], row["p99_ns"]) for row in found] == [(n, 20, None) for n in range(WINDOWS)]
    assert all(500 + row["window"] <= row["p50_ns"] <= (500 + row["window"]) * 1.01 for row in found)


def test_what_was_never_acknowledged_is_in_its_window() -> None:
    """As later than everything: with most of a window's messages unanswered there is no median."""
    found = windows([*ROWS, *[{"intended_ns": MEASURED[0] + 100}] * 30])
    assert [(row["samples"], row["p50_ns"]) for row in found if row["p50_ns"] is None] == [(50, None)]


def test_windows_are_counted_only_where_thirds_are_told() -> None:
    """A search, a closed loop, a backlog: nothing is counted."""
    assert windows(ROWS, Times(0, MEASURED, {})) == []
    assert windows(ROWS, Times(0, None, {})) == []


@pytest.mark.parametrize("length_ns", [6_000, 6_001, 6_002, 10_000_000_019])
def test_a_third_is_a_third_of_the_windows(length_ns: int) -> None:
    """To the nanosecond, also where three doesn't divide the phase: no message is in a third and not in its windows."""
    measured = (7, 7 + length_ns)
    (first, before_middle), (after_middle, last) = thirds_ns(measured)
    assert (first, last) == measured
    edges = pa.array([before_middle - 1, before_middle, after_middle - 1, after_middle, last - 1]).to_numpy()
    third = WINDOWS // 3
    assert window_of(edges, measured).tolist() == [third - 1, third, 2 * third - 1, 2 * third, WINDOWS - 1]
