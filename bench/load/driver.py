"""Drives one load from the operator's side: places workers, starts them together, follows them, ends them. It judges nothing.

1. start a worker process per producer and consumer, round robin over the client hosts; wait until each is ready
2. give all of them one start instant (in the clients' own clock)
3. follow the progress; a live rule (bench.load.abort) may end the run early
4. when the producers are done, wait until consumers have received all that was acknowledged, then stop them
"""

from __future__ import annotations

import dataclasses
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.load.abort import Abort, AcknowledgementWatch, of_silence, of_worker
from bench.load.backlog import BacklogWatch, Drained
from bench.load.collect import collect_records
from bench.load.fleet import Fleet, RecordFile
from bench.load.jobs import jobs_of
from bench.load.observe import first_acknowledgement_ms, progress_line, worker_observations
from bench.load.samples import Sample, Sampling, received_by_subscription, unread
from bench.schedule import SECOND_NS, Phase, Schedule
from bench.workload import Workload
from provisioning.errors import InvalidInput
from provisioning.host import Host

__all__ = ["RECORDS", "Limits", "LoadResult", "LoadSpec", "collect_records", "limits_for", "run_load"]

RECORDS = "load"  # where runs keep their records, below a client host's root
_TICK_S = 0.25


@dataclass(frozen=True)
class Limits:
    """How long what may take. `quiet_s`: how long nothing more must arrive before consumers count as drained."""

    ready_s: float = 90.0
    lead_s: float = 0.5
    nothing_acknowledged_s: float = 30.0
    silence_s: float = 30.0
    quiet_s: float = 1.5
    stalled_drain_s: float = 20.0
    ending_s: float = 30.0
    delivery_timeout_s: float = 60.0
    connect_timeout_s: float = 60.0


# What connecting to a partition may take: several times what it took on two busy cores.
_CONNECT_PARTITION_S = 0.03


def limits_for(workload: Workload) -> Limits:
    """The usual limits, with time to connect to so many partitions."""
    more_s = _CONNECT_PARTITION_S * workload.topics * workload.partitions
    return Limits(ready_s=Limits.ready_s + more_s, connect_timeout_s=Limits.connect_timeout_s + more_s)


@dataclass(frozen=True)
class LoadSpec:
    """One load. `probe_topic`, where the deployment made one, gets one message per producer before any is measured.

    `sampled`: keep what the workers count while it runs.
    """

    workload: Workload
    client_module: str
    service_url: str
    client_settings: Mapping[str, str]
    topics: tuple[str, ...]
    seed: int
    probe_topic: str | None = None
    sampled: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class LoadResult:
    """What came of a load. The record files stay on the client hosts, under `directory` of each root, until collected.

    `samples`: only of a load that asked for them. `caught_up`: whether a backlog was read in time; None = there was none, or
    the run ended before. `unread`: acknowledged and not received at the end, of the subscription that is furthest behind.
    `observations`: what else is to be kept of it with the trial.
    """

    directory: str
    phases: tuple[Mapping[str, Any], ...]
    workers: tuple[Mapping[str, Any], ...]
    files: tuple[RecordFile, ...]
    samples: tuple[Sample, ...]
    caught_up: bool | None
    unread: int
    first_acknowledgement_ms: float | None
    abort: Mapping[str, Any] | None
    observations: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # collecting removes this folder on every client host: it must never be the host's root
        if not re.fullmatch(rf"{RECORDS}/[0-9a-z-]+", self.directory):
            raise ValueError(f"{self.directory!r} is no folder of a run's records, such as {RECORDS}/0a1b2c3d")

    @property
    def produced_rows(self) -> int:
        """Rows in the produced files, as counted by their writers."""
        return sum(file.rows for file in self.files if file.name.startswith("produced/"))

    @property
    def consumed_rows(self) -> int:
        """Rows in the consumed files, as counted by their writers."""
        return sum(file.rows for file in self.files if file.name.startswith("consumed/"))


def run_load(
    spec: LoadSpec,
    hosts: Sequence[Host],
    pythons: Mapping[str, str],
    *,
    on_progress: Callable[[str], None] = lambda _text: None,
    watch: Callable[[], Abort | None] = lambda: None,
) -> LoadResult:
    """Runs one load over `hosts` (clients); `pythons` maps host name to the shell words that run Python there.

    `watch` is asked several times a second, must answer at once, and ends the run by what it has seen beyond the workers.
    A run that a live rule ends has `abort` set; it isn't an exception. Raises HostError when a worker can't be started.
    Whatever is raised (also KeyboardInterrupt), no worker is left behind.
    """
    if not hosts:
        raise InvalidInput(
            "no client hosts to place workers on.", next_step="Give the testbed at least one client host."
        )
    run = secrets.randbits(32)
    directory = f"{RECORDS}/{run:08x}"
    fleet = Fleet()
    schedule = schedule_of(spec)
    try:
        for number, job in enumerate(jobs_of(spec, schedule, run)):
            host = hosts[number % len(hosts)]
            placed = dataclasses.replace(job, output_dir=f"{host.record.root}/{directory}")
            fleet.start(placed, host, pythons[host.name])
        run_of_fleet = _Run(spec, schedule, fleet, on_progress, watch)
        abort = run_of_fleet.follow()
    finally:
        fleet.close()
    return LoadResult(
        directory=directory,
        phases=tuple(dataclasses.asdict(phase) for phase in run_of_fleet.phases()),
        workers=worker_observations(fleet),
        files=tuple(file for worker in fleet.workers for file in worker.files),
        samples=tuple(run_of_fleet.sampling.samples),
        caught_up=run_of_fleet.drained.caught_up if run_of_fleet.drained is not None else None,
        unread=unread(fleet),
        first_acknowledgement_ms=first_acknowledgement_ms(fleet),
        abort=abort.to_json() if abort is not None else None,
    )


def schedule_of(spec: LoadSpec) -> Schedule:
    """The workload's schedule."""
    workload = spec.workload
    return Schedule(
        rate_per_s=workload.rate_per_s,
        producers=workload.producers,
        arrivals=workload.arrivals,
        warmup_ns=round(workload.warmup_s * SECOND_NS),
        measure_ns=round(workload.measure_s * SECOND_NS),
        seed=spec.seed,
        build_ns=round(workload.build_s * SECOND_NS),
        catch_up_ns=round(workload.backlog.catch_up_s * SECOND_NS) if workload.backlog else 0,
    )


class _Run:
    """One run from ready to done. The first abort ends it; what was recorded until then is kept."""

    def __init__(
        self, spec: LoadSpec, schedule: Schedule, fleet: Fleet, on_progress: Callable[[str], None],
        watch: Callable[[], Abort | None],
    ) -> None:  # fmt: skip
        self._spec, self._limits = spec, spec.limits
        self._schedule = schedule
        self._fleet = fleet
        self._on_progress = on_progress
        self._watch = watch
        self._start_ns: int | None = None
        self.drained: Drained | None = None
        self.sampling = Sampling()

    def follow(self) -> Abort | None:
        abort = self._await_ready()
        if abort is None:
            self._offset_ns = max(worker.ready_offset_ns for worker in self._fleet.workers)
            self._start_ns = self._now_ns() + round(self._limits.lead_s * SECOND_NS)
            self._fleet.tell(self._fleet.workers, {"start_ns": self._start_ns})
            self._told_s = time.monotonic()
            self._load_ends_s = self._told_s + self._limits.lead_s + self._schedule.duration_ns / SECOND_NS
            abort = self._follow_producers(self._start_ns) or self._drain()
        self._end(abort)
        return abort

    def phases(self) -> tuple[Phase, ...]:
        """As they came about; none if the load never started."""
        if self._start_ns is None:
            return ()
        if self.drained is None:
            return self._schedule.phases(self._start_ns)
        return self._schedule.phases(self._start_ns, self.drained.drained_ns, self.drained.end_ns)

    def _now_ns(self) -> int:
        """Since the epoch, by the workers' clock."""
        return self._offset_ns + time.monotonic_ns()

    def _await_ready(self) -> Abort | None:
        deadline = time.monotonic() + self._limits.ready_s
        while any(worker.state == "starting" for worker in self._fleet.workers):
            self._fleet.next(_TICK_S)
            abort = self._worker_abort() or self._watch()
            if abort is not None:
                return abort
            if time.monotonic() > deadline:
                late = [worker for worker in self._fleet.workers if worker.state == "starting"]
                names = ", ".join(worker.job.worker for worker in late)
                reason = f"{names} not connected within {self._limits.ready_s:g} s"
                return Abort("nothing-acknowledged", "outcome", reason, late[0].host.name)
            ready = sum(worker.state == "ready" for worker in self._fleet.workers)
            self._on_progress(f"{ready} of {len(self._fleet.workers)} workers ready")
        return None

    def _worker_abort(self) -> Abort | None:
        return next((abort for worker in self._fleet.workers if (abort := of_worker(worker)) is not None), None)

    def _follow_producers(self, start_ns: int) -> Abort | None:
        watch = AcknowledgementWatch(self._limits.nothing_acknowledged_s)
        backlog = BacklogWatch(self._spec.workload, self._schedule, start_ns) if self._spec.workload.backlog else None
        producers = self._fleet.of_role("producer")
        while not all(worker.over for worker in producers):
            abort = self._step() or watch.check(self._fleet)
            if abort is not None:
                return abort
            if backlog is not None and self.drained is None:
                self._look_at(backlog)
        return watch.check_end(self._fleet, self._load_ends_s)

    def _look_at(self, backlog: BacklogWatch) -> None:
        self.drained = backlog.found(self._fleet, self._now_ns())
        if self.drained is not None:
            self._fleet.tell(self._fleet.workers, self.drained.order())
            self._load_ends_s = time.monotonic() + (self.drained.end_ns - self._now_ns()) / SECOND_NS

    def _drain(self) -> Abort | None:
        """Waits until every subscription has what was acknowledged and nothing more comes, or it takes too long."""
        acked = sum(worker.count("acked") for worker in self._fleet.of_role("producer"))
        began = moved = time.monotonic()
        before = -1
        while True:
            abort = self._step()
            if abort is not None:
                return abort
            now, received = time.monotonic(), received_by_subscription(self._fleet)
            if sum(received.values()) != before:
                before, moved = sum(received.values()), now
            # repeats count as receipts, so that reaching the number isn't enough: it must also have become quiet
            if now - moved > self._limits.quiet_s and all(count >= acked for count in received.values()):
                return None
            if now - moved > self._limits.stalled_drain_s or now - began > self._spec.workload.drain_s:
                return None

    def _step(self) -> Abort | None:
        """Takes in what a worker says, shows the progress, and applies the rules about workers."""
        worker = self._fleet.next(_TICK_S)
        if self._spec.sampled and self._start_ns is not None:
            self.sampling.take(worker, self._start_ns)
        abort = (of_worker(worker) if worker is not None else None) or self._watch()
        if abort is not None:
            return abort
        self._on_progress(progress_line(self._fleet, self._load_ends_s - time.monotonic()))
        now = time.monotonic()
        limit_s = self._limits.silence_s
        silent = (of_silence(each, limit_s, now, since_s=self._told_s) for each in self._fleet.workers)
        return next((abort for abort in silent if abort is not None), None)

    def _end(self, abort: Abort | None) -> None:
        order = {"stop": True} if abort is None else {"abort": abort.reason}
        # who has failed may still be busy with its loop: it is told, too
        told = [worker for worker in self._fleet.workers if worker.state not in ("done", "died", "lost")]
        self._fleet.tell(told, order)
        deadline = time.monotonic() + self._limits.ending_s
        while not all(worker.over for worker in self._fleet.workers) and time.monotonic() < deadline:
            self._fleet.next(_TICK_S)
