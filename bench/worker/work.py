"""One worker's job from connecting to the last file. It reports through `emit` and takes its orders from a Control.

1. connect, unless connected; a producer with a probe topic first has one message acknowledged there -> ready
2. wait for the start instant
3. send or receive, with a progress event twice a second                             -> progress, file
4. write what is left                                                                -> done (or failed, at any step)
5. disconnect, unless every message was answered: then the next job may reuse the connection
"""

from __future__ import annotations

import errno
import importlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from bench.worker.clock import Clock, anchored_clock
from bench.worker.closed_loop import SMALL_WINDOW, ClosedLoop
from bench.worker.connection import Connection
from bench.worker.consumer import receive_until_started, receive_until_told, release_at
from bench.worker.control import Control
from bench.worker.in_flight_window import InFlightWindow
from bench.worker.job import Cause, Job
from bench.worker.message import message_maker
from bench.worker.open_loop import SendingLoop
from bench.worker.receive_log import Batch, ReceiveLog
from bench.worker.recent_latency import RecentLatency
from bench.worker.records import RecordFiles
from bench.worker.schedule import SECOND_NS
from bench.worker.send_log import SendLog
from bench.worker.usage import Usage
from systems.client import ClientError, ClientModule, Consumer, Producer

Emit = Callable[[str, Mapping[str, Any]], None]
PROGRESS_EVERY_S = 0.5
# Beyond schedule and drain, for a consumer whose operator is gone without having closed the connection.
_FORGOTTEN_AFTER_NS = 120 * SECOND_NS


def work(
    job: Job, control: Control, connection: Connection, emit: Emit, *, heartbeat: Callable[[], None] = lambda: None
) -> bool:
    """Does the job; False when it failed, which has been emitted then. `heartbeat` is called again and again while it runs."""
    try:
        module = cast(ClientModule, importlib.import_module(job.client.module))
        doing = _Work(job, module, control, connection, emit, heartbeat, anchored_clock())
        doing.produce() if job.role == "producer" else doing.consume()
        return True
    except Exception as error:
        emit("failed", {"cause": _cause(error), "error": f"{type(error).__name__}: {error}"})
        return False


def _cause(error: Exception) -> Cause:
    if isinstance(error, ClientError):
        return "client"
    return "disk-full" if isinstance(error, OSError) and error.errno == errno.ENOSPC else "worker"


@dataclass(frozen=True)
class _Work:
    job: Job
    module: ClientModule
    control: Control
    connection: Connection
    emit: Emit
    heartbeat: Callable[[], None]
    clock: Clock

    def produce(self) -> None:
        job, control, workload = self.job, self.control, self.job.client.workload
        answered = threading.Event() if job.closed_loop and workload.in_flight <= SMALL_WINDOW else None
        log = SendLog(job.index, self._files(), on_settled=answered.set if answered is not None else None)
        make = message_maker(
            workload.message_bytes,
            workload.compressible_share,
            seed=job.schedule.seed,
            producer=job.index,
            run=job.run,
            pool=workload.payload_pool,
        )
        client, probed_ms = self.connection.producer(job, self.module, log)
        errors_before = Counter(client.errors())
        self._ready(client)
        start_ns = control.await_start(job.start_timeout_s)
        if start_ns is None:
            self._aborted()
            return
        start_monotonic_ns = start_ns - self.clock.anchor_ns
        window = InFlightWindow(
            client, log, control,
            size=workload.in_flight, anchor_ns=self.clock.anchor_ns,
            deadline_ns=start_monotonic_ns + job.schedule.duration_ns + job.drain_ns, drain_ns=job.drain_ns,
        )  # fmt: skip
        loop: SendingLoop | ClosedLoop
        if job.closed_loop:
            loop = ClosedLoop(window, make, job.schedule, start_ns, answered)
        else:
            loop = SendingLoop(window, make, job.schedule, start_ns, job.index)
        usage = Usage(self.clock, start_ns)
        recent = RecentLatency(log) if job.schedule.until_steady else None

        def counts() -> dict[str, Any]:
            return {
                "at_ns": self.clock.now_ns(),
                **(recent.look() if recent is not None else {}),
                "sent": window.sent,
                "acked": log.acked,
                "errors": log.failures,
                "in_flight": log.in_flight,
                "lag_ns": loop.lag_ns(),
            }

        with _Background(log.sweep, counts, usage, self.emit, self.heartbeat):
            loop.run()
        spent = usage.spent(job.schedule.measured(*self._instants()))
        log.close(loop.rest, min(self.clock.now_ns(), control.end_ns - 1))
        control.require_in_time()
        first_ms = probed_ms
        if first_ms is None and log.first_ack_ns is not None:
            first_ms = (log.first_ack_ns - start_monotonic_ns) / 1e6
        told = {"repeated": log.repeated, "late": log.late, "first_acknowledgement_ms": first_ms}
        client_errors = dict(Counter(client.errors()) - errors_before)
        self.emit("done", {**counts(), **spent, **told, "client_errors": client_errors})
        if log.in_flight or log.failures or client_errors:
            self.connection.close()  # an answer may still come, and would count for a message of the next job

    def consume(self) -> None:
        job, control, clock = self.job, self.control, self.clock
        log = ReceiveLog(job.index, job.subscription or "", job.run, self._files())
        client = self.connection.consumer(job, self.module)
        errors_before = Counter(client.errors())
        if job.held_back:
            client.hold()
        self._ready(client)
        start_ns = receive_until_started(client, log, control, timeout_s=job.start_timeout_s)
        if start_ns is None:
            self._aborted()
            return
        # producers may drain first, then consumers: each has drain_s
        end_ns = start_ns - clock.anchor_ns + job.schedule.duration_ns + 2 * job.drain_ns + _FORGOTTEN_AFTER_NS
        usage = Usage(clock, start_ns)
        waiting: SimpleQueue[Batch] = SimpleQueue()

        def errors() -> Counter[str]:
            return Counter(client.errors()) - errors_before

        def write_waiting() -> None:
            while not waiting.empty():
                log.write(waiting.get())
            log.tick()

        def counts() -> dict[str, Any]:
            return {
                "at_ns": clock.now_ns(),
                "received": log.received,
                "foreign": log.foreign,
                "errors": sum(errors().values()),
            }

        with _Background(write_waiting, counts, usage, self.emit, self.heartbeat):
            if job.held_back:
                release_at(client, control, job.schedule.drain_from_ns(start_ns) - clock.anchor_ns)
            receive_until_told(client, log, control, waiting.put, deadline_ns=end_ns)
        spent = usage.spent(job.schedule.measured(*self._instants()))
        write_waiting()
        log.close()
        control.require_in_time()
        self.emit("done", {**counts(), **spent, "client_errors": dict(errors())})

    def _files(self) -> RecordFiles:
        return RecordFiles(
            Path(self.job.output_dir),
            self.clock.anchor_ns,
            lambda: self.job.schedule.phases(*self._instants()),
            lambda file: self.emit("file", asdict(file)),
            self.job.first_partition,
        )

    def _instants(self) -> tuple[int, int | None, int]:
        """The start of the run, the end of the phase whose length shows, and the end of the load, as known so far."""
        return self.control.start_ns or 0, self.control.phase_ends_ns, self.control.end_ns

    def _ready(self, client: Producer | Consumer) -> None:
        self.emit("ready", {"now_ns": self.clock.now_ns(), "client": dict(client.configuration())})

    def _aborted(self) -> None:
        self.connection.close()
        self.emit("done", {"rows": 0, "aborted": self.control.abort_reason})


class _Background:
    """The thread beside a loop: writes files, notes usage and emits progress. Its failure is raised when the loop ends."""

    def __init__(
        self,
        write: Callable[[], None],
        counts: Callable[[], Mapping[str, Any]],
        usage: Usage,
        emit: Emit,
        heartbeat: Callable[[], None],
    ) -> None:
        self._write, self._counts, self._emit, self._heartbeat = write, counts, emit, heartbeat
        self._usage = usage
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="progress-and-files", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._failure is not None and raised[0] is None:
            raise self._failure

    def _run(self) -> None:
        next_s = time.monotonic()
        while not self._ended.wait(max(0.0, next_s - time.monotonic())):
            next_s += PROGRESS_EVERY_S
            self._heartbeat()
            self._usage.note()
            self._emit("progress", self._counts())
            try:
                self._write()
            except BaseException as error:
                self._failure = error
                self._emit(
                    "failed",
                    {"cause": _cause(error) if isinstance(error, Exception) else "worker", "error": str(error)},
                )
                return
