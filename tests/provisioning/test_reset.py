"""The reset: its order, its refusals, and on real hosts the proof by canary that caches were dropped, and when they weren't."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pytest

from provisioning.errors import Completed, HostsFailed, ResetError
from provisioning.hosts import daemons
from provisioning.hosts.disk_checks import run_check
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, SshAddress
from provisioning.hosts.ssh import SshHost
from provisioning.reset.reset import CANARY_NAME, DROP_COMMAND, DropCaches, drop_page_caches, evict_own_files, reset

QUIET = {"quiet": True, "disks": ["nvme1n1"], "in_flight": 0, "dirty_bytes": 4096, "writeback_bytes": 0}


@dataclass
class RecordedHost(ScriptedHost):
    """Answers every command of a reset and notes which step it belongs to, in `steps` shared by all hosts."""

    steps: list[str] = field(default_factory=list)
    boot_id: str = "boot-1"
    may_drop: bool = True
    unreadable: tuple[str, ...] = ()

    def run(
        self, command: str, *, timeout_s: float = 60.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        step, answer, status = self._answer(command)
        self.steps.append(f"{step} {self.name}")
        self.answers[command] = Completed(command, answer, "", status)
        return super().run(command, timeout_s=timeout_s, check=check, stdin=stdin)

    def _answer(self, command: str) -> tuple[str, str, int]:
        words = shlex.split(command)
        if words[0] == "python3":
            canaries = [word for word in words if word.endswith(CANARY_NAME)]
            answers = {
                "canary": {"files": [{"path": path, "resident_share": 1.0} for path in canaries]},
                "residency": {"files": [{"path": path, "resident_share": 0.0} for path in canaries]},
                "cached": {"cached_bytes": 4096},
                "settle": {**QUIET, "waited_s": 0.4},
                "evict": {"files": 1, "bytes": 1, "resident_bytes_after": 0, "unreadable": list(self.unreadable)},
            }
            return words[3], json.dumps(answers[words[3]]), 0
        if command == DROP_COMMAND:
            return "drop", "", 0 if self.may_drop else 1
        known = {"sync": "sync", "cat": "boot-id", "set": "wipe", "rm": "remove"}
        return known[words[0]], self.boot_id if words[0] == "cat" else "", 0


def hosts_of(count: int, steps: list[str], *, machines: int = 1, may_drop: bool = True) -> list[RecordedHost]:
    """Brokers spread over so many machines, writing into `steps`."""
    made = []
    for number in range(1, count + 1):
        root = f"/srv/samebox/broker-{number}"
        data_dirs = (DataDir(f"{root}/data-1", "/dev/vda", "/", owned=False),)
        record = HostRecord(
            f"broker-{number}", "broker", SshAddress("::1", 22, "u", "k"), "::1", root, data_dirs, "i", "local", 1
        )
        made.append(RecordedHost(record, steps=steps, boot_id=f"boot-{number % machines}", may_drop=may_drop))
    return made


def none_running(host: Host) -> dict[str, int]:
    """No daemon on any host."""
    del host
    return {}


def order_of(steps: Sequence[str]) -> list[str]:
    """The steps' kinds, repeats in a row merged."""
    kinds = [step.split(" ")[0] for step in steps]
    return [kind for index, kind in enumerate(kinds) if index == 0 or kinds[index - 1] != kind]


def test_steps_come_in_their_order() -> None:
    """Stop, gone, wipe, sync, quiet disks, canaries, drop between two readings of Cached, canaries read and removed."""
    steps: list[str] = []

    def looked(host: Host) -> dict[str, int]:
        steps.append(f"gone? {host.name}")
        return {}

    report = reset(hosts_of(2, steps), lambda: steps.append("stop all"), running=looked)
    assert order_of(steps) == [
        *["stop", "gone?", "wipe", "boot-id", "sync", "settle", "canary"],
        *["cached", "drop", "cached", "residency", "remove"],
    ]
    assert [step for step in steps if step.startswith("drop")] == ["drop broker-1"], "once per machine"
    assert report.as_observation() == {
        "method": "drop_caches",
        "machines": [{"host": "broker-1", "cached_bytes_before": 4096, "cached_bytes_after": 4096}],
        "canaries": [
            {
                "host": f"broker-{n}",
                "data_dir": f"/srv/samebox/broker-{n}/data-1",
                "resident_before": 1.0,
                "resident_after": 0.0,
            }
            for n in (1, 2)
        ],
        "trimmed": [],
        "not_trimmed": [
            {"host": f"broker-{n}", "device": "/dev/vda", "why": "not owned by the testbed"} for n in (1, 2)
        ],
        "settled": [{"host": "broker-1", **QUIET, "disks": ("nvme1n1",), "waited_s": 0.4}],
    }


def test_every_machine_is_dropped() -> None:
    """Two machines are two drops, each with its own readings."""
    steps: list[str] = []
    report = reset(hosts_of(4, steps, machines=2), lambda: None, running=none_running)
    assert sorted(step for step in steps if step.startswith("drop")) == ["drop broker-1", "drop broker-2"]
    assert {machine.host for machine in report.machines} == {"broker-1", "broker-2"}


def test_processes_that_stay_fail_the_reset_before_anything_is_wiped() -> None:
    """A daemon still there after the wait is named, and no directory is touched."""
    steps: list[str] = []
    with pytest.raises(ResetError, match=r"broker-2: bookie \(pid 4711\)"):
        reset(
            hosts_of(2, steps),
            lambda: None,
            running=lambda host: {"bookie": 4711} if host.name == "broker-2" else {},
            gone_timeout_s=0.0,
        )
    assert steps == []


def test_it_waits_for_processes_to_go() -> None:
    """A daemon that needs a moment is waited for."""
    left: Iterator[dict[str, int]] = iter([{"broker": 1}, {}])
    steps: list[str] = []
    reset(hosts_of(1, steps), lambda: None, running=lambda _: next(left), gone_timeout_s=5.0)
    assert next(left, None) is None


def test_a_directory_of_somebody_else_stops_nothing() -> None:
    """A wrong inventory is refused before even the systems are stopped."""
    stopped: list[str] = []
    host = ScriptedHost(
        HostRecord(
            "broker-1",
            "broker",
            SshAddress("::1", 22, "u", "k"),
            "::1",
            "/srv/samebox",
            (DataDir("/home/data", "/dev/vda", "/", owned=False),),
            "i",
            "local",
            1,
        )
    )
    with pytest.raises(ResetError, match="refusing to empty /home/data"):
        reset([host], lambda: stopped.append("all"), running=none_running)
    assert (stopped, host.asked) == ([], [])


def test_without_the_kernels_switch_every_host_evicts_its_own_files() -> None:
    """Neither root nor sudo: all hosts of the machine evict, and the report is labelled so."""
    steps: list[str] = []
    report = reset(hosts_of(3, steps, may_drop=False), lambda: None, running=none_running)
    assert report.method == "fadvise"
    assert [step for step in steps if step.startswith("evict")] == [
        "evict broker-1",
        "evict broker-2",
        "evict broker-3",
    ]


def test_files_that_cannot_be_evicted_fail_the_reset_and_canaries_still_go() -> None:
    """Half an eviction isn't passed off as one; the canaries are removed all the same."""
    steps: list[str] = []
    hosts = hosts_of(1, steps, may_drop=False)
    hosts[0].unreadable = ("/srv/samebox/broker-1/x: Permission denied",)
    with pytest.raises(HostsFailed, match="Permission denied"):
        reset(hosts, lambda: None, running=none_running)
    assert steps[-1] == "remove broker-1"


def leave_the_drop_out(machine: Sequence[Host]) -> str:
    """What a kit without a drop would do. The canaries are read once more: some kernels reclaim what is only kept."""
    for host in machine:
        host.run(f"find {host.record.root} -name {CANARY_NAME} -exec cat {{}} + >/dev/null")
    return "none"


def evict_only(machine: Sequence[Host]) -> str:
    """The way of a user who is neither root nor may sudo."""
    for host in machine:
        evict_own_files(host)
    return "fadvise"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("drop", "method", "cold"),
    [(drop_page_caches, "drop_caches", True), (evict_only, "fadvise", True), (leave_the_drop_out, "none", False)],
)
def test_canaries_tell_whether_caches_were_dropped(
    hosts: dict[str, SshHost], drop: DropCaches, method: str, cold: bool
) -> None:
    """On real hosts every canary is resident before; it is gone after either way of dropping, and still there without one."""
    everyone = list(hosts.values())
    if method == "drop_caches" and everyone[0].run("id -u").stdout.strip() != "0":
        pytest.skip("the kernel's switch needs root; the fadvise case covers this user")
    report = reset(everyone, lambda: daemons.stop_everything(everyone), drop_caches=drop)
    assert report.method == method
    assert len(report.canaries) == sum(len(host.record.data_dirs) for host in everyone)
    for canary in report.canaries:
        assert canary.resident_before > 0.99
        assert canary.resident_after == (0.0 if cold else 1.0)
    assert len(report.machines) == 1
    assert report.machines[0].cached_bytes_before > 0
    assert {one.why for one in report.not_trimmed} == {"not owned by the testbed"}
    assert [one.host for one in report.settled] == [report.machines[0].host]
    for host in everyone:
        assert host.run(f"find {host.record.root} -name {CANARY_NAME}").stdout == ""


@pytest.mark.integration
def test_data_is_wiped_and_all_else_kept(hosts: dict[str, SshHost]) -> None:
    """On a real host the data directories end empty, and a file beside them stays."""
    host = hosts["broker-1"]
    data_dir = PurePosixPath(host.record.data_dirs[0].path)
    host.put(b"old trial", str(data_dir / "topic-0" / "0.log"))
    host.put(b"kept", f"{host.record.root}/beside")
    reset([host], lambda: daemons.stop_everything([host]))
    assert host.run(f"ls -A {data_dir}").stdout == ""
    assert host.get(f"{host.record.root}/beside") == b"kept"
    host.run(f"rm {host.record.root}/beside")


@pytest.mark.integration
def test_caches_dropped_under_a_mapped_file_stay_warm(hosts: dict[str, SshHost]) -> None:
    """Why the order matters: while a process has a file mapped, evicting doesn't make it cold; once it is gone, it does."""
    host = hosts["broker-1"]
    path = f"{host.record.data_dirs[0].path}/mapped"
    reset([host], lambda: daemons.stop_everything([host]))
    run_check(host, "canary", path, "--bytes", 1 << 20)
    program = (
        "import mmap,sys; f=open(sys.argv[1],'r+b'); m=mmap.mmap(f.fileno(),0); sum(m[::4096]); print('mapped',flush=True);"
        " sys.stdin.read()"
    )
    process = host.spawn(shlex.join(["python3", "-c", program, path]))
    try:
        assert next(process.lines()) == "mapped"
        evict_only([host])
        assert run_check(host, "residency", path)["files"][0]["resident_share"] == 1.0
    finally:
        process.close()
    process.wait(timeout_s=60)
    evict_only([host])
    assert run_check(host, "residency", path)["files"][0]["resident_share"] == 0.0
    host.run(f"rm {path}")
