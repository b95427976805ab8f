"""The window of unacknowledged messages: waiting for room, handing over, trying again, giving up.

It also notes until when the system kept a message from being sent: until the window, or the client's buffer, was last seen full. What
the sender oversleeps after that look, and what it waits for the interpreter, is the client's own delay.
"""

from __future__ import annotations

import threading
import time

from bench.worker.clock import sleep_towards
from bench.worker.control import Control
from bench.worker.records import NEVER_NS
from bench.worker.send_log import SendLog
from bench.worker.usage import Saturation
from systems.client import Backpressure, ClientError, Producer

_WINDOW_WAIT_NS = 200_000
_ANSWER_WAIT_S = 0.05


class InFlightWindow:
    """One producer's window: at most `size` messages. `deadline_ns` (monotonic) ends late sends and the wait for acknowledgements,
    and so does `drain_ns` after an end that is announced during the run."""

    def __init__(
        self, client: Producer, log: SendLog, control: Control,
        *, size: int, anchor_ns: int, deadline_ns: int, drain_ns: int,
    ) -> None:  # fmt: skip
        self.held_until_ns = NEVER_NS  # when the system last kept a message from being sent, monotonic
        self.refused = 0
        self.client = client
        self.log = log
        self.control = control
        self.size = size
        self.anchor_ns = anchor_ns
        self._deadline_ns = deadline_ns
        self._drain_ns = drain_ns
        self._saturation = Saturation()

    @property
    def sent(self) -> int:
        """Messages that the client has taken."""
        return self.log.handed_over - self.refused

    @property
    def deadline_ns(self) -> int:
        """When nothing may be sent or awaited any more, monotonic."""
        return min(self._deadline_ns, self.control.end_ns - self.anchor_ns + self._drain_ns)

    def ended(self) -> bool:
        """Whether the run was ended or the deadline has passed."""
        return self.control.stopped or time.monotonic_ns() >= self.deadline_ns

    def await_turn(self, due_ns: int) -> int:
        """Sleeps until `due_ns` (monotonic) or the end of the run; the time then."""
        while (wait_ns := due_ns - time.monotonic_ns()) > 0 and not self.control.stopped:
            sleep_towards(wait_ns)
        return due_ns - wait_ns

    def await_room(self) -> bool:
        """Waits for room; False when the run ends first."""
        while True:
            looked_ns = time.monotonic_ns()
            if self.log.in_flight < self.size:
                return True
            self._held_at(looked_ns)
            if self.ended():
                return False
            sleep_towards(_WINDOW_WAIT_NS)

    def await_answers(self, answered: threading.Event) -> bool:
        """Waits for room, woken by every answer: for a window so small that a sleep would take longer than an answer."""
        while True:
            answered.clear()
            if self.log.in_flight < self.size:
                return True
            if self.ended():
                return False
            answered.wait(_ANSWER_WAIT_S)

    def send_again(self, sequence: int, payload: bytes) -> bool:
        """Hands over what the client's full buffer refused, until it is taken; False when the run ends first. Raises ClientError."""
        while True:
            self.log.handed_over -= 1
            if self.ended():
                return False
            sleep_towards(_WINDOW_WAIT_NS)
            looked_ns = time.monotonic_ns()
            self.log.handed_over += 1
            try:
                self.client.send(sequence, payload)
            except Backpressure:
                self._held_at(looked_ns)
                continue
            return True

    def refuse(self, sequence: int, error: ClientError) -> None:
        """Notes a message that the client refused."""
        self.log.failed(sequence, error.name)
        self.refused += 1

    def finish(self) -> None:
        """Waits for the acknowledgements still missing, until the deadline."""
        while self.log.in_flight > 0 and not self.ended():
            sleep_towards(_WINDOW_WAIT_NS * 5)

    def _held_at(self, looked_ns: int) -> None:
        # a client that is too busy to take acknowledgements fills its window by itself
        if not self._saturation.at(looked_ns):
            self.held_until_ns = max(self.held_until_ns, looked_ns)
