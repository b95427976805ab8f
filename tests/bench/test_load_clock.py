"""The clock of a worker, anchored once to the epoch."""

from __future__ import annotations

import time

import pytest

from bench.worker import clock

EPOCH_NS = 1_700_000_000 * 10**9


def test_the_anchor_is_the_tightest_of_its_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """One reading that took 10 ns among others of a millisecond, in which anything may have come between the clocks."""
    now_ns, readings = 0, 0

    def monotonic_ns() -> int:
        return now_ns

    def time_ns() -> int:
        nonlocal now_ns, readings
        readings += 1
        between = 10 if readings == 5 else 1_000_000
        at_ns = now_ns + (between // 2 if readings == 5 else 0)  # the slack ones were read right at their beginning
        now_ns += between
        return EPOCH_NS + at_ns

    monkeypatch.setattr(time, "monotonic_ns", monotonic_ns)
    monkeypatch.setattr(time, "time_ns", time_ns)
    assert clock.anchored_clock().anchor_ns == EPOCH_NS
