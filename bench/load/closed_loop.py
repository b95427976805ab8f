"""The closed loop: a message goes when the window has room, at most at a rate. With a window of one, the next waits for the
answer to the one before; with a large one, the system is overdriven. What it measures omits what waiting costs a user."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from bench.clients.client import Backpressure, ClientError
from bench.load.handover import Handover
from bench.load.produced import Block
from bench.schedule import CHUNK_MESSAGES, SECOND_NS, Schedule

# Up to here waiting for an answer wakes at the answer; beyond, a short sleep is cheaper and the window never runs empty.
_SMALL_WINDOW = 64


class ClosedLoop:
    """One producer's loop. A message's intended time is when its turn came: room in the window, and not above the rate."""

    def __init__(
        self, handover: Handover, make: Callable[[int, int], bytes], schedule: Schedule, answered: threading.Event
    ) -> None:
        self._handover = handover
        self._make = make
        self._gap_ns = SECOND_NS * schedule.producers // schedule.rate_per_s
        self._duration_ns = schedule.duration_ns
        self._answered = answered

    def lag_ns(self) -> int:
        """Nothing was promised, so nothing is late."""
        return 0

    def run(self, start_ns: int) -> None:
        """Sends from the start instant (epoch) to the end of the schedule, then waits for acknowledgements as long as it may."""
        handover = self._handover
        end_ns = start_ns + self._duration_ns
        turn_ns = start_ns - handover.anchor_ns
        first = 0
        while True:
            block = handover.book.open(first, np.zeros(CHUNK_MESSAGES, np.int64))
            for position in range(CHUNK_MESSAGES):
                if not self._await_room():
                    block.cut(position)
                    break
                now_ns = time.monotonic_ns()
                if now_ns < turn_ns:
                    now_ns = handover.await_turn(turn_ns)
                intended_ns = max(now_ns, turn_ns) + handover.anchor_ns
                if intended_ns >= end_ns or handover.ended():
                    block.cut(position)
                    break
                turn_ns = max(now_ns, turn_ns) + self._gap_ns
                block.intended_ns[position] = intended_ns
                if not self._send(block, position, intended_ns):
                    block.cut(position)
                    break
            if block.passed:
                break
            block.passed = True
            first += CHUNK_MESSAGES
        handover.finish()

    def _await_room(self) -> bool:
        handover = self._handover
        if handover.book.in_flight < handover.in_flight:
            return True
        return (
            handover.await_answers(self._answered) if handover.in_flight <= _SMALL_WINDOW else handover.await_window()
        )

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
        block.sent[position] = time.monotonic_ns()
        return True
