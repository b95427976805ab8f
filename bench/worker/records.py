"""The record files of docs/records.md: schemas, tables, and a writer that leaves whole files or none.

Used on client hosts: it imports pyarrow and numpy only. It never syncs: on a testbed of one disk that would disturb a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

    `anchor_ns` turns monotonic times into those since the epoch. `phases` is asked at every file: some phases end while the run goes
    on. `first_partition`: see Job. `on_file` is told of every file that is whole.
    """

    directory: Path
    anchor_ns: int
    phases: Callable[[], Sequence[Phase]]
    on_file: Callable[[WrittenFile], None]
    first_partition: int = 0

    def write(self, table: pa.Table, name: str) -> None:
        """Writes one file. Raises OSError."""
        self.on_file(write_records(table, self.directory, name))


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


def write_records(table: pa.Table, root: Path, name: str) -> WrittenFile:
    """Writes `root`/`name` aside and renames it. Raises OSError, e.g. when the disk is full, and leaves nothing then."""
    target = root / name
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.partial")
    delta = [field for field in table.column_names if field in _DELTA]
    try:
        pq.write_table(
            table,
            aside,
            row_group_size=ROW_GROUP_ROWS,
            compression="zstd",
            use_dictionary=[field for field in table.column_names if field not in delta],  # type: ignore[arg-type]  # stubs: bool only
            column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
        )
        aside.rename(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return WrittenFile(name, table.num_rows, target.stat().st_size)
