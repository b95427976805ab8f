"""What is refused before a campaign is left to itself, and what its host gets."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.estimate import record_bytes
from bench.campaign.order import order_of
from bench.campaign.prepared import prepare
from bench.load.client_hosts import LOCK_FILE
from bench.orchestrator.launch import ORCHESTRATOR, _hand_over, _require_room
from bench.orchestrator.place import place_on
from bench.run.vetted import VETTED_SCHEMA, Vetted
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.hosts.host import ScriptedHost
from provisioning.software.python_environment import REPOSITORY, code_files
from systems.release import folders_of
from tests.orchestrator.folder_host import folder_host, record

TRIALS = order_of(load_campaign(REPOSITORY / "campaigns" / "demo.toml"))
DF = "mkdir -p /box && df -B1 --output=avail -- /box | tail -n1"


def versions(lock: Path) -> dict[str, str]:
    """Package -> version of a lock file."""
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock.read_text(), re.MULTILINE))


def test_the_libraries_are_the_repositorys() -> None:
    """What runs there is what the operator's tests ran with, and holds all that workers need."""
    ours, there = versions(REPOSITORY / "requirements.lock"), versions(ORCHESTRATOR.lock_file)
    assert {"paramiko", "pydantic", "jinja2", "rich", "tenacity"} <= there.keys()
    assert versions(LOCK_FILE).items() <= there.items()
    assert {name: version for name, version in there.items() if name != "pip"} == {
        name: ours[name] for name in there if name != "pip"
    }
    assert "pyspark" not in there
    assert "://" not in ORCHESTRATOR.lock_file.read_text()


WITHOUT_THE_REST = """
import importlib.metadata, json, re, sys
packages, there = importlib.metadata.packages_distributions(), set(json.loads(sys.argv[1]))

class NotThere:
    def find_spec(self, name, path=None, target=None):
        owners = {re.sub("[-_.]+", "-", owner).lower() for owner in packages.get(name.partition(".")[0], [])}
        if owners and not owners & there:
            raise ModuleNotFoundError(f"{name} is of {owners}, which isn't in the lock", name=name)

sys.meta_path.insert(0, NotThere())
import bench.orchestrator.process
"""


def test_its_program_needs_nothing_else() -> None:
    """What isn't in the lock isn't on the host, and a campaign left to itself would end before its first line."""
    there = json.dumps([*versions(ORCHESTRATOR.lock_file), "samebox"])
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_REST, there], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def test_the_code_is_whole() -> None:
    """Programs, profiles, templates, and what disk probes are made of; no report and no AWS program."""
    names = {name for name, _ in code_files(REPOSITORY, ORCHESTRATOR.code)}
    assert {
        "bench/orchestrator/process.py",
        "bench/campaign/testbeds/aws.toml",
        "provisioning/hosts/daemon_agent.py",
    } <= names
    assert not any(name.startswith(("analysis/", "infra/", "tests/")) or "__pycache__" in name for name in names)


CAMPAIGN = """
schema = 1
name = "own-version"
question = "Is my version as fast?"
seed = 1
blocks = 1
durability = ["1"]
contestants = [{ name = "ours", system = "nats", version = "2.14.99" }, { name = "theirs", system = "nats" }]
workloads = [{ name = "steady", rate_per_s = 100, message_bytes = 64, measure_s = 1 }]
"""


def test_versions_that_the_user_pinned_are_known_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign that names one is refused on a host without the user's `software/`, and is the same campaign on one with it."""
    monkeypatch.setenv("SAMEBOX_HOME", str(tmp_path / "home"))
    pinned = tmp_path / "home/software/nats/2.14.99"
    shutil.copytree(folders_of("nats")["2.14.6"], pinned)
    lock = pinned / "requirements.lock"
    lock.write_text(lock.read_text().replace("2.14.6", "2.14.99"))
    (tmp_path / "home/software/nats/.pinning-x").mkdir()
    (tmp_path / "home/software/nats/.pinning-x/requirements.lock").write_text("half of one")
    file = tmp_path / "own-version.toml"
    file.write_text(CAMPAIGN)
    prepared = prepare(load_campaign(file), file, "local")
    host = folder_host(tmp_path / "client-1")
    folder = Path(place_on(host.record).folder)

    monkeypatch.setenv("SAMEBOX_HOME", str(folder))
    with pytest.raises(InvalidInput, match=r"2\.14\.99 isn't pinned"):
        load_campaign(file)
    monkeypatch.setenv("SAMEBOX_HOME", str(tmp_path / "home"))
    _hand_over(host, prepared, Vetted(VETTED_SCHEMA, {}, (), (), {}, {}), {}, [])
    monkeypatch.setenv("SAMEBOX_HOME", str(folder))
    brought = folder / "campaign" / file.name
    assert prepare(load_campaign(brought), brought, "local").intended == prepared.intended
    assert sorted(each.name for each in (folder / "software/nats").iterdir()) == ["2.14.99"]


def test_records_must_fit_on_its_disk() -> None:
    """They lie there until somebody fetches them."""
    need = sum(int(record_bytes(trial)) for trial in TRIALS)
    host = ScriptedHost(record("metadata-1", "metadata", "/box"), answers={DF: f"  {need * 2}\n"})
    _require_room(host, TRIALS)
    host.answers[DF] = f"  {need * 2 - 2}\n"
    with pytest.raises(MissingRequirement, match="metadata-1"):
        _require_room(host, TRIALS)
