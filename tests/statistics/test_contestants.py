"""Three contestants of one system, of which two are the same: what its report says, from the percentiles of each trial on.

The campaign is one of a file, with the trials, names and A/A blocks that follow from it, and each of the simulated ones is compared
by the report's own code, not by a shorter form of it as in the other simulations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import tomli_w

from analysis.bounded import exactly
from analysis.campaign import Campaign, Trial
from analysis.certainty.verdict import FALSE_SHARE, SHOWN
from analysis.checks import Check
from analysis.comparison import Comparison, compare
from analysis.contestants import contestant_differences
from analysis.evidence import Counts, Evidence
from analysis.metrics import measurements
from analysis.percentiles import Percentile
from analysis.records.latencies import PUBLISH, RESPONSE
from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import TrialSpec, order_of
from tests.analysis.synthetic_results import Plan, Shape, manifest_document, trial_document
from tests.statistics.conftest import WHOLE, Size
from tests.statistics.rules import standard_error
from tests.statistics.tables import per_cent, show
from tests.statistics.worlds import Floats

SEED = 17
BLOCKS, AA_BLOCKS = 10, 15  # of which each pair has ten A/A blocks of its own
SCATTER = 0.05  # of the ratios of blocks
VISIBLE = 1.4  # what docs/statistics.md says is seen as one of ten metrics, in so many blocks of such scatter
SEEN_IN = 0.8
PERCENTILES = ((RESPONSE, 500_000, 3.0), (RESPONSE, 990_000, 11.0), (PUBLISH, 990_000, 9.0))  # and their level in ms
CURRENT, TWIN, PLANTED = "kafka-current", "kafka-twin", "kafka-planted"
FILE: dict[str, Any] = {
    "schema": 1,
    "name": "three-of-one-system",
    "question": "Is one of three slower?",
    "seed": SEED,
    "blocks": BLOCKS,
    "aa_blocks": AA_BLOCKS,
    "durability": ["1"],
    "contestants": [
        {"name": CURRENT, "system": "kafka"},
        {"name": TWIN, "system": "kafka", "same_as": CURRENT},
        {"name": PLANTED, "system": "kafka", "settings": {"broker": {"num.io.threads": "1"}}},
    ],
    "workloads": [{"name": "steady", "rate_per_s": 400, "message_bytes": 64, "measure_s": 6}],
}
_NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {})
_MESSAGES = 2_400


@dataclass(frozen=True)
class Ran:
    """The campaign of FILE without any figures: its trials in their order, all of them sound."""

    campaign: Campaign
    trials: tuple[Evidence, ...]
    checks: tuple[Check, ...]

    def compared(self, values_ms: Floats) -> list[Comparison]:
        """With these percentiles: (trials, PERCENTILES)."""
        trials = [
            replace(each, percentiles=tuple(_percentiles(each.trial.name, own)))
            for each, own in zip(self.trials, values_ms, strict=True)
        ]
        return compare(trials, self.checks, [found for each in trials for found in measurements(each)])


def _percentiles(trial: str, values_ms: Sequence[float]) -> list[Percentile]:
    return [
        Percentile(trial, metric, "", quantile_ppm, _MESSAGES, round(value * 1e6))
        for (metric, quantile_ppm, _), value in zip(PERCENTILES, values_ms, strict=True)
    ]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """As the file has it."""
    file = tmp_path_factory.mktemp("contestants") / "campaign.toml"
    file.write_text(tomli_w.dumps(FILE))
    plans = [_plan(spec) for spec in order_of(load_campaign(file))]
    trials = tuple(Trial(plan.name, trial_document(plan, Shape(), 0, {}, 0)) for plan in plans)
    declared = [{"same_as": None, **each} for each in FILE["contestants"]]
    manifest = {**manifest_document(plans, Shape()), "definition": {"contestants": declared}}
    return Ran(
        Campaign("results", manifest, trials, {}, ()),
        tuple(Evidence(each, (each,), _NOTHING, (), (), (), (), ()) for each in trials),
        tuple(Check(each.name, "steal", "validity", "valid", "Fine.") for each in trials),
    )


def _plan(spec: TrialSpec) -> Plan:
    settings = {"broker/broker-1": dict(spec.contestant.settings.get("broker", {}))}
    recorded = {"intended": settings, "effective": settings, "drift": []}
    changes = {"contestant": spec.contestant.name, "block_kind": spec.block_kind, "settings": recorded}
    return Plan(spec.trial, spec.block, spec.position, spec.system, changes=changes)


def values_of(random: np.random.Generator, ran: Ran, campaigns: int, planted: float) -> Floats:
    """Percentiles of every trial: (campaigns, trials, PERCENTILES). Half of a trial's effect is common to all its percentiles."""
    blocks = np.array([each.trial.block for each in ran.trials])
    factors = np.array([planted if each.trial.called == PLANTED else 1.0 for each in ran.trials])
    shape = (campaigns, len(ran.trials))
    of_block = random.normal(0.0, 0.3, (campaigns, blocks.max() + 1, 1))[:, blocks]
    own = random.normal(0.0, SCATTER / 2, (*shape, 1)) + random.normal(0.0, SCATTER / 2, (*shape, len(PERCENTILES)))
    found: Floats = np.exp(of_block + own) * factors[:, None] * np.array([level for _, _, level in PERCENTILES])
    return found


def campaigns_of(size: Size) -> int:
    """Each is compared by itself, so that the short run takes few."""
    return size.campaigns if size is WHOLE else size.campaigns // 15


@pytest.fixture(scope="module")
def told(size: Size, ran: Ran) -> dict[tuple[str, str], Any]:
    """Of each pair, which percentiles are shown to differ: (campaigns, PERCENTILES)."""
    found: dict[tuple[str, str], list[list[bool]]] = {}
    for values_ms in values_of(np.random.default_rng(SEED), ran, campaigns_of(size), VISIBLE):
        compared = ran.compared(values_ms)
        for pair in {(each.first, each.second): None for each in compared}:
            own = [each for each in compared if (each.first, each.second) == pair]
            found.setdefault(pair, []).append([each.certainty.verdict == SHOWN for each in own])
    return {pair: np.array(shown) for pair, shown in found.items()}


def test_equals_are_rarely_told_apart_and_the_slower_one_mostly(size: Size, told: dict[tuple[str, str], Any]) -> None:
    """The twins in at most 5 % of campaigns plus three standard errors; a slow-down that can be seen in 80 %, by each percentile."""
    false = float(told[CURRENT, TWIN].any(axis=1).mean())
    seen = {pair: told[pair].mean(axis=0) for pair in ((CURRENT, PLANTED), (TWIN, PLANTED))}
    rows = [[f"{CURRENT}, {TWIN}", "1.00", per_cent(false)]]
    rows += [[", ".join(pair), f"{VISIBLE:.2f}", ", ".join(map(per_cent, shares))] for pair, shares in seen.items()]
    title = f"Three contestants of one system, {BLOCKS} blocks, {AA_BLOCKS} A/A blocks: {campaigns_of(size)} campaigns"
    show(title, ["pair", "true ratio", "told apart (of twins: by any percentile)"], rows)
    assert false <= FALSE_SHARE + 3 * standard_error(FALSE_SHARE, campaigns_of(size))
    assert min(shares.min() for shares in seen.values()) >= SEEN_IN


def test_every_pair_has_its_noise_band(ran: Ran) -> None:
    """Of ten A/A blocks, those of its own two; and no ratio of a pair is of an A/A block."""
    [values_ms] = values_of(np.random.default_rng(SEED), ran, 1, VISIBLE)
    for each in ran.compared(values_ms):
        assert (each.blocks, len(each.aa_ratios)) == (BLOCKS, BLOCKS)
        assert each.certainty.band is not None
        own = {
            trial.trial.block
            for trial in ran.trials
            if trial.trial.is_aa and trial.trial.called in (each.first, each.second)
        }
        assert {entry.block for entry in each.aa_ratios} == own


def test_a_planted_value_comes_back_as_the_ratio(ran: Ran) -> None:
    """Without any scatter of its own a contestant that is slower by 1.4 has that ratio in every block, the right way round."""
    values_ms = np.array([[VISIBLE if each.trial.called == PLANTED else 1.0] * len(PERCENTILES) for each in ran.trials])
    ratios = {(each.first, each.second): each.median for each in ran.compared(values_ms)}
    assert ratios == {
        (CURRENT, TWIN): exactly(1.0),
        (CURRENT, PLANTED): exactly(1 / VISIBLE),
        (TWIN, PLANTED): exactly(1 / VISIBLE),
    }


def test_the_report_says_which_of_them_are_the_same(ran: Ran) -> None:
    """By what their trials recorded: the twin is, the planted one differs in the one setting."""
    said = [each.sentence for each in contestant_differences(ran.campaign)]
    assert said == [
        f"{TWIN} is the same as {CURRENT} under another name: none of their settings differs.",
        f"{PLANTED} differs from {CURRENT} in broker num.io.threads (not set, 1).",
        f"{PLANTED} differs from {TWIN} in broker num.io.threads (not set, 1).",
    ]
