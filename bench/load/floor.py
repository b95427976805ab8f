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

from bench.load.collect import collect_records
from bench.load.figures import read_figures
from bench.load.load import Hooks, LoadSpec
from bench.load.worker_pool import run_load
from contract.workload import Workload
from provisioning.errors import HostError
from provisioning.hosts.host import Host

NULL_MODULE = "systems.null_client"
FASTEST_PER_S = 5_000  # the null broker is a Python program: faster, and its own limit would be what is measured
WARMUP_S, MEASURE_S = 1.0, 4.0
LEAST_PER_S = 300  # at fewer there would not be ten messages beyond its p99 in that time
_FIRST_LINE_S = 20.0


@dataclass(frozen=True)
class Floor:
    """Of one client host; nanoseconds. CPU is the producer's, per message."""

    host: str
    rate_per_s: int
    message_bytes: int
    messages: int
    send_delay_p50_ns: int
    send_delay_p99_ns: int
    publish_p50_ns: int
    publish_p99_ns: int
    end_to_end_p50_ns: int
    end_to_end_p99_ns: int
    producer_cpu_us: float

    def to_json(self) -> dict[str, Any]:
        """As the manifest carries it."""
        return asdict(self)


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
    return Floor(
        host=host.name,
        rate_per_s=workload.rate_per_s,
        message_bytes=workload.message_bytes,
        messages=figures.acknowledged,
        send_delay_p50_ns=figures.send_delay.p50_ns,
        send_delay_p99_ns=figures.send_delay.p99_ns,
        publish_p50_ns=figures.publish.p50_ns,
        publish_p99_ns=figures.publish.p99_ns,
        end_to_end_p50_ns=figures.end_to_end.p50_ns,
        end_to_end_p99_ns=figures.end_to_end.p99_ns,
        producer_cpu_us=figures.producer_cpu_us,
    )
