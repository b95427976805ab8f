"""The record files of docs/records.md: schemas, tables, and a writer that leaves whole files or none.

Used on client hosts: it imports pyarrow and numpy only. It never syncs: on a testbed of one disk that would disturb a broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.worker.message import read_headers
from bench.worker.schedule import Phase

RECORDS_SCHEMA = 1
METADATA_KEY = b"samebox.schema"
ROW_GROUP_ROWS = 65_536
# A file is finished at whichever comes first. Each file costs whoever reads a campaign; a worker that is killed loses its open one.
FILE_ROWS, FILE_S = 16 * ROW_GROUP_ROWS, 10.0
NEVER_NS = 0  # how buffers mark a time that never came

_METADATA: dict[bytes | str, bytes | str] = {METADATA_KEY: str(RECORDS_SCHEMA).encode()}


def _schema(*columns: pa.Field[Any]) -> pa.Schema:
    return pa.schema(columns, metadata=_METADATA)


PRODUCED = _schema(
    pa.field("producer", pa.int32(), nullable=False),
    pa.field("partition", pa.int32()),
    pa.field("sequence", pa.int64(), nullable=False),
    pa.field("intended_ns", pa.int64(), nullable=False),
    pa.field("sent_ns", pa.int64()),
    pa.field("acked_ns", pa.int64()),
    pa.field("error", pa.string()),
    pa.field("phase", pa.string(), nullable=False),
    pa.field("held_until_ns", pa.int64()),
)
CONSUMED = _schema(
    pa.field("consumer", pa.int32(), nullable=False),
    pa.field("subscription", pa.string(), nullable=False),
    pa.field("producer", pa.int32(), nullable=False),
    pa.field("sequence", pa.int64(), nullable=False),
    pa.field("partition", pa.int32(), nullable=False),
    pa.field("intended_ns", pa.int64(), nullable=False),
    pa.field("received_ns", pa.int64(), nullable=False),
    pa.field("phase", pa.string(), nullable=False),
)
# Times and sequences grow steadily: differences of neighbours are small numbers. All else repeats: a dictionary.
_DELTA = ("sequence", "intended_ns", "sent_ns", "acked_ns", "received_ns", "held_until_ns")


@dataclass(frozen=True)
class WrittenFile:
    """A finished record file, relative to the trial's folder ("produced/...")."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class RecordFiles:
    """Where a worker's record files go, and what the rows of all of them need.

    `anchor_ns` turns monotonic times into those since the epoch. `phases` is asked at every table: some phases end while the run goes
    on. `first_partition`: see Job. `on_file` is told of every file that is whole.
    """

    directory: Path
    anchor_ns: int
    phases: Callable[[], Sequence[Phase]]
    on_file: Callable[[WrittenFile], None]
    first_partition: int = 0
    monotonic_s: Callable[[], float] = time.monotonic


class RecordWriter:
    """The files of one producer or consumer, one after another. Not thread-safe.

    A file is written aside and renamed when it is finished: once it has FILE_ROWS, or is FILE_S old at the next `add` or `tick`.
    """

    def __init__(self, files: RecordFiles) -> None:
        self._files = files
        self._open: _OpenFile | None = None

    def add(self, table: pa.Table, name: str) -> None:
        """Adds rows to the open file, or to a new one of this name. Raises OSError, e.g. of a full disk; no part is left then."""
        if self._open is None:
            self._open = _OpenFile(self._files.directory / name, name, table.schema, self._files.monotonic_s())
        try:
            self._open.add(table)
        except BaseException:
            self._open.discard()
            self._open = None
            raise
        self.tick()

    def tick(self) -> None:
        """Finishes the open file if it is large or old enough. Raises OSError."""
        file = self._open
        if file and (file.rows >= FILE_ROWS or self._files.monotonic_s() - file.begun_s >= FILE_S):
            self.finish()

    def finish(self) -> None:
        """Finishes the open file, if there is one, and tells of it. Raises OSError."""
        if self._open is not None:
            finished, self._open = self._open, None
            self._files.on_file(finished.finish())


class _OpenFile:
    def __init__(self, target: Path, name: str, schema: pa.Schema, begun_s: float) -> None:
        self.rows, self.begun_s = 0, begun_s
        self._name, self._target = name, target
        self._aside = target.with_name(f".{target.name}.partial")
        target.parent.mkdir(parents=True, exist_ok=True)
        delta = [field for field in schema.names if field in _DELTA]
        self._writer = pq.ParquetWriter(
            self._aside,
            schema,
            compression="zstd",
            use_dictionary=[field for field in schema.names if field not in delta],  # type: ignore[arg-type]  # stubs: bool only
            column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
        )

    def add(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        self.rows += table.num_rows

    def finish(self) -> WrittenFile:
        try:
            self._writer.close()
            self._aside.rename(self._target)
        except BaseException:
            self._aside.unlink(missing_ok=True)
            raise
        return WrittenFile(self._name, self.rows, self._target.stat().st_size)

    def discard(self) -> None:
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
        self._aside.unlink(missing_ok=True)


def produced_table(
    producer: int,
    first_sequence: int,
    intended_ns: NDArray[np.int64],
    sent_ns: NDArray[np.int64],
    acked_ns: NDArray[np.int64],
    held_until_ns: NDArray[np.int64],
    partition: NDArray[np.int32],
    errors: Mapping[int, str],
    phases: Sequence[Phase],
) -> pa.Table:
    """Rows of a sequence range. NEVER_NS = null; `errors` by position. Times are written as they were taken."""
    rows = len(intended_ns)
    unacked = acked_ns == NEVER_NS
    error_column = pa.nulls(rows, pa.string())
    if errors:
        error_column = pa.array([errors.get(position) for position in range(rows)], pa.string())
    columns: list[pa.Array[Any]] = [
        pa.array(np.full(rows, producer, np.int32)),
        pa.array(partition, mask=unacked),
        pa.array(np.arange(first_sequence, first_sequence + rows, dtype=np.int64)),
        pa.array(intended_ns),
        pa.array(sent_ns, mask=sent_ns == NEVER_NS),
        pa.array(acked_ns, mask=unacked),
        error_column,
        phase_column(intended_ns, phases),
        pa.array(held_until_ns, mask=held_until_ns == NEVER_NS),
    ]
    return pa.Table.from_arrays(columns, schema=PRODUCED)


def consumed_table(
    consumer: int,
    subscription: str,
    headers: bytes | bytearray,
    partition: NDArray[np.int32],
    received_ns: NDArray[np.int64],
    phases: Sequence[Phase],
) -> pa.Table:
    """Rows in the order received, from message headers laid one after another."""
    fields = read_headers(headers)
    rows = len(fields)
    intended_ns = np.ascontiguousarray(fields["intended_ns"])
    columns = [
        pa.array(np.full(rows, consumer, np.int32)),
        pa.array([subscription], pa.string()).take(np.zeros(rows, np.int32)),
        pa.array(np.ascontiguousarray(fields["producer"])),
        pa.array(np.ascontiguousarray(fields["sequence"])),
        pa.array(partition),
        pa.array(intended_ns),
        pa.array(received_ns),
        phase_column(intended_ns, phases),
    ]
    return pa.Table.from_arrays(columns, schema=CONSUMED)


def phase_column(intended_ns: NDArray[np.int64], phases: Sequence[Phase]) -> pa.Array[Any]:
    """The name of the phase that each intended time falls in."""
    starts = np.array([phase.start_ns for phase in phases], np.int64)
    index = np.clip(np.searchsorted(starts, intended_ns, side="right") - 1, 0, len(phases) - 1)
    return pa.array([phase.name for phase in phases], pa.string()).take(index)
