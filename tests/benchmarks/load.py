"""`make bench-load`: our load generator beside the systems' own tools, on the local testbed, in one run and in alternating order.

1. the generator's own floor (a broker that stores nothing), and what keeping records costs
2. fidelity at a modest rate, a consumer beside ours: send delay, publish latency, end-to-end latency
3. maximum rate: the native tool and ours, both at two batch sizes, with the same acks, linger, in-flight bound, partitions;
   of ours only rows count that are in Parquet files on the operator's disk, re-read
Where OMB_HOME names a built OpenMessaging Benchmark, it takes part in 2 and 3. Prints tables and ends with one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench.load.client_hosts import deploy_client
from bench.load.floor import FASTEST_PER_S, measure_floor
from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.hosts.host import Host
from provisioning.hosts.ssh import connect
from provisioning.software.store import Store
from provisioning.testbeds.local.testbed import LocalTestbed
from systems.kafka.client import IN_FLIGHT_REQUESTS
from systems.load_tool import NativeLoad, NativeTool
from systems.registry import SYSTEMS, software
from tests.benchmarks import openmessaging
from tests.benchmarks.cluster import NS_PER_MS, STATE, TOPIC, Cluster, Row
from tests.benchmarks.openmessaging import OpenMessagingLoad
from tests.benchmarks.recording import memory_over, recording_cost
from tests.benchmarks.rounds import alternate, console, median, print_rows
from tests.given import added_archives, systems_here
from tests.three_nodes import LEVEL

BATCH_BYTES = (131_072, 1_048_576)
UNREACHABLE_PER_S = 1_000_000
NATIVE_S = 8.0  # of tools that go by the clock
RECORDED = 2_000_000
UNMEASURED_ROUNDS = 2  # after one, Pulsar's latencies still fell from run to run
OPENMESSAGING = "OpenMessaging Benchmark, consumer in it"
# One process keeps up with most tools; the C++ client of Pulsar calls back into Python for every message.
PRODUCERS = {"pulsar": 2}


@dataclass(frozen=True)
class Setting:
    """What all tools of one comparison are given alike."""

    messages: int
    message_bytes: int
    in_flight: int
    batch_delay_ms: int

    def native(self, *, rate_per_s: int | None, messages: int, duration_s: float, warmup_s: float) -> NativeLoad:
        """For a native tool; where to connect is the cluster's to say."""
        return NativeLoad(
            service_url="",
            topic=TOPIC.name,
            client_settings={},
            workload=Workload(
                "native",
                rate_per_s or UNREACHABLE_PER_S,
                self.message_bytes,
                duration_s - warmup_s,
                batch_bytes=BATCH_BYTES[0],
                batch_delay_ms=self.batch_delay_ms,
                in_flight=self.in_flight,
                warmup_s=warmup_s,
            ),
            rate_per_s=rate_per_s,
            messages=messages,
            duration_s=duration_s,
        )

    def openmessaging(self, rate_per_s: int) -> OpenMessagingLoad:
        """For OpenMessaging Benchmark."""
        return OpenMessagingLoad(
            rate_per_s, TOPIC.partitions, self.message_bytes, BATCH_BYTES[0], self.batch_delay_ms, self.in_flight,
            IN_FLIGHT_REQUESTS,
        )  # fmt: skip


def maximum_rate(cluster: Cluster, setting: Setting, runs: int, producers: int, omb: Path | None) -> dict[str, float]:
    """Prints the table; returns the ratio of medians, each side at the better of its two batch sizes, if the system has a tool."""
    native = setting.native(rate_per_s=None, messages=setting.messages, duration_s=NATIVE_S, warmup_s=0.0)
    workload = Workload(
        name="maximum", rate_per_s=UNREACHABLE_PER_S, message_bytes=setting.message_bytes,
        measure_s=setting.messages / UNREACHABLE_PER_S, partitions=TOPIC.partitions, producers=producers, consumers=0,
        batch_delay_ms=setting.batch_delay_ms, batch_bytes=BATCH_BYTES[0], in_flight=setting.in_flight // producers,
        warmup_s=0, drain_s=120,
    )  # fmt: skip
    commands: dict[str, str] = {}

    def run_native(tool: NativeTool, name: str, batch_bytes: int) -> Row:
        row, commands[name] = cluster.native(
            tool, replace(native, workload=replace(native.workload, batch_bytes=batch_bytes))
        )
        return row

    contenders: dict[str, Callable[[], Row]] = {}
    theirs, ours = [], []
    for size in BATCH_BYTES:
        batch = f"batch {size // 1024} KiB"
        ours.append(f"samebox, {producers} process{'es' * (producers > 1)}, {batch}")
        if (tool := cluster.tool) is not None:
            theirs.append(f"{tool.name}, {batch}")
            contenders[theirs[-1]] = partial(run_native, tool, theirs[-1], size)
        contenders[ours[-1]] = partial(cluster.ours, replace(workload, batch_bytes=size))
    if omb is not None:
        contenders[OPENMESSAGING] = partial(cluster.openmessaging, omb, setting.openmessaging(UNREACHABLE_PER_S))
    rows = alternate(contenders, runs)
    print_rows(f"{cluster.system}: maximum rate, {setting.messages:,} messages of {setting.message_bytes} B", rows)
    for command in commands.values():
        console.print(f"  $ {command}", markup=False, soft_wrap=True)
    if not theirs:
        return {}
    best_of_ours, best_of_theirs = (max(median(rows[name], "rate_per_s") for name in names) for names in (ours, theirs))
    return {"maximum_rate_ratio": best_of_ours / best_of_theirs}


def fidelity(
    cluster: Cluster, setting: Setting, runs: int, rate_per_s: int, warmup_s: float, measure_s: float, omb: Path | None
) -> dict[str, float]:
    """Prints the table at one modest rate; returns the figures that have goals."""
    duration_s = warmup_s + measure_s
    native = setting.native(
        rate_per_s=rate_per_s, messages=round(rate_per_s * duration_s), duration_s=duration_s, warmup_s=warmup_s
    )
    workload = Workload(
        name="fidelity", rate_per_s=rate_per_s, message_bytes=setting.message_bytes, measure_s=measure_s,
        partitions=TOPIC.partitions, batch_delay_ms=setting.batch_delay_ms, batch_bytes=BATCH_BYTES[0],
        in_flight=setting.in_flight, warmup_s=warmup_s,
    )  # fmt: skip
    tool, ours = cluster.tool, "samebox, consumer beside it"
    contenders: dict[str, Callable[[], Row]] = (
        {} if tool is None else {tool.name: lambda: cluster.native(tool, native, read_out=True)[0]}
    )
    contenders[ours] = partial(cluster.ours, workload)
    if omb is not None:
        contenders[OPENMESSAGING] = partial(cluster.openmessaging, omb, setting.openmessaging(rate_per_s))
    rows = alternate(contenders, runs, unmeasured=UNMEASURED_ROUNDS)
    print_rows(f"{cluster.system}: {rate_per_s:,} messages/s for {measure_s:g} s after {warmup_s:g} s of warm-up", rows)
    publish_ms = median(rows[ours], "publish_p50_ms")
    of_tools = [median(of_tool, "publish_p50_ms") for name, of_tool in rows.items() if name != ours]
    return {
        "send_delay_p99_ms": median(rows[ours], "send_delay_p99_ms"),
        **({"publish_p50_ratio": publish_ms / min(of_tools)} if of_tools else {}),
        "end_to_end_less_publish_p50_ms": median(rows[ours], "end_to_end_p50_ms") - publish_ms,
        "bytes_per_produced_row": median(rows[ours], "bytes_per_row"),
    }


def recording(minutes: float, rate_per_s: int, client: Host, pythons: Mapping[str, str]) -> dict[str, float]:
    """Prints what records cost; returns the figures that have goals."""
    folder = STATE / "recording"
    cost = recording_cost(RECORDED, folder)
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
        told = floor.to_json()
        console.print(
            f"floor at {floor.rate_per_s:,} messages/s: send delay p50 {told['send_delay_p50_ns'] / NS_PER_MS:.3f} ms, "
            f"p99 {told['send_delay_p99_ns'] / NS_PER_MS:.3f} ms; publish p50 {told['publish_p50_ns'] / NS_PER_MS:.3f} ms; "
            f"end-to-end p50 {told['end_to_end_p50_ns'] / NS_PER_MS:.3f} ms"
        )


def main(arguments: Sequence[str]) -> int:
    """The whole benchmark; 0, whatever the figures are."""
    parser = argparse.ArgumentParser(
        prog="bench-load", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", nargs="+", choices=sorted(SYSTEMS), default=systems_here())
    parser.add_argument("--level", default=LEVEL, help="the durability level, one that all of the systems have")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--messages", type=int, default=500_000, help="of each run at the maximum rate")
    parser.add_argument("--rate", type=int, default=5_000, help="of the fidelity part")
    parser.add_argument("--warmup", type=float, default=10.0, help="seconds, of the fidelity part")
    parser.add_argument("--seconds", type=float, default=20.0, help="of the fidelity part, without its warm-up")
    parser.add_argument("--producers", type=int, help="processes of ours at the maximum; else each system's own number")
    parser.add_argument("--memory-minutes", type=float, default=5.0, help="0 leaves that part out")
    options = parser.parse_args(arguments)
    omb = openmessaging.home()
    setting = Setting(options.messages, message_bytes=1024, in_flight=10_000, batch_delay_ms=1)
    found: dict[str, float] = {}
    testbed = LocalTestbed(STATE / "testbed", notice=console.print)
    try:
        hosts = connect(testbed.up())
        client = next(host for host in hosts if host.record.role == "client")
        pythons = deploy_client([client], user_cache(), console.print)
        floor_of(client, pythons, setting)
        found |= recording(options.memory_minutes, options.rate, client, pythons)
        for system in options.systems:
            store = Store(user_cache(), software(added_archives([system])), notice=console.print)
            cluster = Cluster(system, hosts, store, pythons, options.level)
            with cluster.running():
                # fidelity first: a consumer would have to skip all that the maximum left in the topic
                figures = fidelity(cluster, setting, options.runs, options.rate, options.warmup, options.seconds, omb)
                figures |= maximum_rate(
                    cluster, setting, options.runs, options.producers or PRODUCERS.get(system, 1), omb
                )
            found |= {f"{system}_{name}": value for name, value in figures.items()}
    finally:
        testbed.down()
    if omb is None:
        console.print("OpenMessaging Benchmark was not run: OMB_HOME names no built checkout of it.")
    print(json.dumps({"benchmark": "load", "ratios": {name: round(value, 3) for name, value in found.items()}}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
