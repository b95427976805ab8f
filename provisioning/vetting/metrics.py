"""The figures that vetting judges, computed from a series' samples: one value per repeat. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from provisioning.vetting.probes import Repeat, Series

SAMPLES_BEYOND = 10  # fewer beyond a percentile and it isn't known


@dataclass(frozen=True)
class Metric:
    """A figure of one repeat: how it is shown, which side is bad, from which probe it is taken."""

    name: str
    label: str
    unit: str
    per_unit: float
    higher_is_better: bool
    kind: str
    probe: str
    take: Callable[[Mapping[str, Any]], float]

    def show(self, value: float) -> str:
        """The value in the metric's own unit, e.g. "1002 MB/s"."""
        scaled = value / self.per_unit
        digits = 0 if abs(scaled) >= 100 else 1 if abs(scaled) >= 10 else 2
        return f"{scaled:.{digits}f} {self.unit}"

    def worse_share(self, value: float, than: float) -> float:
        """By which share `value` is worse than `than`; negative = better."""
        return (than - value) / than if self.higher_is_better else (value - than) / than


def percentile(samples: Sequence[float], share: float) -> float:
    """The exact percentile: the smallest sample with at least `share` of all samples at or below it."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _rate(name: str, label: str, kind: str, probe: str, of: str = "") -> Metric:
    """Bytes per second, as the probe gives them (`of` a part of it)."""
    return Metric(name, label, "MB/s", 1e6, True, kind, probe, lambda r: float((r[of] if of else r)["bytes_per_s"]))


def _flush(name: str, label: str, share: float, unit: str = "ms", per_unit: float = 1e6) -> Metric:
    """A percentile of the flushes."""
    return Metric(name, label, unit, per_unit, False, "disk", "fsync", lambda r: percentile(r["samples_ns"], share))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _rate("write_bytes_per_s", "dd write", "disk", "throughput", of="write"),
        _rate("read_bytes_per_s", "dd read", "disk", "throughput", of="read"),
        _flush("fsync_p50_ns", "fsync p50", 0.50, "us", 1e3),
        _flush("fsync_p99_ns", "fsync p99", 0.99),
        _flush("fsync_p99_9_ns", "fsync p99.9", 0.999),
        _flush("fsync_max_ns", "fsync max", 1.0),
        _rate("records_bytes_per_s", "record write", "client", "records"),
        _rate("cpu_bytes_per_s", "CPU (zlib)", "client", "cpu"),
    )
}


def _median_round_trip_ns(result: Mapping[str, Any]) -> float:
    return float(statistics.median(result["round_trips_ns"]))


OF_A_PAIR = (
    _rate("net_bytes_per_s", "stream", "pair", "network"),
    Metric("round_trip_p50_ns", "round trip p50", "us", 1e3, False, "pair", "network", _median_round_trip_ns),
)


def per_repeat(series: Series, metric: Metric) -> tuple[float, ...]:
    """The metric in every repeat in which its probe could be taken."""
    return tuple(float(metric.take(r.results[metric.probe])) for r in series.repeats if metric.probe in r.results)


def median_repeat(series: Series, metric: Metric) -> float | None:
    """The value that is judged: the median over the repeats, so that one disturbed repeat decides nothing."""
    values = per_repeat(series, metric)
    return statistics.median(values) if values else None


def variation(values: Sequence[float]) -> float | None:
    """Coefficient of variation (sample standard deviation / mean); None with fewer than two values."""
    return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else None


def busiest_share(repeats: Sequence[Repeat]) -> float | None:
    """The largest CPU busy share seen just before a repeat."""
    shares = [float(repeat.results["idle"]["busy_share"]) for repeat in repeats if "idle" in repeat.results]
    return max(shares, default=None)


def fsync_summary(series: Series) -> dict[str, float | None]:
    """p50, p90, p99, p99.9, max (ns) and count over all samples of all repeats; null with fewer than ten samples beyond."""
    samples = [
        s for repeat in series.repeats if "fsync" in repeat.results for s in repeat.results["fsync"]["samples_ns"]
    ]
    if not samples:
        return {"count": 0}
    shares = {"p50_ns": 0.50, "p90_ns": 0.90, "p99_ns": 0.99, "p99_9_ns": 0.999}
    shown = {
        name: percentile(samples, q) if round(len(samples) * (1 - q), 6) >= SAMPLES_BEYOND else None
        for name, q in shares.items()
    }
    return {"count": len(samples), **shown, "max_ns": max(samples)}
