"""`make bench-load`: our load generator beside the systems' own tools, on the local testbed, in one run and in alternating order.

1. maximum rate: the native tool at two batch sizes and ours, each with the same acks, linger, in-flight bound, partitions;
   of ours only rows count that are in Parquet files on the operator's disk, re-read
2. fidelity at a modest rate, a consumer beside ours: send delay, publish latency, end-to-end latency
3. the generator's own floor (a broker that stores nothing), and what keeping records costs
Prints tables and ends with one line of JSON. Every tool's CPU is its whole process's, less that of a run of a few messages.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rich.console import Console
from rich.table import Table

from bench.checkout import CHECKOUT
from bench.load.collect import collect_records
from bench.load.driver import Limits, LoadSpec, run_load
from bench.load.figures import Figures, read_figures
from bench.load.floor import FASTEST_PER_S, measure_floor
from bench.native.tool import NativeLoad, run_native
from bench.profile import load_profile
from bench.systems import SYSTEMS
from bench.workload import Workload
from provisioning import daemons
from provisioning.deployment import DURABILITY_LEVELS, Deployment, Plan, Topic
from provisioning.host import Host, on_all
from provisioning.local.testbed import LocalTestbed
from provisioning.software.client_environment import deploy_client
from provisioning.software.maven import user_cache
from provisioning.software.store import Store
from provisioning.ssh import connect
from provisioning.wiping import wipe
from tests.benchmarks.recording import memory_over, recording_cost

STATE = CHECKOUT / ".samebox" / "bench-load"
TOPIC, PROBE = Topic("samebox", 6), Topic("samebox-probe", 1)
LEVEL = 2  # acknowledged by a quorum, in page caches: the client is what is measured, not the disk
BATCH_BYTES = (131_072, 1_048_576)
UNREACHABLE_PER_S = 1_000_000
NS_PER_MS = 1e6
COLUMNS = (  # heading, field of Row, decimals
    ("msg/s", "rate_per_s", 0),
    ("CPU us/msg", "cpu_us", 1),
    ("publish p50 ms", "publish_p50_ms", 2),
    ("p99 ms", "publish_p99_ms", 1),
    ("send delay p99 ms", "send_delay_p99_ms", 2),
    ("end-to-end p50 ms", "end_to_end_p50_ms", 2),
    ("bytes/row", "bytes_per_row", 1),
)
console = Console(highlight=False, width=140)


@dataclass(frozen=True)
class Setting:
    """What all tools of one comparison are given alike."""

    messages: int
    message_bytes: int
    in_flight: int
    batch_delay_ms: int


@dataclass(frozen=True)
class Row:
    """One run of one tool: rate in messages per second, client CPU in microseconds per message, publish latency in ms."""

    rate_per_s: float
    cpu_us: float
    publish_p50_ms: float
    publish_p99_ms: float
    send_delay_p99_ms: float | None = None
    end_to_end_p50_ms: float | None = None
    bytes_per_row: float | None = None


class Cluster:
    """One system running on the testbed, and the ways to load it."""

    def __init__(self, system: str, hosts: Sequence[Host], store: Store, pythons: Mapping[str, str]) -> None:
        self.system = system
        self.client = next(host for host in hosts if host.record.role == "client")
        self._hosts = hosts
        self._store = store
        self._pythons = pythons
        self._deployment: Deployment = SYSTEMS[system].deployment(hosts, store)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """A fresh cluster with the topic; nothing of it is left afterwards."""
        brokers = [host for host in self._hosts if host.record.role == "broker"]
        memory = load_profile("local").memory.get(self.system, {})
        try:
            self._deployment.install()
            self._deployment.configure(Plan(DURABILITY_LEVELS[LEVEL], TOPIC, memory, {}, PROBE))
            self._deployment.start()
            self._deployment.create_topics()
            yield
        finally:
            daemons.stop_everything(self._hosts)
            on_all("emptying data directories", brokers, wipe)

    def ours(self, workload: Workload) -> Figures:
        """One run of our generator; figures from the record files as they lie on the operator's disk."""
        endpoints = self._deployment.endpoints()
        spec = LoadSpec(
            workload=workload,
            client_module=SYSTEMS[self.system].client_module,
            service_url=endpoints.service_url,
            client_settings=endpoints.client_settings,
            topic=TOPIC.name,
            probe_topic=PROBE.name,
            seed=1,
            limits=Limits(),
        )
        return measured(spec, self.client, self._pythons)

    def native(self, load: NativeLoad) -> tuple[Row, str]:
        """One run of the system's own tool, and its command line."""
        endpoints = self._deployment.endpoints()
        tool = SYSTEMS[self.system].native_tool
        run = run_native(
            tool,
            replace(load, service_url=endpoints.service_url, client_settings=endpoints.client_settings),
            self.client,
            self._store,
        )
        result = run.result
        row = Row(result.rate_per_s, run.cpu_s * 1e6 / result.messages, result.publish_p50_ms, result.publish_p99_ms)
        return row, run.command


def measured(spec: LoadSpec, client: Host, pythons: Mapping[str, str]) -> Figures:
    """Runs a load and reads its records back. Exits if it was cut short: there is no figure then."""
    result = run_load(spec, [client], pythons)
    if result.abort is not None:
        sys.exit(f"bench-load: {result.abort['reason']}")
    folder = STATE / "records"
    shutil.rmtree(folder, ignore_errors=True)
    collect_records(result, [client], folder)
    try:
        return read_figures(folder, result)
    finally:
        shutil.rmtree(folder)


def row_of(figures: Figures) -> Row:
    """Our figures in the terms that all tools share."""
    return Row(
        figures.acknowledged_per_s,
        figures.producer_cpu_us,
        figures.publish.p50_ns / NS_PER_MS,
        figures.publish.p99_ns / NS_PER_MS,
        figures.send_delay.p99_ns / NS_PER_MS,
        figures.end_to_end.p50_ns / NS_PER_MS if figures.end_to_end else None,
        figures.produced_bytes_per_row,
    )


def maximum_rate(cluster: Cluster, setting: Setting, runs: int, producers: int) -> float:
    """Prints the table; returns the ratio of ours to the better native setting, of medians."""
    native = NativeLoad(
        "", TOPIC.name, {}, None, setting.messages, duration_s=8.0, warmup_s=0.0,
        message_bytes=setting.message_bytes, batch_bytes=0, batch_delay_ms=setting.batch_delay_ms,
        in_flight=setting.in_flight,
    )  # fmt: skip
    workload = Workload(
        name="maximum", rate_per_s=UNREACHABLE_PER_S, message_bytes=setting.message_bytes,
        measure_s=setting.messages / UNREACHABLE_PER_S, partitions=TOPIC.partitions, producers=producers, consumers=0,
        subscriptions=1, batch_delay_ms=setting.batch_delay_ms, batch_bytes=BATCH_BYTES[0],
        in_flight=max(1, setting.in_flight // producers), warmup_s=0, drain_s=120,
    )  # fmt: skip
    name = SYSTEMS[cluster.system].native_tool.name
    commands: dict[str, str] = {}

    def run_native_at(batch_bytes: int) -> Row:
        row, commands[f"{name}, batch {batch_bytes // 1024} KiB"] = cluster.native(
            replace(native, batch_bytes=batch_bytes)
        )
        return row

    contenders: dict[str, Callable[[], Row]] = {
        f"{name}, batch {size // 1024} KiB": partial(run_native_at, size) for size in BATCH_BYTES
    }
    ours = f"samebox, {producers} producer process{'es' * (producers > 1)}"
    contenders[ours] = lambda: row_of(cluster.ours(workload))
    rows = alternate(contenders, runs)
    print_rows(f"{cluster.system}: maximum rate, {setting.messages:,} messages of {setting.message_bytes} B", rows)
    for line in commands.values():
        console.print(f"  $ {line}", markup=False, soft_wrap=True)
    best = max(median(rows[each], "rate_per_s") for each in rows if each != ours)
    return median(rows[ours], "rate_per_s") / best


def fidelity(cluster: Cluster, rate_per_s: int, measure_s: float, runs: int, setting: Setting) -> dict[str, float]:
    """Prints the table at one modest rate; returns the figures that have goals."""
    warmup_s = 10.0
    native = NativeLoad(
        "", TOPIC.name, {}, rate_per_s, round(rate_per_s * (warmup_s + measure_s)), warmup_s + measure_s, warmup_s,
        setting.message_bytes, BATCH_BYTES[0], setting.batch_delay_ms, setting.in_flight,
    )  # fmt: skip
    workload = Workload(
        name="fidelity", rate_per_s=rate_per_s, message_bytes=setting.message_bytes, measure_s=measure_s,
        partitions=TOPIC.partitions, batch_delay_ms=setting.batch_delay_ms, batch_bytes=BATCH_BYTES[0],
        in_flight=setting.in_flight, warmup_s=warmup_s,
    )  # fmt: skip
    name = SYSTEMS[cluster.system].native_tool.name
    ours = "samebox, consumer beside it"
    rows = alternate({name: lambda: cluster.native(native)[0], ours: lambda: row_of(cluster.ours(workload))}, runs)
    print_rows(f"{cluster.system}: {rate_per_s:,} messages/s for {measure_s:g} s after {warmup_s:g} s of warm-up", rows)
    publish_ms = median(rows[ours], "publish_p50_ms")
    return {
        "send_delay_p99_ms": median(rows[ours], "send_delay_p99_ms"),
        "publish_p50_ratio": publish_ms / median(rows[name], "publish_p50_ms"),
        "bytes_per_produced_row": median(rows[ours], "bytes_per_row"),
        "end_to_end_less_publish_p50_ms": median(rows[ours], "end_to_end_p50_ms") - publish_ms,
    }


def alternate(contenders: Mapping[str, Callable[[], Row]], runs: int) -> dict[str, list[Row]]:
    """Every contender `runs` times, in turn, every other round backwards."""
    rows: dict[str, list[Row]] = {name: [] for name in contenders}
    for number in range(runs):
        names = list(contenders)
        for name in names if number % 2 == 0 else reversed(names):
            with console.status(f"round {number + 1} of {runs}: {name}"):
                rows[name].append(contenders[name]())
    return rows


def median(rows: Sequence[Row], field: str) -> float:
    """Of one column."""
    return float(statistics.median(getattr(row, field) for row in rows))


def print_rows(title: str, rows: Mapping[str, Sequence[Row]]) -> None:
    """One line per contender: medians, and every run's rate."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    table.add_column("tool")
    for heading, _, _ in COLUMNS:
        table.add_column(heading, justify="right")
    table.add_column("msg/s of each run")
    for name, of_tool in rows.items():
        cells = [
            "-" if getattr(of_tool[0], field) is None else f"{median(of_tool, field):,.{digits}f}"
            for _, field, digits in COLUMNS
        ]
        table.add_row(name, *cells, " ".join(f"{row.rate_per_s:,.0f}" for row in of_tool))
    console.print(table)


def recording(minutes: float, rate_per_s: int, client: Host, pythons: Mapping[str, str]) -> dict[str, float]:
    """Prints what records cost; returns the figures that have goals."""
    folder = STATE / "recording"
    cost = recording_cost(2_000_000, folder)
    shutil.rmtree(folder)
    console.print(f"recording alone: {cost.us_per_message:.2f} us of CPU per message ({cost.messages:,} messages)")
    found = {"recording_us_per_message": cost.us_per_message}
    if minutes:
        with console.status(f"a worker's memory over {minutes:g} minutes"):
            memory = memory_over(minutes, rate_per_s, client, pythons)
        tenths = " ".join(f"{highest / 1e6:.0f}" for highest in memory.highest_bytes)
        console.print(
            f"memory of a producer and a consumer worker at {rate_per_s:,} messages/s over {minutes:g} min, in tenths: {tenths} MB"
        )
        found["memory_growth"] = memory.growth
    return found


def floor_of(client: Host, pythons: Mapping[str, str], setting: Setting) -> None:
    """Prints the generator's own floor, as every report has it."""
    workload = Workload(name="floor", rate_per_s=FASTEST_PER_S, message_bytes=setting.message_bytes, measure_s=1)
    for floor in measure_floor([client], pythons, workload, STATE):
        console.print(
            f"floor at {floor.rate_per_s:,} messages/s: send delay p50 {floor.send_delay_p50_ns / NS_PER_MS:.3f} ms, "
            f"p99 {floor.send_delay_p99_ns / NS_PER_MS:.3f} ms; publish p50 {floor.publish_p50_ns / NS_PER_MS:.3f} ms; "
            f"end-to-end p50 {floor.end_to_end_p50_ns / NS_PER_MS:.3f} ms"
        )


def main(arguments: Sequence[str]) -> int:
    """The whole benchmark; 0, whatever the figures are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=sorted(SYSTEMS), default=sorted(SYSTEMS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--rate", type=int, default=5_000, help="of the fidelity part")
    parser.add_argument("--seconds", type=float, default=20.0, help="of the fidelity part, without its warm-up")
    parser.add_argument(
        "--producers", type=int, default=0, help="processes of ours at the maximum; 0: each system's own"
    )
    parser.add_argument("--memory-minutes", type=float, default=5.0, help="0 leaves that part out")
    options = parser.parse_args(arguments)
    setting = Setting(options.messages, message_bytes=1024, in_flight=10_000, batch_delay_ms=1)
    ratios: dict[str, float] = {}
    testbed = LocalTestbed(STATE / "testbed", notice=console.print)
    try:
        hosts = connect(testbed.up())
        store = Store(user_cache(), notice=console.print)
        pythons = deploy_client([host for host in hosts if host.record.role == "client"], user_cache(), console.print)
        client = next(host for host in hosts if host.record.role == "client")
        floor_of(client, pythons, setting)
        ratios |= recording(options.memory_minutes, options.rate, client, pythons)
        for system in options.systems:
            cluster = Cluster(system, hosts, store, pythons)
            with cluster.running():
                producers = options.producers or PRODUCERS[system]
                ratios[f"{system}_maximum_rate"] = maximum_rate(cluster, setting, options.runs, producers)
                found = fidelity(cluster, options.rate, options.seconds, options.runs, setting)
                ratios |= {f"{system}_{name}": value for name, value in found.items()}
    finally:
        testbed.down()
    print(json.dumps({"benchmark": "load", "ratios": {name: round(value, 3) for name, value in ratios.items()}}))
    return 0


# One process keeps up with Kafka's tool; the C++ client of Pulsar calls back into Python for every message.
PRODUCERS = {"kafka": 1, "pulsar": 2}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
