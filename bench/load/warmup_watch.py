"""When a warm-up ends that lasts until the system is steady: as soon as latency is, by a rule that is declared here, or at its bound.

The rule is that of SNIA's Solid State Storage Performance Test Specification, on the median response latency of rounds: over the last
ROUNDS of them the values span at most RANGE_SHARE of their mean, and the straight line through them moves by at most SLOPE_SHARE of it.
It decides only when the measurement begins. Whether that was steady is judged from its own records (analysis.steady_state).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.load.phase_end import ANNOUNCED_NS, PhaseEnd
from bench.load.workers import Worker
from bench.worker.schedule import SECOND_NS, Schedule

ROUNDS, RANGE_SHARE, SLOPE_SHARE = 5, 0.2, 0.1
ROUNDS_IN_BOUND = 20
SHORTEST_ROUND_NS = SECOND_NS
# After a round's end its last reports are still on their way: workers report twice a second, each at its own time.
REPORTED_NS = SECOND_NS


def is_steady(medians_ns: Sequence[float | None]) -> bool:
    """Whether the last rounds were; None is a round in which nothing was acknowledged."""
    last = [value for value in medians_ns[-ROUNDS:] if value is not None]
    if len(last) < ROUNDS:
        return False
    mean, (slope, _) = float(np.mean(last)), np.polyfit(np.arange(ROUNDS), last, 1)
    return bool(np.ptp(last) <= RANGE_SHARE * mean and abs(slope) * (ROUNDS - 1) <= SLOPE_SHARE * mean)


class WarmupWatch:
    """Follows a warm-up that began at `start_ns` (epoch, the workers' clock): told of every report, asked again and again."""

    def __init__(self, schedule: Schedule, start_ns: int) -> None:
        self._schedule, self._start_ns = schedule, start_ns
        self._round_ns = max(SHORTEST_ROUND_NS, schedule.warmup_ns // ROUNDS_IN_BOUND)
        self._reports: dict[int, list[tuple[int, int]]] = defaultdict(
            list
        )  # round -> medians, and of how many messages
        self._reported_ns: dict[str, int] = {}
        self._medians_ns: list[float | None] = []
        self._steady: bool | None = None
        self._lasted_ns: int | None = None

    def note(self, worker: Worker) -> None:
        """Takes in a producer's latest report, unless it is known."""
        at_ns, median_ns = worker.count("at_ns"), worker.latest.get("answered_p50_ns")
        if self._steady is None and median_ns is not None and at_ns > self._reported_ns.get(worker.job.worker, 0):
            self._reported_ns[worker.job.worker] = at_ns
            number = (at_ns - self._start_ns) // self._round_ns
            self._reports[number].append((int(median_ns), worker.count("answered")))

    def found(self, now_ns: int) -> PhaseEnd | None:
        """When it ends, once: as soon as it was found steady. None before that; and at the bound, where the schedule ends it anyway."""
        if self._steady is not None:
            return None
        announced_ns, latest_ns = now_ns + ANNOUNCED_NS, self._start_ns + self._schedule.warmup_ns
        if announced_ns >= latest_ns:
            self._steady, self._lasted_ns = False, self._schedule.warmup_ns
            return None
        while len(self._medians_ns) < (now_ns - REPORTED_NS - self._start_ns) // self._round_ns:
            self._medians_ns.append(_median(self._reports.pop(len(self._medians_ns), [])))
            if is_steady(self._medians_ns):
                self._steady, self._lasted_ns = True, announced_ns - self._start_ns
                return PhaseEnd(announced_ns, announced_ns + self._schedule.measure_ns, in_time=True)
        return None

    def to_json(self) -> dict[str, Any]:
        """As trial.json carries it: `steady` null where the load ended before."""
        return {
            "steady": self._steady,
            "bound_s": self._schedule.warmup_ns / SECOND_NS,
            "lasted_s": None if self._lasted_ns is None else self._lasted_ns / SECOND_NS,
            "round_s": self._round_ns / SECOND_NS,
            "rule": {"rounds": ROUNDS, "range_share": RANGE_SHARE, "slope_share": SLOPE_SHARE},
            "rounds_p50_ms": [None if value is None else value / 1e6 for value in self._medians_ns],
        }


def _median(reports: Sequence[tuple[int, int]]) -> float | None:
    """Of producers' medians, by the messages that each is of."""
    if not reports:
        return None
    ascending = sorted(reports)
    up_to_here = np.cumsum([messages for _, messages in ascending])
    return float(ascending[int(np.searchsorted(up_to_here, up_to_here[-1] / 2))][0])
