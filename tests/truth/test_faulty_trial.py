"""A trial on a testbed that was not what the kit asked for must come out invalid, and say which key or which cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.prepared import prepare
from bench.checkout import CHECKOUT
from bench.progress import PlainReporter
from bench.report.here import make_report
from bench.results.folder import Results
from bench.run.attempt import TrialAttempt
from bench.run.equipped import equip
from bench.run.manifest import manifest_of, origin_of
from bench.run.trial import run_trial
from bench.run.vetted import Vetted
from provisioning.cache import user_cache
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.registry import software

pytestmark = [pytest.mark.integration, pytest.mark.truth]

# `num.io.thraeds` is misspelt: the broker doesn't know it
CAMPAIGN = """
schema = 1
name = "faulty"
question = "Is a fault noticed?"
seed = 3
systems = ["kafka"]
durability = [2]
blocks = 1
[settings.kafka."broker/broker-3"]
"num.io.thraeds" = "8"
[[workloads]]
name = "steady"
rate_per_s = 200
message_bytes = 512
partitions = 3
producers = 1
consumers = 1
warmup_s = 2
measure_s = 10
"""


class AlteredBehindOurBack:
    """A host on which somebody changes a broker's file after the kit has written it."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> None:
        self._host.put(content.replace(b"num.network.threads=3", b"num.network.threads=2"), path, mode=mode)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


def leave_the_caches(machine: Sequence[Host]) -> str:
    """What a kit does that skips the drop."""
    del machine
    return "none"


@pytest.fixture(scope="module")
def checks(
    hosts: dict[str, SshHost], local_testbed: Inventory, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """One trial with three faults (caches kept, one key altered, one misspelt), then the real report: check -> entry."""
    folder = tmp_path_factory.mktemp("faulty")
    file = folder / "faulty.toml"
    file.write_text(CAMPAIGN)
    campaign = load_campaign(file)
    prepared = prepare(campaign, file, "local")
    everyone = tuple(
        cast(Host, AlteredBehindOurBack(host)) if name == "broker-2" else host for name, host in hosts.items()
    )
    reporter, store = PlainReporter(print), Store(user_cache(), software())
    equipped = replace(equip(prepared, everyone, store, reporter), drop_caches=leave_the_caches)
    vetting = Vetted(1, {}, (), (), {"verdict": "accept", "rejected": []}, {})
    results = Results(folder / "results")
    manifest = manifest_of(equipped, local_testbed, vetting, [], origin=origin_of(CHECKOUT), repeat=[])
    results.begin(manifest, {}, file)
    [spec] = prepared.trials
    attempt = TrialAttempt(results, spec.trial)
    document = run_trial(spec, equipped, reporter, attempt)
    attempt.finish(document)
    assert document["ended"] == "completed", document["abort"]
    verdicts = make_report(results, master="local[2]", on_line=print)
    assert not verdicts.sound
    return {entry["check"]: entry for entry in json.loads(results.checks_file.read_text())}


def test_caches_left_warm_make_it_invalid(checks: dict[str, dict[str, Any]]) -> None:
    """Without the drop the canaries stay resident."""
    assert checks["cold-caches"]["verdict"] == "invalid"


def test_an_altered_and_a_misspelt_key_make_it_invalid_by_name(checks: dict[str, dict[str, Any]]) -> None:
    """Both keys are named, with what was intended and what the process has."""
    assert checks["settings"]["verdict"] == "invalid"
    said = json.dumps(checks["settings"])
    assert "num.network.threads" in said
    assert "num.io.thraeds" in said


def test_nothing_else_is_blamed(checks: dict[str, dict[str, Any]]) -> None:
    """The faults touch their own checks alone, and the records are whole."""
    invalid = {name for name, entry in checks.items() if entry["verdict"] in ("invalid", "unknown")}
    assert invalid == {"cold-caches", "settings"}
    assert {checks[name]["verdict"] for name in ("no-loss", "no-duplicates", "order", "brokers-kept")} == {"met"}
