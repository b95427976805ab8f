"""What crashed, killed and interrupted runs of the local testbed leave, and that it is cleaned without touching others."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connect
from provisioning.testbeds.local.processes import listener_of
from provisioning.testbeds.local.testbed import LocalTestbed
from tests.provisioning.proc import processes_naming, runs

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

# Its own SIGINT handler: tests that a shell started in the background inherit an ignored one.
UP = """
import signal
import sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from provisioning.testbeds.local.testbed import LocalTestbed
print("begin", flush=True)
inventory = LocalTestbed(Path(sys.argv[1]), brokers=2, clients=1).up()
if "work" in sys.argv:
    from provisioning.hosts.ssh import connect
    for host in connect(inventory):
        host.run("setsid sleep 300 < /dev/null > /dev/null 2>&1 &")
print("end", flush=True)
import time
time.sleep(60)
"""


def _testbed(folder: Path, notices: list[str] | None = None) -> LocalTestbed:
    return LocalTestbed(folder, brokers=2, clients=1, notice=(notices if notices is not None else []).append)


def _start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", UP, str(folder), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begin\n"
    return process


def _finish(process: subprocess.Popen[bytes], with_signal: int) -> None:
    process.send_signal(with_signal)
    process.communicate(timeout=60)


def _kill_sshds(inventory: Inventory, count: int) -> None:
    for host in inventory.hosts[:count]:
        listener = listener_of(Path(host.root))
        assert listener is not None
        os.kill(listener, signal.SIGKILL)
    time.sleep(0.1)


def test_a_testbed_outlives_the_killed_process_that_made_it(tmp_path: Path) -> None:
    """After kill -9 of the process that ran up, up returns the same healthy testbed, and down takes it away."""
    process = _start(tmp_path / "state", "work")
    assert process.stdout is not None
    assert process.stdout.readline() == b"end\n"
    _finish(process, signal.SIGKILL)
    notices: list[str] = []
    testbed = _testbed(tmp_path / "state", notices)
    running = testbed.inventory()
    assert running is not None
    assert testbed.up() == running
    assert notices == []
    testbed.down()
    assert processes_naming(tmp_path / "state") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_an_up_cut_off_at_any_moment_is_cleaned(tmp_path: Path, with_signal: int) -> None:
    """Whenever up is interrupted or killed, the next up works, and after down nothing is left."""
    for delay_s in (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4):
        process = _start(tmp_path / "state")
        time.sleep(delay_s)
        _finish(process, with_signal)
        testbed = _testbed(tmp_path / "state")
        if delay_s in (0.03, 0.1):
            inventory = testbed.up()
            for host in connect(inventory):
                assert host.run("echo well").stdout == "well\n"
                host.close()
        testbed.down()
        assert processes_naming(tmp_path / "state") == [], f"after {delay_s} s"
        assert list(tmp_path.iterdir()) == [], f"after {delay_s} s"


@pytest.mark.parametrize("killed", [1, 3], ids=["one", "all"])
def test_hosts_that_ended_are_started_again(tmp_path: Path, killed: int) -> None:
    """When sshds have died, up starts the same hosts again: same keys and files; what still ran there has ended."""
    notices: list[str] = []
    testbed = _testbed(tmp_path / "state", notices)
    try:
        before, daemons = testbed.up(), []
        for host in connect(before):
            host.put(b"kept", f"{host.record.data_dirs[0].path}/segment")
            daemons.append(int(host.run("setsid sleep 300 < /dev/null > /dev/null 2>&1 & echo $!").stdout))
            host.close()
        assert all(runs(pid) for pid in daemons)
        _kill_sshds(before, killed)
        assert testbed.inventory() is None
        assert testbed.up() == before == testbed.inventory()
        assert not any(runs(pid) for pid in daemons)
        for host in connect(before):
            assert host.get(f"{host.record.data_dirs[0].path}/segment") == b"kept"
            host.close()
        assert notices == ["The testbed's hosts had ended; they were started again with the same keys and directories."]
    finally:
        testbed.down()
    assert processes_naming(tmp_path / "state") == []


@pytest.mark.parametrize("lost", ["address", "directory"])
def test_hosts_that_cannot_be_the_same_are_new_ones(tmp_path: Path, lost: str) -> None:
    """When another testbed has their addresses by now, or a host's directory is gone, up starts afresh and says so."""
    notices: list[str] = []
    testbed, other = _testbed(tmp_path / "state", notices), _testbed(tmp_path / "other")
    try:
        before = testbed.up()
        _kill_sshds(before, 3)
        if lost == "address":
            assert {host.address for host in other.up().hosts} == {host.address for host in before.hosts}
        else:
            shutil.rmtree(before.hosts[1].root)
        anew = testbed.up()
        assert {h.instance_id for h in anew.hosts}.isdisjoint({h.instance_id for h in before.hosts})
        assert len(notices) == 1
        assert "Removed what an earlier run left behind" in notices[0]
        assert testbed.inventory() == anew
        assert (other.inventory() is not None) == (lost == "address")
    finally:
        testbed.down()
        other.down()
    assert processes_naming(tmp_path / "state") == []


def test_a_damaged_inventory_is_started_afresh(tmp_path: Path) -> None:
    """An inventory file that can't be read doesn't keep the testbed from coming up."""
    testbed = _testbed(tmp_path / "state")
    try:
        testbed.up()
        (tmp_path / "state" / "inventory.json").write_text("{")
        assert testbed.inventory() is None
        assert testbed.up() == testbed.inventory()
    finally:
        testbed.down()


def test_processes_of_a_removed_checkout_are_cleaned_and_living_ones_spared(tmp_path: Path) -> None:
    """up ends what belongs to hosts whose directories were deleted by hand; another living testbed goes on."""
    removed, living, new = (_testbed(tmp_path / name) for name in ("removed", "living", "new"))
    try:
        for host in connect(removed.up()):
            host.run("setsid sleep 300 < /dev/null > /dev/null 2>&1 &")
            host.close()
        untouched = living.up()
        worker = connect(untouched)[0].spawn("echo begun; cat")
        assert next(worker.lines()) == "begun"
        shutil.rmtree(tmp_path / "removed")
        assert len(processes_naming(tmp_path / "removed")) >= 6
        new.up()
        assert processes_naming(tmp_path / "removed") == []
        assert living.inventory() == untouched
        worker.send_line("still here")
        worker._session.close_input()
        assert worker.wait(timeout_s=60).exit_status == 0
    finally:
        for testbed in (removed, living, new):
            testbed.down()
