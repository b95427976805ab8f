"""Runs on a host: one sample a second of the machine and of samebox's daemons, as lines of JSON in a file.

Standard library only, Python 3.9 and later; reads /proc, starts no process. Ends when its standard input closes or its
parent is gone, so that a lost connection leaves no sampler behind. A line is {"time_ns", "sources": {source: {metric: value}}}.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import stat
import sys
import time
from pathlib import Path

from . import procfs
from .allowances import DriverCounters, allowance_metrics, cards

INTERVAL_NS = 1_000_000_000
PRESSURES = ("cpu", "io", "memory")


class Clock:
    """Epoch time that never jumps: the monotonic clock, anchored to the epoch once."""

    def __init__(self) -> None:
        # The tightest of a few tries: whatever interrupts between the two readings is an error of the anchor.
        tries = []
        for _ in range(5):
            before_ns = time.monotonic_ns()
            epoch_ns = time.time_ns()
            after_ns = time.monotonic_ns()
            tries.append((after_ns - before_ns, epoch_ns - (before_ns + after_ns) // 2))
        self._anchor_ns = min(tries)[1]

    def epoch_ns(self) -> int:
        """Now."""
        return time.monotonic_ns() + self._anchor_ns


class Machine:
    """The counters of the whole machine; what this kernel doesn't offer is left out, never zero."""

    def __init__(
        self, disks: list[list[str]], proc: Path = Path("/proc"), interfaces: Path = Path("/sys/class/net")
    ) -> None:
        self._proc = proc
        self._interfaces = interfaces
        self._devices = {device_number(device, path) for device, path in disks}
        self._cards: list[DriverCounters] = cards()

    def sample(self) -> procfs.Metrics:
        """All machine metrics as of now."""
        metrics = procfs.cpu(self._read("stat"))
        for resource in PRESSURES:
            metrics.update(procfs.pressure(resource, self._read(f"pressure/{resource}")))
        metrics.update(procfs.memory(self._read("meminfo")))
        metrics.update(procfs.disks(self._read("diskstats"), self._devices))
        metrics.update(procfs.network(self._read("net/dev"), self._stacked()))
        metrics.update(allowance_metrics([card.read() for card in self._cards]))
        return metrics

    def _read(self, name: str) -> str:
        try:
            return (self._proc / name).read_text()
        except OSError:  # pressure is off in some kernels, and then says so only when it is read
            return ""

    def _stacked(self) -> list[str]:
        return [lower.parent.name for lower in self._interfaces.glob("*/lower_*")]


def device_number(device: str, path: str) -> tuple[int, int]:
    """(major, minor) of a data disk: of the block device named, or of what the directory lies on where there is no such device."""
    with contextlib.suppress(OSError):
        found = Path(device).stat()
        if stat.S_ISBLK(found.st_mode):
            return os.major(found.st_rdev), os.minor(found.st_rdev)
    number = Path(path).stat().st_dev
    return os.major(number), os.minor(number)


class Daemons:
    """The processes that have a pid file (lines: pid, kernel start time, ...).

    They come and go; a daemon's CPU time still only grows.
    """

    def __init__(self, run_dir: Path, proc: Path = Path("/proc")) -> None:
        self._run_dir = run_dir
        self._proc = proc
        self._last: dict[tuple[str, str], tuple[tuple[int, int], float]] = {}
        self._carried_s: dict[tuple[str, str], float] = {}

    def sample(self) -> dict[str, procfs.Metrics]:
        """Daemon name -> its metrics, for those that are running."""
        found = {}
        for pid_file in sorted(self._run_dir.glob("*.pid")):
            try:
                pid, started_ticks = (int(line) for line in pid_file.read_text().splitlines()[:2])
                counters = procfs.process((self._proc / str(pid) / "stat").read_text())
            except (OSError, ValueError):  # stopped, or its pid file is just being written
                continue
            if counters.started_ticks != started_ticks:  # another process got the pid of one that ended
                continue
            name, identity = pid_file.stem, (pid, started_ticks)
            found[name] = {
                "rss_bytes": counters.rss_bytes,
                "cpu_s": self._growing((name, "cpu_s"), identity, counters.cpu_s),
                "cpu_user_s": self._growing((name, "cpu_user_s"), identity, counters.user_s),
                "threads": counters.threads,
            }
        return found

    def _growing(self, counter: tuple[str, str], identity: tuple[int, int], cpu_s: float) -> float:
        last = self._last.get(counter)
        if last is not None and last[0] != identity:
            self._carried_s[counter] = self._carried_s.get(counter, 0.0) + last[1]
        self._last[counter] = (identity, cpu_s)
        return self._carried_s.get(counter, 0.0) + cpu_s


def line_of(clock: Clock, machine: Machine | None, daemons: Daemons) -> str:
    """One sample as a line."""
    time_ns = clock.epoch_ns()
    sources = daemons.sample()
    if machine is not None:
        sources["machine"] = machine.sample()
    return json.dumps({"time_ns": time_ns, "sources": sources}, separators=(",", ":")) + "\n"


def following_tick_ns(tick_ns: int, now_ns: int) -> int:
    """The next tick of the same one-second raster that is still ahead; missed ones are skipped, never made up."""
    return tick_ns + max(1, (now_ns - tick_ns) // INTERVAL_NS + 1) * INTERVAL_NS


def wanted_until(tick_ns: int, parent: int) -> bool:
    """Waits for the tick. False once the operator's side is gone."""
    while True:
        if os.getppid() != parent:
            return False
        remaining_s = (tick_ns - time.monotonic_ns()) / 1e9
        if remaining_s <= 0:
            return True
        readable, _, _ = select.select([0], [], [], remaining_s)
        if readable and not os.read(0, 4096):
            return False


def main() -> int:
    """See the module docstring. Says "sampling" once the first sample is written."""
    parser = argparse.ArgumentParser(description="Samples this host once a second until standard input closes.")
    parser.add_argument("--root", required=True, type=Path, help="the host's root; pid files are in its run/")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--machine", action="store_true", help="sample the machine too, not only the daemons")
    parser.add_argument("--disk", nargs=2, action="append", default=[], metavar=("DEVICE", "DIRECTORY"))
    options = parser.parse_args()

    parent = os.getppid()
    clock = Clock()
    machine = Machine(options.disk) if options.machine else None
    daemons = Daemons(options.root / "run")
    tick_ns = time.monotonic_ns()
    with options.out.open("w", buffering=1) as out:
        out.write(line_of(clock, machine, daemons))
        print("sampling", flush=True)
        while wanted_until(tick_ns := following_tick_ns(tick_ns, time.monotonic_ns()), parent):
            out.write(line_of(clock, machine, daemons))
    return 0


if __name__ == "__main__":
    sys.exit(main())
