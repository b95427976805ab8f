"""A trial's load made by the system's own tools: a producer, and a consumer per subscription, on the client hosts.

Tools run as daemons of their host, so that whatever ends a trial, a campaign or this process ends them too. They keep no record of
any message; what they print is kept as it is, with the figures that were read from it.
"""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.load.abort import Abort
from bench.load.load import RECORDS, Hooks, LoadResult
from bench.worker.schedule import SECOND_NS
from contract.workload import Workload
from provisioning.hosts import daemons
from provisioning.hosts.host import Host, on_all
from systems.deployment import Endpoints, SoftwareStore
from systems.load_tool import (
    ConsumerFigures,
    NativeLoad,
    NativeTool,
    ProducerFigures,
    end_of,
    folder_of,
    load_of,
)


@dataclass(frozen=True)
class Limits:
    """How long what may take, in seconds. `lead_s`: how much earlier consumers start than the producer; `beyond_s`: what a
    process needs beside its load (its start, a slow goodbye)."""

    lead_s: float = 5.0
    beyond_s: float = 60.0
    poll_s: float = 2.0
    ending_s: float = 20.0

    def producing_s(self, load: NativeLoad) -> float:
        """After how long a producer hangs: one that can't keep its rate up may need longer than its load, within reason."""
        return 3 * load.duration_s + self.beyond_s


@dataclass
class Process:
    """A tool under way on its host. `name` is the daemon's; `subscription` None = it produces. `figures`: once they were read."""

    name: str
    tool: str
    host: Host
    command: tuple[str, ...]
    subscription: str | None
    figures: ProducerFigures | ConsumerFigures | None = None

    @property
    def output(self) -> str:
        """The file that it prints into, on its host."""
        return f"{folder_of(self.host)}/{self.name}.log"

    def observation(self) -> dict[str, Any]:
        """As trial.json carries it."""
        return {
            "tool": self.tool,
            "role": "producer" if self.subscription is None else "consumer",
            "subscription": self.subscription,
            "host": self.host.name,
            "command": shlex.join(self.command),
            "output": f"logs/{self.host.name}/{self.name}.log",
            "figures": None if self.figures is None else dataclasses.asdict(self.figures),
        }


@dataclass(frozen=True)
class NativeTools:
    """The generator that is the system's own tools. `hosts`: the clients."""

    tool: NativeTool
    workload: Workload
    topic: str
    hosts: Sequence[Host]
    store: SoftwareStore
    limits: Limits = field(default_factory=Limits)

    def prepare(self) -> None:
        """Removes what an earlier trial's tools printed, so that it is never taken for this one's."""
        on_all("clearing old output", self.hosts, lambda host: host.run(f"rm -rf -- {shlex.quote(folder_of(host))}"))

    def close(self) -> None:
        """Does nothing: `load` ends what it starts."""

    def load(self, endpoints: Endpoints, hooks: Hooks, *, stored: Callable[[], int | None]) -> LoadResult:
        """Tools begin as soon as they are connected, and don't tell when they have received everything.

        1. start the consumers, then the producer; wait until it has ended
        2. let consumers that count end by themselves, tell the others to
        3. read what they printed
        """
        del stored
        timeout_s = self.workload.drain_s + self.limits.lead_s + self.limits.beyond_s
        load = load_of(self.workload, endpoints, self.topic, consumer_timeout_s=timeout_s)
        hooks.before_start()
        run = _Run(self, load, hooks)
        abort = None
        try:
            run.follow()
            run.read_figures()
        except _Aborted as aborted:
            abort = aborted.abort.to_json()
        return LoadResult(
            directory=f"{RECORDS}/native",  # never made: tools keep no records
            phases=_phases(run.begun_ns, load) if run.begun_ns is not None else (),
            abort=abort,
            observations={"native": [process.observation() for process in run.processes]},
        )

    def collect_logs(self, target: Path) -> None:
        """Fetches what the tools printed."""
        on_all("fetching the tools' output", self.hosts, lambda host: _fetch(host, target / host.name))


class _Aborted(Exception):
    def __init__(self, abort: Abort) -> None:
        self.abort = abort


@dataclass
class _Run:
    """One load from its first process to its last. The first abort ends it; the trial ends the processes that are left."""

    tools: NativeTools
    asked: NativeLoad
    hooks: Hooks
    processes: list[Process] = field(default_factory=list)
    begun_ns: int | None = None  # by the producer's host's clock

    def follow(self) -> None:
        """Runs all of them to their end."""
        workload, limits, load = self.tools.workload, self.tools.limits, self.asked
        names = [f"subscription-{number}" for number in range(workload.subscriptions if workload.consumers else 0)]
        consumers = [self._start(name) for name in names]
        self._wait(consumers, limits.lead_s)
        producer = self._start(None)
        limit_s = limits.producing_s(load)
        self._wait([producer], limit_s)
        if self._running([producer]):
            reason = f"{producer.tool} was still running after {limit_s:g} s; its load takes {load.duration_s:g} s"
            raise _Aborted(Abort("native-tool", "validity", reason, producer.host.name))
        if self.tools.tool.consumer_ends:
            # one that misses messages gives up by itself: that is in its figures
            self._wait(consumers, load.consumer_timeout_s + limits.beyond_s)
        for process in self.processes:
            daemons.stop(process.host, [process.name], grace_s=limits.ending_s)

    def read_figures(self) -> None:
        """What each process printed; aborts if one printed no figures, once all were read."""
        tool, unusable = self.tools.tool, []
        for process in self.processes:
            printed = process.host.get(process.output).decode(errors="replace")
            try:
                if process.subscription is None:
                    process.figures = tool.result(printed, self.asked)
                else:
                    process.figures = tool.consumer_result(printed)
            except ValueError as error:
                reason = f"{process.tool} printed no figures ({error}); the end of its output:\n{end_of(printed)}"
                unusable.append(Abort("native-tool", "validity", reason, process.host.name))
        if unusable:
            raise _Aborted(unusable[0])

    def _start(self, subscription: str | None) -> Process:
        """Starts the next process, on the next of the hosts."""
        tool, load, hosts, store = self.tools.tool, self.asked, self.tools.hosts, self.tools.store
        host = hosts[len(self.processes) % len(hosts)]
        if subscription is None:
            command = tool.producer_command(load, host, store)
            process = Process("native-producer", tool.name, host, command, None)
            self.begun_ns = int(host.run("date +%s%N").stdout)
        else:
            command = tool.consumer_command(load, subscription, host, store)
            process = Process(f"native-{subscription}", tool.consumer_name, host, command, subscription)
        daemons.start(host, [daemons.Daemon(process.name, command, process.output)])
        self.processes.append(process)
        return process

    def _running(self, processes: Sequence[Process]) -> list[Process]:
        return [process for process in processes if process.name in daemons.running(process.host)]

    def _wait(self, processes: Sequence[Process], limit_s: float) -> None:
        """Waits until all have ended, or for `limit_s`; aborts by the watch."""
        began_s = time.monotonic()
        while running := self._running(processes):
            abort = self.hooks.watch()
            if abort is not None:
                raise _Aborted(abort)
            past_s = time.monotonic() - began_s
            if past_s > limit_s:
                return
            self.hooks.on_progress(f"{running[0].tool}: {past_s:.0f} s of about {self.asked.duration_s:.0f} s")
            time.sleep(self.tools.limits.poll_s)


def _phases(begun_ns: int, load: NativeLoad) -> tuple[Mapping[str, Any], ...]:
    """The schedule as if the producer sent from its start on: a tool's start early. For telemetry, which has one sample a second."""
    measure_ns = begun_ns + round(load.workload.warmup_s * SECOND_NS)
    return (
        {"name": "warmup", "start_ns": begun_ns, "end_ns": measure_ns},
        {"name": "measure", "start_ns": measure_ns, "end_ns": begun_ns + round(load.duration_s * SECOND_NS)},
    )


def _fetch(host: Host, target: Path) -> None:
    folder = folder_of(host)
    for name in host.run(f"cd {shlex.quote(folder)} 2>/dev/null && ls -- *.log 2>/dev/null || true").stdout.split():
        target.mkdir(parents=True, exist_ok=True)
        host.fetch(f"{folder}/{name}", target / name)
