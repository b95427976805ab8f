"""The latencies of messages, in tables of a few rows."""

from __future__ import annotations

from typing import Any

from analysis.records.counting import Times
from analysis.records.latencies import PRODUCED_LATENCIES, consumed_samples, produced_samples
from tests.analysis.records.tables import consumed, produced

TIMES = Times(0, (100, 200), {})
ROWS: list[dict[str, Any]] = [
    {"intended_ns": 100, "sent_ns": 130, "acked_ns": 190},
    {"intended_ns": 100, "sent_ns": 130, "acked_ns": 120, "held_until_ns": 123},
    {"intended_ns": 99, "sent_ns": 129},
    {"intended_ns": 199},
    {"intended_ns": 200, "sent_ns": 230, "held_until_ns": 230},
]


def test_the_times_of_a_producer() -> None:
    """Response from the intended send, publish from the actual one and never negative; null is what is unknown. The client's
    part of the send delay is counted from when the system let go.
    """
    found = {metric: latency(produced(ROWS)).to_pylist() for metric, latency in PRODUCED_LATENCIES.items()}
    assert found == {
        "response_latency": [90, 20, None, None, None],
        "publish_latency": [60, 0, None, None, None],
        "send_delay": [30, 30, 30, None, 30],
        "client_delay": [30, 7, 30, None, 0],
    }


def test_measured_is_what_was_intended_in_the_measure_phase() -> None:
    """From its start up to and without its end; nothing where a trial never got so far."""
    found = {metric: values.tolist() for metric, _, values in produced_samples(produced(ROWS), TIMES)}
    assert found == {
        "response_latency": [90, 20],
        "publish_latency": [60, 0],
        "send_delay": [30, 30],
        "client_delay": [30, 7],
    }
    aborted = produced_samples(produced(ROWS), Times(0, None, {}))
    assert [values.tolist() for _, _, values in aborted] == [[], [], [], []]


def test_publish_latency_of_another_phase_is_told_apart() -> None:
    """By the intended time, as in the measured phase."""
    times = Times(0, None, {"publish_latency_build": (100, 200), "publish_latency_tail": (0, 100)})
    found = {metric: values.tolist() for metric, _, values in produced_samples(produced(ROWS), times)}
    assert (found["publish_latency_build"], found["publish_latency_tail"]) == ([60, 0], [])


def test_end_to_end_is_from_the_intended_send() -> None:
    """Received minus intended, by subscription; a repeat is a receipt of its own, and the warm-up is none."""
    rows = [
        {"subscription": "b", "intended_ns": 150, "received_ns": 157},
        {"subscription": "a", "intended_ns": 150, "received_ns": 149},
        {"subscription": "b", "intended_ns": 150, "received_ns": 180},
        {"subscription": "b", "intended_ns": 99, "received_ns": 180},
    ]
    found = [(name, values.tolist()) for _, name, values in consumed_samples(consumed(rows), TIMES)]
    assert found == [("a", [-1]), ("b", [7, 30])]
