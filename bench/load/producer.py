"""The sending loop: open loop, paced by the schedule. A late send keeps its intended time; nothing here waits for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from bench.clients.client import Backpressure, ClientError, Producer
from bench.load.clock import sleep_towards
from bench.load.control import Control
from bench.load.produced import Block, ProducedBook
from bench.schedule import CHUNK_MESSAGES, Schedule

_WINDOW_WAIT_NS = 200_000
Chunks = Iterator[tuple[int, NDArray[np.int64]]]


def chunks_of(schedule: Schedule, producer: int, start_ns: int) -> Chunks:
    """(first sequence, intended times since the epoch) of one producer, chunk by chunk."""
    for number, offsets in enumerate(schedule.offsets_ns(producer)):
        yield number * CHUNK_MESSAGES, offsets + start_ns


class SendingLoop:
    """Sends one producer's schedule. `deadline_ns` (monotonic) ends late sends and the wait for acknowledgements."""

    def __init__(
        self, client: Producer, book: ProducedBook, make: Callable[[int, int], bytes], control: Control,
        *, in_flight: int, anchor_ns: int, deadline_ns: int,
    ) -> None:  # fmt: skip
        self.held_back_ns = 0  # time in which the full in-flight window, so the system, kept messages from being sent
        self._refused = 0
        self._client = client
        self._book = book
        self._make = make
        self._control = control
        self._in_flight = in_flight
        self._anchor_ns = anchor_ns
        self._deadline_ns = deadline_ns
        self._due: int | None = None  # when the next message's turn is, monotonic

    @property
    def sent(self) -> int:
        """Messages that the client has taken."""
        return self._book.handed_over - self._refused

    def lag_ns(self) -> int:
        """How late the next message already is; 0 while on time."""
        return max(0, time.monotonic_ns() - self._due) if self._due is not None else 0

    def run(self, chunks: Chunks) -> None:
        """Sends until the schedule, the deadline or an abort ends it, then waits for acknowledgements as long as it may."""
        for first_sequence, intended_ns in chunks:
            block = self._book.open(first_sequence, intended_ns)
            if not self._send_block(block):
                break
            block.passed = True
        self._due = None
        while self._book.in_flight > 0 and not self._ended():
            sleep_towards(_WINDOW_WAIT_NS * 5)

    def _ended(self) -> bool:
        return self._control.stopped or time.monotonic_ns() >= self._deadline_ns

    def _send_block(self, block: Block) -> bool:
        # The hot path: one read of the clock a message, no call that can be spared.
        book, control, window = self._book, self._control, self._in_flight
        send, make, sent, now_ns = self._client.send, self._make, block.sent, time.monotonic_ns
        first, anchor_ns, deadline_ns = block.first_sequence, self._anchor_ns, self._deadline_ns
        now = now_ns()
        for position, intended_ns in enumerate(block.intended_ns.tolist()):
            self._due = due = intended_ns - anchor_ns
            if now < due:
                now = self._await_turn(due)
            if control.stopped or now > deadline_ns:
                return False
            if book.handed_over - book.acked - book.failures >= window and not self._await_window():
                return False
            sequence = first + position
            book.handed_over += 1
            payload = make(sequence, intended_ns)
            try:
                try:
                    send(sequence, payload)
                except Backpressure:
                    if not self._send_again(sequence, payload):
                        return False
            except ClientError as error:
                book.failed(sequence, error.name)
                self._refused += 1
                continue
            sent[position] = now = now_ns()
        return True

    def _await_turn(self, due: int) -> int:
        """Sleeps until `due`; the time then, or at once when the run was ended."""
        while (wait_ns := due - time.monotonic_ns()) > 0 and not self._control.stopped:
            sleep_towards(wait_ns)
        return due - wait_ns

    def _await_window(self) -> bool:
        while self._book.in_flight >= self._in_flight:
            if self._ended():
                return False
            self._hold_back()
        return True

    def _hold_back(self) -> None:
        began_ns = time.monotonic_ns()
        sleep_towards(_WINDOW_WAIT_NS)
        self.held_back_ns += time.monotonic_ns() - began_ns

    def _send_again(self, sequence: int, payload: bytes) -> bool:
        """Hands over what the client's full buffer refused, until it is taken; False when the run ends first. Raises ClientError."""
        while True:
            self._book.handed_over -= 1
            if self._ended():
                return False
            self._hold_back()
            self._book.handed_over += 1
            try:
                self._client.send(sequence, payload)
            except Backpressure:
                continue
            return True
