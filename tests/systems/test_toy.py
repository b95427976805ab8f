"""A system that nobody has heard of, added by its folder and a line: the whole kit runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.campaign.campaign import load_campaign
from bench.campaign.prepared import prepare
from bench.progress import PlainReporter
from bench.report.here import make_report
from bench.results.folder import Results
from bench.run.runner import run_campaign
from bench.run.vetted import Vetted
from provisioning.hosts.inventory import Inventory
from systems.registry import SYSTEMS
from tests.toy.system import TOY

pytestmark = pytest.mark.integration
CAMPAIGN = """
schema = 1
name = "toys"
question = "Does a system that was added by its folder alone run?"
seed = 1
systems = ["toy"]
blocks = 1
durability = [2]
replication_factor = 1
brokers = 3
settings.toy.log.speed = "any"

[[workloads]]
name = "few"
rate_per_s = 500
message_bytes = 100
partitions = 1
warmup_s = 1
measure_s = 3
"""


def test_a_toy_is_installed_started_loaded_read_back_counted_and_stopped(
    local_testbed: Inventory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the real door, from the campaign file to the report; nothing but the registry knows of it."""
    monkeypatch.setitem(SYSTEMS, "toy", TOY)
    file = tmp_path / "toys.toml"
    file.write_text(CAMPAIGN)
    results = Results(tmp_path / "results" / "toys")
    prepared = prepare(load_campaign(file), file, "local")
    unvetted = Vetted(2, {}, (), (), {"verdict": "accept", "rejected": []}, {})
    run_campaign(prepared, local_testbed, unvetted, results, PlainReporter(print), tarballs={}, repeat=[])
    [trial] = (json.loads(path.read_text()) for path in sorted(results.root.glob("trials/*/trial.json")))
    assert trial["ended"] == "completed", trial["abort"]
    assert trial["version"] == "1.0"
    assert trial["observations"]["messages_stored"] == trial["rows"]["produced"] == 2_000
    assert trial["settings"]["drift"] == []
    assert trial["settings"]["effective"]["client/producer"]["no_delay"] == "true"
    verdicts = make_report(results, master="local[2]", on_line=print)
    assert verdicts.sound
