"""The rules on flushes: how long they usually take (fsync), how bad the worst are (stalls), and whether they are real (flush). Pure.

Each repeat is judged by itself and the median repeat decides, so that a burst of somebody else's I/O in one repeat rejects
nobody; a stall in any repeat is said.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from provisioning.vetting.metrics import METRICS, SAMPLES_BEYOND, Metric, median_repeat, per_repeat
from provisioning.vetting.probes import Series
from provisioning.vetting.thresholds import Thresholds
from provisioning.vetting.verdicts import Grade, Verdict

NANOSECONDS_PER_MIN = 60e9


def flush_verdicts(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    """On a disk's series; nothing where its fsync probe could not be taken."""
    repeats = [repeat.results["fsync"]["samples_ns"] for repeat in series.repeats if "fsync" in repeat.results]
    if not repeats:
        return
    yield _usual(series, thresholds)
    yield _rare(series, repeats, thresholds)
    yield _longest(series, thresholds)
    yield _stalls(repeats, thresholds)
    yield _real(series, thresholds)


def _usual(series: Series, thresholds: Thresholds) -> Verdict:
    rule = thresholds.fsync_rule
    warn_ms = rule.warn_p99_ms_solid_state if _is_solid_state(series) else None
    return _bounded(series, METRICS["fsync_p99_ns"], "fsync", rule.reject_p99_ms, warn_ms)


def _rare(series: Series, repeats: list[Any], thresholds: Thresholds) -> Verdict:
    metric, fewest = METRICS["fsync_p99_9_ns"], min(map(len, repeats))
    if fewest < SAMPLES_BEYOND * 1000:
        sentence = f"{fewest:,} flushes in a repeat are too few for a p99.9: it needs {SAMPLES_BEYOND * 1000:,}."
        return Verdict(metric.label, "stalls", "not judged", sentence)
    rule = thresholds.stall_rule
    warn_ms = rule.warn_p99_9_ms_solid_state if _is_solid_state(series) else None
    return _bounded(series, metric, "stalls", rule.reject_p99_9_ms, warn_ms)


def _longest(series: Series, thresholds: Thresholds) -> Verdict:
    return _bounded(series, METRICS["fsync_max_ns"], "stalls", thresholds.stall_rule.reject_max_ms, None)


def _bounded(series: Series, metric: Metric, name: str, reject_ms: float, warn_ms: float | None) -> Verdict:
    each = per_repeat(series, metric)
    measured = statistics.median(each)
    grade: Grade = "accept"
    if measured > reject_ms * 1e6:
        grade = "reject"
    elif warn_ms is not None and measured > warn_ms * 1e6:
        grade = "warn"
    bound_ms = reject_ms if grade == "reject" or warn_ms is None else warn_ms
    shown = ", ".join(metric.show(value) for value in each)
    sentence = f"{metric.label} {metric.show(measured)} (repeats {shown}); bound {bound_ms:g} ms."
    return Verdict.of(metric, measured, bound_ms * 1e6, name, grade, sentence, bound=True)


def _stalls(repeats: list[Any], thresholds: Thresholds) -> Verdict:
    rule = thresholds.stall_rule
    counts = [sum(sample > rule.stall_ms * 1e6 for sample in samples) for samples in repeats]
    rates = [count * NANOSECONDS_PER_MIN / sum(samples) for count, samples in zip(counts, repeats, strict=True)]
    measured, bound = statistics.median(rates), rule.reject_stalls_per_min
    grade: Grade = "reject" if measured > bound else "warn" if any(counts) else "accept"
    longest_ms = max(max(samples) for samples in repeats) / 1e6
    sentence = (
        f"{sum(counts)} of {sum(map(len, repeats)):,} flushes took longer than {rule.stall_ms:g} ms, the longest {longest_ms:,.0f} ms;"
        f" {measured:.3g} a minute of flushing in the median repeat (bound {bound:g})."
    )
    shown = (f"{measured:.3g} /min", f"{bound:g} /min")
    return Verdict("fsync stalls", "stalls", grade, sentence, measured, bound, shown=shown)


def _real(series: Series, thresholds: Thresholds) -> Verdict:
    metric, bound_ns = METRICS["fsync_p50_ns"], thresholds.flush_rule.warn_p50_below_us * 1e3
    measured = median_repeat(series, metric) or 0.0
    mode = series.facts.get("write_cache") or "unknown"
    sentence = f"{metric.label} {metric.show(measured)}, write cache mode {mode}."
    if measured < bound_ns:
        sentence = f"{metric.label} {metric.show(measured)}: the flush may not be real (write cache mode {mode})."
    grade: Grade = "warn" if measured < bound_ns else "accept"
    return Verdict.of(metric, measured, bound_ns, "flush", grade, sentence, bound=True)


def _is_solid_state(series: Series) -> bool:
    return series.facts.get("rotational") is False
