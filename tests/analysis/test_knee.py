"""The knee of one block: exact where the curve is, a bracket where there is no curve, nothing beyond the rungs."""

from __future__ import annotations

import math

import pytest

from analysis.bounded import Bounded
from analysis.curves.knee import FEWEST_RUNGS, MODEL_ERROR, Fit, fitted, knee_of
from tests.analysis.ladders import BASE_MS, CAPACITY_PER_S, KNEE_PER_S, QUEUE_MS

RUNGS = (1000.0, 2000.0, 4000.0, 6000.0, 8000.0, 9500.0)


def latency_ms(rate_per_s: float) -> float:
    """Of M/M/1 behind a constant delay, as the other made-up ladders have it."""
    rho = rate_per_s / CAPACITY_PER_S
    return BASE_MS + QUEUE_MS * rho / (1 - rho)


def known(rates: tuple[float, ...], failed_per_s: float | None = 12_000.0, factors: tuple[float, ...] = ()) -> Bounded:
    """The knee of rungs with these rates; each latency times its factor."""
    latencies = [latency_ms(rate) * factor for rate, factor in zip(rates, factors or (1.0,) * len(rates), strict=True)]
    found = knee_of(rates, latencies, failed_per_s)
    assert found is not None
    return found.known


def test_the_knee_is_where_rate_over_latency_is_highest() -> None:
    """By the curve's own formula, against a search along it."""
    fit = Fit(base_ms=5.0, queue_ms=0.3, bend=2.5, capacity_per_s=20_000.0, misfit=0.0)
    powers = {rate: rate / fit.latency_ms(rate) for rate in range(1, 20_000)}
    assert fit.knee_per_s == pytest.approx(max(powers, key=lambda rate: powers[rate]), abs=1)


def test_one_per_cent_more_rate_costs_one_per_cent_of_latency_at_the_knee() -> None:
    """What the definition means."""
    fit = Fit(base_ms=5.0, queue_ms=0.3, bend=0.7, capacity_per_s=20_000.0, misfit=0.0)
    rate = fit.knee_per_s
    assert math.log(fit.latency_ms(rate * 1.0001) / fit.latency_ms(rate)) == pytest.approx(math.log(1.0001), rel=1e-3)


def test_a_known_queue_gives_its_capacity_and_its_knee() -> None:
    """sqrt(base) / (sqrt(base) + sqrt(queue)) of the capacity; it is believed no better than the model's error."""
    fit = fitted(RUNGS, [latency_ms(rate) for rate in RUNGS], 12_000.0)
    assert (fit.capacity_per_s, fit.base_ms, fit.bend) == pytest.approx((CAPACITY_PER_S, BASE_MS, 1.0), rel=1e-3)
    found = known(RUNGS)
    assert found.value == pytest.approx(KNEE_PER_S, rel=1e-3)
    assert (found.low, found.high) == pytest.approx(
        (KNEE_PER_S / (1 + MODEL_ERROR), KNEE_PER_S * (1 + MODEL_ERROR)), rel=1e-3
    )


def test_the_knee_depends_on_no_unit() -> None:
    """Twice the rates: twice the knee; other latencies of the same shape: the same one."""
    latencies = [latency_ms(rate) for rate in RUNGS]
    doubled = knee_of([2 * rate for rate in RUNGS], [1000 * each for each in latencies], 24_000.0)
    assert doubled is not None
    assert doubled.known.value == pytest.approx(2 * KNEE_PER_S, rel=1e-3)


def test_a_stall_in_one_rung_is_not_the_curves() -> None:
    """A rung that is five times too slow moves the knee by less than a tenth."""
    assert known((*RUNGS[:2], 3000.0, *RUNGS[2:]), factors=(1, 1, 5, 1, 1, 1, 1)).value is None  # too far off: no curve
    assert known((*RUNGS[:2], 3000.0, *RUNGS[2:]), factors=(1, 1, 1.5, 1, 1, 1, 1)).value == pytest.approx(
        KNEE_PER_S, rel=0.1
    )


def test_too_few_rungs_give_a_bracket() -> None:
    """The rungs beside the one of the highest power; the lowest that wasn't kept bounds it above."""
    assert len(RUNGS[2:]) < FEWEST_RUNGS
    assert known(RUNGS[2:]) == Bounded(None, 4000.0, 8000.0)
    assert known((2000.0, 4000.0)) == Bounded(None, 2000.0, 12_000.0)
    assert known((8000.0, 9500.0)) == Bounded(None, 0.0, 9500.0)


def test_nothing_bounds_a_knee_above_the_highest_rung() -> None:
    """All rungs were kept, and power still rises: no curve is drawn out beyond them."""
    low = (500.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0)
    assert known(low, None) == Bounded(None, 3000.0, math.inf)
    assert known(RUNGS, None).value == pytest.approx(KNEE_PER_S, rel=1e-3)


def test_a_knee_between_the_last_two_kinds_of_rungs_is_a_bracket() -> None:
    """Beyond the highest that was kept the latency is of no curve: it grows with the length of the run."""
    found = known((500.0, 1000.0, 2000.0, 3000.0, 4000.0), 12_000.0)
    assert (found.value, found.low, found.high) == (None, 4000.0, 12_000.0)


def test_rungs_that_no_curve_goes_through_give_a_bracket() -> None:
    """Latencies that fall and rise at random."""
    assert known(RUNGS, factors=(1, 9, 1, 9, 1, 9)) == Bounded(None, 6000.0, 9500.0)


def test_one_rung_gives_the_one_above_as_a_bound() -> None:
    """The knee is below the capacity, and that below the lowest rung that wasn't kept. Of none nothing is known."""
    assert known((2000.0,)) == Bounded(None, 0.0, 12_000.0)
    assert knee_of([], [], 2000.0) is None
