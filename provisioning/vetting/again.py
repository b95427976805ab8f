"""The disks of a testbed, probed again in a long campaign: shortly, always in the same way, compared with the first such probe.

The vetting before a campaign moves many gigabytes; it isn't compared with. Nobody is rejected in the middle of a campaign: a
disk that has changed is warned about. The network isn't probed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from provisioning.hosts.host import Host
from provisioning.hosts.inventory import HostRecord
from provisioning.vetting.flushes import flush_findings
from provisioning.vetting.metrics import METRICS, Metric, median_repeat
from provisioning.vetting.probes import Progress, Series, find_targets, take_series
from provisioning.vetting.scatter import log_worse, share_of
from provisioning.vetting.thresholds import Profile, Thresholds
from provisioning.vetting.verdicts import Finding, Verdict, grade_order

RULE = "change"


@dataclass(frozen=True)
class ProbedAgain:
    """What was measured, and how it compares with the first probe of the campaign."""

    taken_ns: int
    series: tuple[Series, ...]
    verdicts: tuple[Verdict, ...]
    thresholds: Thresholds

    def to_json(self) -> dict[str, Any]:
        """The document's own part; `series` are what a later probe is compared with."""
        return {
            "taken_ns": self.taken_ns,
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "series": [_series(series, self.thresholds) for series in self.series],
        }


def probe_again(
    hosts: Sequence[Host],
    thresholds: Thresholds,
    first: Mapping[str, Any] | None,
    *,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> ProbedAgain:
    """Probes all disks and clients of `hosts`; `first`: the document of the campaign's first probe, None: this is it.

    Raises HostsFailed.
    """
    taken_ns = time.time_ns()
    targets, _ = find_targets(hosts, lambda record: short_profile(record, thresholds))
    repeats = max((target.profile.repeats for target in targets), default=0)
    series = take_series(targets, progress=progress, steps=(0, repeats), sleep=sleep)
    return ProbedAgain(taken_ns, series, tuple(_verdicts(series, first, thresholds)), thresholds)


def short_profile(record: HostRecord, thresholds: Thresholds) -> Profile:
    """The profile of short probes, or the instance type's own where that is shorter still."""
    own, short = thresholds.profile_of(record.instance_type), thresholds.profiles[thresholds.again_rule.profile]
    return min(short, own, key=lambda profile: profile.throughput_bytes)


def _verdicts(series: Sequence[Series], first: Mapping[str, Any] | None, thresholds: Thresholds) -> Iterator[Verdict]:
    earlier = {(each["kind"], each["directory"], *each["hosts"]): each for each in (first or {}).get("series", [])}
    for one in series:
        before = earlier.get((one.kind, one.directory, *(host.name for host in one.hosts)))
        findings = _changes(one, before, thresholds) if before else _flushes(one, thresholds)
        shared = f"shared by {len(one.hosts)} hosts: " if len(one.hosts) > 1 else ""
        for finding in findings:
            yield from (Verdict.of(finding, host.name, one.device, shared) for host in one.hosts)


def _changes(series: Series, before: Mapping[str, Any], thresholds: Thresholds) -> Iterator[Finding]:
    for name in thresholds.again_rule.metrics:
        metric = METRICS[name]
        measured, expected = median_repeat(series, metric), before["figures"].get(name)
        if metric.kind == series.kind and measured is not None and expected is not None:
            yield _change(metric, measured, float(expected), thresholds.again_rule.warn_worse_share)
    for finding in _flushes(series, thresholds):
        then = before["flushes"].get(finding.metric, "accept")
        grew = grade_order(finding.verdict) > grade_order(then)
        sentence = f"{finding.sentence} At the first probe: {then}."
        yield replace(finding, rule=RULE, verdict="warn" if grew else "accept", sentence=sentence)


def _change(metric: Metric, measured: float, expected: float, bound: float) -> Finding:
    logarithm = log_worse(measured, expected, higher_is_better=metric.higher_is_better)
    worse = share_of(logarithm, higher_is_better=metric.higher_is_better)
    side = "worse" if worse > 0 else "better"
    sentence = (
        f"{metric.label} {metric.show(measured)} is {abs(worse):.1%} {side} than at the first probe, "
        f"{metric.show(expected)} (bound {bound:.0%})."
    )
    return Finding.of(metric, measured, expected, RULE, "warn" if worse > bound else "accept", sentence)


def _flushes(series: Series, thresholds: Thresholds) -> Iterator[Finding]:
    """The rules on how long flushes take; in the middle of a campaign they warn at most."""
    if series.kind == "disk":
        for finding in flush_findings(series, thresholds):
            if finding.rule in ("fsync", "stalls"):
                yield replace(finding, verdict="warn" if finding.verdict == "reject" else finding.verdict)


def _series(series: Series, thresholds: Thresholds) -> dict[str, Any]:
    return {
        "kind": series.kind,
        "device": series.device,
        "directory": series.directory,
        "hosts": [host.name for host in series.hosts],
        "figures": {
            name: value
            for name, metric in METRICS.items()
            if metric.kind == series.kind and (value := median_repeat(series, metric)) is not None
        },
        "flushes": {finding.metric: finding.verdict for finding in _flushes(series, thresholds)},
        "repeats": [asdict(repeat) for repeat in series.repeats],
    }
