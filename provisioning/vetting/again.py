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
from provisioning.vetting.flushes import flush_verdicts
from provisioning.vetting.metrics import METRICS, Metric, median_repeat
from provisioning.vetting.probes import Progress, Series, find_targets, take_series
from provisioning.vetting.scatter import log_worse, share_of
from provisioning.vetting.thresholds import Profile, Thresholds
from provisioning.vetting.verdicts import Verdict, grade_order

RULE = "change"


@dataclass(frozen=True)
class ProbedAgain:
    """What was measured, as `document` (its `series` are what a later probe is compared with), and how it compares with the first."""

    verdicts: tuple[Verdict, ...]
    document: Mapping[str, Any]


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
    targets, _ = find_targets(hosts, lambda instance_type: short_profile(instance_type, thresholds))
    repeats = max((target.profile.repeats for target in targets), default=0)
    series = take_series(targets, progress=progress, steps=(0, repeats), sleep=sleep)
    verdicts = tuple(_verdicts(series, first, thresholds))
    documents = [_series(one, thresholds) for one in series]
    return ProbedAgain(
        verdicts,
        {"taken_ns": taken_ns, "verdicts": [asdict(verdict) for verdict in verdicts], "series": documents},
    )


def short_profile(instance_type: str, thresholds: Thresholds) -> Profile:
    """The profile of short probes, or the instance type's own where that is shorter still."""
    own, short = thresholds.profile_of(instance_type), thresholds.profiles[thresholds.again_rule.profile]
    return min(short, own, key=lambda profile: profile.throughput_bytes)


def _verdicts(series: Sequence[Series], first: Mapping[str, Any] | None, thresholds: Thresholds) -> Iterator[Verdict]:
    earlier = {(each["kind"], each["directory"], *each["hosts"]): each for each in (first or {}).get("series", [])}
    for one in series:
        before = earlier.get((one.kind, one.directory, *one.host_names))
        for verdict in _changes(one, before, thresholds) if before else _flushes(one, thresholds):
            yield from verdict.on(one)


def _changes(series: Series, before: Mapping[str, Any], thresholds: Thresholds) -> Iterator[Verdict]:
    for name in thresholds.again_rule.metrics:
        metric = METRICS[name]
        measured, expected = median_repeat(series, metric), before["figures"].get(name)
        if metric.kind == series.kind and measured is not None and expected is not None:
            yield _change(metric, measured, float(expected), thresholds.again_rule.warn_worse_share)
    for verdict in _flushes(series, thresholds):
        then = before["flushes"].get(verdict.metric, "accept")
        grew = grade_order(verdict.verdict) > grade_order(then)
        sentence = f"{verdict.sentence} At the first probe: {then}."
        yield replace(verdict, rule=RULE, verdict="warn" if grew else "accept", sentence=sentence)


def _change(metric: Metric, measured: float, expected: float, bound: float) -> Verdict:
    logarithm = log_worse(measured, expected, higher_is_better=metric.higher_is_better)
    worse = share_of(logarithm, higher_is_better=metric.higher_is_better)
    side = "worse" if worse > 0 else "better"
    sentence = (
        f"{metric.label} {metric.show(measured)} is {abs(worse):.1%} {side} than at the first probe, "
        f"{metric.show(expected)} (bound {bound:.0%})."
    )
    return Verdict.of(metric, measured, expected, RULE, "warn" if worse > bound else "accept", sentence)


def _flushes(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    """The rules on how long flushes take; in the middle of a campaign they warn at most."""
    if series.kind == "disk":
        for verdict in flush_verdicts(series, thresholds):
            if verdict.rule in ("fsync", "stalls"):
                yield replace(verdict, verdict="warn" if verdict.verdict == "reject" else verdict.verdict)


def _series(series: Series, thresholds: Thresholds) -> dict[str, Any]:
    figures = {
        name: value
        for name, metric in METRICS.items()
        if metric.kind == series.kind and (value := median_repeat(series, metric)) is not None
    }
    flushes = {verdict.metric: verdict.verdict for verdict in _flushes(series, thresholds)}
    return {**series.to_json(), "hosts": series.host_names, "figures": figures, "flushes": flushes}
