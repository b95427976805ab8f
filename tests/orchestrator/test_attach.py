"""Following a campaign that runs by itself, with a stand-in for its process: starting it again, errors, what comes home."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.orchestrator import attach
from bench.orchestrator.attach import Attached
from bench.orchestrator.launch import end, start
from bench.orchestrator.place import PROCESS, place_on
from bench.orchestrator.state import read_state
from bench.results.folder import MANIFEST_SCHEMA, Results
from provisioning.errors import InvalidInput, MissingRequirement, SameboxError
from provisioning.hosts.inventory import Inventory, TestbedRecord
from tests.orchestrator.folder_host import FolderHost, folder_host

ORDER = [{"trial": "one"}, {"trial": "two"}]
# Finishes one more trial each time it is started; dies after the first, and says how it ended after the last.
STAND_IN = """
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
results = folder / "results" / "demo"
trial = next(name for name in ("one", "two") if not (results / "trials" / name).exists())
(results / "trials" / name if (name := trial) else results).mkdir(parents=True)
(results / "manifest.json").write_text(json.dumps({"schema": %d, "order": %s}))
(results / "campaign.toml").write_text("")
(results / "trials" / trial / "trial.json").write_text(trial)
print("ran", trial, flush=True)
if trial == "two":
    (folder / "outcome.json").write_text(json.dumps({"error": sys.argv[2], "next_step": "look"}))
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "POLL_S", 0.05)


def campaign_on(host: FolderHost, error: str = "") -> None:
    """A claimed folder with the stand-in ready to be started."""
    place = place_on(host.record)
    program = STAND_IN % (MANIFEST_SCHEMA, json.dumps(ORDER))
    argv = [sys.executable, "-c", program, place.folder, error]
    daemon = {
        "name": PROCESS,
        "argv": argv,
        "log_path": place.log_file,
        "env": {},
        "tier": 0,
        "niceness": 0,
        "out_of_memory": "",
        "leaves": [],
    }
    host.put(json.dumps(daemon).encode(), place.start_file)
    host.put(b'{"campaign": "demo", "operator": "anna@laptop", "since": "then"}', f"{place.folder}/claim.json")


def wait_until(host: FolderHost, phase: str) -> None:
    while read_state(host).phase != phase:
        pass


class Laptop:
    """Somebody attached, and what they saw."""

    def __init__(self, host: FolderHost, folder: Path, expires: str | None = None) -> None:
        inventory = Inventory(1, TestbedRecord("aws", "t"), "then", expires, "key", (host.record,))
        self.results = Results(folder / "results" / "demo")
        self.said: list[str] = []
        self.attached = Attached(host, inventory, self.results, " --stack s", self.said.append, lambda _: None)


@pytest.fixture
def host(tmp_path: Path) -> FolderHost:
    return folder_host(tmp_path / "host")


def test_one_that_died_goes_on_where_it_was(host: FolderHost, tmp_path: Path) -> None:
    """It is started again, the finished trial isn't run again, and everything comes home."""
    campaign_on(host)
    start(host)
    wait_until(host, "died")
    laptop = Laptop(host, tmp_path)
    laptop.attached.follow()
    assert laptop.results.finished() == ("one", "two")
    assert "has died" in laptop.said[0]
    assert [line for line in laptop.said if line.startswith("ran")] == ["ran two"]


def test_one_that_fails_is_an_error_with_its_records(host: FolderHost, tmp_path: Path) -> None:
    """What finished is here, the reason is the host's own, and what to type stands beside it."""
    campaign_on(host, error="broker-1: gone")
    start(host)
    wait_until(host, "died")
    laptop = Laptop(host, tmp_path)
    with pytest.raises(SameboxError, match="broker-1: gone") as caught:
        laptop.attached.follow()
    assert "samebox resume" in caught.value.next_step
    assert " --stack s" in caught.value.next_step
    assert laptop.results.finished() == ("one", "two")


def test_a_plan_longer_than_the_hosts_live_is_not_started_again(host: FolderHost, tmp_path: Path) -> None:
    """Refused before anything runs."""
    campaign_on(host)
    start(host)
    wait_until(host, "died")
    with pytest.raises(InvalidInput, match="time to live ended"):
        Laptop(host, tmp_path, expires="2020-01-01T00:00:00Z").attached.follow()
    assert read_state(host).phase == "died"


def test_half_set_up_is_told(host: FolderHost, tmp_path: Path) -> None:
    """Nobody starts what somebody else may still be bringing."""
    campaign_on(host)
    with pytest.raises(MissingRequirement, match="being set up") as caught:
        Laptop(host, tmp_path).attached.follow()
    assert "samebox abandon --stack s" in caught.value.next_step


def test_finished_without_a_trial_is_not_finished(host: FolderHost, tmp_path: Path) -> None:
    """Records that are missing keep the folder on the host from being removed."""
    campaign_on(host)
    place = place_on(host.record)
    start(host)
    wait_until(host, "died")
    host.put(b'{"error": "", "next_step": ""}', place.outcome_file)
    with pytest.raises(SameboxError, match="two could not be fetched") as caught:
        Laptop(host, tmp_path).attached.follow()
    assert place.folder in caught.value.next_step


def test_a_second_start_is_refused_and_the_end_ends_it(host: FolderHost) -> None:
    """One process at a time; told to end, it is gone."""
    campaign_on(host)
    place = place_on(host.record)
    daemon = json.loads(host.get(place.start_file)) | {"argv": ["sleep", "60"]}
    host.put(json.dumps(daemon).encode(), place.start_file)
    start(host)
    with pytest.raises(SameboxError, match="already running"):
        start(host)
    assert read_state(host).phase == "running"
    end(host)
    assert read_state(host).phase == "claimed"
