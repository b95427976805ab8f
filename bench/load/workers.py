"""The workers of a run as the operator sees them: given jobs, listened to, counted, ended."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Any, Literal

from bench.worker.job import Job
from bench.worker.schedule import SECOND_NS
from provisioning.errors import CommandTimedOut, HostError, HostUnreachable
from provisioning.hosts.host import Host, RemoteProcess
from systems.settings import joined

_EXIT_TIMEOUT_S = 15.0
_LAST_WORDS_TIMEOUT_S = 3.0
_EVIDENCE_CHARACTERS = 400


@dataclass(frozen=True)
class RecordFile:
    """A whole record file on a client host, relative to the run's directory there."""

    host: str
    name: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class Sample:
    """One worker's totals at `at_s` after the start instant; `lag_ns`: how late its next message is. `in_flight`: a producer's."""

    worker: str
    role: str
    subscription: str | None
    at_s: float
    messages: int  # acknowledged by a producer's brokers, received by a consumer
    lag_ns: int
    in_flight: int = 0


@dataclass
class Worker:
    """One worker and the latest that is known of its job. Changed by `Workers` only, on the operator's main thread."""

    job: Job
    host: Host
    process: RemoteProcess
    state: Literal["starting", "ready", "done", "failed", "died", "lost"] = "starting"
    latest: dict[str, Any] = field(default_factory=dict)  # the last progress, then done
    failure: str = ""
    cause: str = ""
    ready_offset_ns: int = 0  # its clock less our monotonic clock, at its ready
    client: Mapping[str, str] = field(default_factory=dict)  # what its client library runs with
    heard_s: float = field(default_factory=time.monotonic)
    files: list[RecordFile] = field(default_factory=list)
    sampled_ns: int = 0  # the time of its last sample

    @property
    def over(self) -> bool:
        """Nothing more is to come from it."""
        return self.state in ("done", "failed", "died", "lost")

    def count(self, name: str) -> int:
        """A counter of its latest event; 0 before there is one."""
        return int(self.latest.get(name) or 0)


class Workers:
    """Turns the workers' events into changes of `Worker`; one listening thread each."""

    def __init__(self) -> None:
        self.all: list[Worker] = []
        self.samples: list[Sample] = []
        self._lines: Queue[tuple[Worker, str | Exception | None]] = Queue()

    def add(self, job: Job, host: Host, process: RemoteProcess) -> None:
        """Gives a worker process that has just been started on `host` its first job. Raises HostError."""
        worker = Worker(job, host, process)
        self.all.append(worker)
        process.send_line(job.to_line())
        threading.Thread(target=self._listen, args=(worker,), name=f"listen-{job.worker}", daemon=True).start()

    def assign(self, jobs: Sequence[Job]) -> None:
        """Gives each worker another job; only when all are done with theirs. Raises HostError."""
        self.samples = []
        for worker, job in zip(self.all, jobs, strict=True):
            worker.job, worker.state, worker.latest, worker.files = job, "starting", {}, []
            worker.heard_s = time.monotonic()
            worker.process.send_line(job.to_line())

    def of_role(self, role: str) -> list[Worker]:
        """Producers or consumers, in the order of their index."""
        return [worker for worker in self.all if worker.job.role == role]

    def total(self, role: str, name: str) -> int:
        """A counter's sum over the workers of a role."""
        return sum(worker.count(name) for worker in self.of_role(role))

    def received(self) -> dict[str, int]:
        """What each subscription has received so far, over all its consumers."""
        received: dict[str, int] = defaultdict(int)
        for worker in self.of_role("consumer"):
            received[worker.job.subscription or ""] += worker.count("received")
        return received

    def unread(self, *, of: str = "") -> int:
        """Acknowledged and not received, of the subscription that is furthest behind (of those whose name begins with `of`)."""
        acked = self.total("producer", "acked")
        return max(0, acked - min((n for name, n in self.received().items() if name.startswith(of)), default=acked))

    def sample(self, worker: Worker, start_ns: int) -> None:
        """Keeps what a worker counted last, unless it is kept; `start_ns` is the start instant (epoch, the workers' clock).

        For short runs: what is kept grows with the time.
        """
        job, at_ns = worker.job, worker.count("at_ns")
        if at_ns <= worker.sampled_ns:
            return
        worker.sampled_ns = at_ns
        self.samples.append(
            Sample(
                worker=job.worker,
                role=job.role,
                subscription=job.subscription,
                at_s=(at_ns - start_ns) / SECOND_NS,
                messages=worker.count("acked" if job.role == "producer" else "received"),
                lag_ns=worker.count("lag_ns"),
                in_flight=worker.count("in_flight"),
            )
        )

    def observations(self) -> tuple[Mapping[str, Any], ...]:
        """An entry per worker, as trial.json carries it; null for what a worker that died could not tell any more."""
        return tuple(
            {
                "worker": worker.job.worker,
                "role": worker.job.role,
                "host": worker.host.name,
                "state": worker.state,
                **{name: worker.latest.get(name) for name in ("cpu_s", "wall_s", "measured", "rss_peak_bytes")},
                "rows": sum(file.rows for file in worker.files),
                "bytes": sum(file.bytes for file in worker.files),
                "errors": worker.latest.get("errors"),
                "unanswered": worker.latest.get("in_flight"),
                "client_errors": worker.latest.get("client_errors"),
                "repeated": worker.latest.get("repeated"),
                "late": worker.latest.get("late"),
                "foreign": worker.latest.get("foreign"),
            }
            for worker in self.all
        )

    def clients(self) -> dict[str, dict[str, str]]:
        """What the client libraries run with, by role: where workers of a role differ, every value shows."""
        of_roles = {role: [worker.client for worker in self.of_role(role)] for role in ("producer", "consumer")}
        return {role: joined(alike) for role, alike in of_roles.items() if alike and all(alike)}

    def first_acknowledgement_ms(self) -> float | None:
        """The slowest producer's time to its first acknowledgement: from connecting to its probe, else from the start instant."""
        times = [worker.latest.get("first_acknowledgement_ms") for worker in self.of_role("producer")]
        known = [float(time_ms) for time_ms in times if time_ms is not None]
        return max(known) if known and len(known) == len(times) else None

    def progress_line(self, left_s: float) -> str:
        """How far the load is, for a person."""
        sent, acked, errors = (self.total("producer", name) for name in ("sent", "acked", "errors"))
        lag_ms = max((worker.count("lag_ns") for worker in self.of_role("producer")), default=0) / 1e6
        parts = [f"{sent:,} sent", f"{acked:,} acknowledged", f"{self.total('consumer', 'received'):,} received"]
        parts += [f"{errors:,} errors"] if errors else []
        parts += [f"sends {lag_ms:,.0f} ms late"] if lag_ms >= 100 else []
        return f"{', '.join(parts)}, {f'{left_s:.0f} s left' if left_s > 0 else 'draining'}"

    def tell(self, workers: Sequence[Worker], order: Mapping[str, Any]) -> None:
        """Sends one order; a worker that can't be told any more will show as lost or died."""
        for worker in workers:
            try:
                worker.process.send_line(json.dumps(order))
            except HostUnreachable as error:
                self._lines.put((worker, error))
            except HostError:
                continue  # it has ended already: its listener notices

    def next(self, timeout_s: float) -> Worker | None:
        """Waits for an event of any worker, notes it there, and returns that worker; None after `timeout_s`."""
        try:
            worker, line = self._lines.get(timeout=timeout_s)
        except Empty:
            return None
        worker.heard_s = time.monotonic()
        if isinstance(line, str):
            self._note(worker, line)
        elif not worker.over:
            lost = isinstance(line, HostUnreachable)
            worker.state = "lost" if lost else "died"
            worker.failure = str(line) if line is not None else self._last_words(worker)
        return worker

    def close(self) -> None:
        """Ends every process, in its own time if it is done; bounded, never raises."""

        def end(worker: Worker) -> None:
            if worker.state in ("done", "failed"):
                with suppress(HostError):
                    if worker.state == "done":
                        worker.process.send_line(json.dumps({"leave": True}))
                    worker.process.wait(timeout_s=_EXIT_TIMEOUT_S)
            worker.process.close()

        threads = [threading.Thread(target=end, args=(worker,), daemon=True) for worker in self.all]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * _EXIT_TIMEOUT_S)

    def _listen(self, worker: Worker) -> None:
        try:
            for line in worker.process.lines():
                self._lines.put((worker, line))
            self._lines.put((worker, None))
        except Exception as error:
            self._lines.put((worker, error))

    def _note(self, worker: Worker, line: str) -> None:
        try:
            event: dict[str, Any] = json.loads(line)
            kind = event.pop("event")
        except (ValueError, KeyError, TypeError, AttributeError):
            worker.state, worker.failure = "failed", f"it wrote a malformed event: {line[:_EVIDENCE_CHARACTERS]!r}"
            return
        if kind == "ready":
            worker.state = "ready"
            worker.ready_offset_ns = int(event["now_ns"]) - time.monotonic_ns()
            worker.client = dict(event.get("client") or {})
        elif kind == "progress":
            worker.latest = event
        elif kind == "file":
            worker.files.append(RecordFile(worker.host.name, **event))
        elif kind == "done":
            worker.latest, worker.state = event, "done"
        elif kind == "failed":
            worker.state, worker.failure, worker.cause = "failed", str(event["error"]), str(event["cause"])

    @staticmethod
    def _last_words(worker: Worker) -> str:
        try:
            completed = worker.process.wait(timeout_s=_LAST_WORDS_TIMEOUT_S)
        except CommandTimedOut:
            return "its output ended, but it is still running"
        except HostError as error:
            return str(error)
        tail = completed.stderr.strip()[-_EVIDENCE_CHARACTERS:]
        how = "was killed by a signal" if completed.exit_status < 0 else f"ended with status {completed.exit_status}"
        return f"it {how} before it was done. {tail}".rstrip()
