"""How a detached campaign stands, told from what lies on its host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.orchestrator import state_agent
from bench.orchestrator.launch import require_free
from bench.orchestrator.state import AGENT, Phase, State, read_state, state_of
from provisioning.errors import MissingRequirement
from provisioning.hosts import daemons
from provisioning.hosts.agents import command
from provisioning.hosts.host import ScriptedHost
from tests.orchestrator.folder_host import record

CLAIM = {"campaign": "demo", "operator": "anna@laptop", "since": "2026-01-02T03:04:05Z"}
PROGRESS = {
    "step": 3,
    "of": 9,
    "title": "b01: load",
    "detail": "4 s left",
    "left_s": 61.0,
    "at": "2026-01-02T03:05:05Z",
}


def answer(**changed: Any) -> dict[str, Any]:
    """The state agent's answer about a campaign that is under way."""
    return {"claim": CLAIM, "progress": PROGRESS, "outcome": None, "log": "one\ntwo\n", "log_end": 8, **changed}


def process(pid: int | None) -> dict[str, Any]:
    """The daemon agent's answer."""
    return {"campaign": {"pid": pid, "rss_peak_bytes": None, "out_of_memory": False}}


@pytest.mark.parametrize(
    ("started", "outcome", "phase"),
    [
        ({}, None, "claimed"),
        (process(7), None, "running"),
        (process(7), {"error": "", "next_step": ""}, "running"),  # its last moment
        (process(None), {"error": "", "next_step": ""}, "finished"),
        (process(None), {"error": "broker-1: gone", "next_step": "look"}, "failed"),
        (process(None), None, "died"),
    ],
)
def test_phases(started: dict[str, Any], outcome: dict[str, str] | None, phase: Phase) -> None:
    """Process and outcome together tell how it stands."""
    assert state_of(started, answer(outcome=outcome)).phase == phase


def test_nobody_there() -> None:
    """No folder, no campaign, no lines."""
    free = state_of({}, {"claim": None})
    assert (free.phase, free.lines(), free.to_json()) == ("free", [], None)
    require_free(free, "")


def test_the_lines_say_who_how_far_and_the_logs_end() -> None:
    """What an operator on another machine wants to know."""
    first, second, *log = state_of(process(7), answer()).lines()
    assert first == "campaign demo, started by anna@laptop at 2026-01-02T03:04:05Z: is running detached"
    assert second == "  step 3 of 9: b01: load, about 1:01 left (at 2026-01-02T03:05:05Z)"
    assert log == ["  | one", "  | two"]


def test_one_at_a_time() -> None:
    """The refusal says whose it is, since when, and both ways on."""
    with pytest.raises(
        MissingRequirement, match=r"demo, started by anna@laptop at 2026-01-02.*is running detached"
    ) as caught:
        require_free(state_of(process(7), answer()), " --stack sn2022")
    assert "samebox resume results/demo --stack sn2022" in caught.value.next_step
    assert "samebox abandon --stack sn2022" in caught.value.next_step


def test_a_claim_cut_off_is_a_claim() -> None:
    """Whoever was cut off between the folder and its claim has the testbed nevertheless."""
    state = state_of({}, answer(claim={}, progress=None))
    assert state.phase == "claimed"
    assert "unknown" in state.lines()[0]


def test_reads_by_two_programs_and_no_other_command() -> None:
    """The process is looked at before the outcome: one that ends in between is running, and never dead."""
    host = ScriptedHost(record("client-1", "client", "/box"))
    look = command({"verb": "states", "run_dir": "/box/orchestrator/run"})
    read = command({"verb": "state", "folder": "/box/orchestrator", "log_from": 5})
    host.answers = {look: json.dumps({"daemons": process(7)}), read: json.dumps(answer())}
    assert read_state(host, log_from=5).phase == "running"
    assert host.asked == [look, read]
    assert AGENT != daemons.AGENT


def test_only_one_gets_the_folder(tmp_path: Path) -> None:
    """A second claim changes nothing of the first."""
    request = {"folder": str(tmp_path / "box" / "orchestrator"), "claim": CLAIM}
    assert state_agent.claim(request) == {"claimed": True}
    assert state_agent.claim({**request, "claim": {}}) == {"claimed": False}
    assert state_agent.state({**request, "log_from": None})["claim"] == CLAIM


def test_the_log_comes_in_whole_lines(tmp_path: Path) -> None:
    """Half a line waits for its end; nothing is told twice."""
    log = tmp_path / "log"
    log.write_text("one\ntw")
    first = state_agent.state({"folder": str(tmp_path), "log_from": 0})
    assert (first["log"], first["log_end"]) == ("one\n", 4)
    log.write_text("one\ntwo\n")
    then = state_agent.state({"folder": str(tmp_path), "log_from": first["log_end"]})
    assert (then["log"], then["log_end"]) == ("two\n", 8)
    assert state_agent.state({"folder": str(tmp_path), "log_from": 8})["log"] == ""


def test_status_as_json() -> None:
    """For machines: phase, campaign, steps."""
    assert state_of(process(7), answer()).to_json() == {
        "phase": "running",
        "campaign": "demo",
        "since": CLAIM["since"],
        "progress": {"step": 3, "of": 9, "left_s": 61.0},
    }
    assert State("free").to_json() is None
