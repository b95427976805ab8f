"""Latencies, timelines and telemetry on frames of a few rows."""

from __future__ import annotations

from pyspark.sql import SparkSession

from analysis.latencies import Series, consumed_latencies, produced_latencies
from analysis.telemetry import counter_rates, telemetry_of_measure_phase
from analysis.timeline import latency_over_time, throughput_over_time

S = 1_000_000_000
TIMES = "start_ns bigint, measure_start_ns bigint, measure_end_ns bigint"
PRODUCED = f"trial string, intended_ns bigint, sent_ns bigint, acked_ns bigint, held_until_ns bigint, {TIMES}"
CONSUMED = f"trial string, subscription string, intended_ns bigint, received_ns bigint, {TIMES}"
HOSTS = f"trial string, time_ns bigint, host string, source string, metric string, kind string, value double, {TIMES}"


def test_the_times_of_a_producer(either_ansi: SparkSession) -> None:
    """Response from the intended send, publish from the actual one and never negative; null is what is unknown. The client's
    part of the send delay is counted from when the system let go.

    Measured is what was intended from the start of the measure phase up to and without its end.
    """
    times = (0, 100, 200)
    rows: list[tuple[object, ...]] = [
        ("t", 100, 130, 190, None, *times),
        ("t", 100, 130, 120, 123, *times),
        ("t", 99, 129, None, None, *times),
        ("t", 199, None, None, None, *times),
        ("t", 200, 230, None, 230, *times),
        ("aborted", 100, 130, None, None, 0, None, None),
    ]
    frames = produced_latencies(either_ansi.createDataFrame(rows, PRODUCED))
    found = [(metric, row) for metric, frame in frames.items() for row in frame.collect()]
    unknown = [(metric, bool(row["measured"])) for metric, row in found if row["value_ns"] is None]
    assert sorted(unknown) == [
        *[
            (metric, measured)
            for metric in ("publish_latency", "response_latency")
            for measured in (False, False, False, True)
        ],
        ("send_delay", True),
    ]
    known = [(metric, row) for metric, row in found if row["value_ns"] is not None]
    assert sorted((metric, row["value_ns"], bool(row["measured"])) for metric, row in known) == [
        ("client_delay", 0, False),
        ("client_delay", 7, True),
        *[("client_delay", 30, False)] * 2,
        ("client_delay", 30, True),
        ("publish_latency", 0, True),
        ("publish_latency", 60, True),
        ("response_latency", 20, True),
        ("response_latency", 90, True),
        *[("send_delay", 30, False)] * 3,
        *[("send_delay", 30, True)] * 2,
    ]


def test_end_to_end_is_from_the_intended_send(spark: SparkSession) -> None:
    """Received minus intended, by subscription and second of the intended time."""
    rows = [("t", "s", 3 * S, 3 * S + 7, 0, 0, 9 * S)]
    (found,) = spark.createDataFrame(rows, CONSUMED).transform(consumed_latencies).collect()
    assert (found["subscription"], found["second"], found["value_ns"]) == ("s", 3, 7)


def test_throughput_is_counted_in_the_second_it_happened(either_ansi: SparkSession) -> None:
    """A message scheduled in second 0, acknowledged in 1 and received in 2 counts once in each."""
    produced = either_ansi.createDataFrame(
        [("t", S - 1, S - 1, S, None, 0, 0, S), ("t", 5, None, None, None, 0, 0, S)], PRODUCED
    )
    consumed = either_ansi.createDataFrame([("t", "s", S - 1, 2 * S, 0, 0, S)], CONSUMED)
    found = throughput_over_time(produced, consumed).collect()
    assert sorted((row["event"], row["second"], row["messages"]) for row in found) == [
        ("acknowledged", 1, 1),
        ("received", 2, 1),
        ("scheduled", 0, 2),
        ("sent", 0, 1),
    ]


def test_latency_over_time_needs_ten_samples_beyond(either_ansi: SparkSession) -> None:
    """20 samples carry a median and a maximum, but no p99; each within 1 % above the exact value."""
    schema = "measured boolean, second int, value_ns bigint"
    rows = [(False, 0, 1000 * n) for n in range(1, 21)]
    series = Series("t", "response_latency", either_ansi.createDataFrame(rows, schema))
    (found,) = latency_over_time([series]).collect()
    assert (found["trial"], found["metric"], found["subscription"]) == ("t", "response_latency", "")
    assert 10_000 <= found["p50_ns"] <= 10_100
    assert (found["p99_ns"], found["max_ns"], found["samples"]) == (None, 20_000, 20)


def test_rates_come_from_counters_and_survive_a_reset(either_ansi: SparkSession) -> None:
    """Growth over elapsed time; a counter that fell gives no rate."""
    samples = [(0, 10.0), (2 * S, 14.0), (3 * S, 1.0), (4 * S, 2.0)]
    rows = [("t", at, "h", "machine", "cpu_user_s", "counter", value, 0, 0, 4 * S) for at, value in samples]
    found = either_ansi.createDataFrame(rows, HOSTS).transform(counter_rates).orderBy("time_ns").collect()
    assert [(row["time_ns"], row["value"]) for row in found] == [(2 * S, 2.0), (4 * S, 1.0)]


def test_the_measure_phase_of_telemetry(spark: SparkSession) -> None:
    """Growth and maximum are taken inside the phase, while rows count everywhere."""
    rows = [("t", n * S, "h", "machine", "cpu_user_s", "counter", float(n * n), 0, S, 3 * S) for n in range(5)]
    (found,) = spark.createDataFrame(rows, HOSTS).transform(telemetry_of_measure_phase).collect()
    assert (found["rows"], found["samples"], found["growth"], found["highest"]) == (5, 3, 8.0, 9.0)
    assert found["seconds"] == 2.0
