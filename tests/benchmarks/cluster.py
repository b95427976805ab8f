"""One system running on the local testbed, and every way to load it. Nothing of it is left afterwards."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from bench.checkout import CHECKOUT
from bench.load.collect import collect_records
from bench.load.floor import Figures, read_figures
from bench.load.load import LoadSpec
from bench.load.worker_pool import run_load
from contract.workload import Workload
from provisioning.hosts.host import Host
from provisioning.software.store import Store
from systems.deployment import Topic
from systems.load_tool import NativeLoad, NativeTool
from systems.registry import SYSTEMS
from systems.settings import Settings
from tests.benchmarks.native_run import run_native
from tests.benchmarks.openmessaging import OpenMessagingLoad, run_openmessaging
from tests.three_nodes import LEVEL, ThreeNodes

STATE = CHECKOUT / ".samebox" / "bench-load"
TOPIC = Topic("samebox", 6)
# By Pulsar's own default a caught-up subscription is told of new messages every 10 ms, which would be in our end-to-end latency.
PROFILE = "sn2022"
# A server of Valkey keeps all messages of all runs in memory, and refuses those beyond its limit.
SETTINGS: Mapping[str, Settings] = {"valkey": {"server": {"maxmemory": "8589934592"}}}
NS_PER_MS = 1e6
READ_OUT_LIMIT_S = 120.0
_FEW = 1_000


@dataclass(frozen=True)
class Row:
    """One run of one tool: messages per second, microseconds of client CPU per message, milliseconds, bytes."""

    rate_per_s: float
    cpu_us: float
    publish_p50_ms: float
    publish_p99_ms: float
    send_delay_p99_ms: float | None = None
    end_to_end_p50_ms: float | None = None
    bytes_per_row: float | None = None


class Cluster:
    """A system's three-node cluster on `hosts` at a durability level, once `running` is entered."""

    def __init__(
        self, system: str, hosts: Sequence[Host], store: Store, pythons: Mapping[str, str], level: str = LEVEL
    ) -> None:
        self.system = system
        self._nodes = ThreeNodes(system, hosts, store, TOPIC, PROFILE, level, SETTINGS.get(system))
        self._client = self._nodes.clients[0]
        self._pythons = pythons
        self._native_start_cpu_s: float | None = None

    @property
    def tool(self) -> NativeTool | None:
        """The system's own load tool, if it has one."""
        return SYSTEMS[self.system].native_tool

    def running(self) -> AbstractContextManager[None]:
        """A fresh cluster with the topic."""
        return self._nodes.running()

    def ours(self, workload: Workload) -> Row:
        """One run of our generator; every figure is from the record files as they lie on the operator's disk."""
        figures = self._measured(self._nodes.load(workload))
        return Row(
            figures.acknowledged_per_s,
            figures.producer_cpu_us,
            figures.publish.p50_ns / NS_PER_MS,
            figures.publish.p99_ns / NS_PER_MS,
            figures.send_delay.p99_ns / NS_PER_MS,
            figures.end_to_end.p50_ns / NS_PER_MS if figures.end_to_end else None,
            figures.produced_bytes_per_row,
        )

    def _measured(self, spec: LoadSpec) -> Figures:
        """Exits if the load was cut short or messages failed: there is no figure then."""
        result = run_load(spec, [self._client], self._pythons)
        if result.abort is not None:
            sys.exit(f"bench-load: {self.system}: {result.abort['reason']}")
        folder = STATE / "records"
        shutil.rmtree(folder, ignore_errors=True)
        collect_records(result, [self._client], folder)
        try:
            if errors := _errors_in(folder / "produced"):
                failed = ", ".join(f"{count:,} {name}" for name, count in errors.most_common())
                sys.exit(f"bench-load: {self.system}: of {result.produced_rows:,} messages failed: {failed}")
            return read_figures(folder, result)
        finally:
            shutil.rmtree(folder)

    def native(self, tool: NativeTool, load: NativeLoad, *, read_out: bool = False) -> tuple[Row, str]:
        """One run of the system's own tool, and its command line. Its CPU is without what a run of a few messages takes.

        `read_out`: its consumer then reads what it sent. A queue keeps what nobody has read, and would give it to our consumers first.
        """
        endpoints = self._nodes.deployment.endpoints()
        load = replace(load, service_url=endpoints.service_url, client_settings=endpoints.client_settings)
        if self._native_start_cpu_s is None:
            short = replace(
                load, rate_per_s=_FEW, messages=_FEW, duration_s=1.0, workload=replace(load.workload, warmup_s=0.0)
            )
            self._native_start_cpu_s = run_native(tool, short, self._client, self._nodes.store).cpu_s
        run = run_native(tool, load, self._client, self._nodes.store)
        result = run.result
        if read_out and tool.consumer_ends:
            command = tool.consumer_command(load, "read-out", self._client, self._nodes.store)
            self._client.run(shlex.join(command), timeout_s=READ_OUT_LIMIT_S)
        cpu_us = max(0.0, run.cpu_s - self._native_start_cpu_s) * 1e6 / result.messages
        return Row(result.rate_per_s, cpu_us, result.publish_p50_ms, result.publish_p99_ms), run.command

    def openmessaging(self, checkout: Path, load: OpenMessagingLoad) -> Row:
        """One run of OpenMessaging Benchmark, which makes a topic of its own."""
        endpoints = self._nodes.deployment.endpoints()
        result = run_openmessaging(
            checkout, self.system, endpoints.service_url, endpoints.client_settings, load, STATE / "openmessaging"
        )
        return Row(result.rate_per_s, result.cpu_us, result.publish_p50_ms, result.publish_p99_ms)


def _errors_in(produced: Path) -> Counter[str]:
    return Counter(filter(None, pq.read_table(produced, columns=["error"])["error"].to_pylist()))
