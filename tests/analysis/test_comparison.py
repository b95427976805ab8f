"""Pairing, ratios and outcomes, on values made by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from analysis.bounded import Bounded, exactly
from analysis.campaign import Trial
from analysis.certainty.interval import TOO_FEW_BLOCKS, Interval
from analysis.certainty.verdict import NOT_SHOWN, SHOWN
from analysis.checks import Check
from analysis.comparison import compare, count_outcomes, excluded_trials
from analysis.evidence import Counts, Evidence
from analysis.formatting import number, quantity, ratio
from analysis.metrics import Measurement, measurements
from tests.analysis.synthetic_results import Plan, Shape, trial_document

P99 = "response_latency_p99"
APART = (14.0, 10.0, 15.0, 11.0, 14.0, 10.0)  # up and down: no drift


def _evidence(block: int, position: int, system: str, durability: str = "1", kind: str = "A/B") -> Evidence:
    name = f"{'aa' if kind == 'A/A' else 'b'}{block:02}-{position}-{system}"
    plan = Plan(name, block, position, system, durability=durability, changes={"block_kind": kind})
    trial = Trial(plan.name, trial_document(plan, Shape(), 0, {}, 0))
    return Evidence(trial, (trial,), Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}), (), (), (), (), ())


def _with_aa_blocks(blocks: int, scatter: float) -> tuple[list[Evidence], list[Check], list[Measurement]]:
    """As `_campaign`, with as many A/A blocks of "a" and "b" in turn: second runs take `scatter` times as long, or as short."""
    trials, checks, measured = _campaign(blocks, APART)
    for block in range(blocks + 1, 2 * blocks + 1):
        system = "ab"[block % 2]
        for place, value in ((1, 10.0), (2, 10.0 * (scatter if block % 3 else 1 / scatter))):
            evidence = _evidence(block, place, system, kind="A/A")
            trials.append(evidence)
            checks.append(Check(evidence.trial.name, "steal", "validity", "valid", "Fine."))
            measured.append(Measurement(evidence.trial.name, P99, "ms", exactly(value), 1000))
    return trials, checks, measured


def _campaign(
    blocks: int, ratios: Sequence[float] = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0)
) -> tuple[list[Evidence], list[Check], list[Measurement]]:
    trials = [
        _evidence(block, place, system) for block in range(1, blocks + 1) for place, system in ((1, "a"), (2, "b"))
    ]
    checks = [Check(evidence.trial.name, "steal", "validity", "valid", "Fine.") for evidence in trials]
    values = [(e.trial.name, 5.0 * ratios[e.trial.block - 1] if e.trial.system == "a" else 5.0) for e in trials]
    return trials, checks, [Measurement(name, P99, "ms", exactly(value), 1000) for name, value in values]


def test_one_ratio_per_block_and_their_median() -> None:
    """Ratios 2, 4 and 6 have the median 4; three blocks carry no interval."""
    (found,) = compare(*_campaign(3))
    assert [entry.ratio for entry in found.ratios] == [exactly(2.0), exactly(4.0), exactly(6.0)]
    assert (found.median, found.range, found.certainty.why) == (exactly(4.0), Bounded(None, 2.0, 6.0), TOO_FEW_BLOCKS)
    assert found.typical == found.ratios[1]
    assert (found.certainty.interval, found.certainty.p) == (None, None)


def test_six_blocks_have_an_interval() -> None:
    """Ratios 14, 10, ... 15: from the smallest to the largest with 96.9 % if blocks are independent."""
    (found,) = compare(*_campaign(6, APART))
    assert (found.blocks, found.median, found.typical) == (6, exactly(12.5), None)
    assert found.certainty.if_independent == Interval(10.0, 15.0, 0.96875)
    assert (found.certainty.verdict, found.certainty.p, found.certainty.band) == (SHOWN, 0.03125, None)


def test_what_was_never_answered_wins_no_comparison() -> None:
    """A percentile of "a" that is only known to be more than 50 ms: its ratio over 5 ms is more than 10, in every block."""
    trials, checks, measured = _campaign(6)
    silent = [
        replace(m, known=Bounded(None, 50.0, math.inf)) if m.trial.endswith("-a") else replace(m, known=exactly(5.0))
        for m in measured
    ]
    (found,) = compare(trials, checks, silent)
    assert found.median == Bounded(None, 10.0, math.inf)
    assert found.certainty.if_independent == Interval(10.0, math.inf, 0.96875)
    assert found.certainty.interval is not None
    assert [found.certainty.interval.low, found.certainty.interval.high] == pytest.approx([10.0, math.inf])
    assert (found.certainty.verdict, found.typical) == (SHOWN, None)


def test_what_neither_answered_shows_nothing() -> None:
    """Both percentiles are only known to be more than something: the ratio is anything."""
    trials, checks, measured = _campaign(6)
    (found,) = compare(trials, checks, [replace(m, known=Bounded(None, 50.0, math.inf)) for m in measured])
    assert found.median == Bounded(None, 0.0, math.inf)
    assert (found.certainty.verdict, found.certainty.p) == (NOT_SHOWN, 1.0)


def test_a_known_minority_of_bounds_leaves_the_median() -> None:
    """One block of six without an answer moves the interval's end; the median's bounds are those of the middle ratios."""
    trials, checks, measured = _campaign(6)
    silent = [replace(m, known=Bounded(None, 1000.0, math.inf)) if m.trial == "b06-1-a" else m for m in measured]
    (found,) = compare(trials, checks, silent)
    assert found.median == exactly(7.0)
    assert found.certainty.if_independent == Interval(2.0, math.inf, 0.96875)


def test_aa_blocks_are_in_the_band_and_in_nothing_else() -> None:
    """The ratios of two systems are the same with and without them; both systems' A/A blocks make the band."""
    (alone,), (found,) = compare(*_campaign(6, APART)), compare(*_with_aa_blocks(6, scatter=1.25))
    assert (found.first, found.second, found.ratios) == (alone.first, alone.second, alone.ratios)
    assert [entry.block for entry in found.aa_ratios] == [7, 8, 9, 10, 11, 12]
    assert [entry.ratio.value for entry in found.aa_ratios] == [0.8, 0.8, 1.25, 0.8, 0.8, 1.25]
    assert found.certainty.band is not None
    assert (found.certainty.band.low, found.certainty.band.high, found.certainty.band.blocks) == (0.8, 1.25, 6)
    assert found.certainty.verdict == SHOWN


def test_a_difference_that_reaches_into_the_band_is_none() -> None:
    """Every A/B ratio is 10 or more; but runs of one system differ by twenty times."""
    (found,) = compare(*_with_aa_blocks(6, scatter=20.0))
    assert found.certainty.verdict == NOT_SHOWN


def test_an_aa_block_with_an_excluded_trial_makes_no_ratio() -> None:
    """Its other run is compared with nothing; five are left, and they are too few for a band."""
    trials, checks, measured = _with_aa_blocks(6, scatter=1.25)
    checks = [Check(c.trial, c.check, c.axis, "invalid" if c.trial == "aa07-2-b" else "valid", "") for c in checks]
    (found,) = compare(trials, checks, measured)
    assert [entry.block for entry in found.aa_ratios] == [8, 9, 10, 11, 12]
    assert found.certainty.band is None


def test_an_invalid_or_unknown_trial_takes_its_block_out() -> None:
    """Excluded trials are listed with their reason; a warning excludes nothing."""
    trials, checks, measured = _campaign(3)
    verdicts = {"b01-1-a": "invalid", "b02-2-b": "unknown", "b03-1-a": "warn"}
    checks = [Check(c.trial, c.check, c.axis, verdicts.get(c.trial, "valid"), "Stolen.") for c in checks]
    (found,) = compare(trials, checks, measured)
    assert [entry.block for entry in found.ratios] == [3]
    assert [(e.trial, e.validity, e.reasons) for e in excluded_trials(trials, checks)] == [
        ("b01-1-a", "invalid", ("steal invalid: Stolen.",)),
        ("b02-2-b", "unknown", ("steal unknown: Stolen.",)),
    ]


def test_outcomes_count_excluded_trials_too() -> None:
    """A system that lost messages in a trial that is not compared is still said to have lost them."""
    trials, checks, _ = _campaign(1)
    checks = [Check(c.trial, c.check, c.axis, "invalid", "") for c in checks]
    checks += [Check("b01-1-a", "no-loss", "outcome", "not met", ""), Check("b01-2-b", "no-loss", "outcome", "met", "")]
    a, b = count_outcomes(trials, checks)
    assert (a.contestant, a.all_met, dict(a.not_met), a.excluded) == ("a", 0, {"no-loss": 1}, 1)
    assert (b.contestant, b.all_met, dict(b.not_met)) == ("b", 1, {})


def test_trials_of_different_blocks_are_never_paired() -> None:
    """One system in block 1 and the other in block 2 give nothing to compare."""
    trials, checks, measured = _campaign(2)
    kept = [trials[0], trials[3]]
    assert compare(kept, checks, measured) == []


def test_a_system_without_its_journal_is_a_contestant_of_its_own() -> None:
    """At one level every pair is compared: two systems, and one of them also with its journal bypassed."""
    cells = (("a", "2"), ("a", "2-bypass"), ("b", "2"))
    trials = [
        replace(evidence, trial=replace(evidence.trial, name=f"{evidence.trial.contestant}-{evidence.trial.level}"))
        for evidence in (_evidence(1, place, system, name) for place, (system, name) in enumerate(cells, start=1))
    ]
    checks = [Check(evidence.trial.name, "steal", "validity", "valid", "Fine.") for evidence in trials]
    measured = [Measurement(e.trial.name, P99, "ms", exactly(4.0 * e.trial.position), 1000) for e in trials]
    found = compare(trials, checks, measured)
    assert {(each.first, each.second, each.cell) for each in found} == {
        ("a", "a-bypass", ("steady", 2)),
        ("a", "b", ("steady", 2)),
        ("a-bypass", "b", ("steady", 2)),
    }
    assert [outcome.contestant for outcome in count_outcomes(trials, checks)] == ["a", "a-bypass", "b"]


def test_another_level_is_another_cell() -> None:
    """What promises something else is never compared."""
    trials = [_evidence(1, 1, "a", "1"), _evidence(1, 2, "b", "2")]
    checks = [Check(evidence.trial.name, "steal", "validity", "valid", "Fine.") for evidence in trials]
    measured = [Measurement(evidence.trial.name, P99, "ms", exactly(4.0), 1000) for evidence in trials]
    assert compare(trials, checks, measured) == []


def test_numbers_have_three_significant_digits() -> None:
    """Enough to compare, and no more; unknown is a dash."""
    assert [number(value) for value in (0.0012345, 1.0, 12.345, 1234.5, 0.0, None)] == [
        "0.00123",
        "1.00",
        "12.3",
        "1,234",
        "0",
        "–",
    ]
    assert quantity(2_500_000.0, "bytes") == "2.50 MB"
    assert (ratio(0.99995), ratio(12.34)) == ("1.00×", "12.3×")


def _searched(system: str, position: int, rate_per_s: int | None, failed_per_s: int | None) -> Evidence:
    evidence = _evidence(1, position, system)
    document = dict(evidence.trial.document)
    document["workload"] = {**evidence.trial.workload, "pacing": "search"}
    document["observations"] = {"search": {"rate_per_s": rate_per_s, "failed_per_s": failed_per_s, "attempts": []}}
    counts = replace(evidence.counts, scheduled_in_measure=6000, kept_up_in_measure=6000)
    return replace(evidence, trial=Trial(evidence.trial.name, document), counts=counts)


def test_a_search_is_compared_with_its_bracket() -> None:
    """1,000 a second sustained and 1,050 not, against 1,000 and nothing above tried: the ratio is told, and is at most 1.05."""
    trials = [_searched("a", 1, 1000, 1050), _searched("b", 2, 1000, None)]
    checks = [Check(evidence.trial.name, "steal", "validity", "valid", "Fine.") for evidence in trials]
    (found,) = compare(trials, checks, [m for each in trials for m in measurements(each)])
    assert found.metric == "throughput_achieved"
    assert found.median == Bounded(1.0, 0.0, 1.05)


def test_a_search_that_found_no_rate_has_only_a_bound() -> None:
    """What its last run, which failed, got through isn't the rate that the system sustains."""
    trials = [_searched("a", 1, None, 500), _searched("b", 2, 1000, 1020)]
    checks = [Check(evidence.trial.name, "steal", "validity", "valid", "Fine.") for evidence in trials]
    (found,) = compare(trials, checks, [m for each in trials for m in measurements(each)])
    assert found.median == Bounded(None, 0.0, 0.5)
