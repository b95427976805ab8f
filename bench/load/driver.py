"""Drives one load from the operator's side: places workers, starts them together, follows them, ends them. It judges nothing.

1. start a worker process per producer and consumer, round robin over the client hosts, unless they are there from the run
   before; wait until each is ready
2. call `before_start`; give all of them one start instant (in the clients' own clock)
3. follow the progress; a live rule (bench.load.abort) may end the run early
4. when the producers are done, wait until consumers have received all that was acknowledged, call `all_received`, wait to see
   that nothing more comes, then stop them
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.load.collect import collect_records
from bench.load.fleet import Fleet, RecordFile
from bench.load.hooks import NO_HOOKS, Hooks
from bench.load.job import Job
from bench.load.jobs import jobs_of, worker_count
from bench.load.observe import first_acknowledgement_ms, worker_observations
from bench.load.run import Run
from bench.load.samples import Sample, unread
from bench.schedule import SECOND_NS, Schedule
from bench.workload import Workload
from provisioning.errors import InvalidInput
from provisioning.host import Host, RemoteProcess

__all__ = ["RECORDS", "Crew", "Limits", "LoadResult", "LoadSpec", "collect_records", "limits_for", "run_load"]

RECORDS = "load"  # where runs keep their records, below a client host's root


@dataclass(frozen=True)
class Limits:
    """How long what may take.

    `before_start_s`: what is done before the start while workers wait for it. `quiet_s`: how long nothing more must arrive before
    consumers, who report twice a second, count as drained.
    """

    ready_s: float = 90.0
    before_start_s: float = 300.0
    lead_s: float = 0.25
    nothing_acknowledged_s: float = 30.0
    silence_s: float = 30.0
    quiet_s: float = 1.0
    stalled_drain_s: float = 20.0
    ending_s: float = 30.0
    delivery_timeout_s: float = 60.0
    connect_timeout_s: float = 60.0


# What connecting to a partition may take: several times what it took on two busy cores.
_CONNECT_PARTITION_S = 0.03
# What telling one worker when to start may take; they are told one after the other.
_TELL_WORKER_S = 0.001


def limits_for(workload: Workload) -> Limits:
    """The usual limits, with time to connect to so many partitions and to tell so many workers."""
    more_s = _CONNECT_PARTITION_S * workload.topics * workload.partitions
    return Limits(
        ready_s=Limits.ready_s + more_s,
        lead_s=Limits.lead_s + _TELL_WORKER_S * worker_count(workload),
        connect_timeout_s=Limits.connect_timeout_s + more_s,
    )


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
    the run ended before. `watched_until_ns`: until when producers and consumers took notice; None if the load never started.
    `unread`: acknowledged and not received at the end, of the subscription that is furthest behind.
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
    watched_until_ns: Mapping[str, int] | None = None
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


class Crew:
    """The workers of one or several loads on `hosts` (clients); `pythons` maps host name to the shell words that run Python there.

    Workers stay connected from one run to the next if that has the same workers. After the `with`, whatever was raised within
    it (also KeyboardInterrupt), and after `close`, none is left behind. `client_module`: which client they load as they start;
    None = it isn't known before their job.
    """

    def __init__(self, hosts: Sequence[Host], pythons: Mapping[str, str], client_module: str | None = None) -> None:
        if not hosts:
            raise InvalidInput(
                "no client hosts to place workers on.", next_step="Give the testbed at least one client host."
            )
        self._hosts, self._pythons, self._client_module = hosts, pythons, client_module
        self._idle: deque[RemoteProcess] = deque()
        self._fleet = Fleet()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every worker. Idempotent, bounded in time, never raises."""
        self._fleet.close()
        while self._idle:
            self._idle.popleft().close()

    def enlist(self, workload: Workload) -> None:
        """Starts the first run's workers ahead of it: they load their libraries meanwhile. Raises HostError."""
        for number in range(len(self._idle), worker_count(workload)):
            self._idle.append(self._spawn(number))

    def run(self, spec: LoadSpec, hooks: Hooks = NO_HOOKS) -> LoadResult:
        """Runs one load. Raises HostError when a worker can't be started.

        A run that a live rule ends has `abort` set; it isn't an exception.
        """
        run = secrets.randbits(32)
        directory = f"{RECORDS}/{run:08x}"
        schedule = schedule_of(spec)
        self._man(jobs_of(spec, schedule, run), directory)
        fleet = self._fleet
        course = Run(spec, schedule, fleet, hooks)
        abort = course.follow()
        return LoadResult(
            directory=directory,
            phases=tuple(dataclasses.asdict(phase) for phase in course.phases()),
            workers=worker_observations(fleet),
            files=tuple(file for worker in fleet.workers for file in worker.files),
            samples=tuple(course.sampling.samples),
            caught_up=course.drained.caught_up if course.drained is not None else None,
            unread=unread(fleet),
            first_acknowledgement_ms=first_acknowledgement_ms(fleet),
            watched_until_ns=course.watched_until_ns(),
            abort=abort.to_json() if abort is not None else None,
        )

    def _man(self, jobs: Sequence[Job], directory: str) -> None:
        """Gives the jobs to the workers that there are, if they are the same and done, else to new ones."""
        placed = [
            dataclasses.replace(job, output_dir=f"{self._host(number).record.root}/{directory}")
            for number, job in enumerate(jobs)
        ]
        workers = self._fleet.workers
        if (
            workers
            and all(one.state == "done" for one in workers)
            and [one.job.worker for one in workers] == [job.worker for job in jobs]
        ):
            self._fleet.give(placed)
            return
        self._fleet.close()
        self._fleet = Fleet()
        for number, job in enumerate(placed):
            process = self._idle.popleft() if self._idle else self._spawn(number)
            self._fleet.take_on(job, self._host(number), process)

    def _host(self, number: int) -> Host:
        """Where the worker of that number is: round robin."""
        return self._hosts[number % len(self._hosts)]

    def _spawn(self, number: int) -> RemoteProcess:
        host = self._host(number)
        worker = f"exec {self._pythons[host.name]} -m bench.load.worker"
        return host.spawn(worker if self._client_module is None else f"{worker} {self._client_module}")


def run_load(spec: LoadSpec, hosts: Sequence[Host], pythons: Mapping[str, str], hooks: Hooks = NO_HOOKS) -> LoadResult:
    """Runs one load with a crew of its own; see Crew."""
    with Crew(hosts, pythons) as crew:
        return crew.run(spec, hooks)


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
