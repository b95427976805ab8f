"""Reports of made-up campaigns: what the report job would write of these figures, verdicts and all, without records and Spark.

Test material only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.answer import answer
from analysis.bounded import exactly
from analysis.campaign import Campaign, Trial
from analysis.checks import Check
from analysis.comparison import compare, count_outcomes, excluded_trials
from analysis.evidence import Counts, Evidence
from analysis.faults.document import faults_of
from analysis.faults.impact import Gap, Impact, Losses
from analysis.faults.occurrence import Occurrence
from analysis.faults.promised import Promise
from analysis.metrics import Measurement, measurements
from analysis.ranking import rank
from analysis.report import Results, report_document
from analysis.words import MET, NOT_MET, OUTCOME, VALID, VALIDITY
from tests.analysis.synthetic_results import EPOCH_NS, Plan, S, Shape, manifest_document, trial_document

SCATTER = (1.0, 1.06, 0.95, 1.03, 0.98, 1.08, 0.93, 1.01, 1.04)
# metric -> of the median latency
FIGURES = {
    "publish_latency_p50": 0.95,
    "publish_latency_p99": 2.9,
    "publish_latency_p99.9": 6.0,
    "response_latency_p50": 1.0,
    "response_latency_p99": 3.0,
    "end_to_end_latency_p50": 1.1,
    "end_to_end_latency_p99": 3.2,
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
KILL = {"do": "kill", "target": "leader:0/0", "at_s": 2.0, "for_s": 2.0}
ACKNOWLEDGED = 2_400


@dataclass(frozen=True)
class Ran:
    """One contestant in one cell. `lost`: per block, where its leader was killed; None: nothing was done to it. `gap_s`: how long the
    longest gap was then."""

    contestant: str
    system: str
    version: str
    median_ms: float
    level: str = "1"
    workload: str = "steady"
    rate_per_s: int = 400
    validity: str = VALID
    failed: tuple[str, ...] = ()
    lost: tuple[int, ...] | None = None
    gap_s: float = 1.5


KAFKA = Ran("kafka", "kafka", "4.3.1", 4.0)
PULSAR = Ran("pulsar", "pulsar", "4.2.4", 6.0)


def report_of(
    ran: Sequence[Ran], *, name: str = "demo", blocks: int = 9, day: int = 0, **manifest: Any
) -> dict[str, Any]:
    """The report.json of a campaign; `day`: since that of the first. `manifest` is laid over its manifest."""
    found = [
        (each, *_evidence(each, place, block)) for block in range(1, blocks + 1) for place, each in enumerate(ran, 1)
    ]
    trials = [evidence for _, evidence, _ in found]
    measured = [one for _, evidence, own in found for one in (*own, *measurements(evidence))]
    checks = [check for each, evidence, _ in found for check in _checks(each, evidence.trial.name)]
    said = _manifest(name, ran, day) | manifest
    campaign = Campaign("results", said, tuple(evidence.trial for evidence in trials), {}, ())
    excluded = excluded_trials(trials, checks)
    comparisons, outcomes = compare(trials, checks, measured), count_outcomes(trials, checks)
    rankings = rank(trials, excluded, checks, measured, comparisons)
    faults = faults_of(trials, {each.trial for each in excluded})
    results = Results(
        campaign=campaign,
        trials=trials,
        checks=checks,
        measured=measured,
        outcomes=outcomes,
        excluded=excluded,
        comparisons=comparisons,
        answer=answer(campaign, trials, comparisons, outcomes, excluded, rankings=rankings, faults=faults),
        cross_checks=[],
        rankings=rankings,
        faults=faults,
    )
    document: dict[str, Any] = json.loads(json.dumps(report_document(results)))
    return document


def _evidence(ran: Ran, place: int, block: int) -> tuple[Evidence, list[Measurement]]:
    name = f"b{block:02}-{place}-{ran.contestant}-l{ran.level}-{ran.workload}"
    document = trial_document(Plan(name, block, place, ran.system, durability=ran.level), Shape(), EPOCH_NS, {}, 0)
    workload = {**document["workload"], "name": ran.workload, "rate_per_s": ran.rate_per_s}
    if ran.lost is not None:
        workload["faults"] = [KILL]
    own = {"contestant": ran.contestant, "version": ran.version, "workload": workload}
    trial = Trial(name, {**document, **own})
    # contestants scatter alike within a block, and a little by themselves
    own_ms = ran.median_ms * SCATTER[block % len(SCATTER)] * (1 + 0.004 * ((block * place) % 5))
    counts = Counts(ACKNOWLEDGED, ACKNOWLEDGED, ACKNOWLEDGED, 0, 0, 2_400, 2_400, 2_400, {}, {}, {}, 2_400)
    impacts = () if ran.lost is None else (_impact(ran, block),)
    measured = [Measurement(name, metric, "ms", exactly(own_ms * share), 2_400) for metric, share in FIGURES.items()]
    return Evidence(trial, (trial,), counts, (), (), (), (), (), impacts=impacts), measured


def _impact(ran: Ran, block: int) -> Impact:
    began_ns = EPOCH_NS + 4 * S
    hits = ({"host": "broker-1", "daemon": "broker", "began_ns": began_ns, "ended_ns": began_ns + 2 * S},)
    seen = Occurrence(
        number=0, do="kill", target=str(KILL["target"]), peers="", hits=hits, planned_ns=began_ns, began_ns=began_ns,
        ended_ns=began_ns + 2 * S, back_ns=began_ns + 3 * S, problem=None, window_ns=(began_ns, began_ns + 4 * S),
    )  # fmt: skip
    length_s = ran.gap_s * SCATTER[block % len(SCATTER)]
    gap = Gap(0, exactly(length_s), began_ns, began_ns + round(length_s * S), 0.01)
    lost = (ran.lost or (0,))[(block - 1) % len(ran.lost or (0,))]
    promise = Promise(ran.level == "1", "a quorum has it on disk" if ran.level == "1" else "it may be in memory only")
    losses = Losses(scheduled=2_400, lost=lost, unanswered=3)
    return Impact(seen, promise, 100.0, gap, (gap,), gap.length_s, None, {}, "made up", (), losses, 1_600, 40, 2, ())


def _checks(ran: Ran, trial: str) -> Iterator[Check]:
    yield Check(trial, "steal", VALIDITY, ran.validity, "As made up.", {})
    for name in ("offered-rate", "no-loss"):
        yield Check(trial, name, OUTCOME, NOT_MET if name in ran.failed else MET, "As made up.", {})


def _manifest(name: str, ran: Iterable[Ran], day: int) -> dict[str, Any]:
    roles = ("broker", "broker", "broker", "client")
    hosts = [
        {"name": f"{role}-{number}", "role": role, "instance_type": "local"}
        for role, number in zip(roles, (1, 2, 3, 1), strict=True)
    ]
    known = manifest_document([], Shape())
    return {
        **known,
        "campaign": name,
        "question": f"Which of {', '.join(dict.fromkeys(each.contestant for each in ran))} answers sooner?",
        "created_ns": EPOCH_NS + day * 86_400 * S,
        "git": {"commit": COMMIT, "dirty": False},
        "testbed": {**known["testbed"], "hosts": hosts},
        "scale": None,
        "repeat": [f"samebox campaign local campaigns/{name}.toml"],
    }


def write_document(file: Path, document: Mapping[str, Any]) -> None:
    """As the report job writes it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n")
