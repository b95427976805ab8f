"""Handing messages to a client within the in-flight window: waiting for room, trying again, giving up. It knows no schedule.

It also knows since when a message isn't the system's any more. A full window, or a client's full buffer, holds a message until it
was last seen full: what the sender oversleeps after that look, and what it waits for the interpreter, is the client's own.
"""

from __future__ import annotations

import threading
import time

from bench.worker.clock import sleep_towards
from bench.worker.control import Control
from bench.worker.records import NEVER_NS
from bench.worker.send_log import ProducedBook
from bench.worker.usage import Saturation
from systems.client import Backpressure, ClientError, Producer

_WINDOW_WAIT_NS = 200_000
_ANSWER_WAIT_S = 0.05


class Handover:
    """One producer's way to its client. `deadline_ns` (monotonic) ends late sends and the wait for acknowledgements, and so
    does `drain_ns` after an end that is announced while it runs."""

    def __init__(
        self, client: Producer, book: ProducedBook, control: Control,
        *, in_flight: int, anchor_ns: int, deadline_ns: int, drain_ns: int,
    ) -> None:  # fmt: skip
        self.held_until_ns = NEVER_NS  # when the system last kept a message from being sent, monotonic
        self.refused = 0
        self.client = client
        self.book = book
        self.control = control
        self.in_flight = in_flight
        self.anchor_ns = anchor_ns
        self._deadline_ns = deadline_ns
        self._drain_ns = drain_ns
        self._saturation = Saturation()

    @property
    def sent(self) -> int:
        """Messages that the client has taken."""
        return self.book.handed_over - self.refused

    @property
    def deadline_ns(self) -> int:
        """When nothing may be sent or awaited any more, monotonic."""
        return min(self._deadline_ns, self.control.end_ns - self.anchor_ns + self._drain_ns)

    def ended(self) -> bool:
        """Whether the run was ended or the deadline has passed."""
        return self.control.stopped or time.monotonic_ns() >= self.deadline_ns

    def await_turn(self, due_ns: int) -> int:
        """Sleeps until `due_ns` (monotonic); the time then, or at once when the run was ended."""
        while (wait_ns := due_ns - time.monotonic_ns()) > 0 and not self.control.stopped:
            sleep_towards(wait_ns)
        return due_ns - wait_ns

    def await_window(self) -> bool:
        """Waits for room; False when the run ends first."""
        while True:
            looked_ns = time.monotonic_ns()
            if self.book.in_flight < self.in_flight:
                return True
            self._held_at(looked_ns)
            if self.ended():
                return False
            sleep_towards(_WINDOW_WAIT_NS)

    def await_answers(self, answered: threading.Event) -> bool:
        """Waits for room, woken by every answer: for a window so small that a sleep would be longer than an answer takes."""
        while True:
            answered.clear()
            if self.book.in_flight < self.in_flight:
                return True
            if self.ended():
                return False
            answered.wait(_ANSWER_WAIT_S)

    def send_again(self, sequence: int, payload: bytes) -> bool:
        """Hands over what the client's full buffer refused, until it is taken; False when the run ends first. Raises ClientError."""
        while True:
            self.book.handed_over -= 1
            if self.ended():
                return False
            sleep_towards(_WINDOW_WAIT_NS)
            looked_ns = time.monotonic_ns()
            self.book.handed_over += 1
            try:
                self.client.send(sequence, payload)
            except Backpressure:
                self._held_at(looked_ns)
                continue
            return True

    def refuse(self, sequence: int, error: ClientError) -> None:
        """Notes a message that the client wouldn't take."""
        self.book.failed(sequence, error.name)
        self.refused += 1

    def finish(self) -> None:
        """Waits for acknowledgements as long as it may."""
        while self.book.in_flight > 0 and not self.ended():
            sleep_towards(_WINDOW_WAIT_NS * 5)

    def _held_at(self, looked_ns: int) -> None:
        # a client that has no time for the acknowledgements fills its window by itself
        if not self._saturation.at(looked_ns):
            self.held_until_ns = max(self.held_until_ns, looked_ns)
