"""Watches hosts while a load runs: does each still answer, and have its disks free space?"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence

from bench.campaign.estimate import gibibytes
from bench.load.abort import Abort
from bench.load.load import RECORDS
from provisioning.errors import HostError
from provisioning.hosts.host import Host

LOOK_EVERY_S = 5.0
ANSWER_TIMEOUT_S = 30.0
_END_WAIT_S = 1.0


def watched_paths(host: Host) -> tuple[str, ...]:
    """The host's data directories, and where a client keeps its records until they are fetched."""
    paths = tuple(data_dir.path for data_dir in host.record.data_dirs)
    return (*paths, f"{host.record.root}/{RECORDS}") if host.record.role == "client" else paths


def free_command(paths: Sequence[str]) -> str:
    """Prints a header, then the bytes that are left to an ordinary user, a line for each path."""
    return f"df -B1 --output=avail -- {shlex.join(paths)}"


def look(host: Host, *, full_disk_bytes: int) -> Abort | None:
    """One look at one host: a full disk, or a host whose free space can't be read any more."""
    paths = watched_paths(host)
    if not paths:
        return None
    try:
        printed = host.run(free_command(paths), timeout_s=ANSWER_TIMEOUT_S).stdout
        free = {path: int(line) for path, line in zip(paths, printed.splitlines()[1:], strict=True)}
    except HostError as error:
        return Abort("host-lost", "validity", f"its free disk space can't be read any more: {error}", host.name)
    except ValueError:
        return Abort(
            "host-lost", "validity", f"its free disk space can't be read: df printed {printed[:400]!r}", host.name
        )
    for path, left in free.items():
        if left < full_disk_bytes:
            reason = f"{path} has {gibibytes(left)} left; below {gibibytes(full_disk_bytes)} a disk counts as full"
            return Abort("disk-full", "validity", reason, host.name)
    return None


class HostWatch:
    """Looks at every host every few seconds, each on its own thread, so that one that hangs hides no other. A context manager."""

    def __init__(self, hosts: Sequence[Host], *, full_disk_bytes: int, every_s: float = LOOK_EVERY_S) -> None:
        self._full_disk_bytes = full_disk_bytes
        self._every_s = every_s
        self._found: Abort | None = None
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(host,), name=f"watch-{host.name}", daemon=True)
            for host in hosts
        ]

    def found(self) -> Abort | None:
        """What ended the watch, if anything did; returns at once."""
        return self._found

    def __enter__(self) -> HostWatch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Doesn't wait for a host that hangs: that look ends by its own deadline, and its result is ignored."""
        self._over.set()
        for thread in self._threads:
            thread.join(_END_WAIT_S)

    def _follow(self, host: Host) -> None:
        while self._found is None and not self._over.is_set():
            abort = look(host, full_disk_bytes=self._full_disk_bytes)
            if abort is not None:
                self._found = self._found or abort
            self._over.wait(self._every_s)
