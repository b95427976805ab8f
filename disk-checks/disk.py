"""Two probes of a disk: sequential throughput by `dd`, and the latency of flushes.

dd writes directly to the disk (flushed before the clock stops), then reads the same blocks directly. It gets the open descriptor of an
unlinked file, so nothing can be left behind. It writes zeros, as the published dd figures did; `data` in the result says so. One stream
at queue depth 1: compare it with other dd figures, not with a disk's data sheet.
Flushes are (append 4 KiB, fdatasync), as a broker's log or journal does: each covers the data and the file's new length.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from typing import Any

from probe_file import ProbeError, probe_file

BLOCK_BYTES = 1024 * 1024
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
SMALLEST_COUNT = 1000  # of flushes: p99 has then ten samples beyond it
# GNU dd in the C locale: "67108864 bytes (67 MB, 64 MiB) copied, 0.0412334 s, 1.6 GB/s"; other dds say "seconds".
_COPIED = re.compile(r"^(\d+) bytes\b.*\bcopied, ([0-9.]+(?:e[-+]?\d+)?) s", re.MULTILINE)


def throughput(directory: str, size_bytes: int) -> dict[str, Any]:
    """Writes and reads `size_bytes` (rounded up to whole MiB) in `directory`."""
    blocks = max(1, -(-size_bytes // BLOCK_BYTES))
    with probe_file(directory, blocks * BLOCK_BYTES, os.O_DIRECT) as descriptor:
        write = _dd(["if=/dev/zero", "oflag=direct", "conv=fsync"], blocks, stdout=descriptor)
        os.lseek(descriptor, 0, os.SEEK_SET)
        read = _dd(["of=/dev/null", "iflag=direct"], blocks, stdin=descriptor)
    return {"directory": directory, "block_bytes": BLOCK_BYTES, "data": "zeros", "write": write, "read": read}


def parse_dd(stderr: str) -> tuple[int, float] | None:
    """Bytes copied and seconds from dd's last line; None when it isn't in the expected form."""
    found = _COPIED.search(stderr)
    return (int(found.group(1)), float(found.group(2))) if found else None


def _dd(
    operands: list[str], blocks: int, stdin: int = subprocess.DEVNULL, stdout: int = subprocess.DEVNULL
) -> dict[str, Any]:
    command = ["dd", f"bs={BLOCK_BYTES}", f"count={blocks}", *operands]
    child = None
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until dd is known to this process, which must end it
    started_ns = time.monotonic_ns()
    try:
        child = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            text=True,
            preexec_fn=_let_through,
        )
        _let_through()
        _, stderr = child.communicate()
    except FileNotFoundError:
        raise ProbeError("no-dd", "this host has no dd command") from None
    finally:
        if child is not None and child.poll() is None:  # this process is being ended: dd must not outlive it
            child.kill()
            child.wait()
        _let_through()
    wall_s = (time.monotonic_ns() - started_ns) / 1e9
    if child.returncode != 0:
        raise ProbeError("dd-failed", f"{' '.join(command)}: exit {child.returncode}: {stderr.strip()[-400:]}")
    parsed = parse_dd(stderr)
    if parsed and parsed[0] != blocks * BLOCK_BYTES:
        raise ProbeError("dd-failed", f"{' '.join(command)}: copied only {parsed[0]} bytes: {stderr.strip()[-400:]}")
    seconds = parsed[1] if parsed and parsed[1] > 0 else wall_s
    return {
        "bytes": blocks * BLOCK_BYTES,
        "seconds": seconds,
        "wall_s": wall_s,
        "bytes_per_s": blocks * BLOCK_BYTES / seconds,
        "timed_by": "dd" if parsed and parsed[1] > 0 else "wall clock",
    }


def _let_through() -> None:
    """Signals that end this process are no longer held back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def fsync_latency(directory: str, count: int, write_bytes: int) -> dict[str, Any]:
    """`count` samples in `directory`, in nanoseconds and in the order taken."""
    samples_ns = []
    with probe_file(directory, count * write_bytes) as descriptor:
        for _ in range(count):
            block = os.urandom(write_bytes)
            started_ns = time.monotonic_ns()
            os.write(descriptor, block)
            os.fdatasync(descriptor)
            samples_ns.append(time.monotonic_ns() - started_ns)
    return {"directory": directory, "write_bytes": write_bytes, "count": count, "samples_ns": samples_ns}
