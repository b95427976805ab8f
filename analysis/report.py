"""Everything the report shows, as plain data: report.json is this, and the page is drawn from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from analysis.answer import Answer
from analysis.campaign import NANOSECONDS, Campaign, Trial
from analysis.certainty.interval import interval_document, why_no_band
from analysis.certainty.reach import dependence_of, reach_of
from analysis.checks import Check, validity_of
from analysis.client_cpu import ClientCpu
from analysis.comparison import BlockRatio, Comparison, ContestantOutcome, Exclusion
from analysis.contestants import ContestantDifference
from analysis.cross_check import CrossCheck
from analysis.curves.document import Ladder, curves_document
from analysis.evidence import Evidence
from analysis.faults.document import FaultOfCell, faults_document, survival_document
from analysis.metrics import Measurement, is_withheld
from analysis.outputs import OWN
from analysis.percentiles import TABLE_QUANTILES, quantile_name
from analysis.promise import promise
from analysis.ranking import Ranking
from analysis.ranking_document import rankings_document
from analysis.records.latencies import CLIENT_DELAY, END_TO_END, PUBLISH, PUBLISH_OF_PHASE, RESPONSE, SEND_DELAY
from analysis.schema import SCHEMA_VERSION
from analysis.steady_disks import probe_rows
from analysis.words import AA, AB

_MANIFEST_SHOWN = (
    *("campaign", "question", "seed", "created_ns", "samebox_version", "git", "lock_sha256", "campaign_file"),
    *("campaign_sha256", "order", "order_kind", "empty_cells", "testbed", "facts", "software", "vetting"),
    *("durability_table", "durability_differences", "system_profile", "own_values"),
    *("floor", "checks", "caveats", "repeat", "scale", "representative", "cross_check"),
)


@dataclass(frozen=True)
class Results:
    """All that analysis found out."""

    campaign: Campaign
    trials: Sequence[Evidence]
    checks: Sequence[Check]
    measured: Sequence[Measurement]
    outcomes: Sequence[ContestantOutcome]
    excluded: Sequence[Exclusion]
    comparisons: Sequence[Comparison]
    answer: Answer
    cross_checks: Sequence[CrossCheck]
    aa_outcomes: Sequence[ContestantOutcome] = ()
    client_cpu: Sequence[ClientCpu] = ()
    rankings: Sequence[Ranking] = ()
    contestant_differences: Sequence[ContestantDifference] = ()
    ladders: Sequence[Ladder] = ()
    faults: Sequence[FaultOfCell] = ()


def report_document(results: Results) -> dict[str, Any]:
    """The document of report.json."""
    campaign = results.campaign
    blocks = [found.blocks for found in results.comparisons]
    reach = reach_of(blocks)
    dependence = dependence_of([found.certainty for found in results.comparisons], max(blocks, default=0))
    return {
        "schema": SCHEMA_VERSION,
        "manifest": {key: campaign.manifest.get(key) for key in _MANIFEST_SHOWN},
        "answer": asdict(results.answer),
        "outcomes": [asdict(outcome) for outcome in results.outcomes],
        "aa_outcomes": [asdict(outcome) for outcome in results.aa_outcomes],
        "comparisons": [_comparison(found) for found in results.comparisons],
        "rankings": rankings_document(results.rankings),
        "curves": curves_document(results.ladders, campaign.manifest.get("prices")),
        **_faults(results),
        "client_cpu": [asdict(found) for found in results.client_cpu],
        "contestant_differences": [
            {**asdict(found), "sentence": found.sentence} for found in results.contestant_differences
        ],
        "can_show": {**asdict(reach), "sentence": reach.sentence},
        "dependence": {**asdict(dependence), "sentence": dependence.sentence},
        "excluded": [asdict(exclusion) for exclusion in results.excluded],
        "not_recorded": list(campaign.not_recorded),
        "cut_off": [asdict(attempt) for attempt in campaign.cut_off],
        "differs": _differs(campaign.manifest.get("definition") or {}),
        "cross_checks": [asdict(found) for found in results.cross_checks],
        "durability_proof": [dict(cell) for cell in campaign.durability_proof],
        "trials": [_trial(evidence, results) for evidence in results.trials],
        "checks": checks_document(results.checks),
        "claims": [],  # judged by this very document, by whoever has it
        "vetting": {host: _verdicts(document) for host, document in campaign.vetting.items()},
        "vetting_again": probe_rows(campaign.probes),
        "summary": summary_rows(results),
    }


def _faults(results: Results) -> dict[str, Any]:
    """Two keys, of a campaign whose workloads have faults."""
    if not results.faults:
        return {}
    return {
        "faults": faults_document(results.faults, {each.trial for each in results.excluded}),
        "survival": survival_document(results.trials, results.campaign.manifest),
    }


def _differs(definition: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is done in another way than published, by the campaign's file: in all experiments, or in one."""
    experiments = definition.get("experiments") or []
    found = [("all", sentence) for sentence in definition.get("differs") or []]
    found += [(each["id"], sentence) for each in experiments for sentence in each["differs"]]
    return [{"experiment": experiment, "sentence": sentence} for experiment, sentence in found]


def checks_document(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """The list of report/checks.json."""
    keys = ("trial", "check", "axis", "verdict", "evidence", "sentence")
    return [{key: document[key] for key in keys} for document in map(asdict, checks)]


def summary_rows(results: Results) -> list[dict[str, Any]]:
    """One row per trial and metric: the table of summary.csv and summary.parquet."""
    trials = {evidence.trial.name: evidence.trial for evidence in results.trials}
    return [_summary_row(trials[measurement.trial], measurement) for measurement in results.measured]


def _summary_row(trial: Trial, measurement: Measurement) -> dict[str, Any]:
    known = measurement.known.to_json()
    return {
        "trial": trial.name,
        "origin": OWN,
        "system": trial.system,
        "contestant": trial.contestant,
        "durability": trial.durability["name"],
        "workload": str(trial.workload["name"]),
        "block": trial.block,
        "metric": measurement.metric,
        "unit": measurement.unit,
        "value": measurement.value,
        "low": known["low"],
        "high": known["high"],
        "samples": measurement.samples,
        "note": None,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    certainty = found.certainty
    return {
        "workload": found.cell[0],
        "level": found.cell[1],
        "first": found.first,
        "second": found.second,
        "metric": found.metric,
        "unit": found.unit,
        "median": found.median.to_json(),
        "range": found.range.to_json(),
        "blocks": [_block(entry) for entry in found.ratios],
        "aa_blocks": [_block(entry) for entry in found.aa_ratios],
        "interval": interval_document(certainty.interval),
        "if_independent": interval_document(certainty.if_independent),
        "serial": {**asdict(certainty.serial), "allowed": certainty.allowed} if certainty.serial else None,
        "bootstrap": interval_document(certainty.bootstrap),
        "band": interval_document(certainty.band),
        "no_band": None if certainty.band else why_no_band(len(found.aa_ratios), found.blocks),
        "verdict": certainty.verdict,
        "certainty": certainty.why,
        "p": certainty.p,
        "corrected_p": certainty.corrected_p,
    }


def _block(entry: BlockRatio) -> dict[str, Any]:
    values = {"first": entry.first, "second": entry.second, "ratio": entry.ratio}
    return {"block": entry.block, **{name: value.to_json() for name, value in values.items()}}


def _trial(evidence: Evidence, results: Results) -> dict[str, Any]:
    trial, document = evidence.trial, evidence.trial.document
    observations = document["observations"]
    return {
        "trial": trial.name,
        "experiment": trial.experiment,
        "system": trial.system,
        "contestant": trial.contestant,
        "version": document["version"],
        "durability": {**trial.durability, "promise": promise(trial.durability)},
        "workload": dict(trial.workload),
        "block": trial.block,
        "block_kind": AA if trial.is_aa else AB,
        "position": trial.position,
        "ended": document["ended"],
        "abort": document["abort"],
        "validity": validity_of(results.checks, trial.name),
        "steps": document["steps"],
        "drift": document["settings"].get("drift") or [],
        "reset": observations.get("reset"),
        "workers": observations.get("workers") or [],
        "counts": asdict(evidence.counts),
        "latencies": _latencies(evidence),
        "phases": [
            {"name": phase["name"], "seconds": (phase["end_ns"] - phase["start_ns"]) / NANOSECONDS}
            for phase in document["phases"]
        ],
        "catch_ups": [asdict(found) for found in evidence.catch_ups],
        "search": observations.get("search"),
        "messages_stored_before": observations.get("messages_stored_before"),
        "deliveries": [asdict(delivery) for delivery in evidence.deliveries],
        "orderings": [asdict(ordering) for ordering in evidence.orderings],
        "machines": [asdict(use) for use in evidence.machines],
        "daemons": [asdict(use) for use in evidence.daemons],
    }


def _latencies(evidence: Evidence) -> list[dict[str, Any]]:
    """One entry per metric and subscription, with every table percentile: ms, or null and why (withheld, longer than was waited)."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for metric in (RESPONSE, PUBLISH, *PUBLISH_OF_PHASE.values(), END_TO_END, SEND_DELAY, CLIENT_DELAY):
        for one in evidence.percentiles:
            if one.metric != metric or one.quantile_ppm not in TABLE_QUANTILES:
                continue
            named = {"metric": metric, "subscription": one.subscription, "samples": one.samples}
            entry = found.setdefault(
                (metric, one.subscription), {**named, "ms": {}, "more_than_ms": {}, "withheld": []}
            )
            name, withheld = quantile_name(one.quantile_ppm), is_withheld(evidence, one)
            entry["ms"][name] = None if withheld or one.value_ns is None else one.value_ns / 1e6
            if one.more_than_ns is not None:
                entry["more_than_ms"][name] = one.more_than_ns / 1e6
            if withheld:
                entry["withheld"].append(name)
    return list(found.values())


def _verdicts(document: Any) -> dict[str, Any]:
    return {"verdict": document.get("verdict"), "verdicts": document.get("verdicts") or []}
