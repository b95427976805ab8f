"""Disks that are really slow: loop devices whose I/O the kernel throttles (cgroup v1 blkio or v2 io).

`slow_disk` makes one; `throttle` makes slow what others make, while it is in use. Either holds for this process and for everything
that it starts meanwhile, hosts and their probes included; every other disk stays as fast as it is. Needs root. What a killed run
leaves is taken away by the next one.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

NAME = "samebox-throttled"
_numbers = count(1)


@dataclass(frozen=True)
class Limits:
    """What the disk gives at most."""

    bytes_per_s: int = 8_000_000
    writes_per_s: int = 100


@dataclass(frozen=True)
class Throttle:
    """A cgroup in which disks can be slow."""

    group: Path
    unified: bool

    def slow(self, number: str, limits: Limits) -> None:
        """From now on the device "major:minor" is slow for what runs in the group."""
        if self.unified:
            rates = f"rbps={limits.bytes_per_s} wbps={limits.bytes_per_s} wiops={limits.writes_per_s}"
            (self.group / "io.max").write_text(f"{number} {rates}")
        else:
            (self.group / "blkio.throttle.read_bps_device").write_text(f"{number} {limits.bytes_per_s}")
            (self.group / "blkio.throttle.write_bps_device").write_text(f"{number} {limits.bytes_per_s}")
            (self.group / "blkio.throttle.write_iops_device").write_text(f"{number} {limits.writes_per_s}")

    def include(self, pid: int) -> None:
        """Takes in a process that ran before, and what that starts from now on."""
        (self.group / "cgroup.procs").write_text(str(pid))


@dataclass(frozen=True)
class SlowDisk:
    """`mount`: a directory on it, empty but for lost+found. `number`: its "major:minor"."""

    mount: Path
    device: str
    number: str
    throttle: Throttle


@contextlib.contextmanager
def throttle() -> Iterator[Throttle]:
    """This process, and what it starts, in a cgroup of its own, in which nothing is slow yet. Raises OSError if there can't be."""
    _take_away_what_is_left()
    hierarchy, unified = _hierarchy()
    before = hierarchy / _own_group(unified).lstrip("/")
    group = hierarchy / f"{NAME}-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        if unified:
            (hierarchy / "cgroup.subtree_control").write_text("+io")
        made = Throttle(group, unified)
        made.include(os.getpid())
        yield made
    finally:
        _dissolve(group, before)


@contextlib.contextmanager
def slow_disk(folder: Path, limits: Limits = Limits(), *, size_bytes: int = 512 * 2**20) -> Iterator[SlowDisk]:
    """Makes the disk in `folder` and takes it away again, whatever happens. Raises OSError when it can't."""
    _take_away_what_is_left()
    name = f"{NAME}-{os.getpid()}-{next(_numbers)}"
    image, mount = folder / f"{name}.img", folder / name
    with contextlib.ExitStack() as stack:
        stack.callback(image.unlink, missing_ok=True)
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(image))
        mount.mkdir()
        stack.callback(mount.rmdir)
        # the loop device must not cache: a write to it is a write to the disk below
        device = _run("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()
        try:
            _run("mount", "-o", "noatime", device, str(mount))
            stack.callback(_unmount, mount)
        finally:
            _run("losetup", "--detach", device)  # goes with its mount
        number = f"{os.major(mount.stat().st_dev)}:{os.minor(mount.stat().st_dev)}"
        group = stack.enter_context(throttle())
        group.slow(number, limits)
        yield SlowDisk(mount, device, number, group)


def loop_device_on(image: str) -> str | None:
    """The "major:minor" of the loop device over a file of that name, wherever it was attached; None = not yet."""
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        # within another mount namespace the same file has another path
        if Path(backing.read_text().strip()).name == image:
            return (backing.parents[1] / "dev").read_text().strip()
    return None


def _hierarchy() -> tuple[Path, bool]:
    """Where block I/O is controlled, and whether that is cgroup v2."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup" and "blkio" in options.split(","):
            return Path(where), False
        if kind == "cgroup2" and "io" in (Path(where) / "cgroup.controllers").read_text().split():
            return Path(where), True
    raise OSError("no cgroup here controls block I/O: neither v1's blkio nor v2's io")


def _own_group(unified: bool) -> str:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if (not controllers) if unified else ("blkio" in controllers.split(",")):
            return path
    return "/"


def _dissolve(group: Path, into: Path) -> None:
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            (into / "cgroup.procs").write_text(pid)
    group.rmdir()


def _unmount(mount: Path) -> None:
    """Out of the tree at once, even if somebody still has a file open there; the device goes when that is closed."""
    _run("umount", "--lazy", str(mount))


def _take_away_what_is_left() -> None:
    """Mounts and cgroups of runs that were killed: their names carry the pid."""
    for line in Path("/proc/mounts").read_text().splitlines():
        where = Path(line.split()[1])
        if _of_dead_run(where.name):
            _unmount(where)
            where.with_name(f"{where.name}.img").unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        hierarchy, _ = _hierarchy()
        for group in hierarchy.glob(f"{NAME}-*"):
            if _of_dead_run(group.name):
                _dissolve(group, hierarchy)


def _of_dead_run(name: str) -> bool:
    found = re.fullmatch(rf"{NAME}-(\d+)-\d+", name)
    return found is not None and not Path(f"/proc/{found.group(1)}").exists()


def _run(*command: str) -> str:
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    except subprocess.CalledProcessError as error:
        raise OSError(f"{' '.join(command)}: exit {error.returncode}: {error.stderr.strip()}") from None
