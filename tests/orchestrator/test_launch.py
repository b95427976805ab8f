"""What is refused before a campaign is left to itself, and what its host gets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.estimate import record_bytes
from bench.campaign.order import order_of
from bench.load.client_hosts import LOCK_FILE
from bench.orchestrator.launch import ORCHESTRATOR, _require_room
from provisioning.errors import MissingRequirement
from provisioning.hosts.host import ScriptedHost
from provisioning.software.python_environment import REPOSITORY, code_files
from tests.orchestrator.folder_host import record

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


def test_records_must_fit_on_its_disk() -> None:
    """They lie there until somebody fetches them."""
    need = sum(int(record_bytes(trial)) for trial in TRIALS)
    host = ScriptedHost(record("metadata-1", "metadata", "/box"), answers={DF: f"  {need * 2}\n"})
    _require_room(host, TRIALS)
    host.answers[DF] = f"  {need * 2 - 2}\n"
    with pytest.raises(MissingRequirement, match="metadata-1"):
        _require_room(host, TRIALS)
