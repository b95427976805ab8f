"""Slows down the disk for daemons: a control group lets them write only so often a second to the device of a directory.

By `io.max` of cgroup 2, or where that has no io controller, by the throttle of the older `blkio`. Of buffered writes the older one
slows only what a process syncs itself, which is what the acknowledgement of a synced message waits for.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioning.faults.on_host import groups
from provisioning.faults.on_host.effect import NoEffect
from provisioning.hosts.daemon_agent import alive, read_pid_files

_GROUPS = Path("/sys/fs/cgroup")


class SlowDisk:
    """The disk of `directory`, for the daemons `names`, at most `writes_per_s`."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._names, self._run_dir = list(request["names"]), request["run_dir"]
        self._directory, self._writes_per_s = request["directory"], request["writes_per_s"]
        self.to_undo: dict[str, Any] = {}

    def prepare(self) -> None:
        """See Kind. Raises NoEffect where no control group can slow a disk, or there is none."""
        parent, limit = hierarchy()
        self._limit = limit
        self._device = device_of(self._directory)
        known = read_pid_files(self._run_dir)
        self._pids = {name: each["pid"] for name, each in alive(known).items() if name in self._names}
        missing = [name for name in self._names if name not in self._pids]
        if missing:
            raise NoEffect(f"not running: {', '.join(missing)}")
        self._group = parent / f"samebox-slow-{os.getpid()}"
        self.to_undo |= {"group": str(self._group), "back": _groups_of(parent, self._pids.values())}

    def begin(self) -> dict[str, int]:
        """See Kind."""
        self._group.mkdir()
        how = (
            f"{self._device} wiops={self._writes_per_s}"
            if self._limit == "io.max"
            else f"{self._device} {self._writes_per_s}"
        )
        (self._group / self._limit).write_text(how)
        for pid in self._pids.values():
            _move(self._group, pid)
        return dict(self._pids)

    def undo(self) -> str:
        """See Kind. Raises NoEffect where nothing was written meanwhile."""
        written = self._written()
        undo_noted(self.to_undo)
        if not written:
            raise NoEffect("nothing was written meanwhile")
        return f"{written:,} writes, at most {self._writes_per_s:,} a second"

    def _written(self) -> int:
        """How many writes to the device the group has seen."""
        with contextlib.suppress(FileNotFoundError):
            if self._limit == "io.max":
                found = re.search(rf"^{self._device} .*\bwios=(\d+)", (self._group / "io.stat").read_text(), re.M)
            else:
                served = (self._group / "blkio.throttle.io_serviced").read_text()
                found = re.search(rf"^{self._device} Write (\d+)", served, re.M)
            return int(found.group(1)) if found else 0
        return 0


def hierarchy() -> tuple[Path, str]:
    """Where a group can be made that slows a disk, and the file that says how much. Raises NoEffect where there is none."""
    tried = []
    for unified in (_GROUPS, _GROUPS / "unified"):
        controllers = unified / "cgroup.controllers"
        if controllers.is_file() and "io" in controllers.read_text().split():
            (unified / "cgroup.subtree_control").write_text("+io")
            return unified, "io.max"
        tried.append(str(controllers))
    older = _GROUPS / "blkio"
    if (older / "blkio.throttle.write_iops_device").exists() and os.access(older, os.W_OK):
        return older, "blkio.throttle.write_iops_device"
    raise NoEffect(
        f"no control group slows disks here: no io in {' or '.join(tried)}, and no {older} that may be written"
    )


def device_of(directory: str) -> str:
    """MAJOR:MINOR of the whole disk under a directory. Raises NoEffect where there is none."""
    number = Path(directory).stat().st_dev
    own = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if not own.is_dir():
        raise NoEffect(f"{directory} is on no disk, but on a file system without one")
    disk = own.parent if (own / "partition").exists() else own
    return (disk / "dev").read_text().strip()


def undo_noted(noted: Mapping[str, Any]) -> None:
    """Moves the processes back and removes the group, if it is there."""
    group = Path(noted["group"])
    if not group.is_dir():
        return
    for pid, back in noted["back"]:
        _move(Path(back), pid)
    for pid in (group / "cgroup.procs").read_text().split():  # what they have started meanwhile
        _move(group.parent, int(pid))
    groups.remove(group)


def _groups_of(parent: Path, pids: Any) -> list[tuple[int, str]]:
    """Each process with the group that it is in, of the hierarchy of `parent`."""
    found = []
    for pid in pids:
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if (controllers == "" and parent.name != "blkio") or parent.name in controllers.split(","):
                found.append((pid, f"{parent}{path}"))
    return found


def _move(group: Path, pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended: it was killed, or the system ended it
        (group / "cgroup.procs").write_text(str(pid))
