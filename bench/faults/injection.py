"""One fault on its way: what the kinds of faults share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

from bench.faults.note import Hit, Note
from contract.fault import Fault
from provisioning.errors import SameboxError
from provisioning.hosts.host import Host
from systems.deployment import Breakable
from systems.processes import Process

BACK_EVERY_S = 1.0  # a pause between two questions: some systems answer with a process of a second


@dataclass(frozen=True)
class Injection:
    """What is done to whom, and where it is noted.

    `hosts`: all of the testbed. `groups`: the control group of each broker or metadata host, where they share a machine and packets
    are told apart by them. `now_ns`: the clients' clock. `over`: set when the load ends, after which nothing more is begun or
    waited for.
    """

    fault: Fault
    note: Note
    targets: tuple[Process, ...]
    deployment: Breakable
    hosts: Sequence[Host]
    groups: Mapping[str, str]
    now_ns: Callable[[], int]
    over: Event

    def by_host(self, processes: Sequence[Process]) -> list[tuple[Host, list[Process]]]:
        """Each host of these processes, with those of them that are there."""
        hosts = {process.host.name: process.host for process in processes}
        return [(host, [each for each in processes if each.host.name == name]) for name, host in hosts.items()]

    def await_until(self, at_ns: int) -> bool:
        """Waits until an instant of the clients' clock; False if the load ended before."""
        return not self.over.wait(max(0.0, (at_ns - self.now_ns()) / 1e9))

    def hit(self, process: Process) -> Hit:
        """Notes that something is done to a process."""
        found = Hit(process.host.name, process.daemon)
        self.note.hits.append(found)
        return found

    def await_back(self) -> None:
        """Asks the system again and again until it has all its copies, and notes when."""
        while not self.over.is_set():
            if self._complete():
                self.note.back_ns = self.now_ns()
                return
            self.over.wait(BACK_EVERY_S)

    def _complete(self) -> bool:
        try:
            return not self.deployment.under_replicated()
        except SameboxError:
            return False  # nobody to ask yet
