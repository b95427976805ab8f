"""Progress: steps are counted, time left follows the estimates and the pace."""

from __future__ import annotations

import pytest

from bench.progress import Ledger, PlainReporter, Step, clock_text


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_time_left_is_stretched_by_the_pace() -> None:
    """Steps that took twice their estimate make the rest be expected to do so too."""
    clock = Clock()
    ledger = Ledger([Step("a", 20), Step("b", 20), Step("c", 10)], now_s=clock)
    ledger.advance("a")
    assert ledger.left_s() == pytest.approx(50)
    clock.now_s = 40
    ledger.advance("b")
    assert ledger.left_s() == pytest.approx(60)
    clock.now_s = 60
    assert ledger.left_s() == pytest.approx(40)
    assert ledger.share() == pytest.approx(0.6)


def test_skipped_steps_leave_the_plan() -> None:
    """Steps of an aborted trial are not waited for."""
    ledger = Ledger([Step("a", 1), Step("b", 5), Step("c", 5), Step("d", 7)], now_s=Clock())
    ledger.advance("a")
    ledger.skip(2)
    assert [step.title for step in ledger.steps] == ["a", "d"]


def test_plain_lines_count_the_steps() -> None:
    """Each step is one line with its number, the total and the time left."""
    lines: list[str] = []
    reporter = PlainReporter(lines.append)
    reporter.plan([Step("reset", 60), Step("start", 30)])
    reporter.step("reset")
    reporter.detail("not shown")
    reporter.step("start")
    assert [line[:12] for line in lines] == ["[1/2] reset ", "[2/2] start "]
    assert "about 1:30 left" in lines[0]


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (125, "2:05"), (3725, "1:02:05")])
def test_clock_text(seconds: float, text: str) -> None:
    """Times read as a clock shows them."""
    assert clock_text(seconds) == text
