"""Does a workload's faults, one after the other, beside the load that measures what they cost."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from bench.faults.injection import Injection
from bench.faults.kinds import KINDS
from bench.faults.note import Note
from bench.faults.target import resolve
from bench.load.load import Hooks
from contract.fault import Fault
from contract.workload import Workload
from provisioning.errors import SameboxError
from provisioning.faults.host_fault import ask, heal, send
from provisioning.hosts.host import Host, on_all
from systems.deployment import Breakable

# how long before a fault its target is asked for: some systems answer with a process that takes seconds
RESOLVE_AHEAD_S = 6.0


class FaultInjector:
    """A context manager around one load that is given `hooks`. Leaving it undoes whatever is still in effect.

    `seed`: what `any` is drawn by, the same for all contestants of a block. `shared`: whether the hosts share a machine. `say` is told
    what is done, a line each.
    """

    def __init__(
        self,
        workload: Workload,
        deployment: Breakable,
        hosts: Sequence[Host],
        *,
        seed: int,
        shared: bool,
        say: Callable[[str], None],
    ) -> None:
        self._workload, self._deployment, self._hosts = workload, deployment, tuple(hosts)
        self._seed, self._shared, self._say = seed, shared, say
        self._serving = [host for host in hosts if host.record.role != "client"]
        self._groups: Mapping[str, str] = {}
        self._over = threading.Event()
        self._held = ExitStack()
        self._notes: list[Note] = []
        self._thread: threading.Thread | None = None
        self._measured_ns = self._measured_s = 0.0

    def prepare(self) -> None:
        """What has to be there before the system starts. Call it when nothing runs. Raises HostsFailed."""
        send(self._serving)
        if self._shared and any(fault.do == "cut" for fault in self._workload.faults):
            made = on_all("making control groups", self._serving, lambda host: ask(host, {"verb": "group"}))
            self._groups = {name: answer["cgroup"] for name, answer in made.items()}

    def __enter__(self) -> FaultInjector:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._held.close()
        if error is not None and not isinstance(error, SameboxError):
            # Ctrl-C: a process that is being started again would be waited for
            for host in self._hosts:
                host.close()
        if self._thread is not None:
            self._thread.join()

    def hooks(self, hooks: Hooks) -> Hooks:
        """The load's hooks, with which it also begins the faults."""
        return dataclasses.replace(hooks, started=self._begin)

    def finish(self) -> list[dict[str, Any]]:
        """Once the load is over: waits for what is being undone or started again; what became of each fault."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        return self.noted()

    def noted(self) -> list[dict[str, Any]]:
        """What is known of each fault by now."""
        return [
            {**note.to_json(), "do": fault.do, "target": fault.target}
            for note, fault in zip(self._notes, self._workload.faults, strict=False)
        ]

    def _begin(self, start_ns: int, in_s: float) -> None:
        """The load begins: its schedule starts at an instant of the clients' clock, in so many seconds."""
        self._measured_ns = start_ns + self._workload.warmup_s * 1e9
        self._measured_s = time.monotonic() + in_s + self._workload.warmup_s
        self._notes = [
            Note(number, round(self._measured_ns + fault.at_s * 1e9))
            for number, fault in enumerate(self._workload.faults)
        ]
        self._thread = threading.Thread(target=self._run, name="faults", daemon=True)
        self._thread.start()

    def _now_ns(self) -> int:
        """Since the epoch, by the clients' clock."""
        return round(self._measured_ns + (time.monotonic() - self._measured_s) * 1e9)

    def _run(self) -> None:
        for fault, note in zip(self._workload.faults, self._notes, strict=True):
            ahead_ns = note.planned_ns - round(RESOLVE_AHEAD_S * 1e9)
            if self._over.wait(max(0.0, (ahead_ns - self._now_ns()) / 1e9)):
                note.fails("the load ended before")
                continue
            try:
                self._inject(fault, note)
            except SameboxError as error:
                note.fails(f"{error} {error.next_step}".rstrip())

    def _inject(self, fault: Fault, note: Note) -> None:
        note.resolved_ns = self._now_ns()
        targets = resolve(fault, self._deployment, f"fault {self._seed} {note.number}")
        names = ", ".join(f"{each.host.name}: {each.daemon}" for each in targets)
        self._say(f"{fault.words}: {names}")
        injection = Injection(
            fault, note, targets, self._deployment, self._hosts, self._groups, self._now_ns, self._over
        )
        with ExitStack() as own:
            # also what only this thread knows of is undone when the load is left
            self._held.callback(own.close)
            KINDS[fault.do](injection, own)


def clean_up(hosts: Sequence[Host]) -> None:
    """Leaves hosts without any fault. Raises HostsFailed."""
    heal([host for host in hosts if host.record.role != "client"])
