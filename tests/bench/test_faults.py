"""Faults beside a load: whom they hit, when, and what is noted; on real processes of this machine that stand for a system's."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.faults.injector import FaultInjector
from bench.faults.note import Hit, Note
from bench.faults.target import resolve
from bench.load.load import NO_HOOKS
from contract.fault import Fault
from contract.workload import Workload, document_of, table_of, workload_of
from provisioning.errors import Completed, DeploymentError, HostError
from provisioning.hosts import daemons
from provisioning.hosts.host import RemoteProcess
from provisioning.hosts.inventory import HostRecord, SshAddress
from systems.deployment import Placement
from systems.processes import Process
from tests.provisioning.shell_host import ShellHost

pytestmark = pytest.mark.timeout(60)


class LocalProcess:
    """Implements RemoteProcess by a process of this machine."""

    def __init__(self, command: str) -> None:
        self._command, pipe = command, subprocess.PIPE
        self._process = subprocess.Popen(["sh", "-c", command], stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def send_line(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield line.rstrip("\n")

    def wait(self, *, timeout_s: float) -> Completed:
        assert self._process.stderr is not None
        status = self._process.wait(timeout_s)
        return Completed(self._command, "", self._process.stderr.read(), status)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


class LocalHost(ShellHost):
    """A host that is this machine, with a root of its own."""

    def __init__(self, name: str, root: Path) -> None:
        address = SshAddress("127.0.0.1", 22, "nobody", "")
        super().__init__(HostRecord(name, "broker", address, "127.0.0.1", str(root / name), (), "i", "t", 1))

    def spawn(self, command: str) -> RemoteProcess:
        return LocalProcess(command)

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> None:
        del mode
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)


@dataclass
class Sleepers:
    """Implements Breakable, strictly, over daemons that sleep. Everything is replicated when all run."""

    hosts: Sequence[LocalHost]
    storing_daemon: str = "broker"
    processes: tuple[Process, ...] = field(init=False)
    started_again: list[str] = field(default_factory=list)
    leading: int = 0

    def __post_init__(self) -> None:
        self.processes = tuple(
            Process("sleeper", "broker", host, number, "none") for number, host in enumerate(self.hosts)
        )

    def start(self, process: Process) -> None:
        log = f"{process.host.record.root}/log"
        daemons.start(process.host, [daemons.Daemon("broker", ("sleep", "600"), log)])

    def placement(self, topic: int, partition: int) -> Placement:
        assert (topic, partition) == (0, 1)
        leader = self.processes[self.leading]
        return Placement(leader, tuple(each for each in self.processes if each is not leader and each != leader))

    def coordinator(self) -> Process:
        raise DeploymentError("nobody coordinates")

    def start_again(self, process: Process) -> None:
        self.started_again.append(process.host.name)
        self.start(process)

    def data_of(self, process: Process) -> Sequence[str]:
        return [f"{process.host.record.root}/data"]

    def under_replicated(self) -> Sequence[str]:
        return [host.name for host in self.hosts if not daemons.running(host)]


@pytest.fixture
def system(tmp_path: Path) -> Iterator[Sleepers]:
    """Two hosts with a daemon each."""
    found = Sleepers([LocalHost(f"broker-{number}", tmp_path) for number in (1, 2)])
    for process in found.processes:
        found.start(process)
    yield found
    for host in found.hosts:
        daemons.stop(host, grace_s=0.0)


Noted = dict[str, Any]


def is_back(note: Noted) -> bool:
    """Whether all of it is over."""
    return bool(note["back_ns"])


def began(note: Noted) -> bool:
    """Whether it has taken effect."""
    return bool(note["began_ns"])


def injected(system: Sleepers, faults: Sequence[Fault], until: Callable[[Noted], bool]) -> list[Noted]:
    """What is noted of faults in a load, without a warm-up, that ends as soon as the last of them is so far."""
    load = Workload("w", 100, 1024, 60, warmup_s=0, faults=tuple(faults))
    injector = FaultInjector(load, system, system.hosts, seed=1, shared=True, say=lambda _text: None)
    injector.prepare()
    with injector:
        injector.hooks(NO_HOOKS).started(time.time_ns(), 0.0)
        while not until(injector.noted()[-1]):
            time.sleep(0.01)
        return injector.finish()


def test_a_frozen_leader_goes_on_and_is_noted(system: Sleepers) -> None:
    """The one who leads the partition is frozen for as long as asked, not before its instant, and the note has its pid."""
    pid = daemons.running(system.hosts[0])["broker"]
    [note] = injected(system, [Fault(0.5, "freeze", "leader:0/1", 0.3)], is_back)
    [hit] = note["hits"]
    assert (hit["host"], hit["daemon"], hit["pid"]) == ("broker-1", "broker", pid)
    assert note["began_ns"] == hit["began_ns"] >= note["planned_ns"]
    assert note["ended_ns"] - note["began_ns"] >= 0.3e9
    assert note["back_ns"] >= note["ended_ns"]
    assert note["problem"] is None
    assert daemons.running(system.hosts[0]) == {"broker": pid}


def test_a_killed_process_is_started_again_when_its_time_is_over(system: Sleepers) -> None:
    """Killed for a while: started again by its system, and back when nothing lacks a copy."""
    before = daemons.running(system.hosts[1])
    [note] = injected(system, [Fault(0.2, "kill", "follower:0/1", 0.4)], is_back)
    assert note["problem"] is None
    assert system.started_again == ["broker-2"]
    assert note["ended_ns"] - note["began_ns"] >= 0.4e9
    assert note["back_ns"] > note["ended_ns"]
    assert daemons.running(system.hosts[1]) != before


def test_a_process_killed_for_good_stays_so(system: Sleepers) -> None:
    """A kill without an end is never undone: nothing is started, and the note says that it didn't end."""
    [note] = injected(system, [Fault(0.2, "kill", "all")], began)
    assert [hit["host"] for hit in note["hits"]] == ["broker-1", "broker-2"]
    assert (note["ended_ns"], note["back_ns"], system.started_again) == (None, None, [])
    assert [daemons.running(host) for host in system.hosts] == [{}, {}]


def test_a_rolling_restart_takes_one_host_at_a_time(system: Sleepers) -> None:
    """The next host is stopped when the one before is back."""
    [note] = injected(system, [Fault(0.2, "restart", "all")], lambda note: is_back(note) and len(note["hits"]) == 2)
    first, second = note["hits"]
    assert (first["host"], second["host"]) == ("broker-1", "broker-2")
    assert first["began_ns"] >= note["planned_ns"]
    assert second["began_ns"] >= first["ended_ns"] > first["began_ns"]
    assert system.started_again == ["broker-1", "broker-2"]
    assert note["problem"] is None


def test_a_replaced_process_comes_back_without_its_data(system: Sleepers) -> None:
    """What it kept is gone before it is started again; the folder itself stays."""
    data = Path(system.hosts[0].record.root) / "data"
    data.mkdir()
    (data / "kept").touch()
    [note] = injected(system, [Fault(0.2, "replace", "leader:0/1")], is_back)
    assert system.started_again == ["broker-1"]
    assert (data.is_dir(), list(data.iterdir())) == (True, [])
    assert note["back_ns"] is not None


def test_a_role_that_nobody_has_is_a_problem(system: Sleepers) -> None:
    """A fault whose target can't be found never begins, with the system's own words, and the next one is done all the same."""
    faults = [Fault(0.1, "kill", "coordinator"), Fault(0.5, "freeze", "leader:0/1", 0.2)]
    first, second = injected(system, faults, is_back)
    assert (first["began_ns"], first["hits"]) == (None, [])
    assert "nobody coordinates" in first["problem"]
    assert second["began_ns"] is not None


def test_a_load_that_ends_before_leaves_its_faults_undone(system: Sleepers) -> None:
    """What was to come after the load's end isn't done, and says why."""
    [note] = injected(system, [Fault(59.0, "kill", "any")], lambda _note: True)
    assert (note["began_ns"], note["problem"]) == (None, "the load ended before")
    assert all(daemons.running(host) for host in system.hosts)


def test_leaving_in_the_middle_undoes_a_fault(system: Sleepers) -> None:
    """An error of the load, or Ctrl-C, ends a freeze that would have lasted longer."""
    load = Workload("w", 100, 1024, 60, warmup_s=0, faults=(Fault(0.1, "freeze", "leader:0/1", 30.0),))
    frozen = threading.Event()
    injector = FaultInjector(load, system, system.hosts, seed=1, shared=True, say=lambda _text: None)
    injector.prepare()
    pid = daemons.running(system.hosts[0])["broker"]
    with pytest.raises(HostError), injector:
        injector.hooks(NO_HOOKS).started(time.time_ns(), 0.0)
        while state(pid) != "T":
            frozen.wait(0.01)
        raise HostError("client-1", "it is gone")
    assert state(pid) != "T"


def state(pid: int) -> str:
    """A process's, as the kernel says it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_any_is_the_same_host_for_every_contestant(system: Sleepers) -> None:
    """It is drawn from the seed by the hosts' names, whatever order a trial has them in; another seed draws another."""
    other_order = Sleepers(system.hosts[::-1])
    drawn = {
        tuple(resolve(Fault(0, "kill", "any"), each, f"seed {number}")[0].host.name for number in range(20))
        for each in (system, other_order)
    }
    assert len(drawn) == 1
    assert set(*drawn) == {"broker-1", "broker-2"}


def test_a_note_has_ended_when_all_its_hits_have() -> None:
    """Of several processes the first to be hit begins a fault, and the last to be let go ends it."""
    note = Note(0, 5, hits=[Hit("a", "broker", 1, 20, 40), Hit("b", "broker", 2, 10, 50)])
    assert (note.to_json()["began_ns"], note.to_json()["ended_ns"]) == (10, 50)
    note.hits.append(Hit("c", "broker", 3, 30))
    assert note.to_json()["ended_ns"] is None


def test_a_workload_comes_back_from_its_document() -> None:
    """Faults are part of it; a workload without any has no word of them."""
    load = Workload("w", 100, 1024, 60, faults=(Fault(1.0, "cut", "any", 5.0, "to", "clients"),))
    assert workload_of(document_of(load)) == load
    assert "faults" not in document_of(Workload("w", 100, 1024, 60))


def test_a_campaign_file_takes_a_workload_as_a_table() -> None:
    """What isn't given isn't in the table, also within faults: TOML has no null."""
    load = Workload("w", 100, 1024, 60, faults=(Fault(1.0, "kill", "any"),))
    [fault] = table_of(load)["faults"]
    assert (fault["do"], "for_s" in fault, "backlog" in table_of(load)) == ("kill", False, False)
    assert workload_of(table_of(load)) == load
