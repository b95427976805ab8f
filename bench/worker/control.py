"""A worker's input: jobs, one after another, and the orders for the current one: start, stop, abort."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from queue import SimpleQueue
from typing import Any


class Control:
    """The orders for one job, set by one thread and read by others. An abort is also a stop, and ends the wait for the start.

    All times are since the epoch: `start_ns` is the start instant, `phase_ends_ns` when a phase ends whose length shows during the
    run (a backlog counts as read, or the system as warm), `end_ns` when the load ends.
    """

    def __init__(self, *, on_end: Callable[[], None] = lambda: None) -> None:
        self.start_ns: int | None = None
        self.phase_ends_ns: int | None = None
        self.end_ns = sys.maxsize
        self._late_ns = 0
        self.stopped = False
        self.abort_reason: str | None = None
        self._told = threading.Event()
        self._on_end = on_end

    def require_in_time(self) -> None:
        """Raises TimeoutError if the end of a phase became known after it: rows written until then may name the wrong phase."""
        if self._late_ns > 0:
            raise TimeoutError(f"the order that ends a phase arrived {self._late_ns / 1e9:.1f} s late")

    def abort(self, reason: str) -> None:
        """End promptly, keep what is recorded. The first reason stands."""
        if self.abort_reason is None:
            self.abort_reason = reason
        self.stopped = True
        self._told.set()
        self._on_end()

    def await_start(self, timeout_s: float, *, waited_s: float = 0.0) -> int | None:
        """The start instant, or None when aborted. Aborts if none arrives within `timeout_s`, of which `waited_s` have passed."""
        if not self._told.wait(timeout_s - waited_s):
            self.abort(f"no start within {timeout_s:g} s")
        return None if self.abort_reason is not None else self.start_ns

    def handle(self, order: Mapping[str, Any]) -> None:
        """Carries out one order; an unknown one aborts the job."""
        if "start_ns" in order:
            self.start_ns = int(order["start_ns"])
            self._told.set()
        elif "phase_ends_ns" in order:
            self.phase_ends_ns, self.end_ns = int(order["phase_ends_ns"]), int(order["end_ns"])
            self._late_ns = time.time_ns() - min(self.phase_ends_ns, self.end_ns)
        elif "abort" in order:
            self.abort(str(order["abort"]))
        elif "stop" in order:
            self.stopped = True
        else:
            self.abort(f"unknown order: {dict(order)}")


class Inbox:
    """Filled line by line on one thread, emptied job by job on another."""

    def __init__(self, *, on_abort: Callable[[], None] = lambda: None) -> None:
        self._jobs: SimpleQueue[tuple[str, Control] | None] = SimpleQueue()
        self._on_abort = on_abort
        self._control = Control()  # no job's yet

    def next_job(self) -> tuple[str, Control] | None:
        """Waits for a job: its line, and where its orders arrive. None when there are no more."""
        return self._jobs.get()

    def follow(self, lines: Iterable[str]) -> None:
        """Reads lines until one lets the worker leave. If they end before that, the operator is gone and the job is aborted."""
        for line in lines:
            try:
                order = json.loads(line)
            except ValueError:
                self._control.abort(f"not valid JSON: {line[:200]!r}")
                self._jobs.put((line, self._control))
                return
            if "worker" in order:
                self._control = Control(on_end=self._on_abort)
                self._jobs.put((line, self._control))
            elif "leave" in order:
                self._jobs.put(None)
                return
            else:
                self._control.handle(order)
        self._control.abort("standard input ended: the operator's process is gone")
        self._jobs.put(None)
