"""Results folders with faults whose truth is known: made with numpy alone, message by message. Test material only.

Each trial sends at a constant rate; its latency is a few milliseconds with a little scatter. At each fault acknowledgements stop, and
`outage_s` later they are back: what was due meanwhile is acknowledged in a burst, and then latency is as before. A share of the
partitions may go on undisturbed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tests.analysis.synthetic_results import (
    CHECKS,
    CONSUMED,
    EPOCH_NS,
    HOSTS,
    MS,
    PRODUCED,
    Plan,
    S,
    Shape,
    manifest_document,
    telemetry,
    trial_document,
)

Ints = npt.NDArray[np.int64]
TOOK_EFFECT = {"check": "faults-took-effect", "axis": "validity", "on_failure": "invalid"}


@dataclass(frozen=True)
class Kill:
    """One fault. `at_s`: into the measurement; `beside_ns`: how much later it took effect. `partitions`: those that it stops (None =
    all); `burst_ms`: over how long what was due is acknowledged once it is over. Messages are named by (producer, sequence).
    """

    at_s: float
    outage_s: float
    beside_ns: int = 0
    do: str = "kill"
    for_s: float | None = 5.0
    target: str = "leader:0/0"
    hosts: tuple[str, ...] = ("broker-2",)
    partitions: tuple[int, ...] | None = None
    burst_ms: float = 200.0
    failed_share: float = 0.0  # of what was due meanwhile: never acknowledged
    lost: int = 0  # of what was acknowledged just before: never received
    repeated: int = 0  # of what was acknowledged just after: received twice
    took_effect: bool = True


@dataclass(frozen=True)
class FaultyTrial:
    """A trial and its faults, in the order of their times."""

    name: str
    system: str
    kills: tuple[Kill, ...]
    block: int = 1
    position: int = 1
    seed: int = 1
    median_ms: float = 3.0
    rate_per_s: int = 500
    producers: int = 2
    partitions: int = 3
    warmup_s: int = 2
    measure_s: int = 40
    durability: str = "1"
    workload: str = "steady"
    goal_ms: float | None = None
    observations: dict[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        return Shape(self.rate_per_s, self.warmup_s, self.measure_s, self.producers, self.partitions)


def write_faulty(folder: Path, trials: Sequence[FaultyTrial], **manifest: Any) -> Path:
    """Writes a whole results folder; `manifest` is laid over the default manifest.json."""
    plans = [_plan(trial) for trial in trials]
    for number, (trial, plan) in enumerate(zip(trials, plans, strict=True)):
        _write_trial(folder / "trials" / trial.name, trial, plan, EPOCH_NS + number * 600 * S)
    document = manifest_document(plans, Shape()) | {"checks": [*CHECKS, TOOK_EFFECT]}
    for entry, trial in zip(document["order"], trials, strict=True):
        entry["workload"] = trial.workload
    _write_json(folder / "manifest.json", {**document, **manifest})
    return folder


def began_ns_of(trial: FaultyTrial, kill: Kill, start_ns: int) -> int:
    """When a fault really took effect."""
    return start_ns + trial.warmup_s * S + round(kill.at_s * S) + kill.beside_ns


def _plan(trial: FaultyTrial) -> Plan:
    return Plan(trial.name, trial.block, trial.position, trial.system, trial.median_ms, trial.durability)


def messages(trial: FaultyTrial, start_ns: int) -> list[dict[str, npt.NDArray[Any]]]:
    """Per producer the columns of produced; -1 stands for null. Beside them `receipts`: how often each is received."""
    random = np.random.default_rng(trial.seed)
    seconds = trial.warmup_s + trial.measure_s
    each = trial.rate_per_s * seconds // trial.producers
    gap_ns = seconds * S // each
    found = []
    for producer in range(trial.producers):
        sequence = np.arange(each, dtype=np.int64)
        intended = start_ns + sequence * gap_ns + producer * (gap_ns // trial.producers)
        partition = (sequence + producer) % trial.partitions
        sent = intended + random.integers(20_000, 300_000, each)
        acked = sent + (trial.median_ms * MS * random.lognormal(0, 0.1, each)).astype(np.int64)
        failed, receipts = np.zeros(each, bool), np.ones(each, np.int64)
        for kill in trial.kills:
            if kill.took_effect:
                began_ns = began_ns_of(trial, kill, start_ns)
                _strike(kill, began_ns, intended, acked, partition, failed, receipts, random)
        found.append(
            {"producer": np.full(each, producer), "sequence": sequence, "intended": intended, "sent": sent, "acked": acked,
             "partition": partition, "failed": failed, "receipts": receipts}
        )  # fmt: skip
    return found


def _strike(
    kill: Kill, began_ns: int, intended: Ints, acked: Ints, partition: Ints, failed: Any, receipts: Ints, random: Any
) -> None:
    """What would have been acknowledged from the fault on is acknowledged after the outage, in its order, over the burst."""
    back_ns = began_ns + round(kill.outage_s * S)
    stopped = np.isin(partition, kill.partitions) if kill.partitions is not None else np.ones(len(acked), bool)
    held = stopped & (acked >= began_ns) & (intended < back_ns)
    order = np.argsort(intended[held], kind="stable")
    late = back_ns + np.sort(random.integers(0, max(1, round(kill.burst_ms * MS)), held.sum()))
    values = np.empty(held.sum(), np.int64)
    values[order] = late
    acked[held] = np.maximum(values, acked[held])
    for own in (partition == number for number in np.unique(partition)):  # nothing overtakes in a partition
        acked[own] = np.maximum.accumulate(acked[own])
    failed[held] |= random.random(held.sum()) < kill.failed_share
    receipts[failed & held] = 0
    before = np.flatnonzero(stopped & (acked < began_ns) & ~failed)
    receipts[before[len(before) - kill.lost :]] = 0
    after = np.flatnonzero(held & ~failed)
    receipts[after[: kill.repeated]] = 2


def _write_trial(folder: Path, trial: FaultyTrial, plan: Plan, start_ns: int) -> None:
    rows = {"produced": 0, "consumed": 0, "hosts": 0}
    acknowledged = 0
    measured_ns = start_ns + trial.warmup_s * S
    receipts: list[pa.Table] = []
    for own in messages(trial, start_ns):
        lost = own["failed"]
        phase = np.where(own["intended"] < measured_ns, "warmup", "measure")
        produced = _table(
            {
                "producer": pa.array(own["producer"], pa.int32()),
                "partition": pa.array(own["partition"], pa.int32(), mask=lost),
                "sequence": own["sequence"],
                "intended_ns": own["intended"],
                "sent_ns": own["sent"],
                "acked_ns": pa.array(own["acked"], pa.int64(), mask=lost),
                "error": pa.array(np.where(lost, "timed out", ""), pa.string(), mask=~lost),
                "phase": phase,
                "held_until_ns": pa.nulls(len(phase), pa.int64()),
            }
        )
        _write(folder / "produced", f"producer-{own['producer'][0]}", produced, PRODUCED)
        rows["produced"] += len(produced)
        acknowledged += int((~lost).sum())
        again = np.repeat(np.arange(len(lost)), own["receipts"])
        receipts.append(
            _table(
                {name: own[name][again] for name in ("producer", "sequence", "partition", "intended", "acked")}
            ).append_column("phase", pa.array(phase[again]))
        )
    for consumer, consumed in enumerate(_consumed(pa.concat_tables(receipts))):
        _write(folder / "consumed", f"consumer-{consumer}", consumed, CONSUMED)
        rows["consumed"] += len(consumed)
    hosts = _table(telemetry(trial.shape, start_ns))
    _write(folder / "hosts", "broker-1", hosts, HOSTS)
    rows["hosts"] = len(hosts)
    _write_json(folder / "trial.json", _document(trial, plan, start_ns, rows, acknowledged))


def _consumed(receipts: pa.Table) -> list[pa.Table]:
    """One consumer, in the order received; half a millisecond after the acknowledgement, and never before a partition's last."""
    ordered = receipts.sort_by([("acked", "ascending"), ("sequence", "ascending")])
    received: Ints = np.maximum.accumulate(ordered["acked"].to_numpy() + MS // 2)
    size = len(ordered)
    return [
        _table(
            {
                "consumer": pa.array(np.zeros(size), pa.int32()),
                "subscription": pa.repeat("sub-0", size),
                "producer": ordered["producer"].cast(pa.int32()),
                "sequence": ordered["sequence"],
                "partition": ordered["partition"].cast(pa.int32()),
                "intended_ns": ordered["intended"],
                "received_ns": received,
                "phase": ordered["phase"],
            }
        )
    ]


def _document(trial: FaultyTrial, plan: Plan, start_ns: int, rows: dict[str, int], acknowledged: int) -> dict[str, Any]:
    document = trial_document(plan, trial.shape, start_ns, rows, acknowledged)
    document["workload"] |= {
        "name": trial.workload,
        "goal_ms": trial.goal_ms,
        "faults": [
            {
                "at_s": kill.at_s,
                "do": kill.do,
                "target": kill.target,
                "for_s": kill.for_s,
                "direction": "both",
                "peers": "brokers",
            }
            for kill in trial.kills
        ],
    }
    document["observations"]["faults"] = [
        _observed(trial, kill, number, start_ns) for number, kill in enumerate(trial.kills)
    ]
    for daemon in document["observations"]["daemons"]:
        hit = [kill for kill in trial.kills if kill.took_effect and kill.do == "kill" and daemon["host"] in kill.hosts]
        if hit:
            daemon["pid_at_end"] = None if hit[-1].for_s is None else 4711
    document["observations"] |= trial.observations
    return document


def _observed(trial: FaultyTrial, kill: Kill, number: int, start_ns: int) -> dict[str, Any]:
    began_ns = began_ns_of(trial, kill, start_ns) if kill.took_effect else None
    ended_ns = None if began_ns is None or kill.for_s is None else began_ns + round(kill.for_s * S)
    planned_ns = start_ns + trial.warmup_s * S + round(kill.at_s * S)
    hits = [
        {"host": host, "daemon": "broker", "pid": 101, "began_ns": began_ns, "ended_ns": ended_ns}
        for host in kill.hosts
    ]
    return {
        "number": number, "planned_ns": planned_ns, "resolved_ns": planned_ns - 50 * MS,
        "hits": hits if kill.took_effect else [], "began_ns": began_ns, "ended_ns": ended_ns,
        "back_ns": None if ended_ns is None or kill.do != "kill" else ended_ns + 2 * S,
        "problem": None if kill.took_effect else "nobody led the partition when it was to be killed",
    }  # fmt: skip


def jittered(trial: FaultyTrial, spread_s: float = 0.4) -> FaultyTrial:
    """The same with other times, to the nanosecond, by its seed."""
    random = np.random.default_rng(trial.seed)
    kills = tuple(
        replace(
            kill,
            beside_ns=int(random.integers(0, round(spread_s * S))),
            outage_s=kill.outage_s * float(random.uniform(0.5, 1.5)),
            burst_ms=float(random.uniform(5, 900)),
        )
        for kill in trial.kills
    )
    return replace(trial, kills=kills)


def _write(folder: Path, stem: str, table: pa.Table, schema: pa.Schema) -> None:
    """In files of a third each: nothing may depend on which file a row is in."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = table.select(schema.names).cast(schema).replace_schema_metadata({"samebox.schema": "1"})
    part = -(-len(rows) // 3)
    for number in range(3):
        pq.write_table(rows.slice(number * part, part), folder / f"{stem}-{number:05}.parquet")


def _table(columns: Mapping[str, Any]) -> pa.Table:
    return pa.table(dict(columns))


def _write_json(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
