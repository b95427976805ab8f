"""One load: what is asked for, the callbacks of its caller, and the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.load.abort import Abort
from bench.load.workers import RecordFile, Sample
from bench.worker.schedule import SECOND_NS, Schedule
from contract.workload import Workload
from systems.deployment import Endpoints
from systems.system import System

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
    """The usual limits, with time to connect to all partitions and to tell all workers when to start."""
    more_s = _CONNECT_PARTITION_S * workload.topics * workload.partitions
    # how long a system doesn't answer after a fault is what is asked
    disturbed_s = workload.measure_s if workload.faults else 0.0
    return Limits(
        ready_s=Limits.ready_s + more_s,
        nothing_acknowledged_s=Limits.nothing_acknowledged_s + disturbed_s,
        lead_s=Limits.lead_s + _TELL_WORKER_S * workload.workers,
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
class Hooks:
    """What a load calls on the thread that runs it, by default nothing; what one of them raises ends the load.

    - `on_progress`: a line of text, again and again
    - `watch`: asked again and again, must answer at once; ends the load by what it has seen beyond the generator
    - `before_start`: once a run, before its first message, with clients connected if they can wait; they do, for minutes, until
      it returns
    - `started`: once a run, when all workers are told to start: when its schedule begins (epoch ns, by the clients' clock), and in how
      many seconds that is. Must return at once.
    - `all_received`: once a run, when consumers have received as many as were acknowledged and are waited for only to see that
      nothing more comes. (Repeats count: with some, a few of the others may be under way yet.) Must return at once. Not of a run
      whose messages don't all arrive.
    """

    on_progress: Callable[[str], None] = lambda _text: None
    watch: Callable[[], Abort | None] = lambda: None
    before_start: Callable[[], None] = lambda: None
    started: Callable[[int, float], None] = lambda _start_ns, _in_s: None
    all_received: Callable[[], None] = lambda: None


NO_HOOKS = Hooks()


@dataclass(frozen=True)
class LoadResult:
    """What came of a load. The record files stay on the client hosts, under `directory` of each root, until collected.

    `samples`: only of a load that asked for them. `caught_up`: whether a backlog was read in time; None = there was none, or
    the run ended before. `watched_until_ns`: until when producers and consumers took notice; None if the load never started.
    `unread`: acknowledged and not received at the end, of the subscription that is furthest behind.
    `clients`: role -> what its client library runs with. `observations`: what else is to be kept of it with the trial.
    """

    directory: str
    phases: tuple[Mapping[str, Any], ...] = ()
    workers: tuple[Mapping[str, Any], ...] = ()
    files: tuple[RecordFile, ...] = ()
    samples: tuple[Sample, ...] = ()
    caught_up: bool | None = None
    unread: int = 0
    first_acknowledgement_ms: float | None = None
    abort: Mapping[str, Any] | None = None
    watched_until_ns: Mapping[str, int] | None = None
    clients: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
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
        until_steady=workload.warmup == "until-steady",
    )


def load_spec(
    system: System,
    workload: Workload,
    endpoints: Endpoints,
    topics: tuple[str, ...],
    *,
    seed: int,
    limits: Limits | None = None,
    probe_topic: str | None = None,
) -> LoadSpec:
    """A load of a system, where its deployment says that clients connect. `limits` None = the usual ones."""
    return LoadSpec(
        workload=workload,
        client_module=system.client_module,
        service_url=endpoints.service_url,
        client_settings=endpoints.client_settings,
        topics=topics,
        seed=seed,
        probe_topic=probe_topic,
        limits=limits or limits_for(workload),
    )
