"""The closed loop: a message is sent when the window has room, at most at a rate. With a window of one each waits for the answer to
the one before; with a large one the system is overdriven. Its latencies leave out what waiting costs a user (coordinated omission)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from bench.worker.in_flight_window import InFlightWindow
from bench.worker.open_loop import Chunks
from bench.worker.schedule import CHUNK_MESSAGES, Schedule
from bench.worker.send_log import Block
from systems.client import Backpressure, ClientError

# Up to this size a full window waits for an answer's event; beyond, a short sleep is cheaper and the window never runs empty.
SMALL_WINDOW = 64


class ClosedLoop:
    """One producer's loop, from `start_ns` (epoch) on. A message is due as soon as the window has room and the rate allows it.

    `answered` is set by every answer, where the window is small; else None.
    """

    rest: Chunks = iter(())  # nothing is scheduled, so nothing is left unsent

    def __init__(
        self,
        window: InFlightWindow,
        make: Callable[[int, int], bytes],
        schedule: Schedule,
        start_ns: int,
        answered: threading.Event | None,
    ) -> None:
        self._window = window
        self._make = make
        self._gap_ns = schedule.mean_gap_ns
        self._end_ns = start_ns + schedule.duration_ns
        self._turn_ns = start_ns - window.anchor_ns  # not before, monotonic: the rate is a bound
        self._answered = answered

    def lag_ns(self) -> int:
        """There is no schedule to be late for."""
        return 0

    def run(self) -> None:
        """Sends until the end of the schedule, then waits for acknowledgements as long as it may."""
        first = 0
        while self._fill(self._window.log.open(first, np.zeros(CHUNK_MESSAGES, np.int64))):
            first += CHUNK_MESSAGES
        self._window.finish()

    def _fill(self, block: Block) -> bool:
        """Sends until the block is full; False when the run ends inside it."""
        for position in range(CHUNK_MESSAGES):
            if not self._take_turn(block, position):
                block.cut(position)
                return False
        block.passed = True
        return True

    def _take_turn(self, block: Block, position: int) -> bool:
        window = self._window
        if not self._await_room():
            return False
        now_ns = time.monotonic_ns()
        if now_ns < self._turn_ns:
            now_ns = window.await_turn(self._turn_ns)
        turn_ns = max(now_ns, self._turn_ns)
        intended_ns = turn_ns + window.anchor_ns
        if intended_ns >= self._end_ns or window.control.stopped:
            return False
        self._turn_ns = turn_ns + self._gap_ns
        block.intended_ns[position] = intended_ns
        return self._send(block, position, intended_ns)

    def _await_room(self) -> bool:
        window = self._window
        if window.log.in_flight < window.size:
            return True
        return window.await_room() if self._answered is None else window.await_answers(self._answered)

    def _send(self, block: Block, position: int, intended_ns: int) -> bool:
        window, sequence = self._window, block.first_sequence + position
        payload = self._make(sequence, intended_ns)
        window.log.handed_over += 1
        try:
            try:
                window.client.send(sequence, payload)
            except Backpressure:
                if not window.send_again(sequence, payload):
                    return False
        except ClientError as error:
            window.refuse(sequence, error)
            return True
        block.sent[position] = now_ns = time.monotonic_ns()
        if window.held_until_ns + window.anchor_ns > intended_ns:
            block.held[position] = min(window.held_until_ns, now_ns)
        return True
