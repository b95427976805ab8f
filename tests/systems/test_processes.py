"""What is done with the processes of any system: files placed, processes found, logs fetched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import command
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.processes import collect_logs, hosts_for, hosts_of, on_each, on_host, place, running, states

STATES = command({"verb": "states", "run_dir": "/srv/h/run"})
TIDIED = "rm -rf /srv/h/tmp/processes; mkdir -p /srv/h/tmp/processes; rm -f "
FOUND = (
    "find /srv/h/etc/toy /srv/h/log -maxdepth 1 -type f \\( -path '*/etc/*' -o -name 'toy-*' \\) 2>/dev/null || true"
)


def host(name: str, role: Role = "broker", disks: int = 1) -> ScriptedHost:
    data = tuple(DataDir(f"/srv/h/data{at}", "/dev/x", "/", False) for at in range(disks))
    ssh = SshAddress("127.0.0.1", 22, "u", "")
    return ScriptedHost(HostRecord(name, role, ssh, f"{name}.test", "/srv/h", data, "", "", 1))


def found(**pids: int | None) -> str:
    """What a host says of its daemons."""
    return json.dumps(
        {
            "daemons": {
                name: {"pid": pid, "rss_peak_bytes": None, "out_of_memory": pid is None} for name, pid in pids.items()
            }
        }
    )


def test_processes_are_numbered_by_kind_and_have_their_places() -> None:
    """Brokers and metadata hosts apart; a client host runs none."""
    brokers, metadata = hosts_for("toy", [host("m", "metadata"), host("a"), host("c", "client"), host("b")])
    processes = on_each("toy", "log", brokers, "log.json") + on_each("toy", "keeper", metadata, "keeper.json")
    assert [(each.component, each.number) for each in processes] == [("log/a", 1), ("log/b", 2), ("keeper/m", 1)]
    assert (processes[1].address, processes[1].config_path, processes[1].log_path) == (
        "b.test", "/srv/h/etc/toy/log.json", "/srv/h/log/toy-log.log",
    )  # fmt: skip
    assert [each.name for each in hosts_of(processes * 2)] == ["a", "b", "m"]
    assert on_host(processes, brokers[1]) == (processes[1],)


def test_hosts_that_a_system_can_not_use_are_refused() -> None:
    """None of role broker, or one without a data directory."""
    with pytest.raises(DeploymentError, match="toy needs hosts of role broker; the inventory has none"):
        hosts_for("toy", [host("c", "client")])
    with pytest.raises(DeploymentError, match="b: toy needs a data directory"):
        hosts_for("toy", [host("a"), host("b", disks=0)])


def test_files_are_placed_and_the_logs_of_earlier_trials_removed() -> None:
    """Of the processes that the host runs, and of no others."""
    one = host("a")
    one.answers[f"{TIDIED}/srv/h/log/toy-log.log* /srv/h/log/toy-keeper.log*"] = ""
    place(
        on_each("toy", "log", [one], "l") + on_each("toy", "keeper", [one], "k"), {"a": {"/srv/h/etc/toy/l": "x=1\n"}}
    )
    assert one.files == {"/srv/h/etc/toy/l": b"x=1\n"}


def test_who_runs_is_told_by_host_and_daemon() -> None:
    """One that ended, or was never started, is named where all are needed."""
    one, other = host("a"), host("b")
    processes = on_each("toy", "log", [one, other], "l")
    one.answers[STATES] = other.answers[STATES] = found(log=7, telemetry=9)
    assert running(processes) == {"a": {"log": 7}, "b": {"log": 7}}
    one.answers[STATES], other.answers[STATES] = found(log=None), found()
    assert [(each.host, each.pid, each.out_of_memory) for each in states(processes)] == [
        ("a", None, True), ("b", None, False),
    ]  # fmt: skip
    with pytest.raises(DeploymentError, match="toy: no longer running, so they can't be asked: a: log, b: log"):
        running(processes)


def test_logs_and_rendered_files_come_home(tmp_path: Path) -> None:
    """A folder for each host, also for one that has written nothing."""
    one, other = host("a"), host("b")
    one.answers[FOUND], other.answers[FOUND] = "/srv/h/etc/toy/l\n/srv/h/log/toy-log.log\n", ""
    one.files |= {"/srv/h/etc/toy/l": b"x=1\n", "/srv/h/log/toy-log.log": b"ready\n"}
    collect_logs(on_each("toy", "log", [one, other], "l"), tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == {
        "l": b"x=1\n", "toy-log.log": b"ready\n",
    }  # fmt: skip
    assert list((tmp_path / "b").iterdir()) == []
