"""The closed loop: a message goes when the window has room, at most at a rate. With a window of one, the next waits for the
answer to the one before; with a large one, the system is overdriven. What it measures omits what waiting costs a user."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from bench.worker.in_flight_window import Handover
from bench.worker.schedule import CHUNK_MESSAGES, Schedule
from bench.worker.send_log import Block
from systems.client import Backpressure, ClientError

# Up to here waiting for an answer wakes at the answer; beyond, a short sleep is cheaper and the window never runs empty.
SMALL_WINDOW = 64


class ClosedLoop:
    """One producer's loop. A message's intended time is when its turn came: room in the window, and not above the rate.

    `answered` is set by every answer, where the window is small; else None.
    """

    def __init__(
        self,
        handover: Handover,
        make: Callable[[int, int], bytes],
        schedule: Schedule,
        answered: threading.Event | None,
    ) -> None:
        self._handover = handover
        self._make = make
        self._gap_ns = schedule.mean_gap_ns
        self._duration_ns = schedule.duration_ns
        self._answered = answered

    def lag_ns(self) -> int:
        """Nothing was promised, so nothing is late."""
        return 0

    def run(self, start_ns: int) -> None:
        """Sends from the start instant (epoch) to the end of the schedule, then waits for acknowledgements as long as it may."""
        self._end_ns = start_ns + self._duration_ns
        self._turn_ns = start_ns - self._handover.anchor_ns  # not before, monotonic: the rate is a bound
        first = 0
        while self._fill(self._handover.book.open(first, np.zeros(CHUNK_MESSAGES, np.int64))):
            first += CHUNK_MESSAGES
        self._handover.finish()

    def _fill(self, block: Block) -> bool:
        """Sends until the block is full; False when the run ends inside it."""
        for position in range(CHUNK_MESSAGES):
            if not self._take_turn(block, position):
                block.cut(position)
                return False
        block.passed = True
        return True

    def _take_turn(self, block: Block, position: int) -> bool:
        handover = self._handover
        if not self._await_room():
            return False
        now_ns = time.monotonic_ns()
        if now_ns < self._turn_ns:
            now_ns = handover.await_turn(self._turn_ns)
        turn_ns = max(now_ns, self._turn_ns)
        intended_ns = turn_ns + handover.anchor_ns
        if intended_ns >= self._end_ns or handover.control.stopped:
            return False
        self._turn_ns = turn_ns + self._gap_ns
        block.intended_ns[position] = intended_ns
        return self._send(block, position, intended_ns)

    def _await_room(self) -> bool:
        handover = self._handover
        if handover.book.in_flight < handover.in_flight:
            return True
        return handover.await_window() if self._answered is None else handover.await_answers(self._answered)

    def _send(self, block: Block, position: int, intended_ns: int) -> bool:
        handover, sequence = self._handover, block.first_sequence + position
        payload = self._make(sequence, intended_ns)
        handover.book.handed_over += 1
        try:
            try:
                handover.client.send(sequence, payload)
            except Backpressure:
                if not handover.send_again(sequence, payload):
                    return False
        except ClientError as error:
            handover.refuse(sequence, error)
            return True
        block.sent[position] = now_ns = time.monotonic_ns()
        if handover.held_until_ns + handover.anchor_ns > intended_ns:
            block.held[position] = min(handover.held_until_ns, now_ns)
        return True
