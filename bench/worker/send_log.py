"""What became of every message of one producer's schedule, in blocks that become files.

Three threads meet here: the sender (hands over, sent), the client's own (acknowledged, failed), the writer (sweep). A block
is written as soon as each of its messages is settled, so that memory is bounded by what is in flight, not by the run.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from bench.worker.records import NEVER_NS, RecordFiles, RecordWriter, produced_table
from bench.worker.schedule import CHUNK_MESSAGES


class Block:
    """A chunk of the schedule. Times are monotonic nanoseconds, NEVER_NS until they are known."""

    def __init__(self, first_sequence: int, intended_ns: NDArray[np.int64]) -> None:
        rows = len(intended_ns)
        self.first_sequence = first_sequence
        self.intended_ns = intended_ns
        self.sent = array("q", bytes(8 * rows))
        self.acked = array("q", bytes(8 * rows))
        self.held = array("q", bytes(8 * rows))  # until when the system kept a message from being sent
        self.partition = array("i", bytes(4 * rows))
        self.errors: dict[int, str] = {}
        self.settled = 0
        self.passed = False  # the sender has moved on to the next block

    def cut(self, rows: int) -> None:
        """The run ends inside the block: the messages after the first `rows` were never due."""
        self.intended_ns = self.intended_ns[:rows]
        self.passed = True


class SendLog:
    """Implements Acknowledgements. After `close` late answers are ignored: rows and counts no longer change."""

    def __init__(self, producer: int, files: RecordFiles, *, on_settled: Callable[[], None] | None = None) -> None:
        self.acked = 0
        self.failures = 0
        self.handed_over = 0
        self.repeated = 0  # answers to messages that had one already
        self.late = 0  # acknowledgements of messages that had been given up: stored, and failed all the same
        self.first_ack_ns: int | None = None
        self._producer = producer
        self._files, self._writer = files, RecordWriter(files)
        self._on_settled = on_settled
        self._blocks: dict[int, Block] = {}
        self._given_up: dict[
            int, NDArray[np.uint8]
        ] = {}  # of blocks that are written: a bit for each message that failed
        self._lock = threading.Lock()
        self._closed = False

    @property
    def in_flight(self) -> int:
        """Handed over and neither acknowledged nor given up."""
        return self.handed_over - self.acked - self.failures

    def open(self, first_sequence: int, intended_ns: NDArray[np.int64]) -> Block:
        """The sender begins a chunk of the schedule (`intended_ns` since the epoch)."""
        block = Block(first_sequence, intended_ns)
        self._blocks[first_sequence // CHUNK_MESSAGES] = block
        return block

    def acknowledged(self, sequence: int, partition: int) -> None:
        now = time.monotonic_ns()
        block = self._blocks.get(sequence // CHUNK_MESSAGES)
        with self._lock:
            position = sequence % CHUNK_MESSAGES
            if self._closed or block is None or block.acked[position] or (block.errors and position in block.errors):
                self._acknowledged_again(sequence, block)
                return
            block.acked[position] = now
            block.partition[position] = partition
            block.settled += 1
            self.acked += 1
            if self.first_ack_ns is None:
                self.first_ack_ns = now
        if self._on_settled is not None:
            self._on_settled()

    def _acknowledged_again(self, sequence: int, block: Block | None) -> None:
        key, position = divmod(sequence, CHUNK_MESSAGES)
        if block is not None:
            given_up = position in block.errors
        else:
            bits = self._given_up.get(key)
            given_up = bits is not None and bool(np.unpackbits(bits[position // 8])[position % 8])
        self.late += not self._closed and given_up
        self.repeated += not self._closed and not given_up

    def failed(self, sequence: int, error: str) -> None:
        block = self._blocks.get(sequence // CHUNK_MESSAGES)
        with self._lock:
            position = sequence % CHUNK_MESSAGES
            if self._closed or block is None or block.acked[position] or position in block.errors:
                self.repeated += not self._closed
                return
            block.errors[position] = error
            block.settled += 1
            self.failures += 1
        if self._on_settled is not None:
            self._on_settled()

    def latencies_between(self, since_ns: int, until_ns: int) -> NDArray[np.int64]:
        """Response latencies (ns) of what was acknowledged from `since_ns` until `until_ns` (monotonic) and isn't written yet."""
        found: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        for block in list(self._blocks.values()):
            intended_ns = block.intended_ns
            acked = np.frombuffer(block.acked, np.int64)[: len(intended_ns)]
            recent = (acked >= since_ns) & (acked < until_ns)
            found.append(acked[recent] + self._files.anchor_ns - intended_ns[recent])
        return np.concatenate(found)

    def sweep(self) -> None:
        """Writes the blocks of which everything is known. Raises OSError."""
        for key, block in list(self._blocks.items()):
            if block.passed and block.settled == len(block.intended_ns):
                self._write(block, len(block.intended_ns))
                if block.errors:
                    self._given_up[key] = _bits(block.errors)
                del self._blocks[key]
        self._writer.tick()

    def close(self, rest: Iterator[tuple[int, NDArray[np.int64]]], until_ns: int) -> None:
        """Writes all that is left, and the messages of `rest` that were due by `until_ns` and never sent."""
        with self._lock:
            self._closed = True
        for _, block in sorted(self._blocks.items()):
            self._write(block, _turns_come(block.intended_ns, until_ns, block))
        self._blocks.clear()
        for first_sequence, intended_ns in rest:
            turns = int(np.searchsorted(intended_ns, until_ns, side="right"))
            if not turns:
                break
            self._write(Block(first_sequence, intended_ns), turns)
        self._writer.finish()

    def _write(self, block: Block, rows: int) -> None:
        if not rows:
            return
        table = produced_table(
            self._producer,
            block.first_sequence,
            block.intended_ns[:rows],
            self._epoch(block.sent)[:rows],
            self._epoch(block.acked)[:rows],
            self._epoch(block.held)[:rows],
            np.frombuffer(block.partition, np.int32)[:rows] + np.int32(self._files.first_partition),
            block.errors,
            self._files.phases(),
        )
        name = f"produced/producer-{self._producer:04d}-{block.first_sequence:014d}.parquet"
        self._writer.add(table, name)

    def _epoch(self, monotonic: array[int]) -> NDArray[np.int64]:
        times = np.frombuffer(monotonic, np.int64)
        return np.where(times == NEVER_NS, NEVER_NS, times + self._files.anchor_ns)


def _bits(positions: Iterable[int]) -> NDArray[np.uint8]:
    """A bit for each message of a block, set for these."""
    flags = np.zeros(CHUNK_MESSAGES, np.bool_)
    flags[list(positions)] = True
    return np.packbits(flags)


def _turns_come(intended_ns: NDArray[np.int64], until_ns: int, block: Block) -> int:
    """How many messages of a block were due by the clock, and at least those that were handed over."""
    by_clock = int(np.searchsorted(intended_ns, until_ns, side="right"))
    touched = np.flatnonzero(np.frombuffer(block.sent, np.int64))
    last_touched = int(touched[-1]) + 1 if len(touched) else 0
    return max(by_clock, last_touched, max(block.errors, default=-1) + 1)
