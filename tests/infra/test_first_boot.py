"""What a host does at its first boot and at every other: the programs it gets, run here with their folders moved and their tools faked.

The fakes keep state in files: a disk is a file, its file system's label is the file's content, a mount is a line.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infra.user_data import ON_HOST, FirstBoot, host_key, user_data
from provisioning.testbeds.aws.rehearsal.cloud.first_boot import MACHINE, STAND_INS

FAKES = {
    "udevadm": "exit 0",
    "blkid": '[ -s "$2" ] || exit 2; echo "$2"',
    "mkfs.xfs": 'echo "$*" >>"$MACHINE/mkfs.log"; printf %s "$4" >"$5"; ln -s "$5" "$MACHINE/dev/disk/by-label/$4"',
    "mountpoint": 'grep -qs " $2\\$" "$MACHINE/mounts"',
    "mount": 'echo "$4 $(readlink -f "$5") $6" >>"$MACHINE/mounts"',
    "chown": 'echo "$*" >>"$MACHINE/chown.log"',
    "systemctl": 'echo "$*" >>"$MACHINE/systemctl.log"',
    # the driver shows its clock if its options say so as it is loaded; the network is there while it is
    "modprobe": (
        'echo "$*" >>"$MACHINE/modprobe.log"; [ ! -e "$MACHINE/built-in" ] || exit 1;'
        ' case $1 in --remove) rm "$MACHINE/ena" ;; *) touch "$MACHINE/ena";'
        ' grep -qs phc_enable=1 "$MACHINE"/etc/modprobe.d/* && touch "$MACHINE/dev/ptp_ena" ;; esac'
    ),
    "ip": '[ -e "$MACHINE/ena" ] && [ ! -e "$MACHINE/cut-off" ] && echo "default via 192.0.2.1"; exit 0',
    "sleep": "exit 0",
    "shutdown": 'echo "$*" >>"$MACHINE/shutdown.log"',
}


class Machine:
    """A folder that the programs take for a machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("bin", "dev/disk/by-id", "dev/disk/by-label", "mnt", "etc/systemd/system", "etc/modprobe.d"):
            (folder / name).mkdir(parents=True)
        for name, body in FAKES.items():
            self._program(name, f"#!/bin/bash\n{body}\n")
        for name in ("samebox-disks", "samebox-expire-at", "samebox-ptp"):
            text = (ON_HOST / name).read_text()
            for top in ("/dev/disk", "/dev/nvme", "/dev/ptp", "/mnt/", "/etc/"):
                text = text.replace(top, f"{folder}{top}")
            self._program(name, text)

    def _program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def add_disk(self, name: str, serial: str) -> Path:
        """A disk with the links that udev makes: of the disk, of its namespace, of a partition."""
        disk = self.folder / "dev" / name
        disk.touch()
        link = self.folder / f"dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_{serial}"
        link.symlink_to(disk)
        Path(f"{link}_1").symlink_to(disk)
        Path(f"{link}-part1").symlink_to(self.folder / "dev" / f"{name}p1")
        return disk

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One of the programs, as the machine would run it."""
        environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "MACHINE": str(self.folder)}
        return subprocess.run(
            [str(self.folder / "bin" / words[0]), *words[1:]],
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def log(self, name: str) -> list[str]:
        """What a fake wrote down."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def reboot(self, **renamed: str) -> None:
        """Mounts are gone; the kernel may name the disks otherwise."""
        (self.folder / "mounts").unlink()
        for old, new in renamed.items():
            (self.folder / "dev" / old).rename(self.folder / "dev" / f"{new}.new")
        for path in (self.folder / "dev").glob("*.new"):
            path.rename(path.with_suffix(""))
        labels = self.folder / "dev/disk/by-label"
        for link in labels.iterdir():
            link.unlink()
        for disk in (self.folder / "dev").glob("nvme*"):
            (labels / disk.read_text()).symlink_to(disk)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """With two instance disks, as an i3en.6xlarge has."""
    made = Machine(tmp_path / "machine")
    made.add_disk("nvme2n1", "AWS1A")
    made.add_disk("nvme1n1", "AWS2B")
    return made


def test_first_boot_formats_every_disk_and_mounts_it(machine: Machine) -> None:
    """In the kernel's order, labelled, without discard on the way, owned by the login."""
    completed = machine.run("samebox-disks", "2", "ec2-user")
    assert completed.returncode == 0, completed.stderr
    dev, mnt = machine.folder / "dev", machine.folder / "mnt"
    assert machine.log("mkfs.log") == [f"-q -K -L data-1 {dev}/nvme1n1", f"-q -K -L data-2 {dev}/nvme2n1"]
    assert machine.log("mounts") == [
        f"noatime,nodiscard {dev}/nvme1n1 {mnt}/data-1",
        f"noatime,nodiscard {dev}/nvme2n1 {mnt}/data-2",
    ]
    assert machine.log("chown.log") == [f"ec2-user: {mnt}/data-1", f"ec2-user: {mnt}/data-2"]


def test_running_it_again_changes_nothing(machine: Machine) -> None:
    """Nothing is formatted or mounted twice."""
    machine.run("samebox-disks", "2", "ec2-user")
    mounts = machine.log("mounts")
    assert machine.run("samebox-disks", "2", "ec2-user").returncode == 0
    assert len(machine.log("mkfs.log")) == 2 and machine.log("mounts") == mounts


def test_a_reboot_that_renames_the_disks_mounts_each_where_it_was(machine: Machine) -> None:
    """By label, and without formatting."""
    machine.run("samebox-disks", "2", "ec2-user")
    machine.reboot(nvme1n1="nvme2n1", nvme2n1="nvme1n1")
    assert machine.run("samebox-disks", "2", "ec2-user").returncode == 0
    assert len(machine.log("mkfs.log")) == 2
    dev, mnt = machine.folder / "dev", machine.folder / "mnt"
    assert machine.log("mounts") == [
        f"noatime,nodiscard {dev}/nvme2n1 {mnt}/data-1",
        f"noatime,nodiscard {dev}/nvme1n1 {mnt}/data-2",
    ]


def test_a_disk_that_holds_something_is_never_formatted(machine: Machine) -> None:
    """Whatever it is, it isn't ours."""
    foreign = machine.folder / "dev/nvme1n1"
    foreign.write_text("somebody-elses")
    completed = machine.run("samebox-disks", "2", "ec2-user")
    assert completed.returncode == 1 and "none is blank" in completed.stderr
    assert foreign.read_text() == "somebody-elses"


def test_a_missing_disk_is_an_error(machine: Machine) -> None:
    """A host with fewer disks than its type has must not pass for a whole one."""
    completed = machine.run("samebox-disks", "3", "ec2-user")
    assert completed.returncode == 1 and "expected 3 instance disks, found 2" in completed.stderr
    assert machine.log("mkfs.log") == []


def test_a_host_without_disks_has_nothing_to_do(tmp_path: Path) -> None:
    """Clients and metadata hosts run the same program."""
    bare = Machine(tmp_path / "bare")
    assert bare.run("samebox-disks", "0", "ec2-user").returncode == 0


def test_the_end_can_be_set_and_moved(machine: Machine) -> None:
    """The second time replaces the first."""
    timer = machine.folder / "etc/systemd/system/samebox-expires.timer"
    for hours in (3, 5):
        at = datetime.now(UTC) + timedelta(hours=hours)
        completed = machine.run("samebox-expire-at", f"{at:%Y-%m-%dT%H:%M:%SZ}")
        assert completed.returncode == 0, completed.stderr
        lines = timer.read_text().splitlines()
        assert [line for line in lines if "OnCalendar" in line] == [f"OnCalendar={at:%Y-%m-%d %H:%M:%S} UTC"]
        assert "Persistent=true" in lines
    assert machine.log("systemctl.log")[-2:] == [
        "enable --quiet samebox-expires.timer",
        "restart samebox-expires.timer",
    ]


@pytest.mark.parametrize("at", ["2020-01-01T00:00:00Z", "soon"])
def test_an_end_that_cannot_come_is_refused(machine: Machine, at: str) -> None:
    """And leaves the timer as it was."""
    completed = machine.run("samebox-expire-at", at)
    assert completed.returncode != 0 and completed.stderr
    assert not (machine.folder / "etc/systemd/system/samebox-expires.timer").exists()


def test_a_host_that_cannot_arm_its_timer_ends_at_once() -> None:
    """Nothing would end it otherwise, if the schedule outside had failed as well."""
    key = host_key("00" * 32, campaign="c", host="broker-1", generation=1)
    text = user_data(FirstBoot("broker-1", key, "2026-11-21T20:00:00Z", 1))
    assert '"/usr/local/sbin/samebox-expire-at 2026-11-21T20:00:00Z || shutdown -h now"' in text


def test_the_driver_is_loaded_anew_with_its_ptp_clock(machine: Machine) -> None:
    """Once: where the clock is shown already, only the option for the next boot is written."""
    (machine.folder / "ena").touch()
    for _ in range(2):
        completed = machine.run("samebox-ptp")
        assert (completed.returncode, completed.stderr) == (0, "")
    assert (machine.folder / "etc/modprobe.d/samebox-ptp.conf").read_text() == "options ena phc_enable=1\n"
    assert (machine.folder / "dev/ptp_ena").exists()
    assert machine.log("modprobe.log") == ["--remove ena", "ena"]
    assert machine.log("shutdown.log") == []


def test_a_driver_that_cannot_be_loaded_anew_is_no_failure(machine: Machine) -> None:
    """The host follows the time server."""
    (machine.folder / "built-in").touch()
    completed = machine.run("samebox-ptp")
    assert completed.returncode == 0 and "no PTP hardware clock" in completed.stderr
    assert machine.log("modprobe.log") == ["--remove ena"]


def test_a_host_without_network_after_it_is_restarted(machine: Machine) -> None:
    """Nobody could reach it otherwise."""
    (machine.folder / "ena").touch()
    (machine.folder / "cut-off").touch()
    assert "restarting" in machine.run("samebox-ptp").stderr
    assert machine.log("shutdown.log") == ["-r now"]


def test_only_a_type_with_a_ptp_clock_asks_for_it() -> None:
    """As the last command, because it cuts the network off for a moment."""
    key = host_key("00" * 32, campaign="c", host="broker-1", generation=1)
    for ptp in (False, True):
        text = user_data(FirstBoot("broker-1", key, "2026-11-21T20:00:00Z", 1, ptp))
        document = json.loads(text.partition("\n")[2])
        assert (document["runcmd"][-1] == ["/usr/local/sbin/samebox-ptp"]) == ptp
        assert ("/usr/local/sbin/samebox-ptp" in [file["path"] for file in document["write_files"]]) == ptp


def test_a_host_of_the_local_cloud_touches_no_driver_of_this_machine() -> None:
    """They share its kernel: on an instance of EC2 it would lose its own network."""
    assert STAND_INS["modprobe"] == "usr/sbin"
    completed = subprocess.run([MACHINE / "modprobe", "--remove", "ena"], capture_output=True, text=True, check=False)
    assert completed.returncode == 1 and "no kernel of its own: --remove ena" in completed.stderr
