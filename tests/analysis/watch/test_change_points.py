"""Where a series changes its level."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.watch.change_points import Floats, _Energy, change_points

OTAVA = Path(__file__).with_name("otava-0.8.0.json")


def places(*levels: float, blocks: int = 8, scatter: float = 0.02) -> list[Floats]:
    """A place for each level, with values about it."""
    random = np.random.default_rng(7)
    return [level + random.normal(0.0, scatter, blocks) for level in levels]


def test_a_step_is_found_where_it_is() -> None:
    """With its size, and nothing beside it."""
    [found] = change_points(places(0.0, 0.0, 0.1, 0.1), 0.01)
    assert found.at == 2
    assert found.shift == pytest.approx(0.1, abs=0.02)
    assert found.p < 1e-6


def test_a_step_at_the_newest_place_is_found() -> None:
    """The case that a watch is for."""
    assert [each.at for each in change_points(places(0.0, 0.0, 0.0, 0.1), 0.0001)] == [3]


def test_noise_has_no_change_points() -> None:
    """In none of 40 series at this p."""
    random = np.random.default_rng(11)
    assert not any(change_points(list(random.normal(0.0, 0.05, (6, 8))), 0.0001) for _ in range(40))


def test_there_and_back_are_two_changes() -> None:
    """As a regression that is repaired in the next version is."""
    found = change_points(places(0.0, 0.0, 0.1, 0.0, 0.0), 0.01)
    assert [(each.at, round(each.shift, 1)) for each in found] == [(2, 0.1), (3, -0.1)]


def test_a_cut_that_others_make_needless_is_dropped() -> None:
    """What is found at ten times the p stays only where it is significant at p among all the cuts that there are."""
    random = np.random.default_rng(5)
    strict, lax = 0, 0
    for _ in range(60):
        series = list(random.normal(0.0, 0.05, (8, 6)))
        found = change_points(series, 0.01)
        strict += len(found)
        lax += len(change_points(series, 0.1))
        assert all(each.p <= 0.01 for each in found)
    assert strict < lax


@pytest.mark.parametrize("series", [[], [np.zeros(3)], [np.zeros(1), np.ones(1)], [np.ones(4), np.ones(4)]])
def test_too_little_to_tell_has_no_change_points(series: list[Floats]) -> None:
    """No place, one, two single values, or values that are all the same."""
    assert change_points(series, 0.05) == []


def test_two_levels_without_any_scatter_are_two() -> None:
    """Identical values on either side differ for certain."""
    [found] = change_points([np.zeros(3), np.ones(2)], 0.05)
    assert (found.at, found.shift, found.p) == (1, 1.0, 0.0)


def test_places_may_have_unlike_numbers_of_values() -> None:
    """A version that was confirmed has more of them than the others."""
    few, many = places(0.0, 0.0, blocks=3), places(0.1, 0.1, blocks=20)
    assert [each.at for each in change_points([*few, *many], 0.01)] == [2]


def test_what_a_cut_saves_is_half_the_energy_statistic() -> None:
    """By the statistic's own definition, from the mean distances between and inside both sides."""
    series = places(0.0, 0.3, 0.1, scatter=0.2)
    cost = _Energy(series)
    left, right = np.concatenate(series[:1]), np.concatenate(series[1:])

    def apart(a: Floats, b: Floats) -> float:
        return float(np.abs(a[:, None] - b).mean())

    m, n = len(left), len(right)
    statistic = m * n / (m + n) * (2 * apart(left, right) - apart(left, left) - apart(right, right))
    assert cost.error(0, 3) - cost.error(0, 1) - cost.error(1, 3) == pytest.approx(statistic / 2)


def test_clear_steps_are_found_where_apache_otava_finds_them() -> None:
    """Recorded of its release 0.8.0: 40 series of one value a place, with up to three steps of five standard deviations or more. In the
    four others it takes a scatter that isn't corrected for the mean, and distances without those of a value to itself.
    """
    recorded = json.loads(OTAVA.read_text())
    same = [
        [one.at for one in change_points([np.array([value]) for value in each["values"]], recorded["p"])]
        == each["change_points"]
        for each in recorded["series"]
    ]
    assert (sum(same), len(same)) == (36, 40)
