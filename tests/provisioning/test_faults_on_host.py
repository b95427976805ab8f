"""What does faults on a host, as a process of its own: on real daemons, whose state the kernel tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioning.hosts import daemon_agent

CHECKOUT = Path(__file__).parents[2]
LONG_S = 60.0


class Agent:
    """A fault under way: its events, and its standard input, which keeps it in effect."""

    def __init__(self, request: dict[str, Any]) -> None:
        argv = [sys.executable, "-m", "provisioning.faults.on_host", json.dumps(request)]
        self.process = subprocess.Popen(argv, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_raised: object) -> None:
        with self.process:
            self.process.kill()

    def event(self) -> dict[str, Any]:
        """The next one; {} when it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return dict(json.loads(line)) if line else {}

    def let_go(self) -> None:
        """What the end of its connection does."""
        assert self.process.stdin is not None
        self.process.stdin.close()


def daemons(**request: Any) -> None:
    """Has the daemons' agent do something, in a process of its own as on hosts."""
    subprocess.run([sys.executable, daemon_agent.__file__, json.dumps(request)], check=True, capture_output=True)


@pytest.fixture
def run_dir(tmp_path: Path) -> Iterator[Path]:
    """A host's run folder with one daemon, which sleeps."""
    spec = {
        "name": "broker", "argv": ["sleep", "600"], "log_path": str(tmp_path / "log"), "env": {}, "tier": 0, "niceness": 0,
        "out_of_memory": "", "leaves": [str(tmp_path / "left-by-{pid}")],
    }  # fmt: skip
    folder = tmp_path / "run"
    daemons(verb="start", run_dir=str(folder), daemons=[spec])
    yield folder
    daemons(verb="stop", run_dir=str(folder), names=None, tier=None, grace_s=0.0, kill_wait_s=10.0)


def state(run_dir: Path) -> str:
    """The daemon's, as the kernel says it; "" = it is gone."""
    pid = int((run_dir / "broker.pid").read_text().splitlines()[0])
    if daemon_agent.start_time(pid) is None:
        return ""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def goes_on(run_dir: Path) -> bool:
    """Whether the daemon lives and isn't stopped; whether it sleeps or runs just now is the kernel's."""
    return state(run_dir) not in ("T", "")


def fault(
    run_dir: Path, do: str, *, in_s: float = 0.0, for_s: float | None = None, names: tuple[str, ...] = ("broker",)
) -> Agent:
    at_ns = time.time_ns() + round(in_s * 1e9)
    return Agent({"verb": "do", "run_dir": str(run_dir), "do": do, "at_ns": at_ns, "for_s": for_s, "names": names})


def marks(run_dir: Path) -> list[Path]:
    return list((run_dir / "faults").glob("*.json"))


def heal(run_dir: Path) -> Any:
    with Agent({"verb": "heal", "run_dir": str(run_dir)}) as agent:
        return agent.event()


def test_a_freeze_lasts_as_long_as_it_was_asked_to(run_dir: Path) -> None:
    """Between its two events the process stands still, by the kernel's word and for the time asked for; then it goes on."""
    with fault(run_dir, "freeze", for_s=0.4) as agent:
        assert agent.event() == {"event": "armed"}
        began = agent.event()
        assert (began["event"], list(began["processes"]), state(run_dir)) == ("began", ["broker"], "T")
        assert len(marks(run_dir)) == 1
        ended = agent.event()
        assert ended["seen"] == "stopped to the end"
        assert ended["ended_ns"] - began["began_ns"] >= 0.4e9
        assert agent.event() == {}
        assert (goes_on(run_dir), marks(run_dir)) == (True, [])


def test_who_asked_is_gone_and_the_fault_with_it(run_dir: Path) -> None:
    """The end of the connection undoes a fault that was to last."""
    with fault(run_dir, "freeze", for_s=LONG_S) as agent:
        assert [agent.event()["event"] for _ in range(2)] == ["armed", "began"]
        agent.let_go()
        assert agent.event()["event"] == "ended"
        assert goes_on(run_dir)


def test_nothing_is_done_once_who_asked_is_gone(run_dir: Path) -> None:
    """A fault that waits for its instant isn't done when the connection ends before it."""
    with fault(run_dir, "kill", in_s=LONG_S) as agent:
        assert agent.event() == {"event": "armed"}
        agent.let_go()
        assert agent.event() == {}
        assert (goes_on(run_dir), marks(run_dir)) == (True, [])


def test_a_killed_process_is_gone_with_what_it_left(run_dir: Path) -> None:
    """When a kill has begun, the kernel knows the process no more, and the files that it can't remove are removed."""
    pid = int((run_dir / "broker.pid").read_text().splitlines()[0])
    left = run_dir.parent / f"left-by-{pid}"
    left.touch()
    with fault(run_dir, "kill") as agent:
        assert agent.event() == {"event": "armed"}
        assert agent.event()["processes"] == {"broker": pid}
        assert (state(run_dir), left.exists()) == ("", False)


def test_what_does_not_run_cannot_be_hit(run_dir: Path) -> None:
    """A daemon that isn't there is named, and nothing is done to the others."""
    with fault(run_dir, "freeze", for_s=1.0, names=("broker", "bookie")) as agent:
        assert agent.event() == {"event": "failed", "why": "not running: bookie"}
        assert goes_on(run_dir)


def test_a_freeze_that_somebody_lifted_is_no_freeze(run_dir: Path) -> None:
    """A process that goes on before the end wasn't frozen for as long as it says."""
    with fault(run_dir, "freeze", for_s=LONG_S) as agent:
        assert [agent.event()["event"] for _ in range(2)] == ["armed", "began"]
        os.kill(int((run_dir / "broker.pid").read_text().splitlines()[0]), signal.SIGCONT)
        while state(run_dir) == "T":
            time.sleep(0.01)
        agent.let_go()
        assert agent.event() == {"event": "failed", "why": "it couldn't be undone: not frozen to the end: broker"}


def test_healing_lets_go_on_what_a_killed_agent_froze(run_dir: Path) -> None:
    """Killed itself, it can undo nothing: what it noted before is enough for another process to do so."""
    with fault(run_dir, "freeze", for_s=LONG_S) as agent:
        assert [agent.event()["event"] for _ in range(2)] == ["armed", "began"]
        agent.process.kill()
        agent.process.wait()
        assert state(run_dir) == "T"
        assert heal(run_dir) == {"healed": ["freeze"]}
        assert (goes_on(run_dir), marks(run_dir)) == (True, [])


def test_healing_ends_what_is_still_to_come(run_dir: Path) -> None:
    """A fault that waits for its instant never does anything once the host is healed."""
    with fault(run_dir, "kill", in_s=LONG_S) as agent:
        assert agent.event() == {"event": "armed"}
        assert heal(run_dir) == {"healed": ["kill"]}
        assert agent.process.wait(timeout=30) != 0
        assert goes_on(run_dir)
