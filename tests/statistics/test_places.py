"""Six contestants: how often are equals told apart, and how often are those that differ?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from analysis.certainty.verdict import FALSE_SHARE, SHOWN, certainties
from tests.analysis.exact_ratios import exact_ratios
from tests.statistics.rules import Flags, called, standard_error
from tests.statistics.tables import per_cent, show
from tests.statistics.worlds import Floats

SEED = 11
METRICS = 7  # of a workload at an offered rate
LOG_SD = 0.1  # of a trial's effect, half of which all of its metrics have in common


@dataclass(frozen=True)
class Field:
    """Six contestants, by how many times the first one's true value theirs is."""

    name: str
    factors: tuple[float, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.factors)), 2))

    @property
    def differ(self) -> Flags:
        """Which pairs do."""
        return np.array([self.factors[a] != self.factors[b] for a, b in self.pairs])


FIELDS = (
    Field("six equals", (1.0,) * 6),
    Field("five equals, one twice as slow", (1.0, 1.0, 1.0, 1.0, 1.0, 2.0)),
    Field("three pairs of equals: 1, 1.5, 3", (1.0, 1.0, 1.5, 1.5, 3.0, 3.0)),
)


def ratios_of(random: np.random.Generator, field: Field, campaigns: int, blocks: int) -> Floats:
    """Of every pair and metric, a ratio per block: (campaigns, blocks, pairs, METRICS). What a block has in common cancels."""
    shape = (campaigns, blocks, len(field.factors))
    effect = np.sqrt(0.5) * (random.normal(0.0, LOG_SD, (*shape, 1)) + random.normal(0.0, LOG_SD, (*shape, METRICS)))
    logs = effect + np.log(field.factors)[:, None]
    first, second = (list(side) for side in zip(*field.pairs, strict=True))
    found: Floats = np.exp(logs[:, :, first] - logs[:, :, second])
    return found


@pytest.fixture(scope="module")
def simulated(size: Any) -> dict[Field, Floats]:
    return {
        field: ratios_of(np.random.default_rng(SEED + number), field, size.campaigns, size.blocks[-1])
        for number, field in enumerate(FIELDS)
    }


def told_apart(ratios: Floats) -> Flags:
    """By the report's rule without A/A blocks, corrected over all pairs and metrics: (campaigns, pairs, METRICS)."""
    campaigns, blocks, pairs, metrics = ratios.shape
    shown = called(ratios.reshape(campaigns, blocks, pairs * metrics)).shown
    return shown.reshape(campaigns, pairs, metrics)


def test_of_what_is_told_apart_few_are_equals(size: Any, simulated: dict[Field, Floats]) -> None:
    """The share of false ones among all is at most 5 % on average, though pairs have contestants in common; with six equals that is
    the share of campaigns in which any two are told apart.
    """
    most = FALSE_SHARE + 3 * standard_error(FALSE_SHARE, size.campaigns)
    rows, wrong = [], []
    for field, ratios in simulated.items():
        for blocks in size.blocks:
            told = told_apart(ratios[:, :blocks])
            false = told[:, ~field.differ].sum(axis=(1, 2))
            share = float((false / np.maximum(told.sum(axis=(1, 2)), 1)).mean())
            of_different = per_cent(float(told[:, field.differ].mean())) if field.differ.any() else ""
            rows.append([field.name, str(blocks), per_cent(share), per_cent(float((false > 0).mean())), of_different])
            wrong += [(field.name, blocks, share)] if share > most else []
    headings = [
        "contestants",
        "blocks",
        "false among those told apart",
        "campaigns with any false",
        "different ones told",
    ]
    show(f"Six contestants, {METRICS} metrics: {size.campaigns} campaigns of independent blocks", headings, rows)
    assert not wrong


def test_who_is_told_apart_is_told_in_the_right_order(simulated: dict[Field, Floats]) -> None:
    """Of those that differ by half as much again or more: never the other way round."""
    for field, ratios in simulated.items():
        told = told_apart(ratios)[:, field.differ]
        lower = np.array([field.factors[a] < field.factors[b] for a, b in field.pairs])[field.differ]
        seen = np.median(ratios[:, :, field.differ], axis=1) < 1
        assert (seen[told] == np.broadcast_to(lower[None, :, None], told.shape)[told]).all()


def test_the_simulated_verdicts_are_the_reports(size: Any, simulated: dict[Field, Floats]) -> None:
    """Campaign by campaign the same pairs as `certainties` shows."""
    ratios = simulated[FIELDS[2]][:10, : size.blocks[-1]]
    told = told_apart(ratios)
    for campaign in range(len(ratios)):
        found = certainties(
            [exact_ratios(list(ratios[campaign, :, pair, metric]), []) for pair, metric in np.ndindex(told.shape[1:])]
        )
        assert [each.verdict == SHOWN for each in found] == told[campaign].ravel().tolist()
