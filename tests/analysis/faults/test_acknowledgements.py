"""Gaps and debt, from few messages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from analysis.faults.acknowledgements import ALL, countings
from analysis.faults.occurrence import BAND, Window
from tests.analysis.records.tables import ALWAYS, consumed, produced

MS, S = 10**6, 10**9
BAND_WINDOW = Window(BAND, 0, 20 * S, followed=True)
LAST = Window(0, 20 * S, 40 * S, followed=False)


def found(
    rows: list[dict[str, Any]], receipts: Any = (), windows: Any = (BAND_WINDOW, LAST), parts: int = 1
) -> list[dict[str, Any]]:
    """What is found in rows that are read in so many parts."""
    of_sends, of_receipts = countings(windows)
    tables = [of_sends.count(produced(rows[part::parts]), ALWAYS) for part in range(parts)]
    if receipts:
        tables.append(of_receipts.count(consumed(receipts), ALWAYS))
    merged = of_sends.merge(pa.concat_tables(tables))
    told: list[dict[str, Any]] = of_sends.finish(merged).to_pylist()
    return told


def steady(begin_ns: int, end_ns: int, latency_ns: int = 3 * MS, **changes: Any) -> list[dict[str, Any]]:
    """A message every 10 ms, acknowledged after 3 ms."""
    return [
        {"sequence": at // (10 * MS), "intended_ns": at, "acked_ns": at + latency_ns, **changes}
        for at in range(begin_ns, end_ns, 10 * MS)
    ]


def outage(begin_ns: int, end_ns: int, **changes: Any) -> list[dict[str, Any]]:
    """What is due between the two is acknowledged when it is over, one each 0.1 ms."""
    rows = steady(begin_ns, end_ns, **changes)
    return [{**row, "acked_ns": end_ns + n * MS // 10} for n, row in enumerate(rows)]


def gap(rows: list[dict[str, Any]], partition: int = ALL, window: int = 0) -> tuple[int | None, int | None]:
    """From when to when."""
    row = next(row for row in rows if (row["window"], row["partition"]) == (window, partition))
    return row["gap_from_ns"], row["gap_to_ns"]


STEADY_AND_OUTAGE = [*steady(0, 20 * S), *outage(20 * S, 22 * S + 1234), *steady(22 * S + 10 * MS, 40 * S)]


@pytest.mark.parametrize("parts", [1, 4])
def test_a_gap_goes_from_the_last_acknowledgement_before_to_the_first_after(parts: int) -> None:
    """To the nanosecond, and whichever files its two ends are in."""
    assert gap(found(STEADY_AND_OUTAGE, parts=parts)) == (20 * S - 7 * MS, 22 * S + 1234)


def test_the_gap_that_a_fault_makes_is_none_of_the_time_before_it() -> None:
    """The longest of the band is what is usual: 10 ms."""
    begin_ns, end_ns = gap(found(STEADY_AND_OUTAGE), window=BAND)
    assert (end_ns or 0) - (begin_ns or 0) == 10 * MS


def test_each_partition_has_its_own_gap() -> None:
    """One stands still while another goes on."""
    other = [{**row, "partition": 1} for row in steady(0, 40 * S)]
    rows = found([*STEADY_AND_OUTAGE, *other])
    assert gap(rows, 0) == (20 * S - 7 * MS, 22 * S + 1234)
    assert gap(rows, 1)[1] is not None
    assert (gap(rows, 1)[1] or 0) - (gap(rows, 1)[0] or 0) == 10 * MS


def test_a_gap_that_the_next_fault_makes_is_not_the_one_before_its() -> None:
    """It lies across the end of the first window, and belongs to the second."""
    windows = (BAND_WINDOW, Window(0, 20 * S, 30 * S, followed=True), Window(1, 30 * S, 40 * S, followed=False))
    rows = [*STEADY_AND_OUTAGE[:-1000], *outage(30 * S, 35 * S), *steady(35 * S, 40 * S)]
    told = found(rows, windows=windows)
    assert gap(told, window=0) == (20 * S - 7 * MS, 22 * S + 1234)
    assert gap(told, window=1) == (30 * S - 7 * MS, 35 * S)


def test_what_never_comes_back_leaves_the_last_acknowledgement() -> None:
    """Since when there was none: no gap of the window has an end."""
    rows = found([*steady(0, 20 * S), *steady(20 * S, 40 * S, acked_ns=None, partition=None)])
    row = next(row for row in rows if (row["window"], row["partition"]) == (0, ALL))
    assert (row["gap_to_ns"], row["last_ns"]) == (None, 20 * S - 7 * MS)


def debt(rows: list[dict[str, Any]], subscription: str = "") -> dict[str, Any]:
    """That of the fault's window."""
    return next(
        row for row in rows if (row["window"], row["partition"], row["subscription"]) == (0, None, subscription)
    )


def test_debt_is_highest_when_the_outage_ends_and_paid_when_the_usual_is_owed() -> None:
    """200 messages of two seconds, looked at each millisecond; one of them is acknowledged each 0.1 ms."""
    told = debt(found(STEADY_AND_OUTAGE))
    assert (told["highest"], told["paid_ns"]) == (200, 22 * S + 20 * MS)


def test_what_was_never_acknowledged_is_owed_and_can_t_be_paid() -> None:
    """Half of them failed: they are in the height, and don't keep the rest from being paid."""
    lost = [
        {**row, "acked_ns": None, "partition": None} if n % 2 else row for n, row in enumerate(outage(20 * S, 22 * S))
    ]
    told = debt(found([*steady(0, 20 * S), *lost, *steady(22 * S, 40 * S)]))
    assert (told["highest"], told["highest_to_pay"]) == (200, 100)
    assert told["paid_ns"] is not None and told["paid_ns"] < 22 * S + 50 * MS


def test_what_is_acknowledged_and_not_received_is_a_debt_of_its_subscription() -> None:
    """Receipts stop for a second, and come at once when it is over; one message never does."""
    rows = steady(0, 40 * S)
    receipts = [
        {
            **row,
            "received_ns": max(row["acked_ns"], 21 * S) if 20 * S <= row["intended_ns"] < 21 * S else row["acked_ns"],
        }
        for row in rows
        if row["intended_ns"] != 20 * S
    ]
    told = debt(found(rows, [{k: v for k, v in each.items() if k != "acked_ns"} for each in receipts]), "s")
    assert (told["highest"], told["paid_ns"]) == (100, 21 * S + MS)
