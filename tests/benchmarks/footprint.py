"""What the processes of one piece of work took: seconds, CPU, memory, bytes read, as the kernel counts them. Linux only.

Peaks are high-water marks of resident pages (VmHWM), those that a process shares with others among them. Bytes read are those of
every read call (rchar): files, whether from disk or page cache, and pipes. What a process does in its last 0.2 s may be missed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
JVM, PYTHON, WORKERS = "jvm", "python", "python_workers"
_LOOK_EVERY_S = 0.2
_PROC = Path("/proc")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Footprint:
    """Of all processes together. `peak_bytes` by program (Spark's JVM, any Python, Spark's Python workers): the highest sum of the
    peaks of processes that were there at the same time."""

    seconds: float
    cpu_s: float
    read_bytes: int
    peak_bytes: dict[str, int]

    @property
    def peak(self) -> int:
        """The programs' peaks added up, though they needn't have been at the same time."""
        return sum(self.peak_bytes.values())


@dataclass(frozen=True)
class _Seen:
    program: str
    peak_bytes: int
    cpu_s: float
    read_bytes: int


def watched(work: Callable[[], T]) -> tuple[T, Footprint]:
    """Runs `work`, which starts processes and waits for them, and watches all descendants of this process, not itself."""
    seen: dict[int, _Seen] = {}
    peaks: dict[str, int] = {}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            alive = _descendants(os.getpid())
            for pid, parent in alive.items():
                with suppress(OSError, ValueError):  # it ended meanwhile
                    program = _program((_PROC / str(pid) / "cmdline").read_bytes().split(b"\0"))
                    # a JVM that starts a process is there twice for a moment
                    is_copy = program == JVM and parent in seen and seen[parent].program == JVM
                    if program is not None and not is_copy:
                        seen[pid] = _look(pid, program)
            now = [seen[pid] for pid in alive if pid in seen]
            for program in {one.program for one in now}:
                together = sum(one.peak_bytes for one in now if one.program == program)
                peaks[program] = max(peaks.get(program, 0), together)

    watcher = threading.Thread(target=watch)
    began_s = time.perf_counter()
    watcher.start()
    try:
        result = work()
    finally:
        seconds = time.perf_counter() - began_s
        ended.set()
        watcher.join()
    cpu_s, read = sum(one.cpu_s for one in seen.values()), sum(one.read_bytes for one in seen.values())
    return result, Footprint(round(seconds, 2), round(cpu_s, 2), read, peaks)


def _descendants(root: int) -> dict[int, int]:
    """Each with its parent, parents first."""
    parents: dict[int, int] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                parents[int(folder.name)] = int(_stat(folder)[1])
    found = [root]
    for pid in found:
        found.extend(child for child, parent in parents.items() if parent == pid)
    return {pid: parents[pid] for pid in found[1:]}


def _stat(folder: Path) -> list[str]:
    """The fields of /proc/PID/stat from the third on; the second, a name in parentheses, may hold anything."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def _program(command: list[bytes]) -> str | None:
    name = command[0].rpartition(b"/")[2]
    if name == b"java":
        return JVM
    if name.startswith(b"python"):
        return WORKERS if b"pyspark.daemon" in command else PYTHON
    return None


def _look(pid: int, program: str) -> _Seen:
    folder = _PROC / str(pid)
    marks = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    counters = dict(line.split(": ", 1) for line in (folder / "io").read_text().splitlines())
    user, system = _stat(folder)[11:13]
    cpu_s = (int(user) + int(system)) / _TICKS_PER_S
    if "VmHWM" not in marks:
        raise ValueError(pid)  # it has ended and waits to be reaped
    return _Seen(program, int(marks["VmHWM"].split()[0]) * 1024, cpu_s, int(counters["rchar"]))
