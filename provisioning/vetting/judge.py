"""Judges probes by the rules of the thresholds file. Pure: the same probes and thresholds give the same verdicts.

Rules, in the order in which a reader asks: probe (could it be measured), idle (was the host quiet), preset (a), fleet (b),
fsync and stalls (c), repeats (d), flush (e), network. Why the median repeat is judged and not the pooled samples: a burst of somebody
else's I/O in one repeat fills the pooled p99, while a disk that stalls does so in most repeats; all samples are kept.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace

from provisioning.vetting.fleet import fleet_verdicts
from provisioning.vetting.flushes import flush_verdicts
from provisioning.vetting.metrics import METRICS, OF_A_PAIR, busiest_share, median_repeat, per_repeat, variation
from provisioning.vetting.probes import Pair, Probes, Series
from provisioning.vetting.thresholds import Thresholds
from provisioning.vetting.verdicts import Grade, Verdict, Vetting


def judge(probes: Probes, thresholds: Thresholds) -> Vetting:
    """Every rule on every series; a verdict on a shared device stands for all its hosts."""
    broker_machines = [probes.boot_ids[host.name] for host in probes.hosts if host.role == "broker"]
    one_machine = len(broker_machines) > 1 and len(set(broker_machines)) == 1
    verdicts: list[Verdict] = []
    for series in probes.series:
        group = [other for other in probes.series if _peers(series, other)]
        for verdict in (*_alone(series, thresholds), *fleet_verdicts(series, group, thresholds.fleet_rule)):
            verdicts += (_softened(verdict, series, thresholds) if one_machine else verdict).on(series)
    verdicts += [verdict for pair in probes.pairs for verdict in _network(pair, probes.pairs, thresholds)]
    caveats = (_caveat(probes),) if one_machine else tuple(_without_preset(probes, thresholds))
    return Vetting(tuple(verdicts), (*caveats, *_of_profiles(probes, thresholds)), probes, thresholds)


def _of_profiles(probes: Probes, thresholds: Thresholds) -> Iterator[str]:
    """What the probes were too small to tell, by the profiles that were used."""
    used = (thresholds.profile_of(series.hosts[0].instance_type).caveat for series in probes.series)
    yield from dict.fromkeys(filter(None, used))


def _without_preset(probes: Probes, thresholds: Thresholds) -> Iterator[str]:
    """What nothing but its like has been compared with. On one machine another caveat says more."""
    types = [series.hosts[0].instance_type for series in probes.series if series.kind == "disk"]
    for name in dict.fromkeys(types):
        if thresholds.preset_of(name) is None:
            yield (
                f"no preset for instance type {name}: its disks were compared with one another only, so vetting can't see"
                " a fleet that is slow as a whole"
            )


def _caveat(probes: Probes) -> str:
    count = sum(series.kind == "disk" for series in probes.series)
    disks = "one disk" if count == 1 else f"{count} disks"
    return f"one machine, {disks}: this shows the method, it doesn't compare brokers"


def _peers(one: Series, other: Series) -> bool:
    left, right = one.hosts[0], other.hosts[0]
    return (one.kind, left.role, left.instance_type) == (other.kind, right.role, right.instance_type)


def _softened(verdict: Verdict, series: Series, thresholds: Thresholds) -> Verdict:
    """On one machine, other hosts' work is in every figure: fleet, repeats and stalls only warn; so does fsync if it wasn't idle."""
    busy = busiest_share(series.repeats)
    not_idle = busy is not None and busy > thresholds.idle_rule.warn_busy_share
    if verdict.verdict != "reject" or not (
        verdict.rule in ("fleet", "repeats", "stalls") or (verdict.rule == "fsync" and not_idle)
    ):
        return verdict
    why = f"the machine was {busy:.0%} busy" if verdict.rule == "fsync" else "all brokers share one machine"
    return replace(verdict, verdict="warn", sentence=f"{verdict.sentence} Only a warning: {why}.")


def _alone(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    """The rules that need no other disk."""
    yield from _probed(series, thresholds)
    yield from _idle(series, thresholds)
    if series.kind == "disk":
        yield from _preset(series, thresholds)
        yield from flush_verdicts(series, thresholds)
    yield from _repeats(series, thresholds)


def _probed(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    errors = {probe: reason for repeat in series.repeats for probe, reason in repeat.errors.items()}
    for probe, reason in sorted(errors.items()):
        sentence = f"The {probe} probe could not be run: {reason}."
        yield Verdict(probe, "probe", thresholds.probe_rule.verdict, sentence)


def _idle(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    busy, bound = busiest_share(series.repeats), thresholds.idle_rule.warn_busy_share
    if busy is None:
        return
    fine = busy <= bound
    sentence = f"CPU at most {busy:.0%} busy before a repeat (bound {bound:.0%})."
    if not fine:
        sentence = (
            f"CPU {busy:.0%} busy before a repeat, above {bound:.0%}: the host wasn't idle, its figures may be low."
        )
    yield Verdict.of_share("CPU busy", busy, bound, "idle", "accept" if fine else "warn", sentence)


def _preset(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    metric, instance_type = METRICS["write_bytes_per_s"], series.hosts[0].instance_type
    preset, measured = thresholds.preset_of(instance_type), median_repeat(series, metric)
    if measured is None:
        return
    if preset is None:
        sentence = f"No preset for instance type {instance_type}: there is no published dd figure for it."
        yield Verdict.of(metric, measured, None, "preset", "not judged", sentence)
        return
    bound = thresholds.preset_rule.reject_below_share
    grade: Grade = "accept" if measured >= bound * preset else "reject"
    sentence = (
        f"{metric.label} {metric.show(measured)} is {measured / preset:.1%} of {instance_type}'s {metric.show(preset)}"
    )
    source = thresholds.instances[instance_type].source
    yield Verdict.of(metric, measured, preset, "preset", grade, f"{sentence} (reject below {bound:.0%}; {source}).")


def _repeats(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    rule = thresholds.repeats_rule
    for metric in (METRICS[name] for name in rule.metrics if METRICS[name].kind == series.kind):
        values = per_repeat(series, metric)
        spread = variation(values)
        if spread is None:
            continue
        grade: Grade = "accept"
        if spread > rule.warn_variation:
            grade = "reject" if spread > rule.reject_variation else "warn"
        bound = rule.reject_variation if grade == "reject" else rule.warn_variation
        word = "stable" if grade == "accept" else "unstable"
        each = ", ".join(metric.show(value) for value in values)
        sentence = f"{metric.label} {word}: {each} vary by {spread:.1%} (bound {bound:.0%})."
        yield Verdict.of_share(f"{metric.label} variation", spread, bound, "repeats", grade, sentence)


def _network(pair: Pair, pairs: Sequence[Pair], thresholds: Thresholds) -> Iterator[Verdict]:
    if pair.result is None:
        lost = Verdict("network", "network", thresholds.probe_rule.verdict, f"{pair.error}.")
        yield replace(lost, host=pair.client, device=f"to {pair.broker}")
        return
    rule, reached = thresholds.network_rule, [other.result for other in pairs if other.result is not None]
    for metric in OF_A_PAIR:
        measured, expected = metric.take(pair.result), statistics.median(metric.take(result) for result in reached)
        bad = metric.worse_share(measured, expected) > rule.warn_worse_share
        grade: Grade = "not judged" if len(reached) < rule.min_pairs else "warn" if bad else "accept"
        sentence = f"{metric.label} {metric.show(measured)}, median of {len(reached)} pairs {metric.show(expected)}."
        found = Verdict.of(metric, measured, expected, "network", grade, sentence)
        yield replace(found, host=pair.client, device=f"to {pair.broker}")
