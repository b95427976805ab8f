"""Faults that take the kernel: packets dropped between hosts of one machine, and a disk slowed down."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioning.faults.on_host import cut, groups, slow_disk
from provisioning.faults.on_host.effect import NoEffect
from tests.provisioning.test_faults_on_host import Agent, daemons, marks

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
# answers each byte with itself; and one that asks it again and again, and says when it was answered
SERVER = """
import socket, sys, threading
def serve(connection):
    while data := connection.recv(64):
        connection.sendall(data)
with socket.create_server((sys.argv[1], 7701)) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
ASKER = """
import socket, sys, time
while True:
    try:
        with socket.create_connection((sys.argv[1], 7701), timeout=0.3) as connection:
            connection.settimeout(0.3)
            for _ in range(20):
                connection.sendall(b"x"); connection.recv(1)
                print(time.time_ns(), flush=True); time.sleep(0.01)
    except OSError:
        time.sleep(0.01)
"""
SYNCER = """
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
while True:
    os.pwrite(file, b"x" * 4096, 0); os.fdatasync(file)
    print(time.time_ns(), flush=True)
"""


def may_cut() -> str:
    """Why packets can't be dropped here; "" = they can."""
    if not shutil.which("nft", path=f"{os.environ['PATH']}:/usr/sbin"):
        return "nftables isn't installed"
    try:
        groups.mounted()
        cut.nft(["--check", "--file", "-"], cut.SAMPLE_BY_GROUP)
    except NoEffect as error:
        return str(error)
    return ""


class Three:
    """A server on one host, an asker on another, and one on a third, all of this machine."""

    def __init__(self, root: Path) -> None:
        self.run_dirs = {name: root / name / "run" for name in ("serves", "asks", "looks-on")}
        self.groups = {name: groups.own_group(run_dir) for name, run_dir in self.run_dirs.items()}
        self._address = "127.0.93.12"
        for name, run_dir in self.run_dirs.items():
            program = SERVER if name == "serves" else ASKER
            start(run_dir, [sys.executable, "-c", program, self._address])

    def cut(self, target: str, peers: list[str], direction: str, for_s: float) -> dict[str, Any]:
        """The end of a cut."""
        ends = {name: {"cgroup": group} for name, group in self.groups.items()}
        request = {
            "verb": "do", "run_dir": str(self.run_dirs[target]), "do": "cut", "at_ns": 0, "for_s": for_s, "direction": direction,
            "target": ends[target], "peers": [ends.get(name, {}) for name in peers],
            "others": [end for name, end in ends.items() if name != target],
        }  # fmt: skip
        with Agent(request) as agent:
            events = [agent.event() for _ in range(3)]
            assert agent.event() == {}, "its note goes with it"
        return {key: value for event in events for key, value in event.items()}

    def answered(self, name: str, after_ns: int, before_ns: int) -> int:
        """How often an asker was answered between two instants."""
        times = [int(line) for line in log_of(self.run_dirs[name]).read_text().splitlines()]
        return sum(after_ns < each < before_ns for each in times)

    def close(self) -> None:
        for run_dir in self.run_dirs.values():
            end(run_dir)
            groups.remove_group(run_dir)


def start(run_dir: Path, argv: list[str]) -> None:
    spec = {"name": "broker", "argv": argv, "log_path": str(log_of(run_dir)), "env": {}, "tier": 0, "niceness": 0}
    daemons(verb="start", run_dir=str(run_dir), daemons=[{**spec, "out_of_memory": "", "leaves": []}])


def end(run_dir: Path) -> None:
    daemons(verb="stop", run_dir=str(run_dir), names=None, tier=None, grace_s=0.0, kill_wait_s=10.0)


def log_of(run_dir: Path) -> Path:
    return run_dir.parent / "log"


def await_lines(run_dir: Path) -> None:
    """Until a daemon has said something."""
    while not log_of(run_dir).exists() or not log_of(run_dir).read_text().count("\n"):
        time.sleep(0.01)


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Three]:
    """Skips where packets can't be dropped."""
    if why := may_cut():
        pytest.skip(why)
    found = Three(tmp_path)
    try:
        for name in ("asks", "looks-on"):
            await_lines(found.run_dirs[name])
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("direction", ["both", "to", "from"])
def test_a_cut_is_between_two_hosts_and_no_others(three: Three, direction: str) -> None:
    """Whoever is cut off gets no answers while it lasts, on old and new connections; a third host does; afterwards both do."""
    found = three.cut("serves", ["asks"], direction, for_s=1.0)
    began_ns, ended_ns = found["began_ns"], found["ended_ns"]
    assert found["seen"].endswith("packets dropped")
    on_its_way_ns = 50_000_000
    assert three.answered("asks", began_ns + on_its_way_ns, ended_ns) == 0
    assert three.answered("looks-on", began_ns, ended_ns) > 10
    await_more(three, "asks", ended_ns)
    assert marks(three.run_dirs["serves"]) == []
    assert "samebox_" not in cut.nft(["list", "tables"], "")


def test_clients_are_whoever_is_no_broker(three: Three) -> None:
    """Cut off from its clients, a host still answers others in groups; somebody without one isn't answered."""
    with socket.create_connection(("127.0.93.12", 7701), timeout=5) as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        client.settimeout(0.5)
        with Agent(
            {
                "verb": "do", "run_dir": str(three.run_dirs["serves"]), "do": "cut", "at_ns": 0, "for_s": 30.0, "direction": "both",
                "target": {"cgroup": three.groups["serves"]}, "peers": [{}],
                "others": [{"cgroup": three.groups[name]} for name in ("asks", "looks-on")],
            }
        ) as agent:  # fmt: skip
            assert [agent.event()["event"] for _ in range(2)] == ["armed", "began"]
            client.sendall(b"x")
            with pytest.raises(TimeoutError):
                client.recv(1)
            await_more(three, "asks", time.time_ns())
            agent.let_go()
            assert agent.event()["event"] == "ended"


def await_more(three: Three, name: str, after_ns: int) -> None:
    """Until an asker is answered again."""
    while not three.answered(name, after_ns, sys.maxsize):
        time.sleep(0.01)


def test_a_cut_off_nobody_talks_over_is_none(three: Three) -> None:
    """Two hosts that say nothing to one another aren't cut off: no packet shows it."""
    found = three.cut("asks", ["looks-on"], "both", for_s=0.3)
    assert (found["event"], found["why"]) == ("failed", "it couldn't be undone: no packet was dropped")
    assert "samebox_" not in cut.nft(["list", "tables"], "")


def test_a_slow_disk_syncs_less_often(tmp_path: Path) -> None:
    """While it is slow, a process that syncs a file does so at most as often as asked for; before and after, much more often."""
    try:
        slow_disk.hierarchy()
        slow_disk.device_of(str(tmp_path))
    except (NoEffect, OSError) as error:
        pytest.skip(str(error))
    run_dir = tmp_path / "run"
    start(run_dir, [sys.executable, "-c", SYNCER, str(tmp_path / "synced")])
    try:
        await_lines(run_dir)
        with Agent(
            {
                "verb": "do", "run_dir": str(run_dir), "do": "slow-disk", "at_ns": time.time_ns() + 10**9, "for_s": 2.0,
                "names": ["broker"], "directory": str(tmp_path), "writes_per_s": 10,
            }
        ) as agent:  # fmt: skip
            found = {key: value for _ in range(3) for key, value in agent.event().items()}
    finally:
        end(run_dir)
    times = [int(line) for line in log_of(run_dir).read_text().splitlines()]
    before = sum(found["began_ns"] - 10**9 < each < found["began_ns"] for each in times)
    during = sum(found["began_ns"] < each < found["ended_ns"] for each in times)
    assert "at most 10 a second" in found["seen"]
    assert 0 < during < 0.5 * before
    assert not list(Path("/sys/fs/cgroup").glob("*/samebox-slow-*"))
