"""The rules on flushes: how long they usually take (fsync), how bad the worst are (stalls), and whether they are real (flush). Pure.

Each repeat is judged by itself and the median repeat decides, so that a burst of somebody else's I/O in one repeat rejects
no disk; a stall in any repeat is reported.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from provisioning.vetting.metrics import METRICS, SAMPLES_BEYOND, Metric, median_repeat, per_repeat
from provisioning.vetting.probes import Series
from provisioning.vetting.thresholds import StallRule, Thresholds
from provisioning.vetting.verdicts import Grade, Verdict

NANOSECONDS_PER_MIN = 60e9


def flush_verdicts(series: Series, thresholds: Thresholds) -> Iterator[Verdict]:
    """On a disk's series; nothing where its fsync probe could not be taken."""
    repeats = [repeat.results["fsync"]["samples_ns"] for repeat in series.repeats if "fsync" in repeat.results]
    if not repeats:
        return
    fsync, stall = thresholds.fsync_rule, thresholds.stall_rule
    solid_state = series.facts.get("rotational") is False
    warn_p99_ms = fsync.warn_p99_ms_solid_state if solid_state else None
    warn_p99_9_ms = stall.warn_p99_9_ms_solid_state if solid_state else None
    yield _bounded(series, METRICS["fsync_p99_ns"], "fsync", fsync.reject_p99_ms, warn_p99_ms)
    rare, fewest = METRICS["fsync_p99_9_ns"], min(map(len, repeats))
    if fewest < SAMPLES_BEYOND * 1000:
        sentence = f"{fewest:,} flushes in a repeat are too few for a p99.9: it needs {SAMPLES_BEYOND * 1000:,}."
        yield Verdict(rare.label, "stalls", "not judged", sentence)
    else:
        yield _bounded(series, rare, "stalls", stall.reject_p99_9_ms, warn_p99_9_ms)
    yield _bounded(series, METRICS["fsync_max_ns"], "stalls", stall.reject_max_ms, None)
    yield _stalls(repeats, stall)
    yield _real(series, thresholds)


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


def _stalls(repeats: list[Any], rule: StallRule) -> Verdict:
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
