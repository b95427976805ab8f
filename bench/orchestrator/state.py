"""The state of a detached campaign, as its host reports it: unclaimed, being set up, running, finished, failed or died."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from bench.orchestrator.place import PROCESS, place_on
from bench.progress import clock_text
from provisioning.hosts import daemons
from provisioning.hosts.agents import ask
from provisioning.hosts.host import Host

AGENT = Path(__file__).with_name("state_agent.py").read_bytes()

# claimed: the folder is there and nothing has been started; died: it was started, has ended, and left no outcome
Phase = Literal["free", "claimed", "running", "finished", "failed", "died"]


@dataclass(frozen=True)
class Claim:
    """Whose campaign has the testbed."""

    campaign: str
    operator: str
    since: str

    def sentence(self) -> str:
        return f"campaign {self.campaign}, started by {self.operator} at {self.since}"


@dataclass(frozen=True)
class Progress:
    """Step n of m and the seconds left by the estimates, as of `at`."""

    step: int
    of: int
    title: str
    detail: str
    left_s: float
    at: str

    def sentence(self) -> str:
        return f"step {self.step} of {self.of}: {self.title}, about {clock_text(self.left_s)} left (at {self.at})"


@dataclass(frozen=True)
class State:
    """What the host reports. `error` and `next_step` are a failed campaign's; `log` is the log's end, or what was asked for of it."""

    phase: Phase
    claim: Claim | None = None
    progress: Progress | None = None
    error: str = ""
    next_step: str = ""
    log: str = ""
    log_end: int = 0

    def lines(self) -> list[str]:
        """For `samebox status`: its state, how far it is, the log's last lines."""
        if self.claim is None:
            return []
        standing = {
            "claimed": "is being set up, or its setup was interrupted",
            "running": "is running detached",
            "finished": "has finished; its records are ready to be fetched",
            "failed": f"has failed: {self.error}",
            "died": "has died without an error: killed, out of memory, or its host was restarted",
        }[self.phase]
        said = [f"{self.claim.sentence()}: {standing}"]
        if self.progress is not None and self.phase != "finished":
            said.append(f"  {self.progress.sentence()}")
        return [*said, *(f"  | {line}" for line in self.log.splitlines()[-3:])]

    def to_json(self) -> dict[str, Any] | None:
        """For `samebox status --json`."""
        if self.claim is None:
            return None
        progress = self.progress and {
            "step": self.progress.step,
            "of": self.progress.of,
            "left_s": self.progress.left_s,
        }
        return {"phase": self.phase, "campaign": self.claim.campaign, "since": self.claim.since, "progress": progress}


def read_state(host: Host, *, log_from: int | None = None) -> State:
    """The state on the orchestrator's host; `log_from` = a byte of the log, None = its last lines."""
    place = place_on(host.record)
    # the process before its outcome: one that ends in between is reported as running, and as ended the next time
    started = ask(host, daemons.AGENT, {"verb": "states", "run_dir": place.run_dir})["daemons"]
    answer = ask(host, AGENT, {"verb": "state", "folder": place.folder, "log_from": log_from})
    return state_of(started, answer)


def state_of(started: Mapping[str, Mapping[str, Any]], answer: Mapping[str, Any]) -> State:
    """The state by the two agents' answers."""
    if answer["claim"] is None:
        return State("free")
    unknown = {"campaign": "unknown", "operator": "unknown", "since": "unknown"}
    outcome = answer["outcome"] or {}
    return State(
        _phase(started, outcome),
        Claim(**{**unknown, **answer["claim"]}),
        Progress(**answer["progress"]) if answer["progress"] else None,
        outcome.get("error", ""),
        outcome.get("next_step", ""),
        answer["log"],
        answer["log_end"],
    )


def _phase(started: Mapping[str, Mapping[str, Any]], outcome: Mapping[str, Any]) -> Phase:
    if PROCESS not in started:
        return "claimed"
    if started[PROCESS]["pid"] is not None:
        return "running"
    if not outcome:
        return "died"
    return "failed" if outcome.get("error") else "finished"


def now_text() -> str:
    """The time as claims and progress have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
