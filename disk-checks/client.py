"""What a client host must be able to do: write records to its disk, compute, and be idle before it is asked. Measures only."""

from __future__ import annotations

import os
import time
import zlib
from pathlib import Path
from typing import Any

from probe_file import ProbeError, probe_file

CHUNK_BYTES = 256 * 1024
RECORD_BYTES = 32  # one row of records on disk before compression, about


def write_records(directory: str, size_bytes: int) -> dict[str, Any]:
    """Buffered sequential writes as a recorder makes them, flushed once at the end and included in the time."""
    chunk = os.urandom(CHUNK_BYTES)
    chunks = max(1, -(-size_bytes // CHUNK_BYTES))
    with probe_file(directory, chunks * CHUNK_BYTES) as descriptor:
        started_ns = time.monotonic_ns()
        for _ in range(chunks):
            os.write(descriptor, chunk)
        os.fsync(descriptor)
        seconds = (time.monotonic_ns() - started_ns) / 1e9
    written = chunks * CHUNK_BYTES
    return {
        "directory": directory,
        "bytes": written,
        "seconds": seconds,
        "bytes_per_s": written / seconds,
        "records_per_s": written / RECORD_BYTES / seconds,
    }


def compute(duration_s: float) -> dict[str, Any]:
    """One core's rate of compressing the same half-compressible block: integer work, caches and branches, no vector units."""
    block = (bytes(range(256)) * 8 + b"samebox " * 256) * 16
    deadline_ns = time.monotonic_ns() + int(duration_s * 1e9)
    started_ns = time.monotonic_ns()
    done = 0
    while time.monotonic_ns() < deadline_ns:
        zlib.compress(block, 6)
        done += len(block)
    seconds = (time.monotonic_ns() - started_ns) / 1e9
    return {"work": "zlib level 6", "bytes": done, "seconds": seconds, "bytes_per_s": done / seconds}


def idleness(duration_s: float) -> dict[str, Any]:
    """CPU busy and steal share over `duration_s`, and the load averages; taken before a probe, not during one."""
    before = _cpu_ticks(Path("/proc/stat").read_text())
    time.sleep(duration_s)
    after = _cpu_ticks(Path("/proc/stat").read_text())
    spent = [after[field] - before[field] for field in range(len(before))]
    total = sum(spent)
    if total <= 0:
        raise ProbeError("no-ticks", f"/proc/stat did not move within {duration_s:g} s")
    idle = spent[3] + spent[4]
    return {
        "seconds": duration_s,
        "busy_share": (total - idle) / total,
        "iowait_share": spent[4] / total,
        "steal_share": spent[7] / total,
        "load_1min": os.getloadavg()[0],
        "cpus": os.cpu_count(),
    }


def _cpu_ticks(stat: str) -> list[int]:
    """user nice system idle iowait irq softirq steal, over all CPUs (guest time is contained in user)."""
    return [int(field) for field in stat.splitlines()[0].split()[1:9]]
