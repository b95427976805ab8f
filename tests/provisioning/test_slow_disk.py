"""A host whose disk is really slow, among others: the unchanged probes see it, and vetting rejects that host and no other."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from provisioning.hosts.disk_checks import SOURCES
from provisioning.hosts.inventory import DataDir, Inventory
from provisioning.hosts.ssh import connect
from provisioning.testbeds.local.testbed import LocalTestbed
from provisioning.vetting import Vetting, load_thresholds, vet
from provisioning.vetting.thresholds import InstanceType, Thresholds
from tests.provisioning.slow_disk import Limits, SlowDisk, loop_device_on, slow_disk, throttle

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can throttle a disk"),
]
MIB = 2**20
SLOW = Limits(bytes_per_s=8_000_000, writes_per_s=100)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlowDisk]:
    """The slow disk."""
    with slow_disk(tmp_path_factory.mktemp("slow"), SLOW) as disk:
        yield disk


def thresholds() -> Thresholds:
    """The kit's rules, with a preset that any disk of today meets, a small probe, and no regard to other work on this machine."""
    kit = load_thresholds()
    profile = replace(kit.profiles["small"], throughput_bytes=16 * MIB, spread_s=0.0)
    return replace(
        kit,
        idle_rule=replace(kit.idle_rule, warn_busy_share=1.0),
        fsync_rule=replace(kit.fsync_rule, reject_p99_ms=80.0),
        profiles={**kit.profiles, "small": profile},
        instances={**kit.instances, "local": InstanceType("small", write_bytes_per_s=30e6, source="any disk of today")},
    )


def with_data_on(inventory: Inventory, name: str, disk: SlowDisk) -> Inventory:
    """The inventory with one host's data on `disk`."""
    directory = DataDir(str(disk.mount), disk.device, str(disk.mount), owned=False)
    return replace(
        inventory,
        hosts=tuple(replace(host, data_dirs=(directory,)) if host.name == name else host for host in inventory.hosts),
    )


@pytest.fixture(scope="module")
def vetting(slow: SlowDisk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vetting]:
    """Three brokers and a client, vetted; broker-2 has the slow disk."""
    testbed = LocalTestbed(tmp_path_factory.mktemp("testbed") / "state")
    try:
        hosts = connect(with_data_on(testbed.up(), "broker-2", slow))
        try:
            yield vet(hosts, thresholds(), progress=lambda *_: None)
        finally:
            for host in hosts:
                host.close()
    finally:
        testbed.down()


def test_exactly_that_host_is_rejected(vetting: Vetting) -> None:
    """The slow disk's host is rejected, the hosts beside it are not."""
    assert vetting.rejected == ("broker-2",), [v.sentence for v in vetting.verdicts if v.verdict == "reject"]


def test_it_is_rejected_for_what_it_is(vetting: Vetting) -> None:
    """By its throughput (the preset) and by its flush latency, both with the measured figure."""
    rejects = {v.rule: v for v in vetting.verdicts if v.verdict == "reject"}
    assert {"preset", "fsync"} <= set(rejects)
    measured = rejects["preset"].measured
    assert measured is not None
    assert measured < 1.5 * SLOW.bytes_per_s
    assert vetting.history[0].sentences


def test_only_what_is_on_it_is_slow(slow: SlowDisk, tmp_path: Path) -> None:
    """The same probe, run by hand in the same process: slow on that disk, not beside it."""

    def bytes_per_s(directory: Path) -> float:
        command = ["python3", str(SOURCES), "throughput", str(directory), "--bytes", str(16 * MIB)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return float(json.loads(printed)["write"]["bytes_per_s"])

    assert bytes_per_s(slow.mount) < 1.5 * SLOW.bytes_per_s
    assert bytes_per_s(tmp_path) > 2 * SLOW.bytes_per_s


def test_a_disk_that_somebody_else_made_is_slowed_while_it_is_there(tmp_path: Path) -> None:
    """Found by its file's name, also from another mount namespace; fast before, slow after, for what was started in between."""
    image = tmp_path / "0123456789AB"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    assert loop_device_on(image.name) is None
    attach = f"PATH=$PATH:/usr/sbin; device=$(losetup --find --show {image}); echo $device; read go"
    write = "dd if=/dev/zero of=$device bs=1M count=8 oflag=direct 2>&1; losetup --detach $device"
    with throttle() as group:
        other = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f"{attach}; {write}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert other.stdout is not None
        assert other.stdout.readline().startswith("/dev/loop")
        number = loop_device_on(image.name)
        assert number is not None
        group.slow(number, Limits(bytes_per_s=4_000_000))
        started_s = time.monotonic()
        said, _ = other.communicate("go\n", timeout=60)
    assert "8388608 bytes" in said
    assert time.monotonic() - started_s > 1.5, said
    assert loop_device_on(image.name) is None


def test_nothing_is_left_of_it(tmp_path: Path) -> None:
    """After use: no mount, no loop device, no cgroup, no file; this process is where it was."""
    before = Path("/proc/self/cgroup").read_text()
    with slow_disk(tmp_path, size_bytes=64 * MIB) as disk:
        assert disk.mount.is_dir()
        assert Path("/proc/self/cgroup").read_text() != before
    assert Path("/proc/self/cgroup").read_text() == before
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
    backing = Path("/sys/block") / Path(disk.device).name / "loop" / "backing_file"
    deadline = time.monotonic() + 10
    while backing.exists() and str(tmp_path) in backing.read_text():  # the kernel lets go a moment after the unmount
        assert time.monotonic() < deadline, "the loop device is still there"
        time.sleep(0.1)


def test_what_a_killed_run_leaves_is_taken_away(tmp_path: Path) -> None:
    """A process killed in the middle can't clean up; the next slow disk does it first."""
    script = (
        "import os, signal; from pathlib import Path; from tests.provisioning.slow_disk import slow_disk\n"
        f"with slow_disk(Path({str(tmp_path)!r}), size_bytes={64 * MIB}): os.kill(os.getpid(), signal.SIGKILL)"
    )
    root = Path(__file__).parents[2]
    killed = subprocess.run(["python3", "-c", script], cwd=root, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    assert str(tmp_path) in Path("/proc/mounts").read_text()
    with slow_disk(tmp_path, size_bytes=64 * MIB):
        left = [line for line in Path("/proc/mounts").read_text().splitlines() if str(tmp_path) in line]
        assert len(left) == 1
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
