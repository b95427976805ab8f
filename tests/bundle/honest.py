"""A small campaign in which everything agrees: what samebox itself would have written. Test material only.

Its rows are those of tests.analysis.synthetic_results, laid out as workers write them and counted as they count them.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.campaign.blocks import host_orders
from bench.campaign.campaign_file import load_campaign
from bench.campaign.definition import definition_of
from bench.campaign.order import TrialSpec, order_of
from bench.campaign.testbed_profile import checks_for, load_profile
from bench.checkout import CHECKOUT
from provisioning.cache import sha256_of
from provisioning.document import build
from provisioning.hosts.inventory import HostRecord, Inventory
from systems.registry import DURABILITY, release_of
from tests.analysis.synthetic_results import EPOCH_NS, Plan, S, Shape, write_results

SHAPE = Shape(rate_per_s=100, warmup_s=1, measure_s=4, rows_per_file=200)
NAMES = ("broker-1", "broker-2", "broker-3", "client-1")
SYSTEMS = ("pulsar", "kafka")
GAP_NS = 600 * S  # from trial to trial
CAMPAIGN = f"""\
schema = 1
name = "demo"
question = "Which answers sooner?"
seed = 20
systems = ["pulsar", "kafka"]
durability = [1]
blocks = 2

[[workloads]]
name = "steady"
rate_per_s = {SHAPE.rate_per_s}
message_bytes = 1024
partitions = {SHAPE.partitions}
producers = {SHAPE.producers}
consumers = 2
warmup_s = {SHAPE.warmup_s}
measure_s = {SHAPE.measure_s}
"""


def honest_results(folder: Path) -> Path:
    """A results folder without a report."""
    folder.mkdir(parents=True)
    file = folder / "campaign.toml"
    file.write_text(CAMPAIGN)
    campaign = load_campaign(file)
    specs = order_of(campaign)
    orders = host_orders(campaign.all_blocks, _inventory().hosts, campaign.seed)
    plans = [_plan(spec, EPOCH_NS + number * GAP_NS, orders[spec.block]) for number, spec in enumerate(specs)]
    releases = {name: release_of(name, None) for name in SYSTEMS}
    inventory = json.loads(json.dumps(dataclasses.asdict(_inventory())))
    del inventory["identity_file"]
    write_results(
        folder,
        plans,
        SHAPE,
        campaign=campaign.name,
        question=campaign.question,
        seed=campaign.seed,
        created_ns=EPOCH_NS - 3600 * S,
        definition=definition_of(campaign),
        order=[spec.to_json() for spec in specs],
        host_orders={str(block): list(names) for block, names in orders.items()},
        campaign_sha256=sha256_of(file),
        lock_sha256=sha256_of(CHECKOUT / "requirements.lock"),
        testbed=inventory,
        software={
            name: {"version": release.version, "sha256": release.software[0].digest}
            for name, release in releases.items()
        },
        checks=[check.to_json() for check in checks_for(load_profile("local"), campaign.checks, where=str(file))],
        scale=None,
        representative=False,
    )
    for plan in plans:
        _as_workers_write(folder / "trials" / plan.name)
    return folder


def rewrite(file: Path, rows: pa.Table) -> None:
    """A record file anew, as workers would have written these rows."""
    pq.write_table(rows, file, compression="zstd")


def count_again(trial: Path) -> None:
    """Makes a trial's counters those of its files: what a careful forger does."""
    document = json.loads((trial / "trial.json").read_text())
    files = {path: f"{path.parent.name}/{path.name}" for path in sorted(trial.glob("*/*.parquet"))}
    rows = {path: pq.read_metadata(path).num_rows for path in files}
    messages = {path: name for path, name in files.items() if path.parent.name != "hosts"}
    document["records"] = {name: path.stat().st_size for path, name in messages.items()}
    document["rows"] = {
        kind: sum(count for path, count in rows.items() if path.parent.name == kind) for kind in document["rows"]
    }
    for worker in document["observations"]["workers"]:
        role, _, number = worker["worker"].rpartition("-")
        own = [path for path in messages if path.name.startswith(f"{role}-{int(number):04d}-")]
        worker |= {"rows": sum(rows[path] for path in own), "bytes": sum(path.stat().st_size for path in own)}
    (trial / "trial.json").write_text(json.dumps(document, indent=1) + "\n")


def _as_workers_write(trial: Path) -> None:
    """Files named and counted as in docs/records.md."""
    for path in sorted(trial.glob("produced/*.parquet")):
        _, producer, _ = path.stem.split("-")
        first = pq.read_table(path)["sequence"][0].as_py()
        path.rename(path.with_name(f"producer-{int(producer):04d}-{first:014d}.parquet"))
    for path in sorted(trial.glob("consumed/*.parquet")):
        *_, consumer, part = path.stem.split("-")
        path.rename(path.with_name(f"consumer-{int(consumer):04d}-{int(part):08d}.parquet"))
    count_again(trial)


def _plan(spec: TrialSpec, start_ns: int, hosts: tuple[str, ...]) -> Plan:
    load_ends_ns = start_ns + (SHAPE.warmup_s + SHAPE.measure_s + 5) * S
    edges_ns = [start_ns - 40 * S, start_ns - 30 * S, start_ns - 5 * S, load_ends_ns, load_ends_ns + 2 * S]
    names = ("reset", "start", "load", "collect")
    steps: list[dict[str, Any]] = [
        {"name": name, "started_ns": began_ns, "ended_ns": ended_ns}
        for name, began_ns, ended_ns in zip(names, edges_ns, edges_ns[1:], strict=False)
    ]
    changes = {
        "steps": steps,
        "workload": json.loads(json.dumps(dataclasses.asdict(spec.workload))),
        "durability": dataclasses.asdict(DURABILITY[spec.durability]),
        "version": release_of(spec.system, None).version,
        "block_kind": spec.block_kind,
        "generator": spec.generator,
        "host_order": list(hosts),
    }
    watched = {"watched_until_ns": {"producers": load_ends_ns, "consumers": load_ends_ns}}
    median_ms = 6.0 if spec.system == SYSTEMS[0] else 3.0
    return Plan(spec.trial, spec.block, spec.position, spec.system, median_ms, changes=changes, observations=watched)


def _inventory() -> Inventory:
    return build(
        Inventory,
        {
            "schema": 1,
            "testbed": {"kind": "local", "name": "demo"},
            "created": "2023-11-14T22:00:00Z",
            "expires": None,
            "identity_file": "key",
            "hosts": [dataclasses.asdict(_host(name, number)) for number, name in enumerate(NAMES)],
        },
        where="the inventory of these tests",
    )


def _host(name: str, number: int) -> HostRecord:
    root = f"/tmp/samebox-nowhere/{name}"
    return build(
        HostRecord,
        {
            "name": name,
            "role": name.split("-")[0],
            "ssh": {
                "address": f"127.0.99.{number + 1}",
                "port": 2222,
                "user": "nobody",
                "host_key": "ssh-ed25519 AAAA",
            },
            "address": f"127.0.99.{number + 1}",
            "root": root,
            "data_dirs": [{"path": f"{root}/data-1", "device": "vda", "mount": "/", "owned": False}],
            "instance_id": f"local-{name}",
            "instance_type": "local",
            "generation": 1,
        },
        where=name,
    )
