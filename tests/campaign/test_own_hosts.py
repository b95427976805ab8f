"""Hosts that exist already, described by an inventory.toml: vetted, run on, reported, as if samebox had made them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.hosts.inventory import HostRecord, Inventory
from provisioning.testbeds.local.testbed import LocalTestbed
from tests.campaign.command import samebox

pytestmark = pytest.mark.integration

CAMPAIGN = """
schema = 1
name = "own"
question = "Does it run on hosts that samebox didn't make?"
seed = 3
systems = ["kafka"]
durability = [2]
blocks = 1
# all hosts share this machine, which the profile of own hosts doesn't expect
[checks.send-delay]
p99_ms = 5000
[checks.steal]
share = 1
[checks.client-cpu]
share_of_core = 2
share_of_host = 1.0
[checks.foreign-load]
cores = 64
[checks.cpu-pressure]
waiting_share = 1.0
tasks_per_cpu = 1000
[[workloads]]
name = "steady"
rate_per_s = 200
message_bytes = 512
partitions = 3
producers = 1
consumers = 1
warmup_s = 2
measure_s = 8
"""


def described(host: HostRecord) -> str:
    """A host as its operator would describe it."""
    data_dirs = ", ".join(f'{{ path = "{each.path}" }}' for each in host.data_dirs) if host.role == "broker" else ""
    return f"""
[[hosts]]
name = "{host.name}"
role = "{host.role}"
address = "{host.address}"
ssh_port = {host.ssh.port}
root = "{host.root}"
host_key = "{host.ssh.host_key}"
data_dirs = [{data_dirs}]
"""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inventory]:
    """Machines that are there: the sshd of a testbed that the command knows nothing of."""
    testbed = LocalTestbed(tmp_path_factory.mktemp("machines") / "state")
    try:
        yield testbed.up()
    finally:
        testbed.down()


@pytest.fixture(scope="module")
def home(machines: Inventory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The operator's folder with the inventory.toml, a quick thresholds file and a campaign."""
    home = tmp_path_factory.mktemp("home")
    head = f"""schema = 1
name = "rack"
identity_file = "{machines.identity_file}"
ssh_user = "{machines.hosts[0].ssh.user}"
instance_type = "local"
"""
    (home / "inventory.toml").write_text(head + "".join(described(host) for host in machines.hosts))
    (home / "own.toml").write_text(CAMPAIGN)
    return home


def on_own_hosts(home: Path, *arguments: str) -> tuple[int, str, str]:
    """The command with --inventory; its exit code, output and errors."""
    done = samebox(home, *arguments, "--inventory", str(home / "inventory.toml"))
    return done.returncode, done.stdout, done.stderr


def test_preparing_this_machine_changes_nothing_of_it(home: Path) -> None:
    """The hosts are this very machine: what differs is told and left."""
    before = Path("/proc/sys/vm/swappiness").read_text()
    code, output, errors = on_own_hosts(home, "prepare", "--json")
    assert code == 0, errors
    rows = json.loads(output)
    assert {row["host"] for row in rows} == {"broker-1", "broker-2", "broker-3", "client-1"}
    assert {row["status"] for row in rows} <= {"as wanted", "left", "not there"}
    assert Path("/proc/sys/vm/swappiness").read_text() == before


@pytest.mark.infra
def test_they_are_vetted_and_run_on(home: Path) -> None:
    """A vetting with verdicts, which counts for the run; every message is there; the report is made; nothing runs afterwards."""
    code, output, errors = on_own_hosts(home, "vet", "--json")
    assert code == 0, errors
    assert set(json.loads(output)["hosts"]) == {"broker-1", "broker-2", "broker-3", "client-1"}

    code, output, errors = on_own_hosts(home, "run", str(home / "own.toml"), "--plain")
    assert code == 0, output + errors
    assert "1 trials, all valid." in errors
    manifest = json.loads((home / "results" / "own" / "manifest.json").read_text())
    assert (manifest["testbed"]["testbed"]["kind"], manifest["testbed"]["testbed"]["name"]) == ("inventory", "rack")
    assert (home / "results" / "own" / "report" / "index.html").is_file()
    # the trial's data lies there now, and is known to be ours
    code, _, errors = on_own_hosts(home, "vet", "--json")
    assert code == 0, errors


def test_what_cannot_be_done_with_them_is_said(home: Path, machines: Inventory) -> None:
    """Nobody can replace a machine that stands there; somebody's files are not emptied; a wrong host key is no host of ours."""
    code, _, errors = on_own_hosts(home, "vet", "--replace")
    assert code == 1
    assert "--replace" in errors

    text = (home / "inventory.toml").read_text()
    broker = machines.hosts[0]
    (Path(broker.root) / "papers").mkdir()
    (Path(broker.root) / "papers" / "thesis.odt").write_text("years of work")
    (home / "papers.toml").write_text(text.replace(broker.data_dirs[0].path, f"{broker.root}/papers"))
    refused = samebox(home, "vet", "--inventory", str(home / "papers.toml"))
    assert refused.returncode == 1
    assert "is not empty (thesis.odt)" in refused.stderr
    assert (Path(broker.root) / "papers" / "thesis.odt").exists()

    (home / "keys.toml").write_text(text.replace(machines.hosts[1].ssh.host_key, broker.ssh.host_key))
    refused = samebox(home, "vet", "--inventory", str(home / "keys.toml"))
    assert refused.returncode == 1
    assert "but the inventory pins" in refused.stderr
