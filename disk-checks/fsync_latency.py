"""Flush latency: many times (append 4 KiB, fdatasync), every one of them kept. It draws no conclusion from them.

Appending is what a broker's log or journal does: each flush covers the data and the file's new length.
"""

from __future__ import annotations

import os
import time
from typing import Any

from probe_file import probe_file

SMALLEST_COUNT = 1000  # p99 has then ten samples beyond it


def measure(directory: str, count: int, write_bytes: int) -> dict[str, Any]:
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
