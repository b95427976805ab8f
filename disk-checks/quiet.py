"""Waits until disks have nothing to do: no request in flight, next to nothing left to write back, several times in a row.

What a device does within itself (erasing what was trimmed) no host can see; what it still owes the host, it can.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import device
import page_cache

LOOKS_IN_A_ROW = 5
LOOK_EVERY_S = 0.1


def settle(
    directories: Iterable[str],
    bound_s: float,
    most_dirty_bytes: int,
    *,
    look: Callable[[Iterable[str]], dict[str, Any]] | None = None,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Ends when LOOKS_IN_A_ROW in a row were quiet, or after `bound_s`; says which, how long it took, and the last look."""
    look = look or _look
    disks = sorted({disk for directory in directories if (disk := _disk_of(directory)) is not None})
    started_s, quiet = now_s(), 0
    while True:
        seen = look(disks)
        busy = seen["in_flight"] or seen["dirty_bytes"] + seen["writeback_bytes"] > most_dirty_bytes
        quiet = 0 if busy else quiet + 1
        waited_s = now_s() - started_s
        if quiet >= LOOKS_IN_A_ROW or waited_s >= bound_s:
            return {"quiet": quiet >= LOOKS_IN_A_ROW, "waited_s": round(waited_s, 3), "disks": disks, **seen}
        sleep(LOOK_EVERY_S)


def _look(disks: Iterable[str]) -> dict[str, Any]:
    """Requests in flight on the disks (reads and writes), and the machine's pages to be written back."""
    cached = page_cache.cached()
    in_flight = sum(sum(map(int, Path(f"/sys/block/{disk}/inflight").read_text().split())) for disk in disks)
    return {"in_flight": in_flight, "dirty_bytes": cached["dirty_bytes"], "writeback_bytes": cached["writeback_bytes"]}


def _disk_of(directory: str) -> str | None:
    """The block device under a directory that counts its requests; None where there is none (overlay, tmpfs)."""
    disk = device.describe(directory)["disk"]
    return disk if disk is not None and Path(f"/sys/block/{disk}/inflight").exists() else None
