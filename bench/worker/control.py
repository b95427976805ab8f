"""What a worker has been told of its job so far: start, stop, abort. Filled by whoever reads its input, read by its loops."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any


class Control:
    """Set from one thread, read from others. An abort also counts as a stop and ends the wait for the start."""

    def __init__(self, *, on_end: Callable[[], None] = lambda: None) -> None:
        self.start_ns: int | None = None
        self.drained_ns: int | None = None
        self.end_ns = sys.maxsize
        self._late_ns = 0
        self.stopped = False
        self.abort_reason: str | None = None
        self._told = threading.Event()
        self._on_end = on_end

    def start(self, start_ns: int) -> None:
        """The start instant, since the epoch."""
        self.start_ns = start_ns
        self._told.set()

    def drained(self, drained_ns: int, end_ns: int) -> None:
        """The backlog counts as read at one instant and the load ends at another, since the epoch, both still to come."""
        self.drained_ns, self.end_ns = drained_ns, end_ns
        self._late_ns = time.time_ns() - min(drained_ns, end_ns)

    def require_in_time(self) -> None:
        """Raises TimeoutError if the end of a phase was told after it: rows before it may be called by the wrong phase."""
        if self._late_ns > 0:
            raise TimeoutError(f"end-of-backlog message arrived {self._late_ns / 1e9:.1f} s late")

    def stop(self) -> None:
        """Consumers: everything has arrived."""
        self.stopped = True

    def abort(self, reason: str) -> None:
        """End promptly, keep what is recorded. The first reason stands."""
        if self.abort_reason is None:
            self.abort_reason = reason
        self.stopped = True
        self._told.set()
        self._on_end()

    def await_start(self, timeout_s: float) -> int | None:
        """The start instant, or None when aborted; an abort is what no instant within `timeout_s` comes to."""
        if not self._told.wait(timeout_s):
            self.abort(f"no start within {timeout_s:g} s")
        return None if self.abort_reason is not None else self.start_ns

    def handle(self, order: Mapping[str, Any]) -> None:
        """Takes one order; one that it doesn't know is an abort."""
        if "start_ns" in order:
            self.start(int(order["start_ns"]))
        elif "drained_ns" in order:
            self.drained(int(order["drained_ns"]), int(order["end_ns"]))
        elif "abort" in order:
            self.abort(str(order["abort"]))
        elif "stop" in order:
            self.stop()
        else:
            self.abort(f"an unknown order: {dict(order)}")
