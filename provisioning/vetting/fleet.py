"""Rule (b): a disk or client against its fleet, the hosts of the same role and instance type. Pure; only the bad side counts."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from provisioning.vetting.metrics import METRICS, Metric, median_repeat
from provisioning.vetting.probes import Series
from provisioning.vetting.thresholds import FleetRule
from provisioning.vetting.verdicts import Finding, Grade

MAD_TO_SIGMA = 1.4826  # the MAD of a normal distribution times this is its standard deviation


def fleet_findings(series: Series, fleet: Sequence[Series], rule: FleetRule) -> Iterator[Finding]:
    """The findings on `series`; `fleet` contains it."""
    for name in (*rule.reject_metrics, *rule.warn_metrics):
        metric = METRICS[name]
        measured = median_repeat(series, metric) if metric.kind == series.kind else None
        if measured is None:
            continue
        values = [value for other in fleet if (value := median_repeat(other, metric)) is not None]
        yield _compare(metric, measured, values, rule, "reject" if name in rule.reject_metrics else "warn")


def _compare(metric: Metric, measured: float, values: Sequence[float], rule: FleetRule, bad_grade: Grade) -> Finding:
    median = statistics.median(values)
    shown = f"{metric.label} {metric.show(measured)}"
    if len(values) == 1:
        return Finding.of(metric, measured, None, "fleet", "not judged", f"{shown}: there is no other to compare with.")
    worse = metric.worse_share(measured, median)
    reason = _beyond(measured, worse, median, values, rule)
    side = "worse" if worse > 0 else "better"
    sentence = f"{shown} is {abs(worse):.1%} {side} than the median {metric.show(median)} of {len(values)}"
    if not reason:
        return Finding.of(metric, measured, median, "fleet", "accept", f"{sentence}.")
    if len(values) < rule.min_disks:
        bad_grade, reason = "warn", f"{reason}, but {len(values)} can't say which one is off"
    return Finding.of(metric, measured, median, "fleet", bad_grade, f"{sentence} ({reason}).")


def _beyond(measured: float, worse: float, median: float, values: Sequence[float], rule: FleetRule) -> str:
    """Which bound is crossed; empty = none."""
    if worse > rule.reject_worse_share:
        return f"bound {rule.reject_worse_share:.0%}"
    sigma = MAD_TO_SIGMA * statistics.median(abs(value - median) for value in values)
    if (
        len(values) >= rule.mad_min_disks
        and worse > rule.mad_worse_share
        and abs(measured - median) > rule.mad_factor * sigma
    ):
        return f"more than {rule.mad_factor:g} robust standard deviations and more than {rule.mad_worse_share:.0%}"
    return ""
