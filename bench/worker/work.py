"""One worker's work from job to last file, whatever process or thread it runs in. Talks through `emit`, listens to a Control.

1. connect, unless it is; a producer with a probe topic gets one message acknowledged there -> ready
2. wait for the start instant
3. send or receive, a progress event twice a second                              -> progress, file
4. write what is left                                                             -> done (or failed, at any step)
5. disconnect, unless all was answered: then the next job may go on with the connection
"""

from __future__ import annotations

import dataclasses
import errno
import importlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from bench.worker.clock import anchored_clock
from bench.worker.closed_loop import SMALL_WINDOW, ClosedLoop
from bench.worker.connection import Connection
from bench.worker.consumer import receive_until_started, receive_until_told, release_at
from bench.worker.control import Control
from bench.worker.in_flight_window import Handover
from bench.worker.job import Cause, Job
from bench.worker.message import message_maker
from bench.worker.open_loop import Chunks, SendingLoop, chunks_of
from bench.worker.receive_log import Batch, ConsumedBook
from bench.worker.records import WrittenFile
from bench.worker.schedule import SECOND_NS
from bench.worker.send_log import ProducedBook
from bench.worker.usage import Usage
from systems.client import ClientError, ClientModule

Emit = Callable[[str, Mapping[str, Any]], None]
PROGRESS_EVERY_S = 0.5
# Beyond schedule and drain, for a consumer whose operator has vanished without closing the connection.
_FORGOTTEN_AFTER_NS = 120 * SECOND_NS


def work(
    job: Job, control: Control, connection: Connection, emit: Emit, *, heartbeat: Callable[[], None] = lambda: None
) -> bool:
    """Does the job; False when it failed, which has been emitted then. `heartbeat` is called while it is alive."""
    try:
        module = cast(ClientModule, importlib.import_module(job.client.module))
        if job.role == "producer":
            _produce(job, module, control, connection, emit, heartbeat)
        else:
            _consume(job, module, control, connection, emit, heartbeat)
        return True
    except Exception as error:
        emit("failed", {"cause": _cause(error), "error": f"{type(error).__name__}: {error}"})
        return False


def _cause(error: Exception) -> Cause:
    if isinstance(error, ClientError):
        return "client"
    return "disk-full" if isinstance(error, OSError) and error.errno == errno.ENOSPC else "worker"


def _produce(
    job: Job, module: ClientModule, control: Control, connection: Connection, emit: Emit, heartbeat: Callable[[], None]
) -> None:
    clock = anchored_clock()
    answered = threading.Event() if job.closed_loop and job.client.workload.in_flight <= SMALL_WINDOW else None
    book = ProducedBook(
        job.index, clock.anchor_ns, Path(job.output_dir), _file_noted(emit),
        first_partition=job.first_partition, on_settled=answered.set if answered is not None else None,
    )  # fmt: skip
    make = message_maker(
        job.client.workload.message_bytes,
        job.client.workload.compressible_share,
        seed=job.schedule.seed,
        producer=job.index,
        run=job.run,
        pool=job.client.workload.payload_pool,
    )
    client, probed_ms = connection.producer(job, module, book)
    emit("ready", {"now_ns": clock.now_ns(), "client": dict(client.configuration())})
    start_ns = control.await_start(job.start_timeout_s)
    if start_ns is None:
        connection.close()
        emit("done", {"rows": 0, "aborted": control.abort_reason})
        return
    book.begin(lambda: job.schedule.phases(start_ns, control.drained_ns, control.end_ns))
    handover = Handover(
        client, book, control,
        in_flight=job.client.workload.in_flight, anchor_ns=clock.anchor_ns,
        deadline_ns=start_ns - clock.anchor_ns + job.schedule.duration_ns + job.drain_ns, drain_ns=job.drain_ns,
    )  # fmt: skip
    loop: SendingLoop | ClosedLoop
    if job.closed_loop:
        chunks: Chunks = iter(())
        loop = ClosedLoop(handover, make, job.schedule, answered)
        run = partial(loop.run, start_ns)
    else:
        chunks = chunks_of(job.schedule, job.index, start_ns)
        loop = SendingLoop(handover, make, job.schedule.mean_gap_ns)
        run = partial(loop.run, chunks)
    usage = Usage(clock, start_ns)

    def counts() -> dict[str, Any]:
        return {
            "at_ns": clock.now_ns(),
            "sent": handover.sent,
            "acked": book.acked,
            "errors": book.failures,
            "in_flight": book.in_flight,
            "lag_ns": loop.lag_ns(),
        }

    with _Background(book.sweep, counts, usage, emit, heartbeat):
        run()
    spent = usage.spent(job.schedule.measured(start_ns, control.drained_ns, control.end_ns))
    book.close(chunks, min(clock.now_ns(), control.end_ns - 1))
    control.require_in_time()
    first_ms = probed_ms if probed_ms is not None else _first_ack_ms(book, start_ns - clock.anchor_ns)
    emit("done", {**counts(), **spent, "repeated": book.repeated, "first_acknowledgement_ms": first_ms})
    if book.in_flight or book.failures:
        connection.close()


def _first_ack_ms(book: ProducedBook, start_monotonic_ns: int) -> float | None:
    return None if book.first_ack_ns is None else (book.first_ack_ns - start_monotonic_ns) / 1e6


def _consume(
    job: Job, module: ClientModule, control: Control, connection: Connection, emit: Emit, heartbeat: Callable[[], None]
) -> None:
    clock = anchored_clock()
    subscription = job.subscription or ""
    book = ConsumedBook(
        job.index, subscription, job.run, clock.anchor_ns, Path(job.output_dir), _file_noted(emit),
        first_partition=job.first_partition,
    )  # fmt: skip
    client = connection.consumer(job, module)
    errors_before = Counter(client.errors())
    if job.held_back:
        client.hold()
    emit("ready", {"now_ns": clock.now_ns(), "client": dict(client.configuration())})
    start_ns = receive_until_started(client, book, control, timeout_s=job.start_timeout_s)
    if start_ns is None:
        connection.close()
        emit("done", {"rows": 0, "aborted": control.abort_reason})
        return
    book.begin(lambda: job.schedule.phases(start_ns, control.drained_ns, control.end_ns))
    # producers may drain first, then consumers: each has drain_s
    end_ns = start_ns - clock.anchor_ns + job.schedule.duration_ns + 2 * job.drain_ns + _FORGOTTEN_AFTER_NS
    usage = Usage(clock, start_ns)
    waiting: SimpleQueue[Batch] = SimpleQueue()

    def errors() -> Counter[str]:
        return Counter(client.errors()) - errors_before

    def write_waiting() -> None:
        while not waiting.empty():
            book.write(waiting.get())

    def counts() -> dict[str, Any]:
        return {
            "at_ns": clock.now_ns(),
            "received": book.received,
            "foreign": book.foreign,
            "errors": sum(errors().values()),
        }

    with _Background(write_waiting, counts, usage, emit, heartbeat):
        if job.held_back:
            release_at(client, control, job.schedule.drain_from_ns(start_ns) - clock.anchor_ns)
        receive_until_told(client, book, control, waiting.put, deadline_ns=end_ns)
    spent = usage.spent(job.schedule.measured(start_ns, control.drained_ns, control.end_ns))
    write_waiting()
    book.write(book.take())
    control.require_in_time()
    emit("done", {**counts(), **spent, "errors_by_name": dict(errors())})


def _file_noted(emit: Emit) -> Callable[[WrittenFile], None]:
    return lambda file: emit("file", dataclasses.asdict(file))


class _Background:
    """The thread beside a loop: writes files, notes usage, emits progress at its pace. Its failure is raised at the loop's end."""

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
