"""A load's figures from its record files as they lie on disk: exact, by nearest rank. What isn't in a file doesn't count.

For the load generator's own measurements (its floor, its benchmark). A trial's figures are analysis' business alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.load.load import LoadResult
from bench.worker.schedule import SECOND_NS

MEASURE = "measure"


@dataclass(frozen=True)
class Latency:
    """Two percentiles of one latency over the measure phase."""

    p50_ns: int
    p99_ns: int


@dataclass(frozen=True)
class Figures:
    """Of one run. The rate counts acknowledged rows of the whole run, from its start to the last acknowledgement."""

    acknowledged: int
    acknowledged_per_s: float
    producer_cpu_us: float
    publish: Latency
    send_delay: Latency
    end_to_end: Latency | None
    produced_bytes_per_row: float


def nearest_rank(values: NDArray[np.int64], percent: int) -> int:
    """The smallest value such that at least `percent` of all are not above it."""
    rank = max(1, -(-percent * len(values) // 100))
    return int(np.partition(values, rank - 1)[rank - 1])


def read_figures(folder: Path, result: LoadResult) -> Figures:
    """Reads produced/ and consumed/ under `folder`. Raises ValueError if rows that were written aren't there."""
    produced = _read(folder / "produced", ["intended_ns", "sent_ns", "acked_ns", "phase"], result.produced_rows)
    acked = produced.filter(produced["acked_ns"].is_valid())
    sent = produced.filter(produced["sent_ns"].is_valid())
    last_ns = int(np.max(acked["acked_ns"].to_numpy()))
    producers = [worker for worker in result.workers if worker["role"] == "producer"]
    files = [file for file in result.files if file.name.startswith("produced/")]
    end_to_end = None
    if result.consumed_rows:
        consumed = _read(folder / "consumed", ["intended_ns", "received_ns", "phase"], result.consumed_rows)
        end_to_end = _latency(consumed, "received_ns", "intended_ns")
    return Figures(
        acknowledged=acked.num_rows,
        acknowledged_per_s=acked.num_rows * SECOND_NS / (last_ns - result.phases[0]["start_ns"]),
        producer_cpu_us=sum(worker["cpu_s"] for worker in producers) * 1e6 / acked.num_rows,
        publish=_latency(acked, "acked_ns", "sent_ns"),
        send_delay=_latency(sent, "sent_ns", "intended_ns"),
        end_to_end=end_to_end,
        produced_bytes_per_row=sum(file.bytes for file in files) / produced.num_rows,
    )


def _read(folder: Path, columns: list[str], rows: int) -> pa.Table:
    table = pq.read_table(folder, columns=columns)
    if table.num_rows != rows:
        raise ValueError(f"{folder}: {table.num_rows} rows on disk, {rows} were written")
    return table


def _latency(table: pa.Table, later: str, earlier: str) -> Latency:
    measured = table.filter(pc.is_in(pc.field("phase"), pa.array([MEASURE])))
    waited_ns = measured[later].to_numpy() - measured[earlier].to_numpy()
    return Latency(nearest_rank(waited_ns, 50), nearest_rank(waited_ns, 99))
