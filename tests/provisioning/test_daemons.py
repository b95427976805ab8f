"""The operator's side of daemons: what is asked of a host, and what its answers become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from provisioning.errors import DeploymentError, HostError, HostsFailed, HostUnreachable
from provisioning.hosts import daemons
from provisioning.hosts.agents import command
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress


def host(answers: dict[str, Any], name: str = "broker-1") -> ScriptedHost:
    record = HostRecord(name, "broker", SshAddress("127.0.0.21", 22, "bench", ""), "127.0.0.21", "/r", (), "", "", 1)
    return ScriptedHost(
        record, {command(json.loads(request)): json.dumps(answer) for request, answer in answers.items()}
    )


def stop_request(**changes: Any) -> str:
    request = {"verb": "stop", "run_dir": "/r/run", "names": None, "tier": None, "grace_s": 20.0, "kill_wait_s": 20.0}
    return json.dumps({**request, **changes})


def test_start_is_one_command_and_returns_the_pids() -> None:
    """All daemons of a host are started by one request."""
    daemon = daemons.Daemon("broker", ("java", "-version"), "/r/log/broker.log", tier=2, niceness=10)
    wanted = {
        "name": "broker",
        "argv": ["java", "-version"],
        "log_path": "/r/log/broker.log",
        "env": {},
        "tier": 2,
        "niceness": 10,
        "out_of_memory": "",
        "leaves": [],
    }
    request = {"verb": "start", "run_dir": "/r/run", "daemons": [wanted]}
    asked = host({json.dumps(request): {"pids": {"broker": 7}}})
    assert daemons.start(asked, [daemon]) == {"broker": 7}
    assert len(asked.asked) == 1


def test_start_refuses_what_runs_already() -> None:
    """The agent's refusal becomes an error that names the host."""
    request = {"verb": "start", "run_dir": "/r/run", "daemons": []}
    with pytest.raises(DeploymentError, match=r"broker-1.*already running: broker"):
        daemons.start(host({json.dumps(request): {"error": "already running: broker"}}), [])


def test_running_leaves_out_the_dead() -> None:
    """A daemon with a pid file and no process is known to states, not to running."""
    dead = {"pid": None, "rss_peak_bytes": None, "out_of_memory": True}
    alive = {"pid": 7, "rss_peak_bytes": 4096, "out_of_memory": False}
    asked = host({'{"verb": "states", "run_dir": "/r/run"}': {"daemons": {"broker": alive, "bookie": dead}}})
    assert daemons.running(asked) == {"broker": 7}
    assert daemons.states(asked)["bookie"] == daemons.DaemonState("broker-1", "bookie", None, None, True)


def test_a_process_that_survives_sigkill_is_an_error() -> None:
    """Stop never returns while something is left."""
    answer = {"stopped": ["broker"], "killed": ["broker"], "left": {"broker": 7}}
    with pytest.raises(HostError, match=r"broker-1: still running.*broker \(pid 7\)"):
        daemons.stop(host({stop_request(): answer}))


def test_stop_everything_goes_tier_by_tier_from_the_top() -> None:
    """What depends on others ends first, on all hosts, whichever system it belongs to."""
    ended: dict[str, Any] = {"stopped": [], "killed": [], "left": {}}
    tiers = '{"verb": "tiers", "run_dir": "/r/run"}'
    one = host(
        {tiers: {"tiers": [0, 2]}, stop_request(tier=2): {**ended, "killed": ["broker"]}, stop_request(tier=0): ended}
    )
    other = host({tiers: {"tiers": [0]}, stop_request(tier=0): ended}, "metadata-1")
    assert daemons.stop_everything([one, other]) == {"broker-1": ("broker",), "metadata-1": ()}
    assert one.asked == [command(json.loads(each)) for each in (tiers, stop_request(tier=2), stop_request(tier=0))]


def test_a_host_that_is_gone_keeps_no_other_alive() -> None:
    """The daemons of the hosts that answer are ended before the one that doesn't is complained of."""
    tiers = '{"verb": "tiers", "run_dir": "/r/run"}'
    well = host({tiers: {"tiers": [0]}, stop_request(tier=0): {"stopped": ["broker"], "killed": [], "left": {}}})
    gone = host({}, "broker-2")
    gone.answers = {command(json.loads(tiers)): HostUnreachable("broker-2", "connection refused")}
    with pytest.raises(HostsFailed, match="broker-2: connection refused"):
        daemons.stop_everything([well, gone])
    assert well.asked[-1] == command(json.loads(stop_request(tier=0)))


def test_all_are_killed_at_once() -> None:
    """One request per host, whatever runs there; the host that is gone keeps no other's alive."""
    killed = {"stopped": ["bookie", "broker"], "killed": ["bookie", "broker"], "left": {}}
    well, gone = host({stop_request(grace_s=0.0): killed}), host({}, "broker-2")
    gone.answers = {command(json.loads(stop_request(grace_s=0.0))): HostUnreachable("broker-2", "connection refused")}
    with pytest.raises(HostsFailed, match="broker-2: connection refused"):
        daemons.kill_everything([gone, well])
    assert len(well.asked) == 1


def await_request(slice_s: float, probes: list[Any]) -> str:
    request = {"verb": "await", "run_dir": "/r/run", "names": ["broker"], "probes": probes, "slice_s": slice_s}
    return json.dumps(request)


def test_a_death_is_told_with_host_daemon_and_log() -> None:
    """Waiting ends at once with the evidence when a daemon died."""
    asked = host({await_request(daemons.AWAIT_SLICE_S, []): {"died": {"broker": "No space left on device"}}})
    with pytest.raises(DeploymentError, match=r"starting: broker-1: broker died(.|\n)*No space left"):
        daemons.await_ready("starting", {"broker-1": []}, {"broker-1": ["broker"]}, [asked], limit_s=30)


def test_an_unmet_probe_is_told_after_the_limit() -> None:
    """What is still waited for, and the log's end, are in the message."""
    probe = {"what": "a quorum", "contains": [], "url": "", "path": "", "address": "", "port": 1, "send": ""}
    answer = {"died": {}, "pending": [probe], "waiting": ["a quorum: refused"], "logs": {"broker": "electing"}}
    asked = host({await_request(0.0, [probe]): answer})
    with pytest.raises(
        DeploymentError, match=r"not ready after 0 s(.|\n)*waiting for a quorum: refused(.|\n)*electing"
    ):
        daemons.await_ready(
            "starting", {"broker-1": [daemons.Probe("a quorum", port=1)]}, {"broker-1": ["broker"]}, [asked], limit_s=0
        )
