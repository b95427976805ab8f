"""How often does latency seem disturbed by a fault that did nothing? The rule of the band, on seconds that scatter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.faults.latency import QUARTER, SLOTS_OF_SECOND
from analysis.faults.occurrence import Window
from analysis.faults.recovery import SUSTAINED_S, recovery_of
from analysis.records.counting import NANOSECONDS
from analysis.records.seconds import BUCKETS_PER_E
from tests.statistics.tables import per_cent, show

SEED, AFTER_S = 41, 30
BEFORE_S = (10, 20, 60)
MOST = {10: 0.2, 20: 0.15, 60: 0.08}  # of trials that nothing was done to
Floats = NDArray[np.float64]
Scatter = Callable[[Any, tuple[int, int]], Floats]


def _even(random: Any, shape: tuple[int, int]) -> Floats:
    return np.asarray(np.exp(0.15 * random.standard_normal(shape)))


def _with_stalls(share: float) -> Scatter:
    def scattered(random: Any, shape: tuple[int, int]) -> Floats:
        return np.where(random.random(shape) < share, 8.0, 1.0) * _even(random, shape)

    return scattered


def _wide(random: Any, shape: tuple[int, int]) -> Floats:
    return np.asarray(np.exp(0.4 * random.standard_normal(shape)))


SECONDS: Mapping[str, Scatter] = {
    "p99 of seconds scatters by 15 %": _even,
    "and is 8 times as high in one of 50": _with_stalls(0.02),
    "and is 8 times as high in one of 20": _with_stalls(0.05),
    "p99 of seconds scatters by 40 %": _wide,
}


def _back_s(out_of_band: NDArray[np.bool_]) -> float:
    """By the rule, of one trial, whose seconds are in the band or not."""
    slots = [
        {"slot": slot, "due": 100, "late": 2 * int(out_of_band[slot // SLOTS_OF_SECOND]), "missing": 0,
         "last_late_ns": (slot + 1) * NANOSECONDS // SLOTS_OF_SECOND - 1}
        for slot in range(AFTER_S * SLOTS_OF_SECOND)
    ]  # fmt: skip
    found = recovery_of(slots, Window(0, 0, AFTER_S * NANOSECONDS, followed=False), 1.0)
    return found.back_s.low


def test_an_undisturbed_system_seldom_seems_disturbed(size: Any) -> None:
    """More seconds before the fault help; so does a system whose worst seconds are no rarity."""
    rows, wrong = [], []
    for name, scatter in SECONDS.items():
        for before_s in BEFORE_S:
            random = np.random.default_rng(SEED + before_s)
            before, after = (scatter(random, (size.campaigns, seconds)) for seconds in (before_s, AFTER_S))
            limits = before.max(axis=1) * np.exp(QUARTER / BUCKETS_PER_E)
            out = after > limits[:, None]
            # five seconds without any are back at once, whatever comes later
            back_s = np.array([_back_s(each) if each[:SUSTAINED_S].any() else 0.0 for each in out])
            disturbed, long = float(np.mean(back_s > 0)), float(np.mean(back_s > SUSTAINED_S))
            rows.append([name, str(before_s), per_cent(disturbed), per_cent(long), f"{out.sum(axis=1).mean():.2f}"])
            if disturbed > MOST[before_s]:
                wrong.append((name, before_s, disturbed))
    show(
        f"Of {size.campaigns} trials to which nothing was done, how many seem disturbed",
        ["seconds", "before", "seem disturbed", "for over 5 s", "of 30 s out of the band"],
        rows,
    )
    assert not wrong
