"""Attempts at a trial: each one that was cut off is in the trial's document, whatever cut it off."""

from __future__ import annotations

import errno
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bench.results.folder import Results
from bench.run.attempt import TrialAttempt
from provisioning.document import read_document
from provisioning.errors import HostUnreachable, SameboxError

TRIAL = "b01-1-kafka-l1-steady"
ABORT = {"rule": "host-lost", "axis": "validity", "reason": "cut off", "host": "broker-2"}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A campaign that has just begun."""
    campaign_file = tmp_path / "demo.toml"
    campaign_file.write_text("schema = 1\n")
    begun = Results(tmp_path / "demo")
    begun.begin({"schema": 1, "order": []}, {}, campaign_file)
    return begun


def attempt_at(results: Results, began_ns: int) -> TrialAttempt:
    """An attempt whose every look at the clock is a nanosecond later."""
    ticks = count(began_ns)
    return TrialAttempt(results, TRIAL, now_ns=lambda: next(ticks))


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
    """Ctrl-C or a fault of the kit, at the step that it came in, not at the cleaning up."""
    cut_off(results, 100, KeyboardInterrupt())
    cut_off(results, 300, ZeroDivisionError("division by zero"))
    found = finished(results)["cut_off_attempts"]
    assert [(each["began_ns"], each["step"], each["step_began_ns"], each["load_began_ns"]) for each in found] == [
        (100, "load", 102, 102),
        (300, "load", 302, 302),
    ]
    assert [each["reason"] for each in found] == [
        "interrupted by Ctrl-C or a signal",
        "ZeroDivisionError: division by zero",
    ]
    assert [each["abort"] for each in found] == [None, None]


def test_a_host_that_stays_away_leaves_what_the_trial_came_to(results: Results) -> None:
    """A step that fails ends the trial early and not the attempt; that one ends when the host is looked after in vain."""
    attempt = attempt_at(results, 100)
    with pytest.raises(HostUnreachable), attempt.noting_its_end():
        with suppress(SameboxError), attempt.step("load"):
            raise HostUnreachable("broker-2", "cut off")
        with attempt.step("stop"):
            pass
        attempt.ended_early(ABORT)
        raise HostUnreachable("broker-2", "no answer")
    [found] = finished(results)["cut_off_attempts"]
    assert (found["step"], found["load_began_ns"], found["abort"]) == ("stop", 101, ABORT)
    assert "broker-2" in found["reason"]


def test_a_note_that_cannot_be_written_stops_nothing(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step runs, and what was raised in it is what comes out."""
    attempt, ran = attempt_at(results, 100), []

    def full(_path: Path, _document: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bench.results.folder.write_json", full)
    with pytest.raises(KeyboardInterrupt), attempt.noting_its_end(), attempt.step("stop"):
        ran.append("stop")
        raise KeyboardInterrupt
    assert ran == ["stop"]


def test_a_killed_attempt_is_listed_too(results: Results) -> None:
    """SIGKILL leaves no time for anything: what was noted before is what there is. Its files are gone, it isn't."""
    killed = attempt_at(results, 100)
    with killed.step("reset"):
        (killed.folder / "half").write_text("written")
    with killed.step("start"):
        assert [each["step"] for each in results.noted_attempts(TRIAL)] == ["start"]
        again = attempt_at(results, 200)
    assert list(again.folder.iterdir()) == []
    found = finished(results)["cut_off_attempts"]
    assert [(each["began_ns"], each["step"], each["load_began_ns"], each["reason"]) for each in found] == [
        (100, "start", None, None),
        (200, None, None, None),
    ]
