"""Writes results folders in the exact layout of docs/records.md, from a seed and a list of faults. Test material only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

S, MS = 1_000_000_000, 1_000_000
EPOCH_NS = 1_700_000_000 * S
PRODUCED_FIELDS: list[pa.Field[Any]] = [
    pa.field("producer", pa.int32()),
    pa.field("partition", pa.int32()),
    pa.field("sequence", pa.int64()),
    pa.field("intended_ns", pa.int64()),
    pa.field("sent_ns", pa.int64()),
    pa.field("acked_ns", pa.int64()),
    pa.field("error", pa.string()),
    pa.field("phase", pa.string()),
    pa.field("held_until_ns", pa.int64()),
]
PRODUCED = pa.schema(PRODUCED_FIELDS)
CONSUMED_FIELDS: list[pa.Field[Any]] = [
    pa.field("consumer", pa.int32()),
    pa.field("subscription", pa.string()),
    pa.field("producer", pa.int32()),
    pa.field("sequence", pa.int64()),
    pa.field("partition", pa.int32()),
    pa.field("intended_ns", pa.int64()),
    pa.field("received_ns", pa.int64()),
    pa.field("phase", pa.string()),
]
CONSUMED = pa.schema(CONSUMED_FIELDS)
HOSTS_FIELDS: list[pa.Field[Any]] = [
    pa.field("time_ns", pa.int64()),
    pa.field("host", pa.string()),
    pa.field("source", pa.string()),
    pa.field("metric", pa.string()),
    pa.field("kind", pa.string()),
    pa.field("value", pa.float64()),
]
HOSTS = pa.schema(HOSTS_FIELDS)
DURABILITY: dict[str, dict[str, Any]] = {
    "1": {"name": "1", "level": 1, "replication": "sync", "local": "sync", "bypass": False},
    "2": {"name": "2", "level": 2, "replication": "sync", "local": "async", "bypass": False},
    "2-bypass": {"name": "2-bypass", "level": 2, "replication": "sync", "local": "async", "bypass": True},
    "none": {"name": "none", "level": 5, "replication": "none", "local": "async", "bypass": False},
}
CHECKS: list[dict[str, Any]] = [
    {"check": "send-delay", "axis": "validity", "on_failure": "invalid", "bounds": {"p99_ms": 100}},
    {"check": "settings", "axis": "validity", "on_failure": "invalid"},
    {"check": "cold-caches", "axis": "validity", "on_failure": "invalid", "bounds": {"resident_before": 0.99, "resident_after": 0.0}},
    {"check": "steal", "axis": "validity", "on_failure": "warn", "bounds": {"share": 0.01}},
    {"check": "network-allowance", "axis": "validity", "on_failure": "invalid", "bounds": {"packets": 0, "uncounted_machines": 0}},
    {"check": "clock", "axis": "validity", "on_failure": "invalid", "bounds": {"bound_ms": 1.0}},
    {"check": "client-cpu", "axis": "validity", "on_failure": "warn", "bounds": {"share_of_core": 0.8, "share_of_host": 0.9}},
    {"check": "foreign-load", "axis": "validity", "on_failure": "warn", "bounds": {"cores": 0.25}},
    {"check": "cpu-pressure", "axis": "validity", "on_failure": "warn", "bounds": {"waiting_share": 0.5, "tasks_per_cpu": 2.0}},
    {"check": "possible-times", "axis": "validity", "on_failure": "invalid"},
    {"check": "hosts-kept", "axis": "validity", "on_failure": "invalid"},
    {"check": "same-boot", "axis": "validity", "on_failure": "invalid"},
    {"check": "steady-disks", "axis": "validity", "on_failure": "warn"},
    {"check": "steady-state", "axis": "validity", "on_failure": "warn", "bounds": {"p50_ratio": 1.1, "p99_ratio": 1.25}},
    {"check": "rows-complete", "axis": "validity", "on_failure": "invalid"},
    {"check": "independent-count", "axis": "validity", "on_failure": "invalid"},
    {"check": "offered-rate", "axis": "outcome", "bounds": {"share": 0.995}},
    {"check": "backlog-read", "axis": "outcome"},
    {"check": "no-loss", "axis": "outcome"},
    {"check": "no-duplicates", "axis": "outcome"},
    {"check": "order", "axis": "outcome"},
    {"check": "brokers-kept", "axis": "outcome"},
    {"check": "replicas", "axis": "outcome"},
    {"check": "kept-answering", "axis": "outcome"},
]  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What every trial is asked for."""

    rate_per_s: int = 400
    warmup_s: int = 2
    measure_s: int = 6
    producers: int = 2
    partitions: int = 3
    subscriptions: int = 1
    rows_per_file: int = 1000


@dataclass(frozen=True)
class Plan:
    """One trial and what goes wrong in it. Messages are named by (producer, sequence)."""

    name: str
    block: int
    position: int
    system: str
    median_ms: float = 4.0
    durability: str = "1"
    lost: tuple[tuple[int, int], ...] = ()
    repeated: tuple[tuple[int, int], ...] = ()
    swapped: tuple[tuple[int, int], ...] = ()  # received just after its successor in the partition
    unacknowledged: tuple[tuple[int, int], ...] = ()
    settles_s: float | None = None  # twice as slow when the measurement begins, which fades with this time constant
    cut_after_s: float | None = None  # aborted: nothing was sent later
    nothing_recorded: bool = False  # aborted before any load
    only_telemetry: bool = False  # no rows of messages: a load by other tools
    abort: dict[str, Any] | None = None
    changes: dict[str, Any] = field(default_factory=dict)  # laid over trial.json
    observations: dict[str, Any] = field(default_factory=dict)  # laid over its observations


def write_results(folder: Path, plans: list[Plan], shape: Shape | None = None, **manifest: Any) -> Path:
    """Writes a whole results folder; `manifest` is laid over the default manifest.json."""
    shape = shape or Shape()
    for number, plan in enumerate(plans):
        write_trial(folder / "trials" / plan.name, plan, shape, start_ns=EPOCH_NS + number * 600 * S)
    _write_json(folder / "manifest.json", {**manifest_document(plans, shape), **manifest})
    for host in ("broker-1", "broker-2", "broker-3", "client-1"):
        _write_json(folder / "vetting" / f"{host}.json", _vetting(host))
    return folder


def write_trial(folder: Path, plan: Plan, shape: Shape, *, start_ns: int) -> None:
    """Writes one trial's folder: rows first, trial.json last."""
    folder.mkdir(parents=True)
    rows = {"produced": 0, "consumed": 0, "hosts": 0}
    acknowledged = 0
    if not plan.nothing_recorded:
        produced = {} if plan.only_telemetry else _produced(plan, shape, start_ns)
        consumed = _consumed(plan, shape, produced) if produced else {}
        for producer, table in produced.items():
            _write_files(folder / "produced", f"producer-{producer}", table, PRODUCED, shape)
        for consumer, table in consumed.items():
            _write_files(folder / "consumed", f"consumer-{consumer}", table, CONSUMED, shape)
        hosts = telemetry(shape, start_ns)
        _write_files(folder / "hosts", "broker-1", hosts, HOSTS, shape)
        rows = {
            "produced": sum(len(t["sequence"]) for t in produced.values()),
            "consumed": sum(len(t["sequence"]) for t in consumed.values()),
            "hosts": len(hosts["value"]),
        }
        acknowledged = sum(sum(value is not None for value in t["acked_ns"]) for t in produced.values())
    document = trial_document(plan, shape, start_ns, rows, acknowledged)
    _write_json(folder / "trial.json", document)


def _produced(plan: Plan, shape: Shape, start_ns: int) -> dict[int, dict[str, list[Any]]]:
    seconds = shape.warmup_s + shape.measure_s
    each = shape.rate_per_s * seconds // shape.producers
    gap_ns = seconds * S // each
    random = np.random.default_rng(abs(hash_of(plan.name)))
    unacknowledged = set(plan.unacknowledged)
    tables: dict[int, dict[str, list[Any]]] = {}
    for producer in range(shape.producers):
        sequence = np.arange(each)
        intended = start_ns + sequence * gap_ns + producer * (gap_ns // shape.producers)
        sent = intended + random.integers(20_000, 900_000, each)
        service = (random.lognormal(np.log(plan.median_ms), 0.5, each) * MS).astype(np.int64)
        service += np.where(sequence * gap_ns < shape.warmup_s * S, 8 * MS, 0)  # a cold start
        if plan.settles_s is not None:
            measured_s = sequence * gap_ns / S - shape.warmup_s
            service = (service * (1 + np.exp(-np.maximum(0, measured_s) / plan.settles_s))).astype(np.int64)
        table: dict[str, list[Any]] = {name: [] for name in PRODUCED.names}
        for index in range(each):
            cut = plan.cut_after_s is not None and index * gap_ns > plan.cut_after_s * S
            acked = not cut and (producer, index) not in unacknowledged
            table["producer"].append(producer)
            table["partition"].append((index // 20) % shape.partitions if acked else None)
            table["sequence"].append(index)
            table["intended_ns"].append(int(intended[index]))
            table["sent_ns"].append(None if cut else int(sent[index]))
            table["acked_ns"].append(int(sent[index] + service[index]) if acked else None)
            table["error"].append("timed out" if not cut and not acked else None)
            table["phase"].append("warmup" if index * gap_ns < shape.warmup_s * S else "measure")
            table["held_until_ns"].append(None)
        tables[producer] = table
    return tables


def hash_of(name: str) -> int:
    """A seed from a name that is the same in every process."""
    return int.from_bytes(name.encode(), "little") % (2**31)


def _consumed(plan: Plan, shape: Shape, produced: dict[int, dict[str, list[Any]]]) -> dict[str, dict[str, list[Any]]]:
    """Two consumers per subscription, each with its own partitions, in the order received."""
    lost, repeated = set(plan.lost), set(plan.repeated)
    tables: dict[str, dict[str, list[Any]]] = {}
    for subscription in range(shape.subscriptions):
        for consumer in range(2):
            queue: list[tuple[int, int, int, int, int, str]] = []
            last: dict[tuple[int, int], int] = {}
            for producer, table in produced.items():
                for index, acked in enumerate(table["acked_ns"]):
                    partition = table["partition"][index]
                    if acked is None or partition % 2 != consumer or (producer, index) in lost:
                        continue
                    # a partition hands over in order, so nothing overtakes
                    received = max(acked + MS // 2, last.get((producer, partition), 0) + 1)
                    last[producer, partition] = received
                    row = (received, producer, index, partition, table["intended_ns"][index], table["phase"][index])
                    queue.append(row)
                    if (producer, index) in repeated:
                        queue.append((received, *row[1:]))
            queue.sort(key=lambda row: row[:3])
            swapped = set(plan.swapped)
            for position, row in enumerate(queue[:-1]):
                if (row[1], row[2]) in swapped:
                    after = next(
                        n for n in range(position + 1, len(queue)) if (queue[n][1], queue[n][3]) == (row[1], row[3])
                    )
                    swapped.discard((row[1], row[2]))
                    queue.insert(after, queue.pop(position))
            number = subscription * 2 + consumer
            tables[f"sub-{subscription}-{consumer}"] = {
                "consumer": [number] * len(queue),
                "subscription": [f"sub-{subscription}"] * len(queue),
                "producer": [row[1] for row in queue],
                "sequence": [row[2] for row in queue],
                "partition": [row[3] for row in queue],
                "intended_ns": [row[4] for row in queue],
                "received_ns": [row[0] for row in queue],
                "phase": [row[5] for row in queue],
            }
    return tables


def telemetry(shape: Shape, start_ns: int) -> dict[str, list[Any]]:
    """The columns of hosts, of one machine that is at rest."""
    rows: list[tuple[int, str, str, str, str, float]] = []
    random = np.random.default_rng(7)
    counters = dict.fromkeys(("cpu_user_s", "cpu_system_s", "cpu_iowait_s", "cpu_steal_s", "cpu_idle_s"), 1000.0)
    written = 5e9
    for second in range(shape.warmup_s + shape.measure_s + 1):
        time_ns = start_ns + second * S
        for (metric, total), share in zip(counters.items(), (0.7, 0.3, 0.1, 0.004, 0.896), strict=True):
            rows.append((time_ns, "broker-1", "machine", metric, "counter", total))
            counters[metric] = total + share * float(random.uniform(0.9, 1.1))
        written += float(random.uniform(2e6, 9e6))
        rows.append((time_ns, "broker-1", "machine", "disk_written_bytes", "counter", written))
        rows.append((time_ns, "broker-1", "machine", "ena_pps_allowance_exceeded", "counter", 7.0))
        rows.append((time_ns, "broker-1", "machine", "cpus", "gauge", 2.0))
        rows.append((time_ns, "broker-1", "machine", "run_queue", "gauge", 1.0))
        rows.append((time_ns, "broker-1", "machine", "psi_cpu_some_s", "counter", 30.0 + 0.1 * second))
        rows.append((time_ns, "broker-1", "machine", "dirty_bytes", "gauge", float(random.uniform(1e6, 4e7))))
        for host in ("broker-1", "broker-2", "broker-3"):
            rows.append((time_ns, host, "broker", "rss_bytes", "gauge", 6e8 + second * 1e6))
            rows.append((time_ns, host, "broker", "cpu_s", "counter", 10.0 + 0.3 * second))
            rows.append((time_ns, host, "broker", "cpu_user_s", "counter", 8.0 + 0.2 * second))
    return {name: [row[index] for row in rows] for index, name in enumerate(HOSTS.names)}


def trial_document(plan: Plan, shape: Shape, start_ns: int, rows: dict[str, int], acknowledged: int) -> dict[str, Any]:
    measure_ns, end_ns = start_ns + shape.warmup_s * S, start_ns + (shape.warmup_s + shape.measure_s) * S
    phases = [
        {"name": "warmup", "start_ns": start_ns, "end_ns": measure_ns},
        {"name": "measure", "start_ns": measure_ns, "end_ns": end_ns},
    ]
    hosts = [
        {"name": name, "role": name.split("-")[0], "generation": 1, "instance_id": f"local-{name}", "instance_type": "local", "boot_id": "b7e1"}  # noqa: E501
        for name in ("broker-1", "broker-2", "broker-3", "client-1")
    ]  # fmt: skip
    names = [str(host["name"]) for host in hosts]
    brokers = [name for name in names if name.startswith("broker")]
    workers = [f"producer-{n}" for n in range(shape.producers)] + [f"consumer-{n}" for n in range(2)]
    observations: dict[str, Any] = {
        "reset": {
            "method": "drop_caches",
            "machines": [{"host": "broker-1", "cached_bytes_before": 9_400_000_000, "cached_bytes_after": 310_000_000}],
            "canaries": [{"host": name, "data_dir": f"/data/{name}", "resident_before": 1.0, "resident_after": 0.0} for name in brokers],  # noqa: E501
            "trimmed": [],
            "not_trimmed": [{"device": "/dev/vda", "why": "not owned by the testbed"}],
            "settled": [{"host": "broker-1", "quiet": False, "waited_s": 20.0, "disks": ["vda"], "in_flight": 3, "dirty_bytes": 0, "writeback_bytes": 0}],  # noqa: E501
        },
        "workers": [
            {"worker": name, "role": name.split("-")[0], "host": "client-1", "cpu_s": 2.1, "wall_s": 12.0, "measured": {"seconds": 6.0, "cpu_user_s": 0.1, "cpu_system_s": 0.1}, "rss_peak_bytes": 90_000_000, "rows": 1600, "exit_status": 0}  # noqa: E501
            for name in workers
        ],
        "clocks": [{"host": name, "bound_before_ns": 2_000, "bound_after_ns": 2_500} for name in names],
        "messages_stored": acknowledged,
        "under_replicated": [],
        "daemons": [
            {"host": name, "daemon": "broker", "pid_at_start": 100 + n, "pid_at_end": 100 + n, "rss_peak_bytes": 610_000_000, "out_of_memory": False}  # noqa: E501
            for n, name in enumerate(brokers)
        ],
        "boot_ids": {"before": dict.fromkeys(names, "b7e1"), "after": dict.fromkeys(names, "b7e1")},
        "first_acknowledgement_ms": 31.5,
    }  # fmt: skip
    document: dict[str, Any] = {
        "schema": 1,
        "trial": plan.name,
        "campaign": "demo",
        "block": plan.block,
        "position": plan.position,
        "system": plan.system,
        "version": {"kafka": "4.3.1", "pulsar": "4.2.4"}.get(plan.system, "1.0"),
        "experiment": "demo",
        "durability": DURABILITY[plan.durability],
        "workload": _workload(shape),
        "ended": "aborted" if plan.abort else "completed",
        "abort": plan.abort,
        "hosts": hosts,
        "steps": [
            {"name": name, "started_ns": start_ns - (30 - 5 * n) * S, "ended_ns": start_ns - (26 - 5 * n) * S}
            for n, name in enumerate(("reset", "configure", "start", "await ready", "read back"))
        ],
        "phases": [] if plan.nothing_recorded else phases,
        "rows": rows,
        "settings": {
            "intended": {"topic": {"flush.messages": "1", "min.insync.replicas": "2"}},
            "effective": {"topic": {"flush.messages": "1", "min.insync.replicas": "2"}},
            "drift": [],
        },
        "observations": {**observations, **plan.observations},
    }
    return {**document, **plan.changes}


def _workload(shape: Shape) -> dict[str, Any]:
    return {
        "name": "steady", "rate_per_s": shape.rate_per_s, "message_bytes": 1024, "topics": 1,
        "partitions": shape.partitions, "producers": shape.producers, "consumers": 2,
        "subscriptions": shape.subscriptions, "pacing": "open-loop", "backlog": None,
        "arrivals": "constant", "batch_delay_ms": 1, "batch_bytes": 131072,
        "in_flight": 5000, "compressible_share": 0.5, "warmup_s": shape.warmup_s, "measure_s": shape.measure_s, "drain_s": 30,
    }  # fmt: skip


def manifest_document(plans: list[Plan], shape: Shape) -> dict[str, Any]:
    table = {
        "kafka": {"1": {"topic": {"acks": "all", "min.insync.replicas": "2", "flush.messages": "1"}}},
        "pulsar": {"1": {"namespace": {"ackQuorum": "2", "writeQuorum": "3"}, "bookie": {"journalSyncData": "true"}}},
    }
    facts = {"cpu_model": "Example CPU", "cpus": 2, "memory_bytes": 25_000_000_000, "kernel": "6.1.0", "clock_source": "tsc", "boot_id": "b7e1", "disks": []}  # fmt: skip  # noqa: E501
    return {
        "schema": 1,
        "campaign": "demo",
        "question": "Which system answers sooner at 400 messages/s when every acknowledgement means a flushed quorum?",
        "seed": 20,
        "created_ns": EPOCH_NS,
        "samebox_version": "0.1.0",
        "git": {"commit": "0123456789abcdef", "dirty": False},
        "lock_sha256": "ab" * 32,
        "campaign_file": "campaigns/demo.toml",
        "campaign_sha256": "cd" * 32,
        "definition": {"name": "demo", "workloads": [_workload(shape)]},
        "order": [
            {"trial": plan.name, "block": plan.block, "position": plan.position, "system": plan.system, "durability": plan.durability, "workload": "steady", "experiment": "demo"}  # noqa: E501
            for plan in plans
        ],
        "order_kind": "alternate",
        "testbed": {"schema": 1, "testbed": {"kind": "local", "name": "demo"}, "created": "2023-11-14T22:00:00Z", "expires": None, "hosts": []},  # noqa: E501
        "facts": dict.fromkeys(("broker-1", "broker-2", "broker-3", "client-1"), facts),
        "software": {"kafka": {"version": "4.3.1", "sha256": "ef" * 32}, "pulsar": {"version": "4.2.4", "sha256": "01" * 32}},
        "durability_table": table,
        "durability_differences": [
            {"aspect": "who acknowledges", "system": "kafka", "durability": ["1"], "what": "the slowest of three", "favours": "its safety"},  # noqa: E501
            {"aspect": "who acknowledges", "system": "pulsar", "durability": ["1"], "what": "the fastest two of three", "favours": "its latency"},  # noqa: E501
        ],
        "system_profile": {
            "name": "sn2020",
            "systems": {
                "kafka": {"name": "sn2020", "source": "a report", "settings": {"broker": {"num.replica.fetchers": "8"}}, "memory": {}, "not_set": {}, "left_out": {}},  # noqa: E501
                "pulsar": {"name": "sn2020", "source": "a report", "settings": {"client": {"io_threads": "4"}}, "memory": {}, "not_set": {"connectionsPerBroker=16": "no such setting"}, "left_out": {"broker.heap=8g": "for broker hosts of 60 GiB or more each; these have less"}},  # noqa: E501
            },
        },
        "own_values": {
            "kafka": [],
            "pulsar": [
                {"component": "bookie", "key": "journalMaxSizeMB", "value": "512", "vendor": "2048", "why": "small disks"},
                {"component": "bookie", "key": "useV2WireProtocol", "value": None, "vendor": "true", "why": "it is off"},
            ],
        },
        "empty_cells": [
            {"experiment": "demo", "system": "kafka", "durability": "2-bypass", "reason": "it has no journal to bypass"},
            {"experiment": "demo", "system": "redpanda", "durability": None, "reason": "samebox doesn't have it"},
        ],
        "vetting": {"verdict": "accept", "rejected": []},
        "checks": CHECKS,
        "floor": [
            {
                "host": "client-1", "rate_per_s": 2000, "message_bytes": 1024, "messages": 8000,
                "send_delay_p50_ns": 90_000, "send_delay_p99_ns": 700_000, "publish_p50_ns": 110_000,
                "publish_p99_ns": 900_000, "end_to_end_p50_ns": 300_000, "end_to_end_p99_ns": 1_500_000,
                "producer_cpu_us": 31.4,
            }
        ],
        "caveats": ["one machine, one disk: this shows the method, it doesn't compare brokers"],
        "repeat": ["make demo"],
    }  # fmt: skip


def _vetting(host: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "host": host,
        "verdict": "accept",
        "verdicts": [
            {"rule": "fsync p99", "device": "/dev/vda", "measured": "1.9 ms", "expected": "at most 10 ms", "deviation": "-81 %", "verdict": "accept"},  # noqa: E501
            {"rule": "write throughput", "device": "/dev/vda", "measured": "812 MB/s", "expected": "no preset", "deviation": "", "verdict": "accept"},  # noqa: E501
        ],
    }  # fmt: skip


def _write_files(folder: Path, stem: str, columns: Mapping[str, list[Any]], schema: pa.Schema, shape: Shape) -> None:
    folder.mkdir(exist_ok=True)
    table = pa.table(dict(columns), schema=schema.with_metadata({"samebox.schema": "1"}))
    for part, offset in enumerate(range(0, max(table.num_rows, 1), shape.rows_per_file)):
        rows = table.slice(offset, shape.rows_per_file)
        pq.write_table(rows, folder / f"{stem}-{part:05}.parquet", compression="zstd")


def _write_json(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
