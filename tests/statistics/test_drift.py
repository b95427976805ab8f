"""Blocks that depend on one another: does what is printed hold, and what would it be worth if blocks were taken as independent?"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from analysis.certainty.interval import CONFIDENCE, attained_level
from analysis.certainty.serial import MOST_ALLOWED, allowed, estimates, independent_p, lag1, serial_correlation
from analysis.certainty.verdict import FALSE_SHARE, SHOWN, certainties
from tests.analysis.exact_ratios import exact_ratios
from tests.statistics.drifts import DRIFTS, INDEPENDENT, METRICS, Drift, drifting, following
from tests.statistics.rules import called, intervals, printed, standard_error
from tests.statistics.tables import per_cent, show
from tests.statistics.worlds import Floats

SEED = 11
RHOS = (0.0, 0.4, 0.6, 0.8)


def _simulated(size: Any, drift: Drift, metrics: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(zlib.crc32(drift.name.encode()) + SEED + metrics)
    return drifting(random, drift, size.campaigns, size.blocks[-1], metrics)


def _holds(low: Floats, high: Floats, truth: float) -> float:
    return float(np.mean((low <= truth) & (truth <= high)))


def test_the_printed_interval_holds_the_truth_though_blocks_depend_on_one_another(size: Any) -> None:
    """In 95 % less three standard errors, up to the drift that is allowed for; the exact interval alone doesn't."""
    rows, wrong, exact_of = [], [], {}
    for drift in DRIFTS:
        ratios, _ = _simulated(size, drift, 1)
        truth = 1 / drift.second_place
        for blocks in size.blocks:
            found, exact = printed(ratios[:, :blocks]), intervals(ratios[:, :blocks])
            share, exact_of[drift.name, blocks] = _holds(found.low, found.high, truth), _holds(*exact, truth)
            told = f"{per_cent(exact_of[drift.name, blocks])} ({per_cent(attained_level(blocks))})"
            rows.append([drift.name, str(blocks), told, per_cent(share), f"{np.median(found.allowed):.2f}"])
            if not drift.beyond and share < CONFIDENCE - 3 * standard_error(CONFIDENCE, size.campaigns):
                wrong.append((drift.name, blocks, share))
    show(
        f"Share of {size.campaigns} campaigns in which the interval holds the truth",
        ["campaigns", "blocks", "if taken as independent (printed)", "as printed: 95 %", "allowed for, median"],
        rows,
    )
    assert not wrong
    assert all(exact_of["drift, 0.8", blocks] < 0.8 for blocks in size.blocks)


@pytest.mark.parametrize("metrics", [1, METRICS])
def test_equals_that_drift_are_rarely_called_different(size: Any, metrics: int) -> None:
    """In at most 5 % of campaigns plus three standard errors, with and without A/A blocks, in any of the metrics.

    A place that is always the worse one is a difference in every block, which only A/A blocks can tell from one of systems.
    """
    most = FALSE_SHARE + 3 * standard_error(FALSE_SHARE, size.campaigns)
    rows, wrong = [], []
    for drift in DRIFTS:
        ab, aa = _simulated(size, drift, metrics)
        for blocks in size.blocks:
            row = [drift.name, str(blocks)]
            for with_aa in (False, True):
                found = called(ab[:, :blocks], aa[:, :blocks] if with_aa else None)
                before, now = (float(np.mean(each.any(axis=1))) for each in (found.as_if_independent, found.shown))
                row += [per_cent(before), per_cent(now)]
                if not drift.beyond and (with_aa or drift.second_place == 1) and now > most:
                    wrong.append((drift.name, blocks, with_aa, now))
            rows.append(row)
    tested = "one metric" if metrics == 1 else f"any of {metrics} metrics"
    show(
        f"Two equal systems: share of {size.campaigns} campaigns in which {tested} is called different",
        [
            "campaigns",
            "blocks",
            "if taken as independent",
            "as reported",
            "the same, with A/A",
            "as reported, with A/A",
        ],
        rows,
    )
    assert not wrong


def test_what_blocks_can_tell_of_their_dependence(size: Any) -> None:
    """Independent blocks are said to follow one another in 5 % of campaigns; few blocks can neither see nor exclude a drift."""
    rows, seen, excluded = [], {}, {}
    for rho in RHOS:
        series = following(rho)(np.random.default_rng(SEED), (size.campaigns, size.blocks[-1], 1))[:, :, 0]
        for blocks in size.blocks:
            found = lag1(series[:, :blocks])
            estimate, at_most = estimates(found, blocks)
            seen[rho, blocks] = float(np.mean(independent_p(found, blocks) <= 1 - CONFIDENCE))
            excluded[rho, blocks] = float(np.mean(at_most < MOST_ALLOWED))
            figures = [
                f"{np.median(each):.2f}" for each in (found, estimate, allowed(estimate[:, None], at_most[:, None]))
            ]
            rows.append(
                [f"{rho:.1f}", str(blocks), *figures, per_cent(seen[rho, blocks]), per_cent(excluded[rho, blocks])]
            )
    columns = [
        "true",
        "blocks",
        "lag-1, median",
        "estimate",
        "allowed for",
        "said to follow one another",
        "0.8 excluded",
    ]
    show(f"What {size.campaigns} campaigns can tell of their blocks' correlation", columns, rows)
    rarely = FALSE_SHARE + 3 * standard_error(FALSE_SHARE, size.campaigns) + 0.01  # the rule's own simulation errs, too
    for blocks in size.blocks:
        assert seen[0.0, blocks] <= rarely
        assert excluded[MOST_ALLOWED, blocks] <= rarely
    assert seen[0.8, size.blocks[0]] < 0.5


def test_the_simulated_drifts_are_the_reports(size: Any) -> None:
    """Campaign by campaign the same intervals, p-values and verdicts as `certainties` gives."""
    for drift in (INDEPENDENT, DRIFTS[4]):
        ab, aa = (ratios[:40, : size.blocks[-1]] for ratios in _simulated(size, drift, 1))
        ab = ab * 1.15
        found, verdicts = printed(ab), called(ab, aa).shown
        for campaign in range(len(ab)):
            told = certainties([exact_ratios(list(ab[campaign, :, 0]), list(aa[campaign, :, 0]))])[0]
            assert told.interval is not None
            assert told.serial == serial_correlation(list(ab[campaign, :, 0]))
            ours = found.low[campaign, 0], found.high[campaign, 0], found.p[campaign, 0]
            assert (told.interval.low, told.interval.high, told.p) == pytest.approx(ours, rel=1e-3)
            assert (told.verdict == SHOWN) == verdicts[campaign, 0]
