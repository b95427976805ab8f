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
from systems.load_tool import NativeLoad, NativeTool, end_of, folder_of, load_of


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


@dataclass(frozen=True)
class Process:
    """A tool under way on its host. `name` is the daemon's; `subscription` None = it produces."""

    name: str
    tool: str
    host: Host
    command: tuple[str, ...]
    subscription: str | None

    @property
    def output(self) -> str:
        """The file that it prints into, on its host."""
        return f"{folder_of(self.host)}/{self.name}.log"


@dataclass(frozen=True)
class NativeTools:
    """The generator that is the system's own tools; see Generator. `hosts`: the clients."""

    tool: NativeTool
    workload: Workload
    topic: str
    hosts: Sequence[Host]
    store: SoftwareStore
    limits: Limits = field(default_factory=Limits)

    def prepare(self) -> None:
        """See Generator. A tool starts with its load; what an earlier one printed is removed, so that it is never taken for its own."""
        on_all("clearing old output", self.hosts, _clear)

    def close(self) -> None:
        """See Generator. `load` ends what it starts."""

    def load(self, endpoints: Endpoints, hooks: Hooks, *, stored: Callable[[], int | None]) -> LoadResult:
        """See Generator. Tools begin as soon as they are connected, and don't tell when they have received everything.

        1. start the consumers, then the producer; wait until it has ended
        2. let consumers that count end by themselves, tell the others to
        3. read what they printed
        """
        del stored
        timeout_s = self.workload.drain_s + self.limits.lead_s + self.limits.beyond_s
        load = load_of(self.workload, endpoints, self.topic, consumer_timeout_s=timeout_s)
        hooks.before_start()
        run = _Run(self, load, hooks)
        abort = run.follow()
        figures: dict[str, Any] = {}
        if abort is None:
            figures, abort = run.figures()
        return LoadResult(
            directory=f"{RECORDS}/native",  # never made: tools keep no records
            phases=_phases(run.begun_ns, load) if run.begun_ns is not None else (),
            abort=abort.to_json() if abort is not None else None,
            observations={"native": [_observation(process, figures.get(process.name)) for process in run.processes]},
        )

    def collect_logs(self, target: Path) -> None:
        """See Generator."""
        on_all("fetching the tools' output", self.hosts, lambda host: _fetch(host, target / host.name))


class _Run:
    """One load from its first process to its last. The first abort ends it; the trial ends the processes that are left."""

    def __init__(self, tools: NativeTools, load: NativeLoad, hooks: Hooks) -> None:
        self._tools, self._tool, self._load = tools, tools.tool, load
        self._limits = tools.limits
        self._hooks = hooks
        self.processes: list[Process] = []
        self.begun_ns: int | None = None  # by the producer's host's clock

    def follow(self) -> Abort | None:
        """Runs all of them to their end."""
        workload = self._tools.workload
        names = [f"subscription-{number}" for number in range(workload.subscriptions if workload.consumers else 0)]
        consumers = [self._start(f"native-{name}", subscription=name) for name in names]
        abort = self._wait(consumers, self._limits.lead_s)
        if abort is not None:
            return abort
        producer = self._start("native-producer", subscription=None)
        limit_s = self._limits.producing_s(self._load)
        abort = self._wait([producer], limit_s)
        if abort is None and self._running([producer]):
            reason = f"{producer.tool} had not ended after {limit_s:g} s; its load takes {self._load.duration_s:g} s"
            return Abort("native-tool", "validity", reason, producer.host.name)
        if abort is None and self._tool.consumer_ends:
            # one that misses messages gives up by itself: that is in its figures
            abort = self._wait(consumers, self._load.consumer_timeout_s + self._limits.beyond_s)
        if abort is None:
            for process in self.processes:
                daemons.stop(process.host, [process.name], grace_s=self._limits.ending_s)
        return abort

    def figures(self) -> tuple[dict[str, Any], Abort | None]:
        """What each process printed, by its name; an abort if one said nothing usable."""
        found: dict[str, Any] = {}
        abort = None
        for process in self.processes:
            printed = process.host.get(process.output).decode(errors="replace")
            try:
                figures = (
                    self._tool.result(printed, self._load)
                    if process.subscription is None
                    else self._tool.consumer_result(printed)
                )
            except ValueError as error:
                reason = f"{process.tool} said nothing usable ({error}); the end of its output:\n{end_of(printed)}"
                abort = abort or Abort("native-tool", "validity", reason, process.host.name)
                continue
            found[process.name] = dataclasses.asdict(figures)
        return found, abort

    def _start(self, name: str, *, subscription: str | None) -> Process:
        """Starts the next process, on the next of the hosts."""
        hosts, tool, load = self._tools.hosts, self._tool, self._load
        host = hosts[len(self.processes) % len(hosts)]
        store = self._tools.store
        command = (
            tool.producer_command(load, host, store)
            if subscription is None
            else tool.consumer_command(load, subscription, host, store)
        )
        process = Process(name, tool.name if subscription is None else tool.consumer_name, host, command, subscription)
        if subscription is None:
            self.begun_ns = int(host.run("date +%s%N").stdout)
        daemons.start(host, [daemons.Daemon(name, command, process.output)])
        self.processes.append(process)
        return process

    def _running(self, processes: Sequence[Process]) -> list[Process]:
        return [process for process in processes if process.name in daemons.running(process.host)]

    def _wait(self, processes: Sequence[Process], limit_s: float) -> Abort | None:
        """Waits until all have ended, or for `limit_s`. An abort is the watch's."""
        began_s = time.monotonic()
        while running := self._running(processes):
            abort = self._hooks.watch()
            if abort is not None:
                return abort
            past_s = time.monotonic() - began_s
            if past_s > limit_s:
                return None
            self._hooks.on_progress(f"{running[0].tool}: {past_s:.0f} s of about {self._load.duration_s:.0f} s")
            time.sleep(self._limits.poll_s)
        return None


def _phases(begun_ns: int, load: NativeLoad) -> tuple[Mapping[str, Any], ...]:
    """The schedule as if the producer sent from its start on: a tool's start early. For telemetry, which has one sample a second."""
    measure_ns = begun_ns + round(load.workload.warmup_s * SECOND_NS)
    return (
        {"name": "warmup", "start_ns": begun_ns, "end_ns": measure_ns},
        {"name": "measure", "start_ns": measure_ns, "end_ns": begun_ns + round(load.duration_s * SECOND_NS)},
    )


def _observation(process: Process, figures: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "tool": process.tool,
        "role": "producer" if process.subscription is None else "consumer",
        "subscription": process.subscription,
        "host": process.host.name,
        "command": shlex.join(process.command),
        "output": f"logs/{process.host.name}/{process.name}.log",
        "figures": figures,
    }


def _clear(host: Host) -> None:
    """Daemons append to their logs."""
    host.run(f"rm -rf -- {shlex.quote(folder_of(host))}")


def _fetch(host: Host, target: Path) -> None:
    folder = folder_of(host)
    for name in host.run(f"cd {shlex.quote(folder)} 2>/dev/null && ls -- *.log 2>/dev/null || true").stdout.split():
        target.mkdir(parents=True, exist_ok=True)
        host.fetch(f"{folder}/{name}", target / name)
