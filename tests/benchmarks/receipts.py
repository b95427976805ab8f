"""What the consumers of generated records received: every acknowledged message, in its partition's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bench.worker.message import HEADER_FIELDS
from bench.worker.records import consumed_table
from bench.worker.schedule import Phase

CONSUMERS = 2  # of one subscription; each has every other partition
SUBSCRIPTION = "sub-0"
LOST_OF_A_TRIAL = REPEATED_OF_A_TRIAL = 1
_LOST_AT, _REPEATED_AT = 1_000, 2_000  # places among the acknowledged messages of a producer's first file


class Receipts:
    """The consumers of one trial. Each handles one message after another, and remembers when it received the last."""

    def __init__(self, random: np.random.Generator, phases: Sequence[Phase]) -> None:
        self._random = random
        self._phases = phases
        self._last_ns = [0] * CONSUMERS
        self._begun = False

    def of(self, produced: Sequence[pa.Table]) -> Iterator[pa.Table]:
        """One table per consumer, in the order received, of the next stretch of every producer's rows."""
        known = [table.filter(pc.is_valid(table["acked_ns"])) for table in produced]
        if not self._begun:
            known[0] = known[0].take(self._faulty(known[0].num_rows))
            self._begun = True
        rows = pa.concat_tables(known)
        columns = {name: rows[name].to_numpy() for name in ("producer", "sequence", "partition", "intended_ns")}
        arrived_ns = rows["acked_ns"].to_numpy() + self._random.gamma(2.0, 100_000, rows.num_rows).astype(np.int64)
        for producer in np.unique(columns["producer"]):
            for partition in np.unique(columns["partition"]):  # which hands over in order, so that nothing overtakes
                own = np.flatnonzero((columns["producer"] == producer) & (columns["partition"] == partition))
                arrived_ns[own] = np.maximum.accumulate(arrived_ns[own])
        for consumer in range(CONSUMERS):
            own = np.flatnonzero(columns["partition"] % CONSUMERS == consumer)
            own = own[np.argsort(arrived_ns[own], kind="stable")]
            headers = np.zeros(len(own), HEADER_FIELDS)
            for name in ("producer", "sequence", "intended_ns"):
                headers[name] = columns[name][own]
            partitions = columns["partition"][own].astype(np.int32)
            received_ns = self._handled_ns(consumer, arrived_ns[own])
            yield consumed_table(consumer, SUBSCRIPTION, headers.tobytes(), partitions, received_ns, self._phases)

    def _handled_ns(self, consumer: int, arrived_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """When a consumer that takes a few microseconds for each message gets to each of them."""
        takes_ns = self._random.integers(1_000, 9_000, len(arrived_ns))
        busy_ns = np.cumsum(takes_ns)
        received_ns: NDArray[np.int64] = busy_ns + np.maximum.accumulate(
            np.maximum(arrived_ns, self._last_ns[consumer]) - busy_ns
        )
        if len(received_ns):
            self._last_ns[consumer] = int(received_ns[-1])
        return received_ns

    @staticmethod
    def _faulty(rows: int) -> NDArray[np.int64]:
        """All places but the lost one's, and that of the repeated one twice."""
        every = np.arange(rows)
        return np.sort(np.append(every[every != _LOST_AT], _REPEATED_AT))
