"""What a worker has used of its machine: of the measured phase alone, whatever it did before and after."""

from __future__ import annotations

from typing import ClassVar

import pytest

from bench.worker.clock import Clock
from bench.worker.schedule import SECOND_NS, Phase
from bench.worker.usage import Usage

START_NS = 1_000 * SECOND_NS
MEASURED = Phase("measure", START_NS + 5 * SECOND_NS, START_NS + 15 * SECOND_NS)


class Hands(Clock):
    """A clock that shows what the test says."""

    shown_ns: ClassVar[int] = START_NS

    def now_ns(self) -> int:
        return self.shown_ns


def usage_after(*stretches: tuple[float, float, float]) -> Usage:
    """Noted every half second; stretches: how many seconds, and user and system time in each of them."""
    Hands.shown_ns = START_NS
    user_s = system_s = 0.0
    usage = Usage(Hands(0), START_NS, lambda: (user_s, system_s))
    for seconds, user, system in stretches:
        for _ in range(round(seconds * 2)):
            Hands.shown_ns += SECOND_NS // 2
            user_s, system_s = user_s + user / 2, system_s + system / 2
            usage.note()
    return usage


def test_the_measured_phase_has_its_own_cpu_time() -> None:
    """A warm-up and a drain that did nothing don't thin out a measure phase at full load."""
    spent = usage_after((5, 0.0, 0.0), (10, 0.75, 0.25), (25, 0.0, 0.0)).spent(MEASURED)
    assert spent["measured"] == pytest.approx({"seconds": 10.0, "cpu_user_s": 7.5, "cpu_system_s": 2.5})
    assert (spent["cpu_s"], spent["wall_s"]) == pytest.approx((10.0, 40.0))


def test_a_phase_that_was_cut_short_counts_as_far_as_it_went() -> None:
    """Seconds and CPU time up to the last note; nothing where it was never reached."""
    spent = usage_after((5, 0.0, 0.0), (4, 0.5, 0.0)).spent(MEASURED)
    assert spent["measured"] == pytest.approx({"seconds": 4.0, "cpu_user_s": 2.0, "cpu_system_s": 0.0})
    assert usage_after((4, 1.0, 0.0)).spent(MEASURED)["measured"] is None


def test_a_phase_that_begins_between_two_notes_is_read_off_between_them() -> None:
    """Half a second at 0.8 of a core, of which the phase has a fifth."""
    late = Phase("measure", START_NS + round(0.9 * SECOND_NS), START_NS + 2 * SECOND_NS)
    spent = usage_after((1, 0.8, 0.0), (1, 0.0, 0.0)).spent(late)
    assert spent["measured"] == pytest.approx({"seconds": 1.1, "cpu_user_s": 0.08, "cpu_system_s": 0.0})
