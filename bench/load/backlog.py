"""Finds out, while it runs, when a backlog has been read, and announces it: ahead, so that no row of the tail is written as one
of the drain. To the second only: how long catching up took is worked out from the records."""

from __future__ import annotations

from dataclasses import dataclass

from bench.load.jobs import CATCH_UP
from bench.load.samples import unread
from bench.load.workers import Workers
from bench.worker.schedule import SECOND_NS, Schedule
from contract.workload import Workload

ANNOUNCED_NS = 3 * SECOND_NS
# Workers tell their counts once a second, each at its own time: below this, nobody knows whether anything is left unread.
_AS_GOOD_AS_READ_S = 1.5
_AS_GOOD_AS_READ_MESSAGES = 1_000


@dataclass(frozen=True)
class Drained:
    """From `drained_ns` on the backlog counts as read, or, unless `caught_up`, it wasn't in the time there was; epoch."""

    drained_ns: int
    end_ns: int
    caught_up: bool

    def order(self) -> dict[str, int]:
        """As workers are told."""
        return {"drained_ns": self.drained_ns, "end_ns": self.end_ns}


def left_over(workload: Workload) -> int:
    """Messages of the backlog that may stay unread."""
    backlog = workload.backlog
    return round((1 - backlog.drained_share) * backlog.size_bytes / workload.message_bytes) if backlog else 0


class BacklogWatch:
    """To be asked again and again; answers once."""

    def __init__(self, workload: Workload, schedule: Schedule, start_ns: int) -> None:
        self._drain_from_ns = schedule.drain_from_ns(start_ns)
        self._latest_ns = self._drain_from_ns + schedule.catch_up_ns
        self._tail_ns = schedule.measure_ns
        self._left = max(
            _AS_GOOD_AS_READ_MESSAGES, round(_AS_GOOD_AS_READ_S * workload.rate_per_s), left_over(workload)
        )

    def found(self, workers: Workers, now_ns: int) -> Drained | None:
        """What is known at `now_ns` (epoch, the workers' clock)."""
        if now_ns < self._drain_from_ns + SECOND_NS:
            return None
        announced_ns = now_ns + ANNOUNCED_NS
        if announced_ns >= self._latest_ns:
            return Drained(max(self._latest_ns, announced_ns), max(self._latest_ns, announced_ns), caught_up=False)
        if unread(workers, of=CATCH_UP) > self._left:
            return None
        return Drained(announced_ns, announced_ns + self._tail_ns, caught_up=True)
