"""Preparing a machine for real, over SSH: packages by apt, xfs on a blank disk, kernel settings; and all of it a second time."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.errors import HostsFailed
from provisioning.hosts.inventory import DataDir
from provisioning.hosts.ssh import SshHost, connect
from provisioning.preparation import settings
from provisioning.preparation.prepare import Preparation, prepare
from systems.registry import requirements
from tests.provisioning.other_machine import SETTINGS, OtherMachine, other_machine

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces and loop devices"),
    pytest.mark.skipif(shutil.which("apt-get") is None, reason="the machine is a copy of this one, and has no apt"),
]
MOUNT = "/mnt/data-1"
DISK_BYTES = 400 * 2**20  # the least that mkfs.xfs takes is 300 MB


def state_of_this_machine() -> dict[str, object]:
    """What preparation would change, if it reached this machine."""
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if f" {MOUNT} " in line]
    programs = {name: Path("/usr/sbin", name).exists() for name in ("mkfs.xfs", "chronyd", "policy-rc.d")}
    settings = {path: Path(path).read_text() for path in SETTINGS}
    return {"mounts": mounts, "programs": programs, "settings": settings, "root": Path("/opt/samebox").exists()}


@pytest.fixture(scope="module")
def own_state() -> dict[str, object]:
    """This machine before any test of this file."""
    return state_of_this_machine()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A blank disk: a loop device."""
    image = tmp_path_factory.mktemp("disk") / "image"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    device = subprocess.run(
        ["/usr/sbin/losetup", "--find", "--show", str(image)], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["/usr/sbin/losetup", "--detach", device], check=True)


@pytest.fixture(scope="module")
def machine(
    own_state: dict[str, object], disk: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OtherMachine]:
    """A client with one owned disk."""
    assert own_state, "this machine is looked at first"
    owned = DataDir(f"{MOUNT}/data", disk, MOUNT, owned=True)
    with other_machine(tmp_path_factory.mktemp("other"), role="client", data_dirs=(owned,)) as machine:
        yield machine


@pytest.fixture(scope="module")
def host(machine: OtherMachine) -> Iterator[SshHost]:
    """The connection to it."""
    [host] = connect(machine.inventory)
    yield host
    host.close()


@pytest.fixture(scope="module", autouse=True)
def open_files_as_here() -> Iterator[None]:
    """The limit that this machine has is enough: within a container not even root may raise it."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "LEAST_OPEN_FILES", min(limit, settings.LEAST_OPEN_FILES))
        yield


@pytest.fixture(scope="module")
def first(host: SshHost) -> Preparation:
    """The first preparation, which finds a bare machine: whatever brings mkfs.xfs here, it doesn't have."""
    host.run("dpkg --remove --force-depends xfsprogs 2>&1", timeout_s=120)
    assert host.run("PATH=$PATH:/usr/sbin command -v mkfs.xfs", check=False).exit_status != 0
    return prepare([host], of_systems=requirements(), time_server=None, notice=lambda _: None)


def test_a_bare_machine_is_brought_into_the_wanted_state(first: Preparation, host: SshHost, disk: str) -> None:
    """xfsprogs is installed from the distribution, the disk formatted and mounted, every setting set; all found so there."""
    changed = {row.name: (row.before, row.after) for row in first.changed}
    assert changed["xfsprogs"] == ("missing", "there")
    assert changed["vm.swappiness"] == ("60", "1")
    assert changed["vm.dirty_ratio"] == ("40", "10")
    assert changed["vm.max_map_count"] == ("65530", "262144")
    assert changed["transparent huge pages"] == ("always", "madvise")
    assert changed[f"{disk} on {MOUNT}"][0] == "blank, not mounted"
    assert first.left == ()
    assert host.run("cat /proc/sys/vm/swappiness").stdout.strip() == "1"
    mounted = host.run(f"findmnt --noheadings --output SOURCE,FSTYPE,OPTIONS {MOUNT}").stdout.split()
    assert mounted[:2] == [disk, "xfs"]
    assert "noatime" in mounted[2].split(",")
    assert "discard" not in mounted[2].split(",")
    assert host.run(f"test -w {MOUNT}/data && test -w /opt/samebox", check=False).exit_status == 0


def test_a_second_time_changes_nothing(first: Preparation, host: SshHost) -> None:
    """Everything is found as wanted."""
    assert first.changed
    again = prepare([host], of_systems=requirements(), time_server=None, notice=lambda _: None)
    assert again.changed == ()
    assert {row.status for row in again.rows} <= {"as wanted", "not there"}


def test_what_was_moved_since_is_put_back(first: Preparation, host: SshHost, machine: OtherMachine) -> None:
    """A setting that somebody changed and a disk that is no longer mounted: both again, and the files on the disk are still there."""
    assert first.changed
    host.run(f"echo kept > {MOUNT}/data/file; umount {MOUNT}; rmdir {MOUNT}")
    machine.settings["/proc/sys/vm/swappiness"].write_text("60\n")
    again = prepare([host], of_systems=requirements(), time_server=None, notice=lambda _: None)
    assert {row.name for row in again.changed if " on " not in row.name} == {"vm.swappiness"}
    assert host.run(f"cat {MOUNT}/data/file").stdout == "kept\n"


def test_a_disk_with_somebodys_file_system_is_refused(first: Preparation, host: SshHost, disk: str) -> None:
    """ext4 on an owned disk is kept unless erasing is asked for, and then it is gone."""
    assert first.changed
    host.run(f"umount {MOUNT}; PATH=$PATH:/usr/sbin; mkfs.ext4 -q -F -L photos {disk}")
    with pytest.raises(HostsFailed, match="is not empty: it holds ext4 photos"):
        prepare([host], of_systems=requirements(), time_server=None, notice=lambda _: None)
    erased = prepare([host], of_systems=requirements(), time_server=None, notice=lambda _: None, erase=True)
    assert f"{disk} on {MOUNT}" in {row.name for row in erased.changed}


def test_this_machine_kept_its_own(own_state: dict[str, object], first: Preparation) -> None:
    """Neither settings nor programs nor mounts of the machine that the tests run on were touched."""
    assert first.changed
    assert state_of_this_machine() == own_state


def test_what_does_not_hold_is_an_error(first: Preparation, host: SshHost) -> None:
    """A setting that takes the write and keeps its value, as in a container: named with wanted and found."""
    assert first.changed
    host.run("mount -t tmpfs tmpfs /srv && echo 60 > /srv/swappiness && mount -o remount,ro /srv")
    host.run("mount --bind /srv/swappiness /proc/sys/vm/swappiness")
    try:
        with pytest.raises(HostsFailed, match=r"client-1: vm\.swappiness: wanted 1, found 60"):
            prepare([host], of_systems=requirements(), time_server=None, notice=lambda _: None)
    finally:
        host.run("umount /proc/sys/vm/swappiness; umount /srv")
