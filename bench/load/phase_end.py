"""The end of a phase whose length shows during a run, as its workers are told, and when a backlog has been read."""

from __future__ import annotations

from dataclasses import dataclass

from bench.load.jobs import CATCH_UP
from bench.load.workers import Workers
from bench.worker.schedule import SECOND_NS, Schedule
from contract.workload import Workload

ANNOUNCED_NS = 3 * SECOND_NS
# Workers report their counts at intervals, each at its own time: below this, it is unknown whether anything is left unread.
_AS_GOOD_AS_READ_S = 1.5
_AS_GOOD_AS_READ_MESSAGES = 1_000


@dataclass(frozen=True)
class PhaseEnd:
    """The phase ends at `at_ns` and the load at `end_ns`, epoch. `in_time`: by itself (a backlog has been read), not at its bound."""

    at_ns: int
    end_ns: int
    in_time: bool


def left_over(workload: Workload) -> int:
    """Messages of the backlog that may stay unread."""
    backlog = workload.backlog
    return round((1 - backlog.drained_share) * backlog.size_bytes / workload.message_bytes) if backlog else 0


class BacklogWatch:
    """Finds out when a backlog has been read, and announces it: ahead, so that no row of the tail is written as one of the drain.

    To the second only: how long catching up took is worked out from the records. To be asked again and again; answers once.
    """

    def __init__(self, workload: Workload, schedule: Schedule, start_ns: int) -> None:
        self._drain_from_ns = schedule.drain_from_ns(start_ns)
        self._latest_ns = self._drain_from_ns + schedule.catch_up_ns
        self._tail_ns = schedule.measure_ns
        self._left = max(
            _AS_GOOD_AS_READ_MESSAGES, round(_AS_GOOD_AS_READ_S * workload.rate_per_s), left_over(workload)
        )

    def found(self, workers: Workers, now_ns: int) -> PhaseEnd | None:
        """What is known at `now_ns` (epoch, the workers' clock)."""
        if now_ns < self._drain_from_ns + SECOND_NS:
            return None
        announced_ns = now_ns + ANNOUNCED_NS
        if announced_ns >= self._latest_ns:
            return PhaseEnd(max(self._latest_ns, announced_ns), max(self._latest_ns, announced_ns), in_time=False)
        if workers.unread(of=CATCH_UP) > self._left:
            return None
        return PhaseEnd(announced_ns, announced_ns + self._tail_ns, in_time=True)
