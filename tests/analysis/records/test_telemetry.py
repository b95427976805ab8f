"""Rates and figures of machines, from samples of a few seconds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from analysis.records.counting import Times
from analysis.records.telemetry import OF_MEASURE_PHASE, OVER_TIME, drawn, measured, rates
from tests.analysis.records.tables import hosts

S = 1_000_000_000


def test_rates_come_from_counters_and_survive_a_reset() -> None:
    """Growth over elapsed time; a counter that fell gives no rate, and one series nothing to another."""
    samples = [(0, 10.0), (2 * S, 14.0), (3 * S, 1.0), (4 * S, 2.0)]
    rows = [{"time_ns": at, "value": value} for at, value in samples]
    other = [{"host": "i", "time_ns": at, "value": value + 100} for at, value in samples[2:]]
    found = rates(drawn(hosts([*reversed(rows), *other]), Times(0, None, {}))).to_pylist()
    assert [(row["host"], row["time_ns"], row["value"]) for row in found] == [
        ("h", 2 * S, 2.0),
        ("h", 4 * S, 1.0),
        ("i", 4 * S, 1.0),
    ]


def test_the_measure_phase_of_telemetry() -> None:
    """Growth and maximum are taken inside the phase, while rows count everywhere; of a trial without one all are null."""
    rows = hosts({"time_ns": n * S, "value": float(n * n)} for n in range(5))
    for files in ([rows], [rows.slice(0, 2), rows.slice(2)]):
        counted = [measured(each, Times(0, (S, 3 * S), {})) for each in files]
        (found,) = OF_MEASURE_PHASE.finish(OF_MEASURE_PHASE.merge(pa.concat_tables(counted))).to_pylist()
        assert (found["rows"], found["samples"], found["growth"], found["highest"]) == (5, 3, 8.0, 9.0)
        assert (found["seconds"], found["mean"]) == (2.0, 14 / 3)
    (found,) = OF_MEASURE_PHASE.finish(OF_MEASURE_PHASE.merge(measured(rows, Times(0, None, {})))).to_pylist()
    assert (found["rows"], found["samples"], found["growth"], found["mean"]) == (5, 0, None, None)


def test_telemetry_over_time_is_what_the_report_draws() -> None:
    """Gauges as they are, counters as rates, by whole seconds since the load began; nothing else, and nothing without a load."""
    rows: list[dict[str, Any]] = [
        *({"time_ns": 2 * S + n * S, "value": 3.0 * n} for n in range(2)),
        {"time_ns": 2 * S, "metric": "dirty_bytes", "kind": "gauge", "value": 9.0},
        {"time_ns": 2 * S, "metric": "cpus", "kind": "gauge", "value": 2.0},
    ]
    found = OVER_TIME.finish(drawn(hosts(rows), Times(S, None, {}))).to_pylist()
    assert sorted((row["metric"], row["second"], row["value"]) for row in found) == [
        ("cpu_user_s", 2, 3.0),
        ("dirty_bytes", 1, 9.0),
    ]
    assert len(OVER_TIME.finish(drawn(hosts(rows), Times(None, None, {})))) == 0
