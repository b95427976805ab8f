"""The sending loop: open loop, paced by the schedule. A late send keeps its intended time; nothing here waits for ever.

What queues behind a message that the system held is late because of the system, too, but only as long as the producer catches up:
each is held half of the schedule's mean gap longer than the one before, from its release or its send, whichever came first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from bench.worker.in_flight_window import Handover
from bench.worker.schedule import CHUNK_MESSAGES, Schedule
from bench.worker.send_log import Block
from systems.client import Backpressure, ClientError

# How much faster than its schedule a producer must send to be catching up, and not late by itself.
_CATCH_UP_SPEED = 2
Chunks = Iterator[tuple[int, NDArray[np.int64]]]


def chunks_of(schedule: Schedule, producer: int, start_ns: int) -> Chunks:
    """(first sequence, intended times since the epoch) of one producer, chunk by chunk."""
    for number, offsets in enumerate(schedule.offsets_ns(producer)):
        yield number * CHUNK_MESSAGES, offsets + start_ns


class SendingLoop:
    """Sends one producer's schedule; its messages are `mean_gap_ns` apart."""

    def __init__(self, handover: Handover, make: Callable[[int, int], bytes], mean_gap_ns: int) -> None:
        self._handover = handover
        self._make = make
        self._catch_up_gap_ns = mean_gap_ns // _CATCH_UP_SPEED
        self._due: int | None = None  # when the next message's turn is, monotonic

    def lag_ns(self) -> int:
        """How late the next message already is; 0 while on time."""
        return max(0, time.monotonic_ns() - self._due) if self._due is not None else 0

    def run(self, chunks: Chunks) -> None:
        """Sends until the schedule, the deadline or an abort ends it, then waits for acknowledgements as long as it may."""
        for first_sequence, intended_ns in chunks:
            block = self._handover.book.open(first_sequence, intended_ns)
            if not self._send_block(block):
                break
            block.passed = True
        self._due = None
        self._handover.finish()

    def _send_block(self, block: Block) -> bool:
        # The hot path: one read of the clock a message, no call that can be spared.
        handover = self._handover
        book, control, window = handover.book, handover.control, handover.in_flight
        send, make, sent, held, now_ns = handover.client.send, self._make, block.sent, block.held, time.monotonic_ns
        first, anchor_ns, deadline_ns = block.first_sequence, handover.anchor_ns, handover.deadline_ns
        now = now_ns()
        for position, intended_ns in enumerate(block.intended_ns.tolist()):
            self._due = due = intended_ns - anchor_ns
            if now < due:
                now = handover.await_turn(due)
            if intended_ns >= control.end_ns:
                block.cut(position)
                return False
            if control.stopped or now > deadline_ns:
                return False
            if book.handed_over - book.acked - book.failures >= window and not handover.await_window():
                return False
            sequence = first + position
            book.handed_over += 1
            payload = make(sequence, intended_ns)
            try:
                try:
                    send(sequence, payload)
                except Backpressure:
                    if not handover.send_again(sequence, payload):
                        return False
            except ClientError as error:
                handover.refuse(sequence, error)
                continue
            sent[position] = now = now_ns()
            if (held_until := handover.held_until_ns) > due:
                held[position] = held_until = min(held_until, now)
                handover.held_until_ns = held_until + self._catch_up_gap_ns
        return True
