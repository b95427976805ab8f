"""The first and the last third of a trial's measured phase: of which trials they say something, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.campaign import NANOSECONDS, Trial
from analysis.percentiles import Percentile
from analysis.population import Key, Population
from analysis.promise import is_acknowledged
from analysis.records.latencies import FIRST_THIRD, LAST_THIRD, NO_SUBSCRIPTION
from analysis.records.windows import WINDOWS, thirds_ns

THIRDS = (FIRST_THIRD, LAST_THIRD)
JUDGED_PPM = (500_000, 990_000)  # the percentiles that the thirds are compared by
_NS_PER_MS = 1e6


def why_not_told(trial: Trial) -> str | None:
    """Why the thirds of a trial say nothing of a steady state, whatever was recorded; None if they do."""
    if trial.workload["backlog"]:
        return "A backlog is read, which ends when it has been read."
    if not trial.has_offered_rate:
        return f"Only a rate that is offered throughout has a steady state: the pacing is {trial.workload['pacing']}."
    if not is_acknowledged(trial.durability):
        return "No broker answers at this durability: response latency is the client's own."
    if trial.workload.get("faults"):
        return "Faults are part of the workload: what they change is measured, and no lack of steadiness."
    return None


def thirds_of(trial: Trial) -> dict[str, tuple[int, int]]:
    """The thirds of a trial's measured phase, by the metric that is told of each; empty where they say nothing."""
    measured_ns = trial.measured_ns()
    if measured_ns is None or trial.is_native or why_not_told(trial) is not None:
        return {}
    return dict(zip(THIRDS, thirds_ns(measured_ns), strict=True))


def populations_of_thirds(windows: Mapping[str, Iterable[Mapping[str, Any]]]) -> dict[Key, Population]:
    """All messages that each third scheduled, answered or not, from the rows of its windows by trial."""
    found: dict[Key, Population] = {}
    for trial, rows in windows.items():
        samples = {int(row["window"]): int(row["samples"]) for row in rows}
        for metric, first in zip(THIRDS, (0, WINDOWS - WINDOWS // 3), strict=True):
            messages = sum(samples.get(window, 0) for window in range(first, first + WINDOWS // 3))
            if messages:
                found[trial, metric, NO_SUBSCRIPTION] = Population(messages)
    return found


def values_ms(thirds: Iterable[Percentile], quantile_ppm: int) -> tuple[float, float] | None:
    """A percentile of the first and of the last third; None where one of them has none."""
    by_metric = {each.metric: each.value_ns for each in thirds if each.quantile_ppm == quantile_ppm}
    first, last = by_metric.get(FIRST_THIRD), by_metric.get(LAST_THIRD)
    return None if first is None or last is None else (max(1, first) / _NS_PER_MS, max(1, last) / _NS_PER_MS)


@dataclass(frozen=True)
class Third:
    """A third as its trial's figure marks it: seconds since the load began, and the median in it."""

    begin_s: float
    end_s: float
    median_ms: float


def marked_thirds(trial: Trial, thirds: Iterable[Percentile]) -> tuple[Third, ...]:
    """Both thirds, where they have a median."""
    medians, start_ns = values_ms(thirds, JUDGED_PPM[0]), trial.start_ns or 0
    return tuple(
        Third((begin_ns - start_ns) / NANOSECONDS, (end_ns - start_ns) / NANOSECONDS, median_ms)
        for (begin_ns, end_ns), median_ms in zip(thirds_of(trial).values(), medians or (), strict=False)
    )
