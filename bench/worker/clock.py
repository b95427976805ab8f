"""A worker's only clock: monotonic, anchored once to the epoch. Times of two clocks would not compare."""

from __future__ import annotations

import time
from dataclasses import dataclass

_TRIES = 20
_LONGEST_SLEEP_S = 0.05
# Below this the kernel's timer slack decides anyway; due messages are sent together.
_SHORTEST_SLEEP_S = 0.0001


@dataclass(frozen=True)
class Clock:
    """`anchor_ns` is what to add to the monotonic clock to get nanoseconds since the epoch."""

    anchor_ns: int

    def now_ns(self) -> int:
        """Nanoseconds since the epoch; it never steps."""
        return time.monotonic_ns() + self.anchor_ns


def anchored_clock() -> Clock:
    """Anchors the clock by the tightest of several readings."""
    readings = []
    for _ in range(_TRIES):
        before = time.monotonic_ns()
        epoch = time.time_ns()
        after = time.monotonic_ns()
        readings.append((after - before, epoch - (before + after) // 2))
    return Clock(min(readings)[1])


def sleep_towards(wait_ns: int) -> None:
    """Sleeps for `wait_ns`, but so briefly that an abort is noticed soon."""
    time.sleep(min(max(wait_ns / 1e9, _SHORTEST_SLEEP_S), _LONGEST_SLEEP_S))
