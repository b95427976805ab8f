"""Does a watch cry wolf, and does it cry at all? Histories of twelve versions on a drifting host, with and without a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.certainty.verdict import FALSE_SHARE, SHOWN, certainties
from analysis.watch.change_points import change_points
from analysis.watch.series import SUSPECTED_P
from bench.watch.watching import confirming_blocks
from tests.analysis.exact_ratios import exact_ratios
from tests.statistics.cuts import cuts_of
from tests.statistics.rules import printed, standard_error
from tests.statistics.tables import per_cent, show
from tests.statistics.watches import VERSIONS, Watched, World, values_of, watched

SEED = 23
BLOCKS = (6, 10, 20)
STEPS = (0.0, 0.05, 0.1, 0.2)
OWN_DRIFT = 0.03
WORLDS = (
    *(World(blocks, step) for blocks in BLOCKS for step in STEPS),
    *(World(10, step, own_drift=OWN_DRIFT) for step in STEPS),
)


@pytest.fixture(scope="module")
def simulated(size: Any) -> dict[World, Watched]:
    return {
        world: watched(np.random.default_rng(SEED + number), world, size.campaigns)
        for number, world in enumerate(WORLDS)
    }


def test_few_histories_have_a_false_alarm(size: Any, simulated: dict[World, Watched]) -> None:
    """At most 5 % plus three standard errors, whatever the host does, and where a version wanders by itself."""
    rows, wrong = [], []
    for world, found in simulated.items():
        detected = (per_cent(found.found(called)) for called in (found.suspected, found.shown, found.unanchored))
        rows.append(
            [
                "by 3 %" if world.own_drift else "no",
                f"{world.blocks}, {confirming_blocks(world.blocks)}",
                f"{world.step:.0%}" if world.step else "none",
                *(per_cent(found.false(called)) for called in (found.suspected, found.shown, found.unanchored)),
                *(detected if world.step else ("", "", "")),
            ]
        )
        wrong += [(world, false)] if (false := found.false(found.shown)) > _most(size) else []
    headings = ["versions wander", "blocks, to confirm", "step", "suspected", "shown", "unanchored"]
    show(
        f"{size.campaigns} histories of {VERSIONS} versions: false alarms, then the share in which the step is found",
        [*headings, "suspected", "shown", "unanchored"],
        rows,
    )
    assert not wrong


def _most(size: Any) -> float:
    return FALSE_SHARE + 3 * standard_error(FALSE_SHARE, size.campaigns)


def test_without_an_anchor_there_would_be(simulated: dict[World, Watched]) -> None:
    """The same change points of the values themselves see the host's days: the simulation does see false alarms where they are made."""
    found = simulated[World(10, 0.0)]
    assert found.false(found.unanchored) > 0.5
    assert found.false(found.suspected) < 0.5


def test_a_larger_step_and_more_blocks_are_found_more_often(simulated: dict[World, Watched]) -> None:
    """From 5 % to 20 %, and from 6 to 20 blocks; with 20, nine of ten steps of 10 %."""
    shares = {
        (world.blocks, world.step): each.found(each.shown)
        for world, each in simulated.items()
        if not world.own_drift and world.step
    }
    for blocks in BLOCKS:
        assert shares[blocks, 0.05] <= shares[blocks, 0.1] <= shares[blocks, 0.2]
    for step in STEPS[1:]:
        assert shares[6, step] <= shares[10, step] <= shares[20, step]
    assert shares[20, 0.1] > 0.9


def test_the_simulated_change_points_are_the_watchs() -> None:
    """History by history the same versions, and the same shifts."""
    values = values_of(np.random.default_rng(SEED), World(6, 0.1, own_drift=OWN_DRIFT), 60)
    for logs in (values.ratios, values.alone):
        flags, shifts = cuts_of(logs, SUSPECTED_P)
        for own, flag, shift in zip(logs, flags, shifts, strict=True):
            found = change_points(list(own), SUSPECTED_P)
            assert [each.at for each in found] == np.flatnonzero(flag).tolist()
            assert [each.shift for each in found] == pytest.approx(shift[flag].tolist())
        assert flags.any()


def test_the_simulated_confirmations_are_the_watchs() -> None:
    """One suspicion by itself is shown where `certainties` shows it."""
    logs = np.random.default_rng(SEED).normal(0.08, 0.05, (40, 12))
    p = printed(np.exp(logs)[:, :, None]).p[:, 0]
    said = [certainties([exact_ratios(list(np.exp(each)))])[0].verdict == SHOWN for each in logs]
    assert said == (p <= FALSE_SHARE).tolist()
    assert 0 < sum(said) < len(said)
