"""What became of the one message that is under way: for whoever sends a message and waits for its answer."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """`acked_ns`: when the client called back (wall clock, since the epoch); None = it gave the message up, with `error`."""

    acked_ns: int | None
    error: str | None


class OneAnswer:
    """Implements Acknowledgements for a single message, and then for the next."""

    def __init__(self) -> None:
        self._settled = threading.Event()
        self._answer = Answer(None, None)

    def acknowledged(self, sequence: int, partition: int) -> None:
        self._answer = Answer(time.time_ns(), None)
        del sequence, partition
        self._settled.set()

    def failed(self, sequence: int, error: str) -> None:
        del sequence
        self._answer = Answer(None, error)
        self._settled.set()

    def await_it(self, timeout_s: float) -> Answer | None:
        """The answer, or None when there is none in time; ready for the next message afterwards."""
        if not self._settled.wait(timeout_s):
            return None
        self._settled.clear()
        return self._answer
