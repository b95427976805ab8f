"""A system that nobody has heard of, added by its folder and a line: the whole kit runs it."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.prepared import prepare
from bench.progress import PlainReporter
from bench.report.here import make_report
from bench.results.folder import Results
from bench.run.runner import run_campaign
from bench.run.vetted import Vetted
from provisioning.cache import Notice, sha256_of
from provisioning.hosts.inventory import Inventory
from provisioning.software.software import entry_of
from systems.registry import SYSTEMS
from systems.software.added import add, needed
from tests.toy.system import HERE, TOY

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


@dataclasses.dataclass(frozen=True)
class GivenServer:
    """The toy's server as an operator gives it; see Software."""

    path: Path
    name: str = "toy"
    version: str = "1.1"

    @property
    def digest(self) -> str:
        return sha256_of(self.path)

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        notice("toy 1.1: from the operator's file")
        entry = entry_of(self, cache_dir)
        entry.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.path, entry / "server.py")
        return entry


def run_toys(testbed: Inventory, folder: Path, tarballs: Mapping[str, Path]) -> tuple[Results, dict[str, Any]]:
    """Runs the campaign; its results, and what its one trial says."""
    file = folder / "toys.toml"
    file.write_text(CAMPAIGN)
    results = Results(folder / "results" / "toys")
    prepared = prepare(load_campaign(file), file, "local", given=tarballs)
    unvetted = Vetted(2, {}, (), (), {"verdict": "accept", "rejected": []}, {})
    run_campaign(prepared, testbed, unvetted, results, PlainReporter(print), tarballs=tarballs, repeat=[])
    [trial] = (json.loads(path.read_text()) for path in sorted(results.root.glob("trials/*/trial.json")))
    return results, trial


def test_a_toy_is_installed_started_loaded_read_back_counted_and_stopped(
    local_testbed: Inventory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the real door, from the campaign file to the report; nothing but the registry knows of it."""
    monkeypatch.setitem(SYSTEMS, "toy", TOY)
    results, trial = run_toys(local_testbed, tmp_path, {})
    assert trial["ended"] == "completed", trial["abort"]
    assert trial["version"] == "1.0"
    assert trial["observations"]["messages_stored"] == trial["rows"]["produced"] == 2_000
    assert trial["settings"]["drift"] == []
    assert trial["settings"]["effective"]["client/producer"]["no_delay"] == "true"
    verdicts = make_report(results, master="local[2]", on_line=print)
    assert verdicts.sound


def test_a_toy_that_is_given_as_a_file_runs_from_it_alone(
    local_testbed: Inventory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is pinned: what was added is brought to the hosts, runs, and is in the manifest by its version and its sum."""
    given = dataclasses.replace(TOY, software=(), archive=GivenServer)
    monkeypatch.setitem(SYSTEMS, "toy", given)
    file = tmp_path / "operators" / "server.py"
    file.parent.mkdir()
    file.write_bytes((HERE / "server.py").read_bytes() + b"# the operator's\n")
    record = add("toy", GivenServer, file, tmp_path / "cache")
    file.unlink()
    tarballs = needed({"toy": record.path(tmp_path / "cache")}, ["toy"], tmp_path / "cache")
    results, trial = run_toys(local_testbed, tmp_path, tarballs)
    assert trial["ended"] == "completed", trial["abort"]
    assert (trial["version"], trial["observations"]["messages_stored"]) == ("1.1", 2_000)
    assert results.manifest("software")["software"]["toy"] == {"version": "1.1", "sha256": record.sha256}
