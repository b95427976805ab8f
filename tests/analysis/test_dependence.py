"""Blocks that follow one another: what is measured, what intervals allow for, and what the first screen says of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import t

from analysis.certainty.interval import exact_interval
from analysis.certainty.reach import IN_NO_INTERVAL, dependence_of
from analysis.certainty.serial import (
    MOST_ALLOWED,
    allowed,
    allowing_interval,
    allowing_p,
    lag1,
    serial_correlation,
    student_of,
)
from analysis.certainty.verdict import NOT_SHOWN, SHOWN, certainties
from tests.analysis.exact_ratios import exact_ratios

TREND = (1.1, 1.12, 1.15, 1.17, 1.2, 1.22)
JAGGED = (1.1, 1.2, 1.12, 1.22, 1.15, 1.17)
LONG = tuple(np.exp(np.random.default_rng(4).normal(0.0, 0.1, 20)))


def test_lag1_is_that_of_neighbours() -> None:
    """Deviations -1, 1, -1, 1: three products of -1 over four squares; -1, 0, 1: nothing."""
    assert lag1(np.array([0.0, 2.0, 0.0, 2.0])) == pytest.approx(-0.75)
    assert lag1(np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 1.0]])) == pytest.approx([0.0, -0.5])


@pytest.mark.parametrize(("blocks", "rho"), [(6, 0.0), (6, 0.8), (10, 0.5), (20, 0.8)])
def test_students_factor_is_that_of_drifting_series(blocks: int, rho: float) -> None:
    """The share of series whose mean is further off than the 95 % interval is at most 5 %, and more than 2: no blanket caution."""
    fresh = np.random.default_rng(1).standard_normal((20_000, blocks))
    fresh[:, 0] /= math.sqrt(1 - rho**2)
    series = lfilter([math.sqrt(1 - rho**2)], [1.0, -rho], fresh, axis=1)
    student = student_of(blocks, rho)
    statistic = series.mean(axis=1) / (series.std(axis=1, ddof=1) / math.sqrt(blocks))
    missed = float(np.mean(np.abs(statistic) > student.stretch * t.ppf(0.975, student.freedom)))
    assert 0.02 < missed < 0.055
    if rho == 0:
        assert (student.stretch, student.freedom) == pytest.approx((1.0, blocks - 1.0))


def test_what_few_blocks_cannot_exclude_is_allowed_for() -> None:
    """Six may leave a drift of 0.8 open; six that go up and down, or twenty, do not; a trend is allowed for as found."""
    undecided = serial_correlation((1.0, 1.1, 1.3, 1.2, 1.0, 1.15))
    jagged, trend, long = (serial_correlation(each) for each in (JAGGED, TREND, LONG))
    assert undecided
    assert jagged
    assert trend
    assert long
    assert undecided.at_most > MOST_ALLOWED > undecided.estimate
    assert jagged.at_most < MOST_ALLOWED
    assert long.at_most < MOST_ALLOWED
    assert trend.estimate > MOST_ALLOWED
    assert trend.p <= 0.05 < undecided.p
    found = allowed([undecided.estimate, trend.estimate], [undecided.at_most, trend.at_most])
    assert list(found) == [MOST_ALLOWED, trend.estimate]


def test_one_comparison_that_looks_independent_among_many_that_do_not() -> None:
    """It allows for the mean of what all leave open; alone it would allow for nothing."""
    alone, *_ = certainties([exact_ratios(JAGGED)])
    among, *_ = certainties([exact_ratios(JAGGED), *[exact_ratios(TREND)] * 9])
    assert alone.allowed is not None
    assert among.allowed == MOST_ALLOWED > alone.allowed


def test_a_drift_is_no_difference() -> None:
    """The same six ratios, all above 1: as a steady rise they may be a drift, up and down they may not."""
    rise, jagged = (certainties([exact_ratios(each)])[0] for each in (TREND, JAGGED))
    assert rise.if_independent is not None
    assert not rise.if_independent.includes_one
    assert rise.interval is not None
    assert rise.interval.includes_one
    assert rise.verdict == NOT_SHOWN
    assert rise.p is not None
    assert rise.p > 0.05
    assert (
        rise.why
        == "the interval includes 1, as these blocks may follow one another (a correlation of 0.95 isn't excluded)"
    )
    assert jagged.verdict == SHOWN


def test_the_printed_interval_holds_the_exact_one() -> None:
    """Whatever the ratios: allowing for a drift never makes it narrower, so it holds for independent blocks of any distribution."""
    for seed in range(20):
        ratios = np.random.default_rng(seed).lognormal(0, 0.3, 6 + seed % 8)
        exact, found = exact_interval(list(ratios)), certainties([exact_ratios(list(ratios))])[0].interval
        assert exact is not None
        assert found is not None
        assert found.low <= exact.low <= exact.high <= found.high
        assert found.attained == 0.95


def test_a_ratio_known_within_limits_widens_the_interval_and_the_p_value() -> None:
    """The lower end is that of the lows, the upper that of the highs; an unknown one leaves its end open."""
    wider = [each * 1.05 for each in JAGGED]
    low, high = allowing_interval(JAGGED, wider, 0.5)
    assert (low, high) == (allowing_interval(JAGGED, JAGGED, 0.5)[0], allowing_interval(wider, wider, 0.5)[1])
    assert allowing_interval(JAGGED, [*wider[:5], math.inf], 0.5) == (low, math.inf)
    assert allowing_interval([0.0, *JAGGED[1:]], wider, 0.5) == (0.0, high)
    assert allowing_p(JAGGED, [*wider[:5], math.inf], 0.5) == allowing_p(JAGGED, JAGGED, 0.5) < 0.05
    assert allowing_p([0.9] * 6, JAGGED, 0.5) == 1.0
    assert allowing_p([0.0, *JAGGED[1:]], wider, 0.5) == 1.0


def test_equal_ratios_have_no_correlation_and_no_width() -> None:
    """A computed figure may be the same in every block: nothing scatters, so nothing is estimated."""
    found = certainties([exact_ratios([2.0] * 6)])[0]
    assert found.serial is not None
    assert found.serial.lag1 is None
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx([2.0, 2.0])
    assert found.verdict == SHOWN
    assert dependence_of([found], 6).widening == 1.0


def test_the_first_screen_says_what_so_few_blocks_cannot_tell() -> None:
    """Of six blocks, of a drift that is seen, of one that is excluded; nothing where there is no interval."""
    six = (1.0, 1.1, 1.3, 1.2, 1.0, 1.15)
    cannot, drifted, excluded = (certainties([exact_ratios(each)]) for each in (six, TREND, LONG))
    assert dependence_of(cannot, 6).sentence == (
        "6 blocks can't tell whether a system drifted from block to block; the intervals allow for a correlation of 0.80 between "
        f"neighbouring blocks, which makes them 3.5 times as wide as if blocks were independent. {IN_NO_INTERVAL}"
    )
    assert dependence_of(drifted, 6).sentence.startswith(
        "In 1 of 1 comparisons neighbouring blocks are more alike than independent ones would be: something drifted; "
    )
    assert dependence_of(excluded, 20).sentence.startswith(
        "No drift from block to block is seen, and a strong one is excluded; "
    )
    assert dependence_of(certainties([exact_ratios(six[:5])]), 5).sentence == ""
