"""The live rules: when a run can't go on. They look at workers and clocks only; what an abort means is analysis' business."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.load.fleet import Fleet, Worker
from provisioning.errors import CommandTimedOut, HostUnreachable

Rule = Literal["nothing-acknowledged", "disk-full", "host-lost", "worker-died", "deployment-failed"]
_HOST_ANSWER_S = 10.0


@dataclass(frozen=True)
class Abort:
    """Why a run was ended before its time; trial.json's `abort`."""

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
    """The abort that one worker's state comes to, if any."""
    name, host = worker.job.worker, worker.host.name
    if worker.state == "lost":
        return Abort("host-lost", "validity", f"{name}: {worker.failure}", host)
    if worker.state == "died":
        return Abort("worker-died", "validity", f"{name}: {worker.failure}", host)
    if worker.state != "failed":
        return None
    if worker.cause == "disk-full":
        return Abort("disk-full", "validity", f"{name} could not write its records: {worker.failure}", host)
    if worker.cause == "client":
        return not_connected(worker)
    return Abort("worker-died", "validity", f"{name}: {worker.failure}", host)


def of_silence(worker: Worker, silence_s: float, now_s: float) -> Abort | None:
    """A worker that has said nothing for long: is its host gone, or it alone?"""
    if worker.over or now_s - worker.heard_s < silence_s:
        return None
    name, host = worker.job.worker, worker.host
    try:
        host.run("true", timeout_s=_HOST_ANSWER_S, check=False)
    except (HostUnreachable, CommandTimedOut) as error:
        worker.state = "lost"
        return Abort("host-lost", "validity", f"{name} fell silent: {error}", host.name)
    worker.state = "died"
    reason = f"{name} has said nothing for {silence_s:g} s though its host answers"
    return Abort("worker-died", "validity", reason, host.name)


class AcknowledgementWatch:
    """Nothing acknowledged for `limit_s` while messages are in flight: the system has stopped answering."""

    def __init__(self, limit_s: float, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._limit_s = limit_s
        self._now_s = now_s
        self._acked = 0
        self._since_s = now_s()

    def check(self, fleet: Fleet) -> Abort | None:
        """To be called after each event; the clock starts with the watch and anew with every acknowledgement."""
        producers = fleet.of_role("producer")
        acked = sum(worker.count("acked") for worker in producers)
        in_flight = sum(worker.count("in_flight") for worker in producers if not worker.over)
        if acked > self._acked or in_flight == 0:
            self._acked, self._since_s = acked, self._now_s()
            return None
        silent_s = self._now_s() - self._since_s
        if silent_s < self._limit_s:
            return None
        reason = f"nothing was acknowledged for {silent_s:.0f} s while {in_flight:,} messages were in flight"
        return Abort("nothing-acknowledged", "outcome", f"{reason}; {acked:,} had been before", None)
