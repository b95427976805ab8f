"""The pure parts of disk-checks: dd's line, mounts, sysfs, file systems without direct I/O."""

from __future__ import annotations

import ast
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Script = Callable[[str], ModuleType]

DISK_CHECKS = Path(__file__).resolve().parents[2] / "disk-checks"
MOUNTINFO = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 25 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
90 27 259:1 / /data/nvme1 rw,noatime shared:5 - xfs /dev/nvme1n1 rw,attr2,inode64,noquota
91 27 259:2 / /data/nvme\\0402 rw,noatime - xfs /dev/nvme2n1 rw,attr2,inode64,noquota
malformed line
"""


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (
            "64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0.0278373 s, 2.4 GB/s\n",
            (67108864, 0.0278373),
        ),
        ("68719476736 bytes (69 GB, 64 GiB) copied, 67.2 s, 1.0 GB/s", (68719476736, 67.2)),
        ("1 byte copied, 9.8e-05 s, 10.2 kB/s", None),
        ("512 bytes copied, 9.8e-05 s, 5.2 MB/s", (512, 9.8e-05)),
        ("1048576 bytes (1.0MB) copied, 0.000977 seconds, 1.0GB/s", (1048576, 0.000977)),
        ("67108864 Bytes kopiert, 0,0278 s", None),
        ("", None),
    ],
)
def test_dd_line(script: Script, stderr: str, expected: tuple[int, float] | None) -> None:
    """Bytes and seconds from GNU's and BusyBox's last line; anything else is None, never a wrong figure."""
    assert script("disk").parse_dd(stderr) == expected


@pytest.mark.parametrize(
    ("path", "number", "expected"),
    [
        ("/data/nvme1/kafka", "259:1", ("/dev/nvme1n1", "/data/nvme1", "xfs", "rw,noatime,rw,attr2,inode64,noquota")),
        ("/data/nvme1", "259:1", ("/dev/nvme1n1", "/data/nvme1", "xfs", "rw,noatime,rw,attr2,inode64,noquota")),
        ("/data/nvme 2/x", "259:2", ("/dev/nvme2n1", "/data/nvme 2", "xfs", "rw,noatime,rw,attr2,inode64,noquota")),
        ("/data/nvme10", "254:0", ("/dev/vda", "/", "ext4", "rw,relatime,rw,discard")),
    ],
)
def test_mount_of_a_path(script: Script, path: str, number: str, expected: tuple[str, ...]) -> None:
    """The longest mount that really contains the path; /data/nvme10 isn't in /data/nvme1."""
    assert script("device").find_mount(MOUNTINFO, path, number) == expected


def test_partition_is_asked_of_its_disk(script: Script, tmp_path: Path) -> None:
    """A partition has no queue of its own: model, cache mode and scheduler come from the disk, the size is its own."""
    disk = tmp_path / "nvme0n1"
    partition = disk / "nvme0n1p1"
    for name, text in {
        "queue/rotational": "0\n",
        "queue/write_cache": "write through\n",
        "queue/scheduler": "[none] mq-deadline\n",
        "queue/discard_max_bytes": "2199023255040\n",
        "device/model": "Amazon EC2 NVMe Instance Storage        \n",
        "nvme0n1p1/partition": "1\n",
        "nvme0n1p1/size": "4096\n",
    }.items():
        (disk / name).parent.mkdir(parents=True, exist_ok=True)
        (disk / name).write_text(text)
    assert script("device").queue_facts(partition) == {
        "disk": "nvme0n1",
        "model": "Amazon EC2 NVMe Instance Storage",
        "rotational": False,
        "write_cache": "write through",
        "scheduler": "none",
        "discard_max_bytes": 2199023255040,
        "size_bytes": 2097152,
    }


def test_unknown_device_has_nulls(script: Script, tmp_path: Path) -> None:
    """A file system without a block device (tmpfs, overlay) has no guessed facts."""
    assert set(script("device").queue_facts(tmp_path / "none").values()) == {None}


def test_no_direct_io_is_said_and_leaves_nothing(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that refuses O_DIRECT is named as the reason, and the scratch file is gone."""
    probe_file = script("probe_file")
    real_open = os.open

    def refusing(path: Any, flags: int, *rest: Any, **keywords: Any) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument", str(path))
        return real_open(path, flags, *rest, **keywords)

    monkeypatch.setattr(os, "open", refusing)
    with (
        pytest.raises(probe_file.ProbeError, match="O_DIRECT") as raised,
        probe_file.probe_file(str(tmp_path), 4096, os.O_DIRECT),
    ):
        pass
    assert raised.value.kind == "no-direct-io"
    assert list(tmp_path.iterdir()) == []


def test_scratch_file_is_closed_and_gone_after_an_exception(script: Script, tmp_path: Path) -> None:
    """An exception inside the probe closes the descriptor and leaves no file."""
    probe_file = script("probe_file").probe_file
    descriptor = -1
    with pytest.raises(RuntimeError), probe_file(str(tmp_path), 4096) as opened:
        descriptor = opened
        assert list(tmp_path.iterdir()) == []
        raise RuntimeError
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize("path", sorted(DISK_CHECKS.glob("*.py")), ids=lambda path: path.name)
def test_scripts_need_no_more_than_python_3_9_and_its_library(path: Path) -> None:
    """Hosts have whatever python3 their system has: the grammar of 3.9, and no import but the standard library's."""
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    own = {script.stem for script in DISK_CHECKS.glob("*.py")}
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] in own | sys.stdlib_module_names, f"{path.name} imports {name}"


def test_residency_of_an_empty_file(script: Script, tmp_path: Path) -> None:
    """No pages are 0 resident, not a division by zero."""
    empty = tmp_path / "empty"
    empty.touch()
    assert script("page_cache").residency(str(empty))["resident_share"] == 0.0
