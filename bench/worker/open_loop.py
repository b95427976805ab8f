"""The open loop, paced by the schedule. A late send keeps its intended time, and every wait has a limit.

Messages that queue behind one that the system held are late because of the system, too, but only while the producer catches up: each
counts as held half of the schedule's mean gap longer than the one before, from its release or its send, whichever came first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from bench.worker.in_flight_window import InFlightWindow
from bench.worker.schedule import CHUNK_MESSAGES, Schedule
from bench.worker.send_log import Block
from systems.client import Backpressure, ClientError

# How much faster than its schedule a producer must send to count as catching up; slower, it is late by itself.
_CATCH_UP_SPEED = 2
Chunks = Iterator[tuple[int, NDArray[np.int64]]]


def chunks_of(schedule: Schedule, producer: int, start_ns: int) -> Chunks:
    """(first sequence, intended times since the epoch) of one producer, chunk by chunk."""
    for number, offsets in enumerate(schedule.offsets_ns(producer)):
        yield number * CHUNK_MESSAGES, offsets + start_ns


class SendingLoop:
    """Sends one producer's schedule, which begins at `start_ns` (epoch). `rest`: the chunks that it hasn't come to."""

    def __init__(
        self,
        window: InFlightWindow,
        make: Callable[[int, int], bytes],
        schedule: Schedule,
        start_ns: int,
        producer: int,
    ) -> None:
        self.rest = chunks_of(schedule, producer, start_ns)
        self._window = window
        self._make = make
        self._catch_up_gap_ns = schedule.mean_gap_ns // _CATCH_UP_SPEED
        self._due: int | None = None  # when the next message is due, monotonic

    def lag_ns(self) -> int:
        """How late the next message already is; 0 while on time."""
        return max(0, time.monotonic_ns() - self._due) if self._due is not None else 0

    def run(self) -> None:
        """Sends until the schedule, the deadline or an abort ends it, then waits for acknowledgements as long as it may."""
        for first_sequence, intended_ns in self.rest:
            block = self._window.log.open(first_sequence, intended_ns)
            if not self._send_block(block):
                break
            block.passed = True
        self._due = None
        self._window.finish()

    def _send_block(self, block: Block) -> bool:
        # The hot path: one read of the clock a message, no call that can be spared.
        window = self._window
        log, control, size = window.log, window.control, window.size
        send, make, sent, held, now_ns = window.client.send, self._make, block.sent, block.held, time.monotonic_ns
        first, anchor_ns, deadline_ns = block.first_sequence, window.anchor_ns, window.deadline_ns
        now = now_ns()
        for position, intended_ns in enumerate(block.intended_ns.tolist()):
            self._due = due = intended_ns - anchor_ns
            if now < due:
                now = window.await_turn(due)
            if intended_ns >= control.end_ns:
                block.cut(position)
                return False
            if control.stopped or now > deadline_ns:
                return False
            if log.handed_over - log.acked - log.failures >= size and not window.await_room():
                return False
            sequence = first + position
            log.handed_over += 1
            payload = make(sequence, intended_ns)
            try:
                try:
                    send(sequence, payload)
                except Backpressure:
                    if not window.send_again(sequence, payload):
                        return False
            except ClientError as error:
                window.refuse(sequence, error)
                continue
            sent[position] = now = now_ns()
            if (held_until := window.held_until_ns) > due:
                held[position] = held_until = min(held_until, now)
                window.held_until_ns = held_until + self._catch_up_gap_ns
        return True
