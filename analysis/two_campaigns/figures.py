"""The headline figures of two campaigns: every sound trial's value, the medians, and their ratio.

Two campaigns share no block. Whatever changed between them besides what was meant to (machines, time of day, wear of the disks) is in
the ratio, and no interval is computed: the ranges are shown, and whether they overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from analysis.campaign import AA, OPEN_LOOP
from analysis.checks import EXCLUDED
from analysis.comparison import HEADLINES, RATE


@dataclass(frozen=True)
class Figure:
    """One metric of one contestant in one cell: the values of its sound trials, in the first campaign and in the second.

    As in every comparison, A/A blocks are left out, and all but the rate where each trial had a rate of its own.
    """

    workload: str
    durability: str
    system: str
    metric: str
    unit: str
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def ratio(self) -> float | None:
        """Median of the second over median of the first; None if that is 0."""
        return median(self.second) / median(self.first) if median(self.first) else None

    @property
    def overlap(self) -> bool:
        """Whether the ranges have a value in common."""
        return min(self.first) <= max(self.second) and min(self.second) <= max(self.first)


def figures(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Figure]:
    """Every headline metric that both campaigns (their report.json) have for the same system, level and workload."""
    ones, others = _values(first), _values(second)
    found = [Figure(*key, tuple(ones[key]), tuple(others[key])) for key in ones if key in others]
    return sorted(found, key=lambda each: (each.workload, each.durability, each.system, _order(each.metric)))


def _values(report: Mapping[str, Any]) -> dict[tuple[str, str, str, str, str], list[float]]:
    sound = {
        trial["trial"]: HEADLINES if trial["workload"]["pacing"] == OPEN_LOOP else (RATE,)
        for trial in report["trials"]
        if trial["validity"] not in EXCLUDED and trial.get("block_kind") != AA
    }
    found: dict[tuple[str, str, str, str, str], list[float]] = {}
    for row in report["summary"]:
        if row["metric"].split("[")[0] in sound.get(row["trial"], ()):
            key = (row["workload"], row["durability"], row["system"], row["metric"], row["unit"])
            found.setdefault(key, []).append(float(row["value"]))
    return found


def _order(metric: str) -> int:
    return HEADLINES.index(metric.split("[")[0])
