"""The live rules: when a run can't go on. They look at workers and clocks only; hosts and disks are watched by `Hooks.watch`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.load.workers import Worker, Workers
from provisioning.errors import CommandTimedOut, HostUnreachable

Rule = Literal["nothing-acknowledged", "disk-full", "host-lost", "worker-died", "deployment-failed", "native-tool"]
_HOST_ANSWER_S = 10.0
_PROGRESS_S = 1.0  # how late, about, the operator learns of an acknowledgement


@dataclass(frozen=True)
class Abort:
    """Why a run ended early; trial.json's `abort`."""

    rule: Rule
    axis: Literal["outcome", "validity"]
    reason: str
    host: str | None

    def to_json(self) -> dict[str, Any]:
        """As trial.json carries it."""
        return asdict(self)


def not_connected(worker: Worker) -> Abort:
    """A client that found the system not answering, before any load: the system's outcome."""
    name = worker.job.worker
    return Abort("nothing-acknowledged", "outcome", f"{name} could not connect: {worker.failure}", worker.host.name)


def of_worker(worker: Worker) -> Abort | None:
    """The abort that follows from a worker's state, if any; not to be asked about workers that were told to abort."""
    name, host = worker.job.worker, worker.host.name
    if worker.state == "lost":
        return Abort("host-lost", "validity", f"{name}: {worker.failure}", host)
    if worker.state == "died":
        return Abort("worker-died", "validity", f"{name}: {worker.failure}", host)
    if worker.state == "done" and (why := worker.latest.get("aborted")):
        return Abort("worker-died", "validity", f"{name} gave up before the load, which was late: {why}", host)
    if worker.state != "failed":
        return None
    if worker.cause == "disk-full":
        return Abort("disk-full", "validity", f"{name} could not write its records: {worker.failure}", host)
    if worker.cause == "client":
        return not_connected(worker)
    return Abort("worker-died", "validity", f"{name}: {worker.failure}", host)


def of_silence(worker: Worker, silence_s: float, now_s: float, *, since_s: float) -> Abort | None:
    """A worker that has sent nothing for long: has its host gone, or only the worker?

    `since_s`: when all were told to start. Before that, a worker that is ready sends nothing while it waits for the others.
    """
    if worker.over or now_s - max(worker.heard_s, since_s) < silence_s:
        return None
    name, host = worker.job.worker, worker.host
    try:
        host.run("true", timeout_s=_HOST_ANSWER_S, check=False)
    except (HostUnreachable, CommandTimedOut) as error:
        worker.state = "lost"
        return Abort("host-lost", "validity", f"{name} fell silent: {error}", host.name)
    worker.state = "died"
    reason = f"{name} sent nothing for {silence_s:g} s, although its host answers"
    return Abort("worker-died", "validity", reason, host.name)


class AcknowledgementWatch:
    """Nothing acknowledged for `limit_s` while messages are in flight or fail: the system has stopped answering."""

    def __init__(self, limit_s: float, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._limit_s, self._now_s = limit_s, now_s
        self._acked = self._failed = 0
        self._since_s = now_s()

    def check(self, workers: Workers) -> Abort | None:
        """To be called after each event; the clock starts with the watch and anew with every acknowledgement."""
        acked, failed, in_flight = self._counts(workers)
        if acked > self._acked or (in_flight == 0 and failed == self._failed):
            self._acked, self._failed, self._since_s = acked, failed, self._now_s()
            return None
        return self._silence(workers, self._limit_s)

    def check_end(self, workers: Workers, load_ends_s: float) -> Abort | None:
        """Once all producers have given up: has the system left them without any answer since the schedule's end?"""
        _, _, in_flight = self._counts(workers)
        answered = self._since_s > load_ends_s + _PROGRESS_S
        return self._silence(workers, 0.0) if in_flight and not answered else None

    def _silence(self, workers: Workers, limit_s: float) -> Abort | None:
        silent_s = self._now_s() - self._since_s
        if silent_s < limit_s:
            return None
        acked, failed, in_flight = self._counts(workers)
        reason = f"nothing was acknowledged for {silent_s:.0f} s while {in_flight:,} messages were in flight"
        if failed > self._failed:
            reason += f" and {failed - self._failed:,} failed"
        return Abort("nothing-acknowledged", "outcome", f"{reason}; {acked:,} had been before", None)

    @staticmethod
    def _counts(workers: Workers) -> tuple[int, int, int]:
        """Acknowledged, failed, in flight, over all producers; what a producer gave up at its end stays in flight."""
        acked, failed, in_flight = (workers.total("producer", name) for name in ("acked", "errors", "in_flight"))
        return acked, failed, in_flight
