"""A folder with one sound file of every kind that the commands take. Test material only."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.bundle.write import make_bundle
from bench.campaign.campaign_file import load_campaign
from bench.checkout import CHECKOUT
from bench.results.folder import Results
from bench.run.vetted import VETTED_SCHEMA
from provisioning.testbeds.aws.prices import PRICES_FILE
from provisioning.testbeds.local.sshd import make_key
from provisioning.vetting.thresholds import DEFAULT_THRESHOLDS
from tests.analysis.synthetic_results import Plan, Shape, write_results
from tests.bundle.honest import honest_results
from tests.bundle.reports import SumsOfLatencies
from tests.omb.files import write

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFvG5rT4oZLSlFyq9GJ6VYRUJdd8oh8RbS1iYqvLqJcW"
TRIALS = ("b01-1-pulsar-l1-steady", "b01-2-kafka-l1-steady")
CAMPAIGN = """\
schema = 1
name = "demo"
question = "Which answers sooner?"
seed = 1

systems = ["pulsar", "kafka"]
durability = [1]
blocks = 1

[[workloads]]
name = "steady"
rate_per_s = 400
message_bytes = 1024
partitions = 3
producers = 2
consumers = 2
warmup_s = 2
measure_s = 6
"""
OWN_HOSTS = f"""\
schema = 1
name = "rack-7"
identity_file = "key"
ssh_user = "bench"

[[hosts]]
name = "broker-1"
role = "broker"
address = "127.0.99.1"
host_key = "{HOST_KEY}"
data_dirs = [{{ path = "/opt/samebox/data-1" }}]

[[hosts]]
name = "client-1"
role = "client"
address = "127.0.99.2"
host_key = "{HOST_KEY}"
"""


def make_world(folder: Path) -> None:
    """Fills `folder`."""
    (folder / "campaign.toml").write_text(CAMPAIGN)
    (folder / "own.toml").write_text(OWN_HOSTS)
    make_key(folder / "key", "test")
    (folder / "inventory.json").write_text(json.dumps(inventory(), indent=1))
    shutil.copyfile(CHECKOUT / "infra/presets/smoke.yaml", folder / "Pulumi.smoke.yaml")
    (folder / "Pulumi.yaml").write_text("name: samebox\nruntime: python\n")
    shutil.copyfile(DEFAULT_THRESHOLDS, folder / "thresholds.toml")
    shutil.copyfile(PRICES_FILE, folder / "prices.toml")
    write(folder, "workload.yaml")
    (folder / "driver.yaml").write_text(
        "name: Kafka\ndriverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver\n"
    )
    make_results(folder)
    make_demo_bundle(folder / "demo.samebox")
    state = folder / ".samebox"
    (state / "scratch").mkdir(parents=True)
    (state / "vetting.json").write_text(json.dumps(vetting(), indent=1))


def make_results(folder: Path) -> None:
    """A campaign that is finished and has a report: results/demo; the same again, results/again."""
    for name in ("demo", "again"):
        results = folder / "results" / name
        definition = dataclasses.asdict(load_campaign(folder / "campaign.toml"))
        plans = [Plan(trial, 1, place, trial.split("-")[2]) for place, trial in enumerate(TRIALS, start=1)]
        testbed = {key: value for key, value in inventory().items() if key != "identity_file"}
        write_results(results, plans, Shape(rate_per_s=20), definition=definition, testbed=testbed, repeat=[])
        shutil.copyfile(folder / "campaign.toml", results / "campaign.toml")
        (results / "report").mkdir()
        (results / "report" / "checks.json").write_text("[]\n")


def make_demo_bundle(target: Path) -> None:
    """A bundle of a campaign in which everything agrees."""
    with TemporaryDirectory() as folder:
        results = honest_results(Path(folder) / "demo")
        SumsOfLatencies()(Results(results), results / "report")
        make_bundle(Results(results), target)


def inventory() -> dict[str, Any]:
    """Two hosts that nobody can reach."""
    return {
        "schema": 1,
        "testbed": {"kind": "local", "name": "demo"},
        "created": "2023-11-14T22:00:00Z",
        "expires": None,
        "identity_file": "key",
        "hosts": [_host("broker-1", "127.0.99.1"), _host("client-1", "127.0.99.2")],
    }


def _host(name: str, address: str) -> dict[str, Any]:
    root = f"/tmp/samebox-nowhere/{name}"
    return {
        "name": name,
        "role": name.split("-")[0],
        "ssh": {"address": address, "port": 2222, "user": "nobody", "host_key": HOST_KEY},
        "address": address,
        "root": root,
        "data_dirs": [{"path": f"{root}/data-1", "device": "vda", "mount": "/", "owned": False}],
        "instance_id": f"local-{name}",
        "instance_type": "local",
        "generation": 1,
    }


def vetting() -> dict[str, Any]:
    """A kept vetting of these hosts."""
    return {
        "schema": VETTED_SCHEMA,
        "instance_ids": {"broker-1": "local-broker-1", "client-1": "local-client-1"},
        "rejected": [],
        "caveats": [],
        "summary": {},
        "documents": {},
    }
