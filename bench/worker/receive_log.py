"""What one consumer received: every message, repeats included, in order, in batches that are written to files."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from bench.worker.message import MARK_BYTES, run_mark
from bench.worker.records import RecordFiles, RecordWriter, consumed_table
from bench.worker.schedule import CHUNK_MESSAGES
from contract.message import HEADER_BYTES


class Batch:
    """Receipts in order: their headers laid one after another, partitions, monotonic times."""

    def __init__(self) -> None:
        self.headers = bytearray()
        self.partition = array("i")
        self.received = array("q")


class ReceiveLog:
    """Filled by the receiving loop, written by `write`, which may run on another thread with batches taken by `full`; then closed."""

    def __init__(self, consumer: int, subscription: str, run: int, files: RecordFiles) -> None:
        self.received = 0
        self.foreign = 0  # not of this run: no row
        self.last_received_ns = 0
        self._consumer = consumer
        self._subscription = subscription
        self._mark = run_mark(run)
        self._files, self._writer = files, RecordWriter(files)
        self._written = 0
        self._batch = Batch()

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
        """The batch so far when it is large enough to be written; an empty one follows."""
        if len(self._batch.received) < CHUNK_MESSAGES:
            return None
        batch, self._batch = self._batch, Batch()
        return batch

    def write(self, batch: Batch) -> None:
        """Writes the next batch. Raises OSError."""
        table = consumed_table(
            self._consumer,
            self._subscription,
            batch.headers,
            np.frombuffer(batch.partition, np.int32) + np.int32(self._files.first_partition),
            np.frombuffer(batch.received, np.int64) + self._files.anchor_ns,
            self._files.phases(),
        )
        name = f"consumed/consumer-{self._consumer:04d}-{self._written:08d}.parquet"
        self._written += 1
        self._writer.add(table, name)

    def tick(self) -> None:
        """Finishes a file that has been open for long. Raises OSError."""
        self._writer.tick()

    def close(self) -> None:
        """Writes what is left, after all that `full` gave. Raises OSError."""
        if self._batch.received:
            self.write(self._batch)
        self._writer.finish()
