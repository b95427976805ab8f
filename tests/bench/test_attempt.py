"""Attempts at a trial: each one that was cut off is in the trial's document, whatever cut it off."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bench.attempt import Attempt
from bench.results import Results
from provisioning.document import read_document
from provisioning.errors import HostUnreachable

TRIAL = "b01-1-kafka-l1-steady"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A campaign that has just begun."""
    campaign_file = tmp_path / "demo.toml"
    campaign_file.write_text("schema = 1\n")
    begun = Results(tmp_path / "demo")
    begun.begin({"schema": 1, "order": []}, {}, campaign_file)
    return begun


def attempt_at(results: Results, began_ns: int) -> Attempt:
    """An attempt whose every look at the clock is a nanosecond later."""
    ticks = count(began_ns)
    return Attempt(results, TRIAL, now_ns=lambda: next(ticks))


def cut_off(results: Results, began_ns: int, error: BaseException) -> None:
    """An attempt that ends in the load, and is cleaned up after."""
    attempt = attempt_at(results, began_ns)
    with pytest.raises(type(error)), attempt.noting_its_end():
        with attempt.step("reset"):
            pass
        try:
            with attempt.step("load"):
                raise error
        finally:
            with attempt.step("stop"):
                pass


def finished(results: Results) -> dict[str, Any]:
    """The trial's document after one more attempt, a good one."""
    attempt_at(results, 900).finish({"schema": 1})
    return read_document(results.trial_dir(TRIAL) / "trial.json")


def test_a_trial_that_ran_through_has_none(results: Results) -> None:
    """The usual case; nothing but the trial is left."""
    assert finished(results) == {"schema": 1, "cut_off_attempts": []}
    assert [path.name for path in (results.root / "trials").iterdir()] == [TRIAL]


def test_attempts_are_listed_with_what_cut_them_off(results: Results) -> None:
    """Ctrl-C, a host that went away, a fault of the kit; each at the step that it ended in, not at the cleaning up."""
    cut_off(results, 100, KeyboardInterrupt())
    cut_off(results, 200, HostUnreachable("broker-2", "no answer"))
    cut_off(results, 300, ZeroDivisionError("division by zero"))
    found = finished(results)["cut_off_attempts"]
    assert [(each["began_ns"], each["step"], each["step_began_ns"]) for each in found] == [
        (100, "load", 102),
        (200, "load", 202),
        (300, "load", 302),
    ]
    assert found[0]["reason"] == "interrupted by the operator"
    assert "broker-2" in found[1]["reason"]
    assert found[2]["reason"] == "ZeroDivisionError: division by zero"


def test_a_killed_attempt_is_listed_too(results: Results) -> None:
    """SIGKILL leaves no time for anything: what was noted before is what there is. Its files are gone, it isn't."""
    killed = attempt_at(results, 100)
    with killed.step("reset"):
        (killed.folder / "half").write_text("written")
    with killed.step("start"):
        assert [each["step"] for each in results.noted_attempts(TRIAL)] == ["start"]
        again = attempt_at(results, 200)
    assert list(again.folder.iterdir()) == []
    assert finished(results)["cut_off_attempts"] == [
        {"began_ns": 100, "step": "start", "step_began_ns": 102, "reason": None},
        {"began_ns": 200, "step": None, "step_began_ns": None, "reason": None},
    ]
