"""Waiting until a limit."""

from __future__ import annotations

from provisioning.hosts.looks import looks


class Clock:
    """A clock that moves only when somebody sleeps or is held up."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Moves it on."""
        self.slept_s.append(seconds)
        self.now_s += seconds


def test_the_last_look_begins_at_the_limit() -> None:
    """Never beyond it by a pause, and never before it."""
    clock = Clock()
    seen_s = [clock.now_s for _ in looks(10.0, every_s=4.0, now_s=clock, sleep=clock.sleep)]
    assert seen_s == [100.0, 104.0, 108.0, 110.0]


def test_who_is_held_up_between_a_look_and_the_clock_looks_once_more() -> None:
    """What came true while the machine was busy with others isn't called late."""
    clock, came_true = Clock(), False
    for _ in looks(1.0, now_s=clock, sleep=clock.sleep):
        if came_true:
            break
        clock.now_s, came_true = 200.0, True
    else:
        raise AssertionError("called late")


def test_a_limit_of_nothing_is_one_look() -> None:
    """Also a limit below it."""
    for limit_s in (0.0, -5.0):
        assert len(list(looks(limit_s))) == 1
