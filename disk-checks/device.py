"""What is under a directory: file system, mount options, block device, its model, cache mode and scheduler. Reads only.

A value that the kernel doesn't tell is null, never guessed.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def describe(directory: str) -> dict[str, Any]:
    """The facts of the device that holds `directory`."""
    number = Path(directory).stat().st_dev
    major_minor = f"{os.major(number)}:{os.minor(number)}"
    mount = find_mount(Path("/proc/self/mountinfo").read_text(), os.path.realpath(directory), major_minor)
    space = os.statvfs(directory)
    return {
        "directory": directory,
        "device_number": major_minor,
        "boot_id": _text(Path("/proc/sys/kernel/random/boot_id")),
        "device": mount[0] if mount else None,
        "mount": mount[1] if mount else None,
        "filesystem": mount[2] if mount else None,
        "mount_options": mount[3] if mount else None,
        **queue_facts(Path("/sys/dev/block") / major_minor),
        "kernel": platform.release(),
        "filesystem_bytes": space.f_blocks * space.f_frsize,
        "free_bytes": space.f_bavail * space.f_frsize,
    }


def find_mount(mountinfo: str, path: str, major_minor: str) -> tuple[str, str, str, str] | None:
    """(device, mount, file system, options) of the mount that holds `path`: the longest prefix, the latest if mounted over.

    A mount of the path's own device wins over a longer prefix (bind mounts and overlays may hide one another).
    """
    best: tuple[tuple[bool, int], tuple[str, str, str, str]] | None = None
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        left, right = before.split(), after.split(" ")
        if not separator or len(left) < 6 or len(right) < 3:
            continue
        point = left[4].replace("\\040", " ")
        if path != point and not path.startswith(point.rstrip("/") + "/"):
            continue
        rank = (left[2] == major_minor, len(point))
        if best is None or rank >= best[0]:
            best = (rank, (right[1], point, right[0], ",".join([left[5], right[2]])))
    return best[1] if best else None


def queue_facts(node: Path) -> dict[str, Any]:
    """Model, rotational, write cache, scheduler and size of a device in sysfs; a partition is asked of its disk."""
    real = Path(os.path.realpath(node))
    disk = real.parent if (real / "partition").exists() else real
    rotational = _text(disk / "queue/rotational")
    sectors = _text(real / "size")
    scheduler = _text(disk / "queue/scheduler")
    return {
        "disk": disk.name if disk.exists() else None,
        "model": _text(disk / "device/model"),
        "rotational": None if rotational is None else rotational == "1",
        "write_cache": _text(disk / "queue/write_cache"),
        "scheduler": scheduler.split("[")[-1].split("]")[0] if scheduler else None,
        "discard_max_bytes": _number(_text(disk / "queue/discard_max_bytes")),
        "size_bytes": int(sectors) * 512
        if sectors
        else None,  # sysfs counts 512-byte sectors whatever the disk's own are
    }


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
