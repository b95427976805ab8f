"""A campaign's own report as evidence: which of its trials measure what a published figure says. It reads the document, no records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import median
from typing import Any

from analysis.campaign import AA
from analysis.checks import EXCLUDED
from analysis.claims.claim import Cell, Document
from analysis.claims.figures import Figure
from analysis.claims.quantity import Range, exactly, larger, multiply
from analysis.claims.verdict import Reason

# what an acknowledgement promised, published as (local, replication), by the name of the durability that promises it here
DURABILITY = {("sync", "sync"): "1", ("async", "sync"): "2", ("sync", "async"): "3", ("async", "async"): "4"}
_THROUGHPUT = {"publish_throughput": "throughput_achieved", "catch_up_throughput": "drain_rate_peak"}
_BYTES = {
    "MiB/s": 2**20,
    "MB/s": 2**20,
    "GB/s": 2**30,
}  # of published data rates; dd's, of powers of ten, aren't among them
_PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max")


@dataclass(frozen=True)
class OwnCampaign:
    """The sound trials of a report and what was measured in them, as evidence for the claims of one document."""

    document: Document
    trials: Sequence[Mapping[str, Any]]
    measured: Mapping[tuple[str, str], Range]
    is_published: bool = False

    @property
    def blocks(self) -> Sequence[int]:
        """The campaign's blocks."""
        return sorted({int(trial["block"]) for trial in self.trials}) or (1,)

    def value(self, figure: Figure, block: int) -> Range | Reason:
        """What the trial of that block measured, in the unit of the published figure."""
        cell = self.document.cell_of(figure)
        trials = (
            []
            if cell is None
            else [trial for trial in self.trials if trial["block"] == block and _is_of(trial, cell, figure)]
        )
        if not trials:
            return Reason.NOT_IN_CAMPAIGN
        metric = metric_of(figure)
        found = [self._measured(trial, metric) for trial in trials] if metric else []
        values = [
            multiply(value, exactly(to_published(figure, trial["workload"]["message_bytes"])))
            for value, trial in zip(found, trials, strict=bool(found))
            if value is not None
        ]
        if not values:
            return Reason.NOT_MEASURED
        return Range(median(value.low for value in values), median(value.high for value in values))

    def _measured(self, trial: Mapping[str, Any], metric: str) -> Range | None:
        """The metric, as far as it is known; where it is measured per subscription, that of the slowest."""
        values = [
            value
            for (name, of), value in self.measured.items()
            if name == trial["trial"] and of.split("[")[0] == metric
        ]
        return reduce(larger, values) if values else None


def own_campaign(report: Mapping[str, Any], document: Document) -> OwnCampaign:
    """The evidence in the document of a report.json. Trials that aren't sound are left out, as everywhere, and so are A/A blocks."""
    trials = tuple(
        trial for trial in report["trials"] if trial["validity"] not in EXCLUDED and trial.get("block_kind") != AA
    )
    measured = {(str(row["trial"]), str(row["metric"])): _known(row) for row in report["summary"]}
    return OwnCampaign(document, trials, measured)


def _known(row: Mapping[str, Any]) -> Range:
    """A value, or what it lies between: a percentile among messages that were never answered has a lower bound alone."""
    if row.get("low") is None:
        return exactly(float(row["value"]))
    return Range(float(row["low"]), math.inf if row.get("high") is None else float(row["high"]))


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


def _is_of(trial: Mapping[str, Any], cell: Cell, figure: Figure) -> bool:
    columns = figure.columns
    return (trial["experiment"], trial["workload"]["name"], trial["system"], trial["durability"]["name"]) == (
        *(cell.experiment, cell.workload, columns["system"]),
        promised_by(figure, cell),
    )


def promised_by(figure: Figure, cell: Cell | None) -> str | None:
    """The name of the durability with which a figure was published; None where it says none, or one that has no name here."""
    if cell is not None and cell.durability is not None:
        return cell.durability
    return DURABILITY.get((figure.columns["local_durability"], figure.columns["replication_durability"]))


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
    """What a rate in messages a second is times, in the unit of the published figure; 1 for what is no rate of bytes."""
    return message_bytes / _BYTES[figure.unit] if figure.unit in _BYTES else 1.0
