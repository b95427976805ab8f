"""A whole campaign as a user runs it: the command, the real brokers, the report, the teardown, and the user's mistakes."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from bench.checkout import CHECKOUT
from provisioning.hosts.inventory import Inventory
from tests.campaign.command import samebox

pytestmark = pytest.mark.integration
SMOKE = CHECKOUT / "campaigns" / "smoke.toml"
SCHEDULED = 500 * 7  # rate x (warm-up + measurement) of campaigns/smoke.toml


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the smoke campaign was run, once for all tests."""
    home = tmp_path_factory.mktemp("home")
    ran = samebox(home, "campaign", "local", str(SMOKE), "--plain")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Report: " in ran.stdout
    return home


@pytest.fixture(scope="module")
def trials(home: Path) -> dict[str, dict[str, Any]]:
    """The trials' documents by name."""
    return {file.parent.name: json.loads(file.read_text()) for file in home.glob("results/smoke/trials/*/trial.json")}


def test_both_systems_ran_on_the_same_hosts(trials: dict[str, dict[str, Any]]) -> None:
    """One block, in the order of the file, on the same instances and the same boot."""
    assert sorted(trials) == ["b01-1-pulsar-l2-steady", "b01-2-kafka-l2-steady"]
    hosts = [[(host["instance_id"], host["boot_id"]) for host in trial["hosts"]] for trial in trials.values()]
    assert hosts[0] == hosts[1]


def test_both_systems_had_the_hosts_in_the_order_drawn(home: Path, trials: dict[str, dict[str, Any]]) -> None:
    """That of the manifest, which node numbers follow; and where their partitions landed is recorded."""
    drawn = json.loads((home / "results" / "smoke" / "manifest.json").read_text())["host_orders"]["1"]
    assert [trial["host_order"] for trial in trials.values()] == [drawn, drawn]
    brokers = [name for name in drawn if name.startswith("broker")]
    settings = trials["b01-2-kafka-l2-steady"]["settings"]["effective"]
    assert [settings[f"broker/{name}"]["node.id"] for name in brokers] == ["1", "2", "3"]
    for trial in trials.values():
        leaders = trial["observations"]["leaders"]
        assert sorted(leaders) == sorted(brokers)
        assert sum(leaders.values()) == trial["workload"]["partitions"]


def test_every_message_is_a_row(home: Path, trials: dict[str, dict[str, Any]]) -> None:
    """The schedule is recorded whole, and what was acknowledged is what the brokers counted and the consumers received."""
    for name, trial in trials.items():
        folder = home / "results" / "smoke" / "trials" / name
        produced = ds.dataset(folder / "produced").to_table(columns=["acked_ns"])
        assert produced.num_rows == SCHEDULED
        assert produced["acked_ns"].null_count == 0
        assert trial["observations"]["messages_stored"] == SCHEDULED
        assert ds.dataset(folder / "consumed").to_table(columns=["sequence"]).num_rows == SCHEDULED


def test_caches_were_cold_and_settings_as_intended(trials: dict[str, dict[str, Any]]) -> None:
    """Each trial's reset has its proof, and no running process differs from its files."""
    for trial in trials.values():
        canaries = trial["observations"]["reset"]["canaries"]
        assert canaries
        assert all(canary["resident_before"] > 0.99 and canary["resident_after"] == 0 for canary in canaries)
        assert trial["settings"]["effective"]
        assert trial["settings"]["drift"] == []


def test_the_report_is_complete(home: Path) -> None:
    """Manifest, vetting of each host, verdicts, figures; the page asks the network for nothing."""
    results = home / "results" / "smoke"
    hosts = [host["name"] for host in json.loads((results / "manifest.json").read_text())["testbed"]["hosts"]]
    assert sorted(file.stem for file in (results / "vetting").glob("*.json")) == sorted(hosts)
    checks = json.loads((results / "report" / "checks.json").read_text())
    assert {entry["verdict"] for entry in checks if entry["axis"] == "validity"} <= {"valid", "warn"}
    page = (results / "report" / "index.html").read_text()
    assert "<svg" in page
    assert 'src="http' not in page
    assert (results / "report" / "summary.csv").stat().st_size > 0


def test_nothing_is_left_but_results(home: Path) -> None:
    """No testbed, no process, no scratch file; the same name again is refused, and an interrupted one can't be resumed here."""
    assert [path for path in (home / ".samebox").rglob("*") if path.is_file()] == []
    assert samebox(home, "status").stdout.startswith("local testbed: down\nsmoke: 2 of 2 trials")
    again = samebox(home, "campaign", "local", str(SMOKE), "--plain")
    assert again.returncode == 1
    assert "--again" in again.stderr
    resumed = samebox(home, "resume", str(home / "results" / "smoke"))
    assert resumed.returncode == 1
    assert "no testbed is up" in resumed.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("campaign", "local", "campaigns/dmeo.toml"), ("no such file", "demo.toml")),
        (("run", str(SMOKE)), ("no testbed is up", "samebox up")),
        (("run", str(SMOKE), "--inventory", "missing.json"), ("missing.json: no such file",)),
        (("report", "."), ("not a results folder",)),
        (("vett",), ("No such command 'vett'",)),
        (("vet", "--thresholds", str(SMOKE)), ("schema is 1, this samebox reads schema = 2",)),
        (("run", str(SMOKE), "--software", "kafka"), ("expected SYSTEM=TARBALL",)),
        (("run", str(SMOKE), "--software", "kafka=nothing.tgz"), ("no such file",)),
    ],
)
def test_mistakes_are_answered_in_one_message(
    tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """Exit 1, what is wrong and what to do, no traceback, nothing started and nothing written."""
    ran = samebox(tmp_path, *arguments)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    for each in words:
        assert each in ran.stderr
    assert not (tmp_path / "results").exists()


def test_without_java_nothing_starts(tmp_path: Path) -> None:
    """No Java on the PATH: one message, exit 1, no testbed."""
    ran = samebox(tmp_path, "campaign", "local", str(SMOKE), PATH=str(Path(sys.executable).parent))
    assert ran.returncode == 1
    assert "java is not on the PATH" in ran.stderr
    assert "make setup" in ran.stderr
    assert not (tmp_path / ".samebox").exists()


def test_a_host_that_refuses_ssh_is_named(tmp_path: Path, local_testbed: Inventory) -> None:
    """Nobody listens where the inventory says: the hosts, their addresses and what to do, before anything is written."""
    hosts = [dataclasses.replace(h, ssh=dataclasses.replace(h.ssh, port=1)) for h in local_testbed.hosts]
    file = tmp_path / "inventory.json"
    file.write_text(dataclasses.replace(local_testbed, hosts=tuple(hosts)).to_json())
    ran = samebox(tmp_path, "run", str(SMOKE), "--inventory", str(file), "--plain")
    assert ran.returncode == 1
    for host in hosts:
        assert f"{host.name}: no SSH connection to {host.ssh.user}@{host.ssh.address}:1" in ran.stderr
    assert "Check that the host is up" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "results").exists()


def test_settings_a_system_cannot_have_are_refused(tmp_path: Path) -> None:
    """A misspelt component is refused with the valid ones before any software is sent."""
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(f'{SMOKE.read_text()}\n[settings.kafka.brokr]\n"num.io.threads" = "4"\n')
    ran = samebox(tmp_path, "campaign", "local", str(wrong), "--plain")
    assert ran.returncode == 1
    assert "brokr" in ran.stderr
    assert "broker" in ran.stderr.replace("brokr", "")
    assert not (tmp_path / "results").exists()


def test_too_little_disk_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """A campaign that would fill the disk is refused with the sum, and its testbed is gone again."""
    greedy = tmp_path / "greedy.toml"
    text = SMOKE.read_text().replace("rate_per_s = 500", "rate_per_s = 900000")
    greedy.write_text(text.replace("measure_s = 5", "measure_s = 86400"))
    ran = samebox(tmp_path, "campaign", "local", str(greedy), "--plain")
    assert ran.returncode == 1
    assert "not enough disk" in ran.stderr
    assert "x 3 copies x 2 (how often each is written)" in ran.stderr
    assert not (tmp_path / "results").exists()
    assert samebox(tmp_path, "status").stdout.startswith("local testbed: down")
