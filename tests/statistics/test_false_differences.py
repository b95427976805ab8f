"""One system under two names: how often does a report call a difference that isn't there, in any of ten metrics?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.certainty.verdict import FALSE_SHARE, SHOWN, certainties
from tests.analysis.exact_ratios import exact_ratios
from tests.statistics.rules import Flags, called, standard_error
from tests.statistics.tables import per_cent, show
from tests.statistics.worlds import ALIKE, METRICS, Alike, Floats, alike_ratios

SEED = 7
Campaigns = dict[Alike, tuple[Floats, Floats]]


@pytest.fixture(scope="module")
def simulated(size: Any) -> Campaigns:
    """Ratios of A/B blocks (which are A/A blocks by another name) and of as many A/A blocks: (campaigns, most blocks, METRICS)."""
    found = {}
    for number, alike in enumerate(ALIKE):
        random = np.random.default_rng(SEED + number)
        ab, aa = (alike_ratios(random, alike, size.campaigns, size.blocks[-1]) for _ in range(2))
        found[alike] = ab, aa
    return found


def test_equals_are_rarely_called_different(size: Any, simulated: Campaigns) -> None:
    """In at most 5 % of campaigns plus three standard errors: after the correction, by the band alone, and by both.

    The correction alone can't help where the second place is always the worse one: that is what the band is for.
    """
    most = FALSE_SHARE + 3 * standard_error(FALSE_SHARE, size.campaigns)
    rows, wrong = [], []
    for alike, (ab, aa) in simulated.items():
        for blocks in size.blocks:
            found = called(ab[:, :blocks], aa[:, :blocks])
            shares = {
                "corrected p": _any(found.by_correction),
                "band": _any(found.by_band),
                "both, as reported": _any(found.shown),
                "if the median sufficed": _any(found.by_correction & found.median_leaves),
            }
            rows.append([alike.name, str(blocks), *(per_cent(share) for share in shares.values())])
            held_to = {"band", "both, as reported"} | ({"corrected p"} if alike.second_place == 1 else set())
            wrong += [(alike.name, blocks, rule, shares[rule]) for rule in held_to if shares[rule] > most]
    title = f"One system under two names, {METRICS} metrics: share of {size.campaigns} campaigns in which any is called different"
    show(title, ["campaigns", "blocks", *shares], rows)
    assert not wrong


def _any(flags: Flags) -> float:
    return float(np.mean(flags.any(axis=1)))


def test_without_correction_they_would_be(size: Any, simulated: Campaigns) -> None:
    """Ten nearly independent metrics, each by its own p-value: the simulation does see false calls where they are made."""
    ab, _ = simulated[ALIKE[1]]
    blocks = size.blocks[-1]
    uncorrected = np.stack([called(ab[:, :blocks, [n]]).as_if_independent[:, 0] for n in range(METRICS)], axis=1)
    assert uncorrected.any(axis=1).mean() > 2 * FALSE_SHARE


def test_the_simulated_verdicts_are_the_reports(size: Any, simulated: Campaigns) -> None:
    """Campaign by campaign the same metrics as `certainties` shows, also where there are differences to show."""
    seen = set()
    for factor in (1.0, 2.0):
        ab, aa = (ratios[:30, : size.blocks[-1]] for ratios in simulated[ALIKE[1]])
        ab = ab * np.where(np.arange(METRICS) % 2, factor, 1.0)
        verdicts = called(ab, aa).shown
        for campaign in range(len(ab)):
            found = certainties(
                [exact_ratios(list(ab[campaign, :, n]), list(aa[campaign, :, n])) for n in range(METRICS)]
            )
            assert [each.verdict == SHOWN for each in found] == list(verdicts[campaign])
            seen |= set(verdicts[campaign].tolist())
    assert seen == {True, False}
