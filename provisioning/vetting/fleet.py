"""Rule (b): a disk or client against its fleet, the hosts of the same role and instance type. Pure; only the bad side counts.

Its bounds aren't chosen but computed (scatter.py) from a rate: how many healthy fleets of this size lose a disk, or are warned.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from provisioning.vetting.metrics import METRICS, Metric, median_repeat, per_repeat
from provisioning.vetting.probes import Series
from provisioning.vetting.scatter import deviation_bound, log_worse, share_of
from provisioning.vetting.thresholds import FleetRule
from provisioning.vetting.verdicts import Grade, Verdict


@dataclass(frozen=True)
class _Compared:
    """A figure of a disk beside those of the others in its fleet."""

    metric: Metric
    measured: float
    others: tuple[float, ...]
    repeats: int

    @property
    def expected(self) -> float:
        return statistics.median(self.others)

    @property
    def log_worse(self) -> float:
        return log_worse(self.measured, self.expected, higher_is_better=self.metric.higher_is_better)


def fleet_verdicts(series: Series, fleet: Sequence[Series], rule: FleetRule) -> Iterator[Verdict]:
    """The verdicts on `series`; `fleet` contains it."""
    judged = [name for name in rule.reject_metrics if METRICS[name].kind == series.kind]
    warned = [name for name in rule.warn_metrics if METRICS[name].kind == series.kind]
    compared = []
    for name in (*judged, *warned):
        metric, measured = METRICS[name], median_repeat(series, METRICS[name])
        if measured is None:
            continue
        others = tuple(v for other in fleet if other is not series and (v := median_repeat(other, metric)) is not None)
        if not others:
            sentence = f"{metric.label} {metric.show(measured)}: there is no other to compare with."
            yield Verdict.of(metric, measured, None, "fleet", "not judged", sentence)
            continue
        one = _Compared(metric, measured, others, len(per_repeat(series, metric)))
        if name in judged:
            compared.append(one)
            yield _on_one_figure(one, len(judged), rule)
        else:
            yield _on_a_tail(one, len(warned), rule)
    if len(compared) > 1:
        yield _on_all_at_once(compared, rule)


def _on_one_figure(one: _Compared, figures: int, rule: FleetRule) -> Verdict:
    disks = len(one.others) + 1
    reject, warn = (
        deviation_bound(rule.scatter, disks=disks, repeats=one.repeats, tests=disks * figures, rate=rate)
        for rate in (rule.false_rejections, rule.false_warnings)
    )
    if one.log_worse <= warn:
        return _verdict(one, "accept", f"bound {_shown(one, reject)}")
    if one.log_worse <= reject:
        return _verdict(
            one, "warn", f"bound {_shown(one, warn)}, crossed in {rule.false_warnings:.0%} of healthy fleets"
        )
    reason = f"bound {_shown(one, reject)}, crossed in {rule.false_rejections:.0%} of healthy fleets of {disks}"
    if disks < rule.min_disks:
        return _verdict(one, "warn", f"{reason}, but of {disks} nobody can tell which one is off")
    return _verdict(one, "reject", reason)


def _on_a_tail(one: _Compared, figures: int, rule: FleetRule) -> Verdict:
    disks = len(one.others) + 1
    bound = deviation_bound(
        rule.tail_scatter, disks=disks, repeats=one.repeats, tests=disks * figures, rate=rule.false_warnings
    )
    return _verdict(one, "warn" if one.log_worse > bound else "accept", f"warned above {_shown(one, bound)}")


def _on_all_at_once(compared: Sequence[_Compared], rule: FleetRule) -> Verdict:
    """A disk that is a little worse in everything: each figure alone would pass."""
    disks = min(len(one.others) for one in compared) + 1
    bound = deviation_bound(
        rule.scatter,
        disks=disks,
        repeats=min(one.repeats for one in compared),
        tests=disks,
        rate=rule.false_warnings,
        averaged=len(compared),
    )
    mean = statistics.fmean(one.log_worse for one in compared)
    worse, most = share_of(mean, higher_is_better=True), share_of(bound, higher_is_better=True)
    grade: Grade = "warn" if mean > bound else "accept"
    labels = ", ".join(one.metric.label for one in compared)
    side = "worse" if worse > 0 else "better"
    sentence = (
        f"{labels} together {abs(worse):.1%} {side} than the median of {disks - 1} others (warned above {most:.1%})."
    )
    return Verdict.of_share("all figures", worse, most, "fleet", grade, sentence)


def _verdict(one: _Compared, grade: Grade, reason: str) -> Verdict:
    metric, worse = one.metric, share_of(one.log_worse, higher_is_better=one.metric.higher_is_better)
    side = "worse" if worse > 0 else "better"
    sentence = (
        f"{metric.label} {metric.show(one.measured)} is {abs(worse):.1%} {side} than the median "
        f"{metric.show(one.expected)} of {len(one.others)} others ({reason})."
    )
    return Verdict.of(metric, one.measured, one.expected, "fleet", grade, sentence)


def _shown(one: _Compared, log_bound: float) -> str:
    return f"{share_of(log_bound, higher_is_better=one.metric.higher_is_better):.1%}"
