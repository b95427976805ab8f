"""What counts as a rate that was kept: messages of the measure phase alone, and never more of them than were scheduled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analysis.campaign import Trial
from analysis.checks import Check, judge
from analysis.evidence import Evidence
from analysis.gather import _counts
from analysis.metrics import measurements
from analysis.records.counting import Times
from analysis.records.fingerprints import SEQUENCE_BITS, countings
from tests.analysis.records.tables import produced
from tests.analysis.synthetic_results import CHECKS, Plan, Shape, trial_document

S = 1_000_000_000
NAME = "b01-1-pulsar-l1-steady"
RATE, WARMUP_S, MEASURE_S = 10, 20, 20
START_NS = 1_000 * S
Answered = Callable[[float], float | None]  # when a message was intended (s) -> when it was acknowledged


def evidence_of(acked_at: Answered) -> Evidence:
    """A trial of 10 messages a second, 20 s of warm-up and 20 s that are measured."""
    shape = Shape(rate_per_s=RATE, warmup_s=WARMUP_S, measure_s=MEASURE_S, producers=1)
    trial = Trial(
        NAME, trial_document(Plan(NAME, 1, 1, "pulsar"), shape, START_NS, {"produced": 0, "consumed": 0, "hosts": 0}, 0)
    )
    rows: list[dict[str, Any]] = []
    for sequence in range(RATE * (WARMUP_S + MEASURE_S)):
        second = sequence / RATE
        acked = acked_at(second)
        phase = "warmup" if second < WARMUP_S else "measure"
        intended_ns = START_NS + sequence * S // RATE
        acked_ns = None if acked is None else START_NS + round(acked * S)
        times = {"intended_ns": intended_ns, "sent_ns": intended_ns + 2_000_000, "acked_ns": acked_ns}
        rows.append({"sequence": sequence, "phase": phase, **times})
    counted = countings(SEQUENCE_BITS)[0].count(produced(rows), Times(START_NS, trial.measured_ns(), {}))
    own = counted.to_pylist()
    return Evidence(trial, (trial,), _counts(trial, own, [], []), (), (), (), (), ())


def judged(evidence: Evidence) -> Check:
    """The verdict of offered-rate."""
    (found,) = judge([evidence], [each for each in CHECKS if each["check"] == "offered-rate"])
    return found


def value(evidence: Evidence, metric: str) -> float:
    """Of the trial's summary."""
    (found,) = (each.value for each in measurements(evidence) if each.metric == metric)
    assert found is not None
    return found


def stall(second: float) -> float:
    """No answer from 12 s to 20 s, then everything at once."""
    return max(second + 0.01, 20.01) if second >= 12 else second + 0.01


def eight_behind(second: float) -> float:
    """A stall of 8 s that is never made up."""
    return second + 8.01 if second >= 12 else second + 0.01


@pytest.mark.parametrize(
    ("acked_at", "verdict", "share", "behind"),
    [
        (lambda s: s + 0.01, "met", 1.0, (0, 0)),
        (lambda s: s + 1.001, "met", 1.0, (10, 10)),  # a second in flight all the time is no second missing
        (stall, "met", 1.0, (80, 0)),  # what the warm-up left is acknowledged in the phase, and counts in nothing
        (eight_behind, "met", 1.0, (80, 80)),  # behind for ever, and said
        (lambda s: s + 0.01 if s < 20 else 20 + (s - 20) / 0.9 + 0.01, "not met", 0.9, (0, 20)),
        (lambda s: stall(s) if s < 20 or round(s * RATE) % 10 else None, "not met", 0.9, (80, 20)),  # failures, made up for by nothing
        (lambda s: None if s >= 12 else s + 0.01, "not met", 0.0, (80, 280)),
    ],
    ids=["at once", "a second later", "after a stall", "behind for ever", "too slow", "after a stall, every tenth lost", "silent"],
)  # fmt: skip
def test_what_keeps_a_rate(acked_at: Answered, verdict: str, share: float, behind: tuple[int, int]) -> None:
    """Share, verdict, throughput, and how much was unacknowledged at the ends of the phase; late answers of the warm-up add nothing."""
    evidence = evidence_of(acked_at)
    found = judged(evidence)
    assert (found.verdict, found.evidence["share"]) == (verdict, pytest.approx(share, abs=0.006))
    assert found.evidence["share"] <= 1
    assert value(evidence, "throughput_achieved") == found.evidence["share"] * RATE
    assert value(evidence, "throughput_offered") == RATE
    assert (value(evidence, "unacknowledged_at_start"), value(evidence, "unacknowledged_at_end")) == pytest.approx(
        behind, abs=1
    )


def test_a_standing_queue_is_told_in_seconds() -> None:
    """A system that keeps the rate 8 s behind has met it, and the sentence says 8 s."""
    sentence = judged(evidence_of(eight_behind)).sentence
    assert "100.00% of the 200 messages scheduled in the measure phase were acknowledged as they came" in sentence
    assert sentence.endswith(
        "when it began: 80 messages (8.00 s of load); when it ended: 80 messages (8.00 s of load)."
    )


def test_all_but_one_is_never_called_all() -> None:
    """99.996 % is told as 99.99 %."""
    evidence = evidence_of(lambda s: s + 0.01)
    counts = replace(evidence.counts, scheduled_in_measure=100_000, kept_up_in_measure=99_996)
    assert judged(replace(evidence, counts=counts)).sentence.startswith("99.99% of the 100,000 messages")


def test_an_answer_before_its_question_is_found() -> None:
    """One acknowledgement stamped before the message's turn spoils the trial; an answer before the send call returned does not."""
    sound = evidence_of(lambda s: s + 0.0)
    early = evidence_of(lambda s: s - (0.005 if s == 30 else 0.0))
    declared = [each for each in CHECKS if each["check"] == "possible-times"]
    assert [check.verdict for check in judge([sound, early], declared)] == ["valid", "invalid"]
    assert judge([early], declared)[0].sentence.startswith("1 of 400 messages")
