"""Whether a measurement was steady: what the check says of made-up windows and thirds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.campaign import Trial
from analysis.certainty.shift import shift
from analysis.checks import Check, judge
from analysis.evidence import Counts, Evidence
from analysis.percentiles import Percentile
from analysis.records.latencies import FIRST_THIRD, LAST_THIRD
from analysis.records.windows import WINDOWS
from analysis.thirds import marked_thirds, populations_of_thirds, thirds_of
from analysis.weaknesses import unjudged_warnings
from tests.analysis.synthetic_results import CHECKS, DURABILITY, Plan, Shape, trial_document

NAME, MS, START_NS = "b01-1-kafka-l1-steady", 1_000_000, 10**18
THIRD = WINDOWS // 3
DECLARED = [check for check in CHECKS if check["check"] == "steady-state"]
STEADY = np.full(WINDOWS, 4.0)
WARMING_UP = 4.0 * (1 + 0.6 * np.exp(-np.arange(WINDOWS) / 4))
NOISE = np.exp(np.random.default_rng(3).normal(0, 0.03, WINDOWS))


def trial_of(changes: Mapping[str, Any] | None = None, observed: Mapping[str, Any] | None = None) -> Trial:
    """One of the default shape: two seconds of warm-up, six measured."""
    plan = Plan(NAME, 1, 1, "kafka", changes=dict(changes or {}), observations=dict(observed or {}))
    return Trial(NAME, trial_document(plan, Shape(), START_NS, {"produced": 0, "consumed": 0, "hosts": 0}, 0))


def evidence_of(p50_ms: Any, p99_ms: Any = None, trial: Trial | None = None) -> Evidence:
    """With these percentiles in each window; a third's is taken to be the median of its windows'."""
    trial, of_windows = trial or trial_of(), {"p50_ns": p50_ms, "p99_ns": p99_ms}
    rows: list[dict[str, Any]] = [{"window": n, "samples": 40, "p50_ns": None, "p99_ns": None} for n in range(WINDOWS)]
    thirds = []
    for column, ppm in (("p50_ns", 500_000), ("p99_ns", 990_000)):
        values = of_windows[column]
        for metric, own in ((FIRST_THIRD, slice(THIRD)), (LAST_THIRD, slice(-THIRD, None))):
            value_ns = None if values is None else int(np.median(values[own]) * MS)
            thirds.append(Percentile(NAME, metric, "", ppm, 800, value_ns))
        for row, value in zip(rows, () if values is None else values, strict=False):
            row[column] = int(value * MS)
    counts = Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {})
    return Evidence(trial, (trial,), counts, (), (), (), (), (), thirds=tuple(thirds), windows=tuple(rows))


def check_of(evidence: Evidence) -> Check:
    (found,) = judge([evidence], DECLARED)
    return found


def test_a_steady_measurement_is_valid_and_says_by_how_much_it_changed() -> None:
    """With both percentiles' ratios and bounds, as a sentence and as figures."""
    found = check_of(evidence_of(STEADY * NOISE, 3 * STEADY * NOISE[::-1]))
    assert found.verdict == "valid"
    assert found.sentence.startswith("In the last third p50 was 1.0")
    assert "; the bound is 1.1." in found.sentence and "; the bound is 1.25." in found.sentence
    assert [one["percentile"] for one in found.evidence["judged"]] == ["p50", "p99"]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_measurement_that_is_still_warming_up_warns(backwards: bool) -> None:
    """Whether latency falls or rises, with the figures of the percentile that changed."""
    values = WARMING_UP * NOISE
    found = check_of(evidence_of(values[::-1] if backwards else values))
    assert found.verdict == "warn"
    assert found.sentence.startswith("The last third isn't like the first: p50 was ")
    (change,) = found.evidence["judged"]
    assert (change["ratio"] > 1.1) is backwards and (change["ratio"] < 1 / 1.1) is not backwards
    assert change["p"] <= 0.05


def test_a_change_within_its_bound_does_not_warn() -> None:
    """However certain it is: a few per cent are no reason to doubt a figure."""
    drifting = STEADY * np.linspace(1, 1.08, WINDOWS) * np.exp(np.random.default_rng(1).normal(0, 0.002, WINDOWS))
    found = check_of(evidence_of(drifting))
    assert found.verdict == "valid"
    assert found.evidence["judged"][0]["p"] < 0.001


def test_a_change_that_may_be_chance_does_not_warn_and_says_so() -> None:
    """Stalls of a few windows move a third's percentile, and say nothing of the third."""
    tail = 12 * STEADY * np.exp(np.random.default_rng(2).normal(0, 0.5, WINDOWS))
    evidence = evidence_of(STEADY * NOISE, tail)
    thirds = tuple(
        replace(each, value_ns=90 * MS) if (each.metric, each.quantile_ppm) == (LAST_THIRD, 990_000) else each
        for each in evidence.thirds
    )
    found = check_of(replace(evidence, thirds=thirds))
    assert found.verdict == "valid"
    assert "; the bound is 1.25, which may be chance (p = " in found.sentence


def test_each_percentile_has_its_share_of_the_false_alarms() -> None:
    """Judged together, two have twice the p of one alone."""
    values = WARMING_UP * NOISE
    alone, together = (check_of(evidence_of(values, tail)).evidence["judged"][0]["p"] for tail in (None, values))
    assert together == pytest.approx(2 * alone)


def test_a_percentile_with_too_few_messages_is_left_out_and_named() -> None:
    """The other one is judged all the same."""
    found = check_of(evidence_of(STEADY * NOISE))
    assert found.sentence.endswith(
        f"p99 isn't judged: it takes 1,000 messages in each of {WINDOWS} windows, nearly all acknowledged."
    )


def test_a_trial_with_too_few_messages_is_not_judged_and_the_first_screen_says_so() -> None:
    """It passes, but not silently."""
    found = check_of(evidence_of(None))
    assert found.verdict == "valid"
    assert found.sentence.startswith(f"Not judged: there are too few messages in some of {WINDOWS} windows")
    (said,) = unjudged_warnings([found], {NAME, "another"})
    assert said.startswith("Whether the measurement was steady can't be told of 1 of 2 trials: there are too few")
    assert unjudged_warnings([check_of(evidence_of(STEADY * NOISE))], {NAME}) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"workload": {**trial_of().workload, "backlog": {"size_bytes": 1}}}, "A backlog is read"),
        ({"workload": {**trial_of().workload, "pacing": "search"}}, "the pacing is search"),
        ({"workload": {**trial_of().workload, "pacing": "closed-loop"}}, "the pacing is closed-loop"),
        ({"durability": DURABILITY["none"]}, "No broker answers"),
        ({"ended": "aborted", "abort": {"rule": "nothing-acknowledged", "axis": "outcome"}}, "ended early"),
    ],
)
def test_where_there_is_no_steady_state_the_check_says_why(changes: dict[str, Any], says: str) -> None:
    """Valid, with the reason, whatever the windows would say."""
    found = check_of(evidence_of(WARMING_UP * NOISE, trial=trial_of(changes)))
    assert (found.verdict, found.evidence["judged"]) == ("valid", [])
    assert found.sentence.startswith("Not judged. ") and says in found.sentence


def test_a_trial_without_any_message_is_unknown() -> None:
    """Nothing was recorded of a measurement that was completed."""
    assert check_of(replace(evidence_of(STEADY), windows=())).verdict == "unknown"


def test_a_warm_up_that_reached_its_bound_is_told() -> None:
    """What the load driver knew is said, and the measurement judged by itself."""
    observed = {"warmup": {"steady": False, "bound_s": 60.0}}
    found = check_of(evidence_of(STEADY * NOISE, trial=trial_of(observed=observed)))
    assert found.verdict == "valid"
    assert found.sentence.endswith("The warm-up ended at its bound of 60 s, before the system was found steady.")


def test_thirds_are_of_the_measured_phase_and_marked_at_their_medians() -> None:
    """In seconds since the load began, which is when the warm-up did."""
    evidence = evidence_of(WARMING_UP)
    assert list(thirds_of(evidence.trial)) == [FIRST_THIRD, LAST_THIRD]
    first, last = marked_thirds(evidence.trial, evidence.thirds)
    assert ((first.begin_s, first.end_s), (last.begin_s, last.end_s)) == ((2.0, 4.0), (6.0, 8.0))
    assert first.median_ms > last.median_ms > 4.0
    assert thirds_of(trial_of({"generator": "native"})) == {}


def test_a_third_is_of_all_messages_that_it_scheduled() -> None:
    """Answered or not, as the windows counted them."""
    rows = [{"window": n, "samples": 10 + n} for n in range(WINDOWS)]
    found = populations_of_thirds({NAME: rows})
    messages = {metric: population.messages for (_, metric, _), population in found.items()}
    assert messages == {
        FIRST_THIRD: sum(10 + n for n in range(THIRD)),
        LAST_THIRD: sum(10 + n for n in range(WINDOWS - THIRD, WINDOWS)),
    }


def test_a_series_without_scatter_is_certain() -> None:
    """One that never moves is steady; one that only moves along a smooth curve isn't."""
    flat, moving = np.zeros(WINDOWS), 1 + np.arange(WINDOWS) / (WINDOWS - 1)
    assert float(shift(flat).p) == 1.0
    assert float(shift(moving).p) < 1e-9
    assert float(shift(moving).log_ratio) == pytest.approx((WINDOWS - THIRD) / (WINDOWS - 1))
