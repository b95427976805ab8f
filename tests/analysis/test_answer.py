"""What the first screen and the comparison's tables say of six blocks and of fewer, with and without A/A blocks."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from analysis.answer import answer
from analysis.bounded import Bounded, exactly
from analysis.campaign import Campaign, Trial
from analysis.checks import Check
from analysis.comparison import compare, count_outcomes
from analysis.drawing import Drawings
from analysis.evidence import Counts, Evidence
from analysis.metrics import Measurement
from analysis.page import render_page
from analysis.percentiles import Percentile
from analysis.records.latencies import RESPONSE
from analysis.report import Results, report_document
from analysis.weaknesses import search_warnings
from tests.analysis.synthetic_results import Plan, Shape, manifest_document, trial_document

P50, P99 = "response_latency_p50", "response_latency_p99"
FASTER = (0.70, 0.82, 0.72, 0.80, 0.75, 0.78, 0.77)
MIXED = (0.9, 1.1, 0.95, 1.2, 1.0, 1.02, 1.0)
QUIET = (0.99, 1.0, 1.01, 1.0, 0.98, 1.02, 1.0)


def _results(blocks: int, aa_blocks: int = 0, *, lost_in_aa: bool = False) -> Results:
    """Pulsar over kafka: p99 as FASTER, p50 as MIXED; A/A blocks as QUIET."""
    kinds = [("A/B", ratio, other) for ratio, other in zip(FASTER[:blocks], MIXED, strict=False)]
    kinds += [("A/A", ratio, ratio) for ratio in QUIET[:aa_blocks]]
    plans, measured = [], []
    for block, (kind, p99, p50) in enumerate(kinds, start=1):
        systems = ("pulsar", "kafka") if kind == "A/B" else (("pulsar", "kafka")[block % 2],) * 2
        for position, system in enumerate(systems, start=1):
            name = f"{'aa' if kind == 'A/A' else 'b'}{block:02d}-{position}-{system}-l1-steady"
            plans.append(Plan(name, block, position, system, changes={"block_kind": kind}))
            first = position == 1
            measured += [
                Measurement(name, P99, "ms", exactly(10.0 * p99 if first else 10.0), 9),
                Measurement(name, P50, "ms", exactly(5.0 * p50 if first else 5.0), 9),
            ]
    trials = tuple(Trial(plan.name, trial_document(plan, Shape(), 0, {}, 0)) for plan in plans)
    evidence = [Evidence(t, trials, Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}), (), (), (), (), ()) for t in trials]
    checks = [Check(trial.name, "steal", "validity", "valid", "Fine.") for trial in trials]
    checks += [
        Check(t.name, "no-loss", "outcome", "not met" if lost_in_aa and t.is_aa else "met", "Lost.") for t in trials
    ]
    declared = [{"check": "steal", "axis": "validity"}, {"check": "no-loss", "axis": "outcome"}]
    campaign = Campaign("results", {**manifest_document(plans, Shape()), "checks": declared}, trials, {}, ())
    comparisons = compare(evidence, checks, measured)
    outcomes, aa_outcomes = (
        count_outcomes([each for each in evidence if each.trial.is_aa is aa], checks) for aa in (False, True)
    )
    found = answer(campaign, evidence, comparisons, outcomes, (), aa_outcomes)
    return Results(campaign, evidence, checks, measured, outcomes, (), comparisons, found, (), aa_outcomes)


def _text(results: Results) -> str:
    page = render_page(report_document(results), Drawings())
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def _row(results: Results, metric: str) -> dict[str, Any]:
    (row,) = (each for each in report_document(results)["comparisons"] if each["metric"] == metric)
    return dict(row)


def test_a_difference_is_told_with_its_interval_and_level() -> None:
    """Seven blocks, two metrics: 2 / 2^7 x 2 = 0.031, so p99 is called; p50 is not, and its interval says why."""
    told = _results(7).answer
    assert told.findings[2:] == (
        "Workload steady, durability level 1: pulsar's response latency p99 was 0.77× that of kafka "
        "(median of 7 blocks, as in block 7: 7.70 against 10.0 ms; 95 % interval 0.70× to 0.82×).",
        "Workload steady, durability level 1: no difference shown in response latency p50. pulsar's was 1.00× that of kafka "
        "(median of 7 blocks, as in block 5: 5.00 against 5.00 ms; 95 % interval 0.90× to 1.20×); the interval includes 1.",
    )
    assert told.certainty == (
        "7 blocks, a difference shown in 1 of 2 comparisons. With 7 blocks the smallest p is 0.016; after correction over 2 metrics "
        "that is 0.031, so one of them alone can be called. No drift from block to block is seen, and a strong one is excluded; the "
        "intervals allow for a correlation of 0.12 between neighbouring blocks. What all blocks have in common, such as these hosts, "
        "is in no interval. No block ran one system twice, so nothing here says how far two equal "
        "systems would differ."
    )


def test_six_blocks_cannot_call_one_of_two_metrics() -> None:
    """2 / 2^6 x 2 = 0.0625: the answer says so, and how many blocks would do."""
    told = _results(6).answer
    assert "no difference shown in response latency p99" in told.findings[2]
    assert told.findings[2].endswith("; not after the correction for many metrics (p = 0.062).")
    assert "To call one of them 7 blocks are needed." in told.certainty


@pytest.mark.parametrize(
    ("blocks", "shown"),
    [
        (1, "(one block: 7.00 against 10.0 ms)"),
        (2, "(median of 2 blocks: 0.70×, 7.00 against 10.0 ms; 0.82×, 8.20 against 10.0 ms)"),
    ],
)
def test_few_blocks_get_the_values_and_the_sentence(blocks: int, shown: str) -> None:
    """No interval, no p-value, on no page."""
    results = _results(blocks)
    assert results.answer.findings[2].endswith(f"that of kafka {shown}.")
    assert "with fewer than 6 blocks no 95 % interval is possible" in results.answer.certainty
    row = _row(results, P99)
    assert (row["interval"], row["band"], row["p"], row["corrected_p"]) == (None, None, None, None)
    assert row["verdict"] == "too few blocks"
    text = _text(results)
    assert "metric median ratio verdict blocks range of blocks response" in text
    assert (
        "With fewer than 6 blocks no 95 % interval is possible: these are the blocks' values and their range." in text
    )


def test_aa_blocks_give_a_band_and_no_findings() -> None:
    """They are counted in no outcome of the answer; the row and the page carry the band."""
    results = _results(7, 7)
    assert results.answer.findings[:2] == tuple(
        f"{system} did all that was asked in 7 of 7 trials." for system in ("pulsar", "kafka")
    )
    assert "7 A/A blocks, in which a system ran against itself, give the noise band" in results.answer.certainty
    row = _row(results, P99)
    assert row["band"] == {
        "low": pytest.approx(0.98),
        "high": pytest.approx(1 / 0.98),
        "attained": 0.984375,
        "blocks": 7,
    }
    assert (row["interval"], row["verdict"]) == ({"low": 0.7, "high": 0.82, "attained": 0.95}, "difference shown")
    assert (row["p"], row["corrected_p"], row["no_band"]) == (0.015625, 0.03125, None)
    assert [entry["block"] for entry in row["aa_blocks"]] == [8, 9, 10, 11, 12, 13, 14]
    text = _text(results)
    assert "0.77× 0.70× to 0.82× (95 %) 0.98× to 1.02× difference shown the interval is outside the noise band" in text
    assert ", 0.98× to 1.02× 7 0.016 0.031" in text
    assert "Outcomes in A/A blocks" in text


def test_loss_in_an_aa_block_is_told() -> None:
    """As a warning of the answer: a system that lost messages lost them, wherever it ran."""
    told = _results(7, 7, lost_in_aa=True).answer
    assert (
        told.warnings[0]
        == "In A/A blocks, pulsar did all that was asked in 0 of 8 trials. Not met: no-loss (8 trials)."
    )


def test_what_was_never_acknowledged_is_told() -> None:
    """It has no latency, so that a system which stops answering looks faster: the first screen says how much is missing."""
    results = _results(6)
    silent = replace(results.trials[1].counts, scheduled_in_measure=1000, acknowledged_in_measure=975)
    trials = [replace(each, counts=silent) if each.trial.block == 1 else each for each in results.trials]
    told = answer(results.campaign, trials, results.comparisons, results.outcomes, ())
    assert told.warnings == (
        "25 of 1,000 messages that were to be measured (2.50%) were never acknowledged by pulsar. They count as later than all others: "
        "of a percentile that falls among them only a lower bound is known.",
        "25 of 1,000 messages that were to be measured (2.50%) were never acknowledged by kafka. They count as later than all others: "
        "of a percentile that falls among them only a lower bound is known.",
    )


def test_the_first_screen_does_not_contradict_itself() -> None:
    """Ratios 2, 0.5 and 5/3: the values beside the median ratio are of the block that has it, not medians of either system."""
    results = _results(3)
    values = {(1, "pulsar"): 20.0, (1, "kafka"): 10.0, (2, "pulsar"): 18.0, (2, "kafka"): 36.0}
    values |= {(3, "pulsar"): 60.0, (3, "kafka"): 36.0}
    trials = [each.trial for each in results.trials]
    measured = [Measurement(t.name, P99, "ms", exactly(values[t.block, t.system]), 9) for t in trials]
    found = compare(results.trials, results.checks, measured)
    (said,) = answer(results.campaign, results.trials, found, results.outcomes, ()).findings[2:]
    assert (
        "was 1.67× that of kafka (median of 3 blocks: 2.00×, 20.0 against 10.0 ms; 0.50×, 18.0 against 36.0 ms; "
        in said
    )
    assert "20.0 against 36.0" not in said


def test_what_was_never_answered_is_told_as_a_bound() -> None:
    """In the sentence, in the interval and in the table; JSON has no infinity."""
    results = _results(7)
    measured = [
        replace(m, known=Bounded(None, 30_000.0, math.inf)) if "kafka" in m.trial and m.metric == P99 else m
        for m in results.measured
    ]
    found = compare(results.trials, results.checks, measured)
    told = answer(results.campaign, results.trials, found, results.outcomes, ())
    assert told.findings[2] == (
        "Workload steady, durability level 1: pulsar's response latency p99 was less than 0.000257× that of kafka "
        "(median of 7 blocks; 95 % interval less than 0.000316×)."
    )
    results = replace(results, measured=measured, comparisons=found, answer=told)
    row = _row(results, P99)
    assert row["blocks"][0]["second"] == {"value": None, "low": 30_000.0, "high": None}
    assert "less than 0.000257×" in _text(results)
    assert re.search(r"7\.00 / more than 30,000 ms : less than 0\.000233×", _text(results))
    json.dumps(report_document(results), allow_nan=False)


def test_a_search_is_answered_by_its_rates() -> None:
    """The first screen has the rates; of trials at rates of their own no latency is compared."""
    results = _results(2)
    trials = []
    for each, rate_per_s in zip(results.trials, (1000, 2000, 1000, 3000), strict=True):
        document = dict(each.trial.document)
        document["workload"] = {**each.trial.workload, "pacing": "search"}
        document["observations"] = {"search": {"rate_per_s": rate_per_s, "attempts": []}}
        trials.append(replace(each, trial=Trial(each.trial.name, document)))
    rates = [
        Measurement(
            each.trial.name,
            "throughput_achieved",
            "msg/s",
            exactly(each.trial.document["observations"]["search"]["rate_per_s"]),
            9,
        )
        for each in trials
    ]
    comparisons = compare(trials, results.checks, [*results.measured, *rates])
    assert [found.metric for found in comparisons] == ["throughput_achieved"]
    assert answer(results.campaign, trials, comparisons, results.outcomes, ()).findings[2:] == (
        "Workload steady, durability level 1: the highest sustained rate was 1,000 msg/s (1.02 MB/s) of pulsar, 2,000 to 3,000 msg/s "
        "(up to 3.07 MB/s, 2 searches) of kafka.",
        "Workload steady, durability level 1: pulsar's throughput achieved was 0.42× that of kafka (median of 2 blocks: "
        "0.50×, 1,000 against 2,000 msg/s; 0.33×, 1,000 against 3,000 msg/s).",
    )


def test_a_search_that_confirmed_no_rate_is_told_of() -> None:
    """A contestant that isn't named looks as if it hadn't been asked."""
    results = _results(1)
    trials = []
    for each, rate_per_s in zip(results.trials, (None, 2000), strict=True):
        document = {**each.trial.document, "observations": {"search": {"rate_per_s": rate_per_s, "attempts": []}}}
        trials.append(replace(each, trial=Trial(each.trial.name, document)))
    told = answer(results.campaign, trials, (), results.outcomes, ()).findings[2]
    assert told == (
        "Workload steady, durability level 1: the highest sustained rate was 2,000 msg/s (2.05 MB/s) of kafka; "
        "searches that could confirm no rate: 1 of pulsar."
    )


def test_a_search_that_something_else_ended_is_told_of() -> None:
    """Its rate is no measure of the system, and a ranking by such rates is none."""
    results = _results(2)
    trials = []
    for each, bounded_by in zip(results.trials, ("steps", "rate_per_s", "system", "rate_per_s"), strict=True):
        search = {"rate_per_s": 2000, "attempts": [], "bounded_by": bounded_by}
        document = {**each.trial.document, "observations": {"search": search}}
        trials.append(replace(each, trial=Trial(each.trial.name, document)))
    assert search_warnings(trials) == [
        "Rates that searches found are lower bounds where something else than the system ended them: "
        "the number of steps (1 of pulsar); the workload's bound (2 of kafka)."
    ]
    assert search_warnings(trials)[0] in answer(results.campaign, trials, (), results.outcomes, ()).warnings
    assert search_warnings([trials[2]]) == []


def test_one_system_alone_has_its_values() -> None:
    """Where nothing can be compared, the first screen says what was measured."""
    results = _results(1)
    p99 = Percentile(results.trials[0].trial.name, RESPONSE, "", 990_000, 9, 7_300_000)
    alone = replace(results.trials[0], percentiles=(p99,))
    assert answer(results.campaign, [alone], (), results.outcomes, ()).findings[2:] == (
        "Workload steady, durability level 1: pulsar's response latency was p99 7.30 ms.",
    )


def test_many_cells_share_a_sentence() -> None:
    """Of four cells a metric gets one sentence, with the range of ratios; of three, each cell has its own."""
    results = _results(7)

    def told(cells: int) -> tuple[str, ...]:
        found = [replace(each, cell=(f"w{n}", 1)) for n in range(cells) for each in results.comparisons]
        return answer(results.campaign, results.trials, found, results.outcomes, ()).findings[2:]

    assert len(told(3)) == 6
    assert told(4) == (
        "pulsar's response latency p99 was 0.77× to 0.77× that of kafka over 4 cells (workload and durability level): larger in 0, "
        "smaller in 4; a difference is shown in 4.",
        "pulsar's response latency p50 was 1.00× to 1.00× that of kafka over 4 cells (workload and durability level): larger in 0, "
        "smaller in 0; a difference is shown in none.",
    )


def test_a_metric_of_one_cell_among_many_has_a_sentence_of_its_own() -> None:
    """What only one of four cells has isn't said as a range."""
    results = _results(7)
    p50, p99 = sorted(results.comparisons, key=lambda found: found.metric)
    found = [replace(p50, cell=(f"w{n}", 1)) for n in range(4)] + [p99]
    first, second = answer(results.campaign, results.trials, found, results.outcomes, ()).findings[2:]
    assert first.startswith(
        "Workload steady, durability level 1: pulsar's response latency p99 was 0.77× that of kafka "
    )
    assert "p50 was 1.00× to 1.00× that of kafka over 4 cells" in second


def test_too_few_aa_blocks_are_told() -> None:
    """Six for seven blocks are no band, and how many are needed is said."""
    results = _results(7, 6)
    assert "6 A/A blocks of these systems make no noise band: 7 are needed." in results.answer.certainty
    assert _row(results, P99)["no_band"] == "6 A/A blocks of these systems make no noise band: 7 are needed"


def test_metrics_of_different_blocks_stand_under_their_own() -> None:
    """A metric that one block hasn't leaves a dash there, and moves no other block's values."""
    results = _results(3)
    one, *others = results.comparisons
    results = replace(results, comparisons=[replace(one, ratios=one.ratios[1:]), *others])
    assert f"{one.metric.replace('_', ' ')} – " in _text(results)
