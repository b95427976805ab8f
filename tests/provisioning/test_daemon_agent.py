"""The agent's verbs on real processes of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provisioning.hosts import daemon_agent


def spec(name: str, argv: list[str], tmp_path: Path, *, tier: int = 0, niceness: int = 0) -> dict[str, Any]:
    log_path = str(tmp_path / f"{name}.log")
    own = {"out_of_memory": "No more memory at all", "leaves": [f"{tmp_path}/left-{{pid}}"]}
    return {"name": name, "argv": argv, "env": {}, "log_path": log_path, "tier": tier, "niceness": niceness, **own}


def start(tmp_path: Path, *specs: dict[str, Any]) -> dict[str, Any]:
    # in a process of its own, as on a host: the daemon must not be this process' child, or it would stay as a corpse
    code = "import sys, json; from provisioning.hosts import daemon_agent as a; print(json.dumps(a.start(json.loads(sys.argv[1]))))"
    request = {"run_dir": str(tmp_path / "run"), "daemons": list(specs)}
    done = subprocess.run([sys.executable, "-c", code, json.dumps(request)], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def stop(
    tmp_path: Path, names: list[str] | None = None, *, grace_s: float = 5.0, tier: int | None = None
) -> dict[str, Any]:
    request = {"run_dir": str(tmp_path / "run"), "names": names, "tier": tier, "grace_s": grace_s, "kill_wait_s": 5.0}
    return daemon_agent.stop(request)


def await_ready(tmp_path: Path, names: list[str], probes: list[dict[str, Any]]) -> dict[str, Any]:
    blank = {"what": "it", "contains": [], "url": "", "path": "", "address": "", "port": 0, "send": ""}
    request = {"run_dir": str(tmp_path / "run"), "names": names, "slice_s": 0.3}
    return daemon_agent.await_ready({**request, "probes": [{**blank, **probe} for probe in probes]})


def test_a_daemon_lives_in_its_own_session_until_it_is_stopped(tmp_path: Path) -> None:
    """Start writes pid and start time; stop ends it and takes the pid file away."""
    pid = start(tmp_path, spec("sleeper", ["sleep", "60"], tmp_path))["pids"]["sleeper"]
    assert os.getsid(pid) == pid
    lines = (tmp_path / "run/sleeper.pid").read_text().splitlines()
    assert lines[:2] == [str(pid), daemon_agent.start_time(pid)]
    assert stop(tmp_path) == {"stopped": ["sleeper"], "killed": [], "left": {}}
    assert daemon_agent.start_time(pid) is None
    assert not list((tmp_path / "run").iterdir())


def test_a_daemon_gives_way(tmp_path: Path) -> None:
    """Niceness reaches the process and, where the kernel shares out the cores by sessions, its session too."""
    pid = start(tmp_path, spec("sleeper", ["sleep", "60"], tmp_path, niceness=7))["pids"]["sleeper"]
    try:
        assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) + 7
        autogroup = Path(f"/proc/{pid}/autogroup")
        assert not autogroup.exists() or autogroup.read_text().endswith(" nice 7\n")
    finally:
        stop(tmp_path)


def test_a_deaf_daemon_is_killed(tmp_path: Path) -> None:
    """A process that ignores SIGTERM is ended by SIGKILL after the grace, with its children; what it leaves behind goes, too."""
    deaf = "trap '' TERM; echo deaf; while true; do sleep 60; done"
    pid = start(tmp_path, spec("deaf", ["bash", "-c", deaf], tmp_path))["pids"]["deaf"]
    assert (
        await_ready(tmp_path, ["deaf"], [{"path": str(tmp_path / "deaf.log"), "contains": ["deaf"]}])["pending"] == []
    )
    left = tmp_path / f"left-{pid}"
    left.touch()
    assert stop(tmp_path, grace_s=0.3)["killed"] == ["deaf"]
    assert daemon_agent.start_time(pid) is None
    assert not left.exists()  # what it would have removed itself


def test_a_frozen_daemon_ends_like_any_other(tmp_path: Path) -> None:
    """SIGTERM waits for a stopped process; let go on, it ends by itself within the grace."""
    pid = start(tmp_path, spec("frozen", ["sleep", "60"], tmp_path))["pids"]["frozen"]
    os.kill(pid, signal.SIGSTOP)
    assert stop(tmp_path, grace_s=5)["killed"] == []
    assert daemon_agent.start_time(pid) is None


def test_a_recycled_pid_is_never_signalled(tmp_path: Path) -> None:
    """A pid file whose start time is another process' is only removed."""
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        (tmp_path / "run").mkdir()
        (tmp_path / "run/old.pid").write_text(f"{bystander.pid}\n1\n/no/log\n0\n")
        assert daemon_agent.states({"run_dir": str(tmp_path / "run")})["daemons"]["old"]["pid"] is None
        stop(tmp_path)
        assert bystander.poll() is None
        assert not (tmp_path / "run/old.pid").exists()
    finally:
        bystander.kill()
        bystander.wait()


def test_only_the_asked_tier_is_stopped(tmp_path: Path) -> None:
    """Tiers let dependants end before what they depend on."""
    start(tmp_path, spec("store", ["sleep", "60"], tmp_path), spec("front", ["sleep", "60"], tmp_path, tier=1))
    try:
        assert daemon_agent.tiers({"run_dir": str(tmp_path / "run")})["tiers"] == [0, 1]
        assert stop(tmp_path, tier=1)["stopped"] == ["front"]
        assert daemon_agent.states({"run_dir": str(tmp_path / "run")})["daemons"]["store"]["pid"] is not None
    finally:
        stop(tmp_path)


def test_a_running_daemon_is_not_started_twice(tmp_path: Path) -> None:
    """Starting a name that runs is an error, and what runs stays."""
    start(tmp_path, spec("once", ["sleep", "60"], tmp_path))
    try:
        assert start(tmp_path, spec("once", ["sleep", "60"], tmp_path)) == {"error": "already running: once"}
        assert daemon_agent.states({"run_dir": str(tmp_path / "run")})["daemons"]["once"]["pid"] is not None
    finally:
        stop(tmp_path)


def test_a_missing_program_is_an_error_not_a_daemon(tmp_path: Path) -> None:
    """A program that isn't there is named."""
    assert "no-such-program" in start(tmp_path, spec("none", ["no-such-program"], tmp_path))["error"]


def test_a_death_ends_the_wait_with_the_log(tmp_path: Path) -> None:
    """A daemon that died is told at once, with the end of its log."""
    start(tmp_path, spec("brief", ["bash", "-c", "echo all is lost; exit 3"], tmp_path))
    probe = {"path": str(tmp_path / "brief.log"), "contains": ["never written"]}
    while not (answer := await_ready(tmp_path, ["brief"], [probe]))["died"]:
        assert answer["pending"]
    assert answer["died"] == {"brief": "all is lost"}
    stop(tmp_path)


@pytest.mark.parametrize("words", ["No more memory at all: heap", "libc: Cannot allocate memory", "Killed"])
def test_lack_of_memory_is_seen_in_the_log(words: str, tmp_path: Path) -> None:
    """In the daemon's own words, and in those of the C library and of the shell that sees it killed."""
    start(tmp_path, spec("full", ["bash", "-c", f"echo {words}; sleep 60"], tmp_path))
    await_ready(tmp_path, ["full"], [{"path": str(tmp_path / "full.log"), "contains": [words]}])
    found = daemon_agent.states({"run_dir": str(tmp_path / "run")})["daemons"]["full"]
    stop(tmp_path)
    assert found["out_of_memory"]
    assert found["rss_peak_bytes"] > 0


def test_earlier_logs_stay_beside_the_new_one(tmp_path: Path) -> None:
    """What waits for a line of a process started again isn't met by an earlier one's; their lack of memory is still told."""
    for words in ("Killed", "second", "third"):
        start(tmp_path, spec("again", ["bash", "-c", f"echo {words}; sleep 60"], tmp_path))
        probe = {"path": str(tmp_path / "again.log"), "contains": [words]}
        while await_ready(tmp_path, ["again"], [probe])["pending"]:
            pass
        found = daemon_agent.states({"run_dir": str(tmp_path / "run")})["daemons"]["again"]
        stop(tmp_path)
    logs = {path.name: path.read_text() for path in tmp_path.glob("again.log*")}
    assert logs == {"again.log": "third\n", "again.log.1": "Killed\n", "again.log.2": "second\n"}
    assert found["out_of_memory"]


@pytest.mark.parametrize("contains", [[], ["SSH"]])
def test_a_port_is_met_when_it_listens_and_says_what_is_wanted(contains: list[str]) -> None:
    """A probe without words is met by a listening port; one with words isn't by a silent one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        probe = {
            "contains": contains,
            "url": "",
            "path": "",
            "address": "127.0.0.1",
            "port": server.getsockname()[1],
            "send": "",
        }
        note = daemon_agent.probe_note(probe)
    assert (note is None) == (not contains)
