"""Pairing, ratios and outcomes, on values made by hand."""

from __future__ import annotations

from dataclasses import replace

from analysis.campaign import Trial
from analysis.checks import Check
from analysis.comparison import TOO_FEW_BLOCKS, compare, count_outcomes, excluded_trials
from analysis.evidence import Counts, Evidence
from analysis.formatting import number, quantity, ratio
from analysis.metrics import Measurement
from tests.analysis.synthetic_results import Plan, Shape, trial_document

P99 = "response_latency_p99"


def _evidence(block: int, position: int, system: str, durability: str = "1") -> Evidence:
    plan = Plan(f"b{block:02}-{position}-{system}", block, position, system, durability=durability)
    trial = Trial(plan.name, trial_document(plan, Shape(), 0, {}, 0))
    return Evidence(trial, (trial,), Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}), (), (), (), (), ())


def _campaign(blocks: int) -> tuple[list[Evidence], list[Check], list[Measurement]]:
    trials = [
        _evidence(block, place, system) for block in range(1, blocks + 1) for place, system in ((1, "a"), (2, "b"))
    ]
    checks = [Check(evidence.trial.name, "steal", "validity", "valid", "Fine.") for evidence in trials]
    values = [(e.trial.name, 10.0 * e.trial.block if e.trial.system == "a" else 5.0) for e in trials]
    return trials, checks, [Measurement(name, P99, "ms", value, 1000) for name, value in values]


def test_one_ratio_per_block_and_their_median() -> None:
    """Ratios 2, 4 and 6 have the median 4; three blocks carry no interval."""
    (found,) = compare(*_campaign(3))
    assert ([entry.ratio for entry in found.ratios], found.median) == ([2.0, 4.0, 6.0], 4.0)
    assert (found.lowest, found.highest, found.certainty) == (2.0, 6.0, TOO_FEW_BLOCKS)


def test_six_blocks_are_no_longer_too_few() -> None:
    """From six blocks on the sentence about too few blocks is gone, and no interval is claimed in its place."""
    (found,) = compare(*_campaign(6))
    assert found.blocks == 6
    assert "not an interval" in found.certainty


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
    measured = [Measurement(e.trial.name, P99, "ms", 4.0 * e.trial.position, 1000) for e in trials]
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
    measured = [Measurement(evidence.trial.name, P99, "ms", 4.0, 1000) for evidence in trials]
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
