"""A campaign's own report as evidence: which of its trials measure what a published figure says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from analysis.claims.claim import Cell
from analysis.claims.figures import Figure
from analysis.claims.quantity import Range, exactly, highest, multiply
from analysis.claims.verdict import Reason
from analysis.documents import read_document, require_shape
from analysis.errors import AnalysisError
from analysis.words import AA, EXCLUDED
from contract.durability import LEVELS

# what an acknowledgement promised, published as (local, replication), by the name of the durability that promises it here
_DURABILITY: Mapping[tuple[str, str], str] = {(level.local, level.replication): level.name for level in LEVELS}
_THROUGHPUT = {"publish_throughput": "throughput_achieved", "catch_up_throughput": "drain_rate_peak"}
# of published data rates; dd's, of powers of ten, aren't among them
_BYTES = {"MiB/s": 2**20, "MB/s": 2**20, "GB/s": 2**30}
_PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max")
_TRIAL: Mapping[str, Any] = {
    "trial": str,
    "experiment": str,
    "system": str,
    "durability": {"name": str},
    "workload": {"name": str, "message_bytes": int},
    "block": int,
    "validity": str,
}
_REPORT = {"manifest": {"campaign": str}, "trials": [_TRIAL], "summary": [{"trial": str, "metric": str}]}


@dataclass(frozen=True)
class OwnCampaign:
    """The sound trials of a report and what was measured in them, by trial and metric."""

    trials: Sequence[Mapping[str, Any]]
    measured: Mapping[tuple[str, str], Range]
    relations_only: bool
    is_published: bool = False

    @property
    def blocks(self) -> Sequence[int]:
        """The campaign's blocks."""
        return sorted({int(trial["block"]) for trial in self.trials}) or (1,)

    def value(self, figure: Figure, cell: Cell | None, block: int) -> Range | Reason:
        """What the trials of that block measured, in the unit of the published figure."""
        if cell is None:
            return Reason.NOT_IN_CAMPAIGN
        system = cell.system or figure.columns["system"]
        asked = (cell.experiment, cell.workload, system, promised_by(figure, cell), block)
        trials = [trial for trial in self.trials if _ran(trial) == asked]
        if not trials:
            return Reason.NOT_IN_CAMPAIGN
        metric = metric_of(figure)
        values = [
            multiply(highest(found), exactly(to_published(figure, trial["workload"]["message_bytes"])))
            for trial in trials
            if metric and (found := self._measured(trial["trial"], metric))
        ]
        if not values:
            return Reason.NOT_MEASURED
        return Range(median(value.low for value in values), median(value.high for value in values))

    def _measured(self, trial: str, metric: str) -> list[Range]:
        """The metric, as far as it is known: one value, or one for each subscription, of which the slowest counts."""
        return [value for (name, of), value in self.measured.items() if name == trial and of.split("[")[0] == metric]


def own_campaign(report: Mapping[str, Any]) -> OwnCampaign:
    """The evidence in the document of a report.json. Trials that aren't sound are left out, as everywhere, and so are A/A blocks."""
    trials = [
        trial for trial in report["trials"] if trial["validity"] not in EXCLUDED and trial.get("block_kind") != AA
    ]
    measured = {(str(row["trial"]), str(row["metric"])): _known(row) for row in report["summary"]}
    return OwnCampaign(trials, measured, relations_only=bool(report["manifest"].get("scale")))


def described(report: Mapping[str, Any], results: str) -> dict[str, Any]:
    """The campaign that is the evidence: its experiments, and how many blocks compare systems."""
    manifest = report["manifest"]
    return {
        "kind": "campaign",
        "results": results,
        "campaign": manifest["campaign"],
        "scale": manifest.get("scale"),
        "experiments": sorted({str(trial["experiment"]) for trial in report["trials"]}),
        "blocks": len({trial["block"] for trial in report["trials"] if trial.get("block_kind") != AA}),
    }


def _ran(trial: Mapping[str, Any]) -> tuple[Any, ...]:
    workload, durability = trial["workload"]["name"], trial["durability"]["name"]
    return trial["experiment"], workload, trial["system"], durability, trial["block"]


def _known(row: Mapping[str, Any]) -> Range:
    """A value, or what it lies between: a percentile among messages that were never answered has a lower bound alone."""
    if row.get("low") is None:
        return exactly(float(row["value"]))
    return Range(float(row["low"]), math.inf if row.get("high") is None else float(row["high"]))


def promised_by(figure: Figure, cell: Cell | None) -> str | None:
    """The name of the durability with which a figure was published; None where it says none, or one that has no name here."""
    if cell is not None and cell.durability is not None:
        return cell.durability
    return _DURABILITY.get((figure.columns["local_durability"], figure.columns["replication_durability"]))


def metric_of(figure: Figure) -> str | None:
    """The name in docs/metrics.md, None for what samebox doesn't measure: means and minima of latencies."""
    metric, statistic = figure.columns["metric"], figure.columns["statistic"]
    if metric in _THROUGHPUT:
        return _THROUGHPUT[metric]
    if metric == "catch_up_time":
        return metric
    percentile = statistic.removesuffix("-upper-bound")
    return f"{metric}_{percentile}" if metric.endswith("_latency") and percentile in _PERCENTILES else None


def to_published(figure: Figure, message_bytes: int) -> float:
    """What a rate in messages a second is multiplied by to be in the unit of the published figure; 1 for other quantities."""
    return message_bytes / _BYTES[figure.unit] if figure.unit in _BYTES else 1.0


def read_report(results: Path) -> dict[str, Any]:
    """The document. Raises AnalysisError with file and key, and what to type."""
    file, next_step = results / "report" / "report.json", f"Make the report anew: samebox report {results}"
    document = read_document(file, next_step=next_step)
    try:
        require_shape(document, _REPORT)
        if not document["trials"]:
            raise ValueError("trials is empty: there is nothing to judge by")
        for index, trial in enumerate(document["trials"]):
            if trial["workload"]["message_bytes"] < 1:
                raise ValueError(f"trials[{index}].workload.message_bytes: expected 1 or more")
        for index, row in enumerate(document["summary"]):
            _require_value(row, f"summary[{index}] ({row['trial']}, {row['metric']})")
    except ValueError as error:
        raise AnalysisError(f"{file}: {error}.", next_step=next_step) from None
    return document


def _require_value(row: Mapping[str, Any], where: str) -> None:
    """A value, or the bounds of one that isn't known; a null is no upper bound."""
    if row.get("value", "") is not None or row.get("low") is None:
        require_shape(row, {"value": float}, where)
    require_shape(row, {key: float for key in ("low", "high") if row.get(key) is not None}, where)
