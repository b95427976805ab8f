"""When latency was back in the trial's own band, and how long it was out of it: from slots of 100 ms.

Back: the first slot from which each of SUSTAINED_S seconds is in the band. The instant is that of the last message before it that was
later than the band's limit, so it doesn't depend on where slots begin; of what was never received only its slot is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.bounded import Bounded, exactly
from analysis.faults.latency import SLOT_NS, SLOTS_OF_SECOND
from analysis.faults.occurrence import Window
from analysis.records.counting import NANOSECONDS

SUSTAINED_S = 5
_LATE_IN = 100  # of a second in the band one message in so many may be later than the limit
_AT_ONCE = Bounded(None, 0.0, SLOT_NS / NANOSECONDS)


@dataclass(frozen=True)
class Recovery:
    """Of one latency after one fault. `back_s`: from the fault's beginning. `out_of_band_s`: seconds of the window, counted from its
    beginning, whose p99 was above the limit; of an incomplete one at the end nothing is said. `seconds`: how many there are.
    """

    limit_ms: float
    back_s: Bounded
    out_of_band_s: int
    seconds: int


def recovery_of(slots: Sequence[Mapping[str, Any]], window: Window, limit_ms: float) -> Recovery:
    """From the slots of one metric and subscription in the window; each `late` is known."""
    count = (window.end_ns - window.begin_ns) // SLOT_NS
    due, late = [0] * count, [0] * count
    for slot in slots:
        if slot["slot"] < count:
            due[slot["slot"]], late[slot["slot"]] = slot["due"], slot["late"]
    in_band = [_in_band(due, late, at) for at in range(max(0, count - SLOTS_OF_SECOND + 1))]
    whole = in_band[::SLOTS_OF_SECOND]
    return Recovery(limit_ms, _back(slots, in_band, window), whole.count(False), len(whole))


def _in_band(due: Sequence[int], late: Sequence[int], at: int) -> bool:
    second = slice(at, at + SLOTS_OF_SECOND)
    return sum(late[second]) * _LATE_IN <= sum(due[second])


def _back(slots: Sequence[Mapping[str, Any]], in_band: Sequence[bool], window: Window) -> Bounded:
    """Exact, or less than a slot where the band was never left, or more than what was seen."""
    needed = range(0, SUSTAINED_S * SLOTS_OF_SECOND, SLOTS_OF_SECOND)
    starts = range(len(in_band) - needed[-1])
    first = next((at for at in starts if all(in_band[at + later] for later in needed)), None)
    if first is None:
        return Bounded(None, max(0, len(starts) - 1) * SLOT_NS / NANOSECONDS, math.inf)
    row = max(
        (slot for slot in slots if slot["late"] and slot["slot"] < first), key=lambda slot: slot["slot"], default=None
    )
    if row is None:  # nothing was late before
        return _AT_ONCE
    end_ns = window.begin_ns + (row["slot"] + 1) * SLOT_NS
    back_ns = end_ns if row["missing"] or row["last_late_ns"] is None else row["last_late_ns"]
    return exactly((back_ns - window.begin_ns) / NANOSECONDS)
