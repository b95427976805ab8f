"""Intervals, corrections, bands and verdicts, against values worked out by hand and against scipy's own interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import quantile_test

from analysis.certainty.bootstrap import COVERAGE, bootstrap_interval, has_coverage
from analysis.certainty.interval import (
    Interval,
    attained_level,
    exact_interval,
    noise_band,
    p_value,
    smallest_p,
    why_no_band,
)
from analysis.certainty.reach import blocks_needed, reach_of
from analysis.certainty.verdict import NOT_SHOWN, SHOWN, TOO_FEW, certainties, corrected
from tests.analysis.exact_ratios import exact_ratios

SIX = (1.1, 1.2, 1.3, 1.4, 1.5, 1.6)
APART = (2.2, 2.0, 2.4, 2.1, 2.5, 2.0)  # up and down: no drift, and far from 1


@pytest.mark.parametrize(
    ("blocks", "rank", "level"),
    [(6, 1, 0.96875), (7, 1, 0.984375), (8, 1, 0.9921875), (9, 2, 0.9609375), (10, 2, 0.978515625), (20, 6, 0.9586105)],
)
def test_the_exact_interval_and_its_level(blocks: int, rank: int, level: float) -> None:
    """From the rank-th smallest to the rank-th largest ratio; 1 - 2 P(fewer than rank heads in n tosses)."""
    ratios = [1.0 + 0.01 * place for place in np.random.default_rng(blocks).permutation(blocks)]
    found = exact_interval(ratios)
    assert found is not None
    assert (found.low, found.high) == (sorted(ratios)[rank - 1], sorted(ratios)[-rank])
    assert found.attained == attained_level(blocks) == pytest.approx(level, abs=1e-7)


@pytest.mark.parametrize("blocks", range(6, 41))
def test_the_interval_is_scipys(blocks: int) -> None:
    """Of any number of ratios."""
    ratios = np.random.default_rng(blocks).lognormal(size=blocks)
    theirs = quantile_test(ratios, p=0.5).confidence_interval(0.95)
    ours = exact_interval(list(ratios))
    assert ours is not None
    assert (ours.low, ours.high) == (theirs.low, theirs.high)


@pytest.mark.parametrize("blocks", range(6))
def test_fewer_than_six_have_none(blocks: int) -> None:
    """Even from the smallest to the largest of five the median is held in 93.75 % only."""
    assert exact_interval([1.0 + number for number in range(blocks)]) is None
    with pytest.raises(ValueError, match="fewer than 6"):
        attained_level(blocks)


def test_p_values_are_those_of_tossing_a_coin() -> None:
    """Six of six: 2 / 64; nine of ten: 2 x 11 / 1024; three of six says nothing; equal values are for neither side."""
    assert p_value(SIX) == p_value([1 / ratio for ratio in SIX]) == smallest_p(6) == 0.03125
    assert p_value([0.9, *[1.1] * 9]) == pytest.approx(22 / 1024)
    assert p_value([0.8, 0.9, 0.95, 1.1, 1.2, 1.3]) == 1.0
    assert p_value([1.0] * 6) == 1.0


def test_bounds_widen_the_interval_and_decide_nothing() -> None:
    """Its lower end is among the lower bounds, its upper end among the upper ones; what may lie on either side of 1 is on neither."""
    lows, highs = (1.1, 1.2, 1.3, 1.4, 1.5, 0.0), (1.2, 1.3, 1.4, 1.5, 1.6, math.inf)
    assert exact_interval(lows, highs) == Interval(0.0, math.inf, 0.96875)
    assert p_value(lows, highs) == p_value([0.5, *[2.0] * 5]) > p_value([2.0] * 6)
    assert p_value([1.1] * 6, [math.inf] * 6) == 0.03125
    assert p_value([0.0] * 6, [0.9] * 6) == 0.03125


def test_an_unbounded_band_lets_nothing_be_shown() -> None:
    """Where a system ran against itself and was not answered in time, every difference lies within the band."""
    band = noise_band([0.0, *[1.0] * 5], [1.0] * 6, blocks=6)
    assert band is not None
    assert (band.low, band.high) == (0.0, math.inf)
    assert band.touches(Interval(5.0, 6.0, 0.97))


def test_the_correction_is_benjaminis_and_hochbergs() -> None:
    """0.01, 0.02, 0.03, 0.04 of four become 0.04 each: the smallest of p x 4 / rank from there on; order is kept."""
    assert corrected([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.04] * 4)
    assert corrected([0.001, 0.5, 0.02]) == pytest.approx([0.003, 0.5, 0.03])


def test_how_many_blocks_a_report_needs() -> None:
    """One metric: 6. Ten: 2 / 2^9 x 10 = 0.039, so 9. A hundred: 2 / 2^12 x 100 = 0.049, so 12."""
    assert [blocks_needed(metrics) for metrics in (1, 2, 10, 100)] == [6, 7, 9, 12]


def test_what_a_report_can_show_is_said() -> None:
    """Six blocks and ten metrics: none alone, but seven together: 0.03125 x 10 / 7 = 0.0446."""
    reach = reach_of([6] * 10)
    assert (reach.metrics, reach.together, reach.blocks_needed) == (10, 7, 9)
    assert reach.sentence == (
        "With 6 blocks the smallest p is 0.031; after correction over 10 metrics that is 0.31: none alone can be called, only 7 or "
        "more of them that all reach it. To call one of them 9 blocks are needed."
    )
    assert reach_of([10] * 10).sentence == (
        "With 10 blocks the smallest p is 0.002; after correction over 10 metrics that is 0.02, so one of them alone can be called."
    )
    assert reach_of([6]).sentence == "With 6 blocks the smallest p is 0.031: the one metric tested can be called."
    assert reach_of([5, 5, 2]).sentence == (
        "Nothing can be called a difference: with fewer than 6 blocks no 95 % interval is possible."
    )


def test_seven_of_ten_is_the_least_that_six_blocks_can_call() -> None:
    """The sentence's figure, against the correction itself."""
    for together, called in ((6, 0), (7, 7)):
        found = certainties(
            [exact_ratios(APART)] * together + [exact_ratios((0.9, 0.9, 0.9, 1.1, 1.1, 1.1))] * (10 - together)
        )
        assert sum(each.verdict == SHOWN for each in found) == called


def test_the_band_goes_both_ways() -> None:
    """A/A ratios from 0.8 to 1.1: which run comes first means nothing, so the band goes to 1 / 0.8."""
    ratios = (0.8, 0.95, 1.0, 1.02, 1.05, 1.1)
    band = noise_band(ratios, ratios, blocks=6)
    assert band is not None
    assert [band.low, band.high] == pytest.approx([0.8, 1.25])
    assert (band.blocks, band.attained) == (6, 0.96875)


def test_too_few_aa_blocks_make_no_band() -> None:
    """At least six, and as many as there are A/B blocks."""
    assert noise_band(SIX[:5], SIX[:5], blocks=5) is None
    assert noise_band(SIX, SIX, blocks=7) is None
    assert noise_band((*SIX, 1.0), (*SIX, 1.0), blocks=7) is not None
    assert why_no_band(6, 7) == "6 A/A blocks of these systems make no noise band: 7 are needed"
    assert why_no_band(1, 1) == "1 A/A block of these systems makes no noise band: 6 are needed"
    assert why_no_band(2, 1) == "2 A/A blocks of these systems make no noise band: 6 are needed"


def test_only_what_leaves_the_band_is_a_difference() -> None:
    """All six ratios above 1, and so the whole interval; inside the band of A/A blocks that scatter as far, nothing is shown."""
    quiet, loud = (0.99, 1.0, 1.0, 1.01, 1.01, 1.02), (0.4, 0.9, 1.0, 1.0, 1.1, 1.15)
    alone, outside, inside = (certainties([exact_ratios(APART, aa)])[0] for aa in ((), quiet, loud))
    assert (alone.verdict, alone.band, alone.why) == (SHOWN, None, "the interval excludes 1")
    assert (outside.verdict, outside.if_independent) == (SHOWN, Interval(2.0, 2.5, 0.96875))
    assert outside.why == "the interval is outside the noise band, 0.98× to 1.02×"
    assert inside.verdict == NOT_SHOWN
    assert inside.why == "the interval reaches into the noise band, 0.40× to 2.50×"


def test_why_no_difference_is_shown() -> None:
    """An interval with 1 in it; or one metric of ten, which six blocks can't call."""
    undecided = exact_ratios((0.9, *APART[1:]))
    first, *rest = certainties([exact_ratios(APART), *[undecided] * 9])
    assert (first.verdict, first.p) == (NOT_SHOWN, 0.03125)
    assert first.corrected_p == pytest.approx(0.3, abs=0.01)
    assert first.why == "not after the correction for many metrics (p = 0.3)"
    assert {(each.verdict, each.why) for each in rest} == {(NOT_SHOWN, "the interval includes 1")}


def test_what_has_too_few_blocks_counts_in_no_correction() -> None:
    """Nine comparisons of five blocks can't be called whatever comes out, so they don't weaken the tenth."""
    first, *rest = certainties([exact_ratios(APART), *[exact_ratios(APART[:5])] * 9])
    assert (first.verdict, first.corrected_p) == (SHOWN, 0.03125)
    assert {(each.verdict, each.p, each.interval) for each in rest} == {(TOO_FEW, None, None)}


def test_the_bootstrap_is_offered_where_the_simulation_let_it_pass() -> None:
    """Between 93.54 and 96.46 % (three standard errors of 2,000 campaigns) in every world; never where nothing was simulated."""
    assert [blocks for blocks in range(6, 41) if has_coverage(blocks)] == [9, 10, 20]
    ratios = [1.0 + 0.1 * place for place in range(10)]
    found = bootstrap_interval(ratios)
    assert found is not None
    assert ratios[1] <= found.low < found.high <= ratios[8]
    assert found.attained == COVERAGE[10][0] < 0.95
    assert found == bootstrap_interval(ratios[::-1])
    assert bootstrap_interval(ratios[:8]) is None
    assert bootstrap_interval([1.0] * 10) is None
