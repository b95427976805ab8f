"""A worker's input: jobs, one after another, and orders for the one at hand. It does none of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from bench.worker.control import Control


class Inbox:
    """Filled line by line on one thread, emptied job by job on another."""

    def __init__(self, *, on_abort: Callable[[], None] = lambda: None) -> None:
        self._jobs: SimpleQueue[tuple[str, Control] | None] = SimpleQueue()
        self._on_abort = on_abort
        self._control = Control()  # no job's yet

    def next_job(self) -> tuple[str, Control] | None:
        """Waits for a job: its line, and where the orders for it arrive. None when no more is to come."""
        return self._jobs.get()

    def follow(self, lines: Iterable[str]) -> None:
        """Takes lines until one says that the worker may leave. Their end means that whoever gave them is gone: an abort."""
        for line in lines:
            try:
                order = json.loads(line)
            except ValueError:
                self._control.abort(f"not an order: {line[:200]!r}")
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
        self._control.abort("the orders have ended: whoever gave them is gone")
        self._jobs.put(None)
