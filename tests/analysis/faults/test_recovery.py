"""When latency is back in its band, from slots of a tenth of a second."""

from __future__ import annotations

import math
from typing import Any

import pytest

from analysis.bounded import Bounded
from analysis.faults.occurrence import Window
from analysis.faults.recovery import recovery_of

BEGIN_NS = 10**18
SLOT_NS = 10**8


def slots(late: dict[int, int], seconds: int = 20, missing: dict[int, int] | None = None) -> list[dict[str, Any]]:
    """A hundred messages due in each slot; `late`: how many of them, the last 7 ms before the slot's end."""
    return [
        {
            "slot": slot,
            "due": 100,
            "late": late.get(slot, 0) + (missing or {}).get(slot, 0),
            "missing": (missing or {}).get(slot, 0),
            "last_late_ns": BEGIN_NS + (slot + 1) * SLOT_NS - 7_000_000 if late.get(slot) else None,
        }
        for slot in range(seconds * 10)
    ]


def back_s(late: dict[int, int], seconds: int = 20, missing: dict[int, int] | None = None) -> Bounded:
    """Of a window of so many seconds."""
    window = Window(0, BEGIN_NS, BEGIN_NS + seconds * 10**9, followed=False)
    return recovery_of(slots(late, seconds, missing), window, 5.0).back_s


OUTAGE = dict.fromkeys(range(13), 100)  # 1.3 s


def test_latency_is_back_with_the_last_late_message_of_the_outage() -> None:
    """To the nanosecond, wherever slots begin."""
    assert back_s(OUTAGE).value == 1.293


def test_five_seconds_are_needed_to_be_back() -> None:
    """What is bad again before they are over belongs to the same disturbance; what comes later doesn't."""
    assert back_s(OUTAGE | dict.fromkeys(range(60, 65), 100)).value == 6.493
    assert back_s(OUTAGE | dict.fromkeys(range(64, 70), 100)).value == 1.293


@pytest.mark.parametrize(("late", "value"), [(10, 1.293), (11, 3.093)])
def test_one_in_a_hundred_of_a_second_may_be_late(late: int, value: float) -> None:
    """A p99 by nearest rank: ten of a thousand lie beyond it."""
    assert back_s(OUTAGE | {30: late}).value == value


def test_what_never_left_the_band_was_back_at_once() -> None:
    """All that is known is that it took less than a slot."""
    assert back_s({}) == Bounded(None, 0.0, 0.1)


def test_a_later_start_before_which_nothing_was_late_is_back_at_once() -> None:
    """Ten late ones of a second are too many from the first slot on, and fit two seconds that begin in its middle."""
    assert back_s(dict.fromkeys(range(30, 40), 2)) == Bounded(None, 0.0, 0.1)


def test_what_is_not_back_when_the_window_ends_took_longer_than_was_seen() -> None:
    """Five seconds before its end is the last instant that could be told."""
    found = back_s(dict.fromkeys(range(200), 100))
    assert (found.value, found.high) == (None, math.inf)
    assert found.low == pytest.approx(15.0)


def test_a_window_shorter_than_five_seconds_tells_nothing() -> None:
    """Not even that it was never left."""
    assert back_s({}, seconds=4) == Bounded(None, 0.0, math.inf)


def test_of_what_was_never_received_only_the_slot_is_known() -> None:
    """The end of the slot stands for it."""
    assert back_s(OUTAGE, missing={12: 50}).value == 1.3


def test_seconds_out_of_the_band_are_counted_to_the_end() -> None:
    """Also those after it was back, by whole seconds from the fault."""
    window = Window(0, BEGIN_NS, BEGIN_NS + 20 * 10**9, followed=False)
    found = recovery_of(slots(OUTAGE | dict.fromkeys(range(120, 125), 100)), window, 5.0)
    assert (found.out_of_band_s, found.seconds) == (3, 20)
