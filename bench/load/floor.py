"""The load generator's own floor: the same workers and records against a broker that stores nothing, on the client host itself.

What a system's latencies can't go below here, and how late sends are when no system is in the way. It is no system's figure.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.load.collect import collect_records
from bench.load.load import Hooks, LoadResult, LoadSpec
from bench.load.worker_pool import run_load
from bench.worker.schedule import SECOND_NS
from contract.workload import Workload
from provisioning.errors import HostError
from provisioning.hosts.host import Host

NULL_MODULE = "systems.null_client"
FASTEST_PER_S = 5_000  # the null broker is a Python program: faster, and its own limit would be what is measured
WARMUP_S, MEASURE_S = 1.0, 4.0
LEAST_PER_S = 300  # at fewer there would not be ten messages beyond its p99 in that time
_FIRST_LINE_S = 20.0
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


@dataclass(frozen=True)
class Floor:
    """The floor of one client host: the figures of a producer and a consumer there."""

    host: str
    rate_per_s: int
    message_bytes: int
    figures: Figures

    def to_json(self) -> dict[str, Any]:
        """As the manifest carries it; CPU is the producer's, per message."""
        figures = self.figures
        latencies = {"send_delay": figures.send_delay, "publish": figures.publish, "end_to_end": figures.end_to_end}
        return {
            "host": self.host,
            "rate_per_s": self.rate_per_s,
            "message_bytes": self.message_bytes,
            "messages": figures.acknowledged,
            **{f"{name}_{key}": ns for name, each in latencies.items() if each for key, ns in asdict(each).items()},
            "producer_cpu_us": figures.producer_cpu_us,
        }


def measure_floor(
    hosts: Sequence[Host],
    pythons: Mapping[str, str],
    workload: Workload,
    scratch: Path,
    *,
    on_progress: Callable[[str], None] = lambda _text: None,
) -> tuple[Floor, ...]:
    """One producer and one consumer on each client host, one after the other, at the workload's rate from LEAST_PER_S to FASTEST_PER_S.

    Raises HostError when it can't be measured; the trials would fail in the same way.
    """
    alone = replace(
        workload,
        rate_per_s=max(LEAST_PER_S, min(workload.planned_rate_per_s, FASTEST_PER_S)),
        pacing="open-loop",
        expected_rate_per_s=None,
        search_steps=None,
        backlog=None,
        topics=1,
        producers=1,
        consumers=1,
        subscriptions=1,
        warmup_s=WARMUP_S,
        warmup="fixed",
        measure_s=MEASURE_S,
    )
    return tuple(_floor_of(host, pythons, alone, scratch, on_progress) for host in hosts)


@contextmanager
def null_broker(host: Host, python: str) -> Iterator[str]:
    """A broker that stores nothing runs on `host` while inside: its service URL. Raises HostError if it doesn't start."""
    broker = host.spawn(f"exec {python} -m {NULL_MODULE}")
    try:
        service_url = next(broker.lines(), None)
        if service_url is None:
            raise HostError(host.name, f"the null broker did not start: {broker.wait(timeout_s=_FIRST_LINE_S).stderr}")
        yield service_url
    finally:
        broker.close()


def _floor_of(
    host: Host, pythons: Mapping[str, str], workload: Workload, scratch: Path, on_progress: Callable[[str], None]
) -> Floor:
    with null_broker(host, pythons[host.name]) as service_url:
        spec = LoadSpec(workload, NULL_MODULE, service_url, client_settings={}, topics=("floor",), seed=1)
        result = run_load(spec, [host], pythons, Hooks(on_progress=on_progress))
    if result.abort is not None:
        raise HostError(host.name, f"the load generator's floor can't be measured: {result.abort['reason']}")
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="floor-", dir=scratch) as folder:
        collect_records(result, [host], Path(folder))
        figures = read_figures(Path(folder), result)
    if figures.end_to_end is None:
        raise HostError(host.name, "the load generator's floor can't be measured: its consumer received nothing")
    return Floor(host.name, workload.rate_per_s, workload.message_bytes, figures)


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
