"""The book of one consumer: every message received, repeats included, in order, in blocks that become files."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.worker.message import MARK_BYTES, run_mark
from bench.worker.records import WrittenFile, consumed_table, write_records
from bench.worker.schedule import CHUNK_MESSAGES, Phase
from contract.message import HEADER_BYTES


class Batch:
    """Receipts in order: their headers laid one after another, partitions, monotonic times."""

    def __init__(self) -> None:
        self.headers = bytearray()
        self.partition = array("i")
        self.received = array("q")


class ConsumedBook:
    """Filled by the receiving loop, written by `write`, which may run on another thread with batches taken by `full`."""

    def __init__(
        self, consumer: int, subscription: str, run: int, anchor_ns: int, directory: Path,
        on_file: Callable[[WrittenFile], None], *, first_partition: int = 0,
    ) -> None:  # fmt: skip
        self.received = 0
        self.foreign = 0  # not of this run: no row
        self.last_received_ns = 0
        self._consumer = consumer
        self._subscription = subscription
        self._mark = run_mark(run)
        self._anchor_ns = anchor_ns
        self._directory = directory
        self._on_file = on_file
        self._first_partition = first_partition
        self._phases: Callable[[], Sequence[Phase]] = tuple
        self._files = 0
        self._batch = Batch()

    def begin(self, phases: Callable[[], Sequence[Phase]]) -> None:
        """The phases are known once the start instant is; asked at every file, since some end when others say so."""
        self._phases = phases

    def note(self, messages: Sequence[tuple[int, bytes]], now: int) -> None:
        """Notes messages that were handed over together at `now` (monotonic)."""
        batch, mark = self._batch, self._mark
        for partition, payload in messages:
            if payload[:MARK_BYTES] != mark:
                self.foreign += 1
                continue
            batch.headers += payload[:HEADER_BYTES]
            batch.partition.append(partition)
            batch.received.append(now)
            self.received += 1
        self.last_received_ns = now

    def full(self) -> Batch | None:
        """The batch so far when it is large enough for a file; the book goes on with an empty one."""
        return self.take() if len(self._batch.received) >= CHUNK_MESSAGES else None

    def take(self) -> Batch:
        """The batch so far, whatever its size."""
        batch, self._batch = self._batch, Batch()
        return batch

    def write(self, batch: Batch) -> None:
        """Writes a batch as the next file. Raises OSError."""
        if not batch.received:
            return
        table = consumed_table(
            self._consumer,
            self._subscription,
            batch.headers,
            np.frombuffer(batch.partition, np.int32) + np.int32(self._first_partition),
            np.frombuffer(batch.received, np.int64) + self._anchor_ns,
            self._phases(),
        )
        name = f"consumed/consumer-{self._consumer:04d}-{self._files:08d}.parquet"
        self._files += 1
        self._on_file(write_records(table, self._directory, name))
