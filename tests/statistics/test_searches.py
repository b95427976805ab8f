"""Throughput searches: does the interval of the ratio hold the truth as often as printed, and are equals called different?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from analysis.certainty.interval import Interval, NoiseBand, attained_level, exact_interval, p_value
from analysis.certainty.verdict import FALSE_SHARE, is_shown
from tests.statistics.rules import Flags, standard_error
from tests.statistics.searches import BENCHES, BLOCKS, RATIOS, Bench, drawn, searches
from tests.statistics.tables import per_cent, show
from tests.statistics.worlds import Floats

SEED = 4
CAMPAIGNS, SEARCHES = 400, 300  # of each kind, and of each system: campaigns are drawn from them


@dataclass(frozen=True)
class Campaigns:
    """What the reports of many campaigns say. `lows`, `highs`: the interval; `shown`: whether a difference is; `medians`: of rates."""

    medians: Floats
    lows: Floats
    highs: Floats
    shown: Flags

    def holds(self, truth: float) -> float:
        """In which share of them the interval holds the true ratio."""
        return float(np.mean((self.lows <= truth) & (truth <= self.highs)))

    @property
    def shown_share(self) -> float:
        """In which share of them a difference is shown."""
        return float(np.mean(self.shown))


def reported(first: Floats, second: Floats, aa_first: Floats, aa_second: Floats) -> Campaigns:
    """By the rules of a report of this one metric, from brackets: (campaigns, BLOCKS, 2) each."""
    found = []
    for (lows, highs), (aa_lows, aa_highs) in zip(_ratios(first, second), _ratios(aa_first, aa_second), strict=True):
        interval, own = exact_interval(lows, highs), exact_interval(aa_lows, aa_highs)
        assert interval is not None
        assert own is not None
        found.append((interval.low, interval.high, is_shown(interval, p_value(lows, highs), _band(own))))
    ends = np.array([(low, high) for low, high, _ in found])
    medians = np.median(first[:, :, 0] / second[:, :, 0], axis=1)
    return Campaigns(medians, ends[:, 0], ends[:, 1], np.array([shown for _, _, shown in found]))


def _ratios(first: Floats, second: Floats) -> Floats:
    """The bounds of the blocks' ratios: (campaigns, 2, BLOCKS)."""
    return np.stack([first[:, :, 0] / second[:, :, 1], first[:, :, 1] / second[:, :, 0]], axis=1)


def _band(own: Interval) -> NoiseBand:
    widest = max(own.high, 1 / own.low if own.low > 0 else math.inf)
    return NoiseBand(1 / widest, widest, own.attained, BLOCKS)


def _exactly(brackets: Floats) -> Floats:
    """Taken for rates that are known exactly: the lower ends alone."""
    return np.repeat(brackets[:, :, :1], 2, axis=2)


def _simulated(
    bench: Bench, ratio: float, trials: int, campaigns: int, *, dithered: bool
) -> tuple[Campaigns, Campaigns]:
    """Campaigns of two systems, of which the second takes the A/A blocks: with brackets, and by the confirmed rates alone."""
    name = f"{SEED} {bench} {ratio} {dithered}"
    chance = np.random.default_rng([SEED, BENCHES.index(bench), RATIOS.index(ratio), dithered])
    first = searches(bench, ratio, trials, seed=f"{name} first", dithered=dithered)
    second = searches(bench, 1.0, trials, seed=f"{name} second", dithered=dithered)
    sides = [drawn(chance, each, campaigns) for each in (first, second, second, second)]
    return reported(*sides), reported(*map(_exactly, sides))


def test_the_interval_of_searches_holds_the_truth_and_equals_are_not_called_different(size: Any) -> None:
    """At least as often as printed, less three standard errors; at most 5 % of equals are called different, and nothing is called the
    wrong way round.

    It holds more than is printed: the true ratio may lie anywhere between the bounds.
    """
    campaigns = min(size.campaigns, CAMPAIGNS)
    level = attained_level(BLOCKS)
    rows, wrong = [], []
    for bench in _benches(size):
        for ratio in RATIOS:
            found, alone = _simulated(bench, ratio, min(size.campaigns, SEARCHES), campaigns, dithered=True)
            if found.holds(ratio) < level - 3 * standard_error(level, campaigns):
                wrong.append((bench, ratio, found.holds(ratio)))
            if ratio == 1.0 and found.shown_share > FALSE_SHARE:
                wrong.append((bench, ratio, found.shown_share))
            if np.any(found.shown & ((found.lows > 1) != (ratio > 1))):
                wrong.append((bench, ratio, -1.0))
            width = float(np.median(found.highs / found.lows))
            rows.append([*_names(bench, ratio), *_shares(found, ratio), f"{width:.2f}", *_shares(alone, ratio)])
    columns = ["", "noise", "true ratio", "contains it", "shown", "its ends' ratio", "rates alone: contain it", "shown"]
    show(f"Searches, {BLOCKS} A/B and {BLOCKS} A/A blocks: share of {campaigns} campaigns", columns, rows)
    assert not wrong


def test_searches_on_one_grid_taken_for_exact_would_mislead(size: Any) -> None:
    """The simulation does see the error: all beginning at one rate, the confirmed rates alone hold far less than is printed."""
    campaigns = min(size.campaigns, CAMPAIGNS)
    rows, least = [], 1.0
    for bench in _benches(size):
        for ratio in RATIOS:
            _, alone = _simulated(bench, ratio, 100, campaigns, dithered=False)
            least = min(least, alone.holds(ratio))
            rows.append([*_names(bench, ratio), *_shares(alone, ratio)])
    columns = ["", "noise", "true ratio", "contains it", "shown"]
    show("The same if all started at the same rate and their rates were taken as exact", columns, rows)
    assert least < 0.7


@pytest.mark.parametrize("ratio", [1.15, 1 / 1.15])
def test_a_large_difference_is_shown(ratio: float) -> None:
    """Bounds don't hide what is larger than they are wide: with steps of ten seconds, 15 %."""
    bench, chance = BENCHES[3], np.random.default_rng(SEED)
    first, second = (searches(bench, each, 40, seed=f"{SEED} {each}") for each in (ratio, 1.0))
    found = reported(*(drawn(chance, each, 50) for each in (first, second, second, second)))
    assert found.shown_share > 0.9
    assert np.all((found.medians > 1) == (ratio > 1))


def _benches(size: Any) -> tuple[Bench, ...]:
    return BENCHES if size.campaigns >= CAMPAIGNS else BENCHES[2:3]


def _names(bench: Bench, ratio: float) -> list[str]:
    return [f"{bench.measure_s} s", per_cent(bench.noise), f"{ratio:.2f}"]


def _shares(found: Campaigns, ratio: float) -> list[str]:
    return [per_cent(found.holds(ratio)), per_cent(found.shown_share)]
