"""What this process has used of its machine."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bench.worker.clock import Clock
from bench.worker.schedule import Phase

_KIBIBYTE = 1024
_FORGET_PEAK = "5"  # to /proc/self/clear_refs (proc(5))


class Saturation:
    """Whether this process has been busy of late: more than BUSY_SHARE of a core over the last stretch of SPAN_NS or a little more.

    To be asked again and again while it matters; after a pause of more than two stretches nothing is known, which is no.
    """

    BUSY_SHARE = 0.8
    SPAN_NS = 100_000_000

    def __init__(self, cpu_ns: Callable[[], int] = time.process_time_ns) -> None:
        self._read_cpu_ns = cpu_ns
        self._since_ns = self._cpu_ns = 0
        self._busy = False

    def at(self, now_ns: int) -> bool:
        """Now being `now_ns` (monotonic)."""
        passed_ns = now_ns - self._since_ns
        if passed_ns >= self.SPAN_NS:
            cpu_ns = self._read_cpu_ns()
            self._busy = passed_ns <= 2 * self.SPAN_NS and cpu_ns - self._cpu_ns > self.BUSY_SHARE * passed_ns
            self._since_ns, self._cpu_ns = now_ns, cpu_ns
        return self._busy


class Usage:
    """CPU and wall time from the start instant on (connecting is not load), and the peak of memory. Noted on the way, it can tell
    what was used between two instants."""

    def __init__(self, clock: Clock, start_ns: int, cpu_s: Callable[[], tuple[float, float]] | None = None) -> None:
        self._clock = clock
        self._start_ns = start_ns
        self._cpu_s = cpu_s or _cpu_s
        self._notes = [(start_ns, *self._cpu_s())]
        _forget_rss_peak()

    def note(self) -> None:
        """Notes what has been used by now."""
        now_ns, used = self._clock.now_ns(), self._cpu_s()
        if now_ns > self._notes[-1][0]:
            self._notes.append((now_ns, *used))

    def spent(self, measured: Phase | None) -> dict[str, Any]:
        """As an event carries it, so far; `measured`: of that phase alone, too, null if there was none of it."""
        self.note()
        return {
            "cpu_s": sum(self._notes[-1][1:]) - sum(self._notes[0][1:]),
            "wall_s": max(0.0, (self._clock.now_ns() - self._start_ns) / 1e9),
            "rss_peak_bytes": rss_peak_bytes(),
            "measured": self._within(measured) if measured is not None else None,
        }

    def _within(self, phase: Phase) -> dict[str, float] | None:
        """What was used in a phase, as far as it went: read off between the notes before and after its ends."""
        times, user_s, system_s = (list(column) for column in zip(*self._notes, strict=True))
        ends_ns = (max(phase.start_ns, times[0]), min(phase.end_ns, times[-1]))
        if ends_ns[1] <= ends_ns[0]:
            return None
        seconds = [(ns - self._start_ns) / 1e9 for ns in times]
        ends_s = [(ns - self._start_ns) / 1e9 for ns in ends_ns]
        user, system = (np.diff(np.interp(ends_s, seconds, column)).item() for column in (user_s, system_s))
        return {"seconds": ends_s[1] - ends_s[0], "cpu_user_s": user, "cpu_system_s": system}


def rss_peak_bytes() -> int:
    """Of this process alone: ru_maxrss also counts what the process that started it held before."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * _KIBIBYTE


def _forget_rss_peak() -> None:
    """That of the job before is not this one's; where the kernel can't forget, it counts as this one's, too."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_FORGET_PEAK)


def _cpu_s() -> tuple[float, float]:
    """User and system time."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime
