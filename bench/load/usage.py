"""What this process has used of its machine."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.load.clock import Clock

_KIBIBYTE = 1024
_FORGET_PEAK = "5"  # to /proc/self/clear_refs (proc(5))


class Usage:
    """CPU and wall time from the start instant on (connecting is not load), and the peak of memory."""

    def __init__(self, clock: Clock, start_ns: int) -> None:
        self._clock = clock
        self._start_ns = start_ns
        self._cpu_before_s = _cpu_s()
        _forget_rss_peak()

    def spent(self) -> dict[str, Any]:
        """As an event carries it, so far."""
        return {
            "cpu_s": _cpu_s() - self._cpu_before_s,
            "wall_s": max(0.0, (self._clock.now_ns() - self._start_ns) / 1e9),
            "rss_peak_bytes": rss_peak_bytes(),
        }


def rss_peak_bytes() -> int:
    """Of this process alone: ru_maxrss also counts what the process that started it held before."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * _KIBIBYTE


def _forget_rss_peak() -> None:
    """That of the job before is not this one's; where the kernel can't forget, it counts as this one's, too."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_FORGET_PEAK)


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
