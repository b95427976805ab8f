"""Emptying data directories and trimming: what is refused, what is emptied, what is said about a device not trimmed."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from provisioning.errors import CommandFailed, Completed, ResetError
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, SshAddress
from provisioning.reset.wiping import (
    NotTrimmed,
    Trimmed,
    check_wipeable,
    parse_trimmed_bytes,
    trim,
    trim_command,
    wipe,
    wipe_command,
)


def record(*data_dirs: DataDir, root: str = "/srv/samebox") -> HostRecord:
    """A broker with these data directories."""
    return HostRecord("broker-1", "broker", SshAddress("::1", 22, "u", "k"), "::1", root, data_dirs, "i-1", "t", 1)


def on_owned(path: str, mount: str = "/data") -> DataDir:
    """A directory that is said to lie on an owned mount."""
    return DataDir(path, "/dev/nvme1n1", mount, owned=True)


def on_shared(path: str) -> DataDir:
    """A directory on a device that isn't the testbed's."""
    return DataDir(path, "/dev/vda", "/", owned=False)


@pytest.mark.parametrize(
    ("data_dir", "base"),
    [
        (on_shared("/srv/samebox/data-1"), "/srv/samebox"),
        (on_owned("/data/kafka"), "/data"),
        (on_owned("/mnt/data", mount="/mnt/data"), "/mnt/data"),
    ],
)
def test_own_directories_may_be_emptied(data_dir: DataDir, base: str) -> None:
    """Below the root, on an owned mount, or the owned mount itself."""
    assert check_wipeable(record(data_dir), data_dir) == base


@pytest.mark.parametrize(
    "data_dir",
    [
        on_shared("/var/lib/other"),
        on_shared("/srv/samebox"),
        on_shared("/srv/samebox-other/data"),
        on_shared("/srv/samebox/../../var/lib"),
        on_shared("/"),
        on_shared("srv/samebox/data"),
        DataDir("/data/kafka", "/dev/nvme1n1", "/data", owned=False),
        on_owned("/etc/x", mount="/"),
        on_owned("/data", mount="/data"),  # directly below /: too shallow to be anybody's data directory
    ],
)
def test_all_else_is_refused(data_dir: DataDir) -> None:
    """Elsewhere, the root itself, look-alikes, '..', relative paths, mounts that aren't owned."""
    with pytest.raises(ResetError, match="refusing to empty"):
        check_wipeable(record(data_dir), data_dir)


def test_nothing_is_emptied_when_one_directory_is_refused() -> None:
    """All directories are checked before the first is touched."""
    host = ScriptedHost(record(on_shared("/srv/samebox/data-1"), on_shared("/etc/data")))
    with pytest.raises(ResetError, match="/etc/data"):
        wipe(host)
    assert host.asked == []


def run(command: str) -> subprocess.CompletedProcess[str]:
    """The command as a host's shell would run it."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30)


def test_the_command_empties_everything_but_lost_and_found(tmp_path: Path) -> None:
    """Files, folders and dot files go, what a link points to and lost+found stay; odd names are no obstacle."""
    kept, data = tmp_path / "kept", tmp_path / "it's data"
    for folder in (kept, data / "topic-0", data / ".hidden", data / "lost+found"):
        folder.mkdir(parents=True)
    (kept / "precious").touch()
    (data / "topic-0" / "0.log").touch()
    (data / "-rf").touch()
    (data / "link").symlink_to(kept)
    assert run(wipe_command(str(tmp_path), str(data))).returncode == 0
    assert [path.name for path in data.iterdir()] == ["lost+found"]
    assert (kept / "precious").exists()


def test_the_command_makes_a_missing_directory(tmp_path: Path) -> None:
    """A directory lost is there, empty, afterwards."""
    assert run(wipe_command(str(tmp_path), str(tmp_path / "a" / "b"))).returncode == 0
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_link_out_of_the_root_is_refused_on_the_host(tmp_path: Path) -> None:
    """A data directory that is a link to elsewhere is left alone, with the reason."""
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    (root / "data").symlink_to(elsewhere)
    done = run(wipe_command(str(root), str(root / "data")))
    assert (done.returncode, (elsewhere / "precious").exists()) == (97, True)
    assert "outside" in done.stderr


def test_a_failing_wipe_is_an_error() -> None:
    """What the host's shell complains about isn't swallowed."""
    data_dir = on_shared("/srv/samebox/data-1")
    command = wipe_command("/srv/samebox", data_dir.path)
    host = ScriptedHost(record(data_dir), {command: Completed(command, "", "still there: x", 98)})
    with pytest.raises(CommandFailed, match="still there: x"):
        wipe(host)


def test_only_owned_devices_are_trimmed_and_each_once() -> None:
    """Two directories of one owned device are one trim; a device not owned is never asked, and is named with the reason."""
    said = "/data: 3.4 TiB (3749532966912 bytes) trimmed on /dev/nvme1n1\n"
    host = ScriptedHost(
        record(on_owned("/data/a"), on_owned("/data/b"), on_shared("/srv/samebox/c")), {trim_command("/data"): said}
    )
    assert trim(host) == [
        Trimmed("broker-1", "/dev/nvme1n1", "/data", 3749532966912),
        NotTrimmed("broker-1", "/dev/vda", "not owned by the testbed"),
    ]
    assert host.asked == [trim_command("/data")]


def test_a_device_that_cannot_be_trimmed_has_the_reason() -> None:
    """The device's refusal is on record, and isn't an error."""
    command = trim_command("/data")
    refusal = "fstrim: /data: the discard operation is not supported"
    host = ScriptedHost(record(on_owned("/data/a")), {command: Completed(command, "", refusal, 1)})
    assert trim(host) == [NotTrimmed("broker-1", "/dev/nvme1n1", refusal)]


def test_the_root_file_system_is_never_trimmed() -> None:
    """Not even when an inventory calls it owned."""
    data_dir = replace(on_shared("/srv/samebox/data-1"), owned=True)
    assert trim(ScriptedHost(record(data_dir))) == [
        NotTrimmed("broker-1", "/dev/vda", "its mount is the root file system")
    ]


def test_a_path_that_is_no_mount_point_is_not_trimmed(tmp_path: Path) -> None:
    """fstrim of a plain directory would trim the disk below it: refused on the host."""
    done = run(trim_command(str(tmp_path)))
    assert done.returncode == 96
    assert "not a mount point" in done.stderr


@pytest.mark.parametrize(
    ("output", "expected"),
    [("/data: 0 B (0 bytes) trimmed on /dev/nvme1n1", 0), ("/data: 1 KiB (1024 bytes) trimmed", 1024), ("", None)],
)
def test_trimmed_bytes(output: str, expected: int | None) -> None:
    """The exact count in brackets, not the rounded one."""
    assert parse_trimmed_bytes(output) == expected
