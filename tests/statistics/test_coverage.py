"""Does the printed interval hold the truth as often as it says? And at which numbers of blocks does a bootstrap?"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from analysis.certainty.bootstrap import COVERAGE, SIMULATED_CAMPAIGNS, has_coverage, resampled
from analysis.certainty.interval import CONFIDENCE, attained_level, exact_interval
from tests.statistics.rules import bootstrapped, intervals, standard_error
from tests.statistics.tables import per_cent, show
from tests.statistics.worlds import WORLDS, Floats, World, block_ratios, true_median

SEED = 20
Ratios = Mapping[World, tuple[Floats, float]]


@pytest.fixture(scope="module")
def simulated(size: Any) -> Ratios:
    """Of each world the ratios (campaigns, most blocks), and what their median truly is."""
    seeds = {world: zlib.crc32(world.name.encode()) + SEED for world in WORLDS}
    return {
        world: (
            block_ratios(np.random.default_rng(seeds[world]), world, size.campaigns, size.blocks[-1]),
            true_median(world, seeds[world] + 1),
        )
        for world in WORLDS
    }


def test_the_exact_interval_holds_the_truth_as_often_as_printed(size: Any, simulated: Ratios) -> None:
    """At least 95 % less three standard errors, and within three of the attained level, for every number of blocks and world."""
    rows, wrong = [], []
    for blocks in size.blocks:
        level = attained_level(blocks)
        shares = []
        for world, (ratios, truth) in simulated.items():
            low, high = intervals(ratios[:, :blocks])
            share = float(np.mean((low <= truth) & (truth <= high)))
            shares.append(share)
            at_least = CONFIDENCE - 3 * standard_error(CONFIDENCE, size.campaigns)
            if share < at_least or abs(share - level) > 3 * standard_error(level, size.campaigns):
                wrong.append((blocks, world.name, share))
        rows.append([str(blocks), per_cent(level), *(per_cent(share) for share in shares)])
    names = [f"{world.name}" for world in WORLDS]
    show(
        f"Exact interval: share of {size.campaigns} campaigns in which it holds the truth",
        ["blocks", "printed", *names],
        rows,
    )
    assert not wrong


def test_the_simulated_intervals_are_the_reports(simulated: Ratios) -> None:
    """The same ends as `exact_interval` gives, campaign by campaign."""
    for ratios, _ in simulated.values():
        low, high = intervals(ratios[:25])
        for campaign in range(25):
            found = exact_interval(list(ratios[campaign]))
            assert found is not None
            assert (found.low, found.high) == (low[campaign], high[campaign])


def test_the_bootstrap_is_offered_where_it_holds_what_it_claims(size: Any, simulated: Ratios) -> None:
    """The table in analysis/certainty/bootstrap.py is what this simulation finds: lowest and highest share over the worlds."""
    found, rows = {}, []
    for blocks in size.blocks:
        shares = []
        for ratios, truth in simulated.values():
            low, high = bootstrapped(ratios[:, :blocks])
            shares.append(round(float(np.mean((low <= truth) & (truth <= high))), 4))
        found[blocks] = min(shares), max(shares)
        rows.append([str(blocks), *(per_cent(share) for share in shares), "yes" if has_coverage(blocks) else "no"])
    names = [world.name for world in WORLDS]
    title = f"Bootstrap that claims 95 %: share of {size.campaigns} campaigns in which it holds the truth"
    show(title, ["blocks", *names, "offered"], rows)
    if size.campaigns == SIMULATED_CAMPAIGNS:
        told = f"the table in analysis/certainty/bootstrap.py is to be COVERAGE = {found}"
        assert found.keys() == COVERAGE.keys(), told
        # another processor may round a latency another way
        assert [found[blocks] for blocks in found] == [
            pytest.approx(COVERAGE[blocks], abs=0.002) for blocks in found
        ], told


def test_the_simulated_bootstrap_is_the_reports(simulated: Ratios) -> None:
    """The same ends as `resampled` gives, for even and odd numbers of blocks."""
    ratios, _ = next(iter(simulated.values()))
    for blocks in (6, 9):
        low, high = bootstrapped(ratios[:4, :blocks])
        for campaign in range(4):
            assert resampled(list(ratios[campaign, :blocks])) == pytest.approx((low[campaign], high[campaign]))
