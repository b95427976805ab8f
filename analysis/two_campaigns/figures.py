"""The headline figures of two campaigns: every sound trial's value, the medians, and their ratio.

Two campaigns share no block. Whatever changed between them besides what was meant to (machines, time of day, wear of the disks) is in
the ratio, and no interval is computed: the ranges are shown, and whether they overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.bounded import Bounded, from_json, median_of, range_of
from analysis.campaign import AA, OPEN_LOOP
from analysis.checks import EXCLUDED
from analysis.comparison import HEADLINES
from analysis.metrics import RATE


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
    first: tuple[Bounded, ...]
    second: tuple[Bounded, ...]

    @property
    def ratio(self) -> Bounded | None:
        """Median of the second over median of the first; None if that is 0."""
        return median_of(self.second).over(median_of(self.first)) if median_of(self.first).high else None

    @property
    def overlap(self) -> bool:
        """Whether the ranges have a value in common, or may have."""
        firsts, seconds = (range_of(values) for values in (self.first, self.second))
        return firsts.low <= seconds.high and seconds.low <= firsts.high


def figures(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Figure]:
    """Every headline metric that both campaigns (their report.json) have for the same system, level and workload."""
    ones, others = _values(first), _values(second)
    found = [Figure(*key, tuple(ones[key]), tuple(others[key])) for key in ones if key in others]
    return sorted(found, key=lambda each: (each.workload, each.durability, each.system, _order(each.metric)))


def _values(report: Mapping[str, Any]) -> dict[tuple[str, str, str, str, str], list[Bounded]]:
    sound = {
        trial["trial"]: HEADLINES if trial["workload"]["pacing"] == OPEN_LOOP else (RATE,)
        for trial in report["trials"]
        if trial["validity"] not in EXCLUDED and trial.get("block_kind") != AA
    }
    found: dict[tuple[str, str, str, str, str], list[Bounded]] = {}
    for row in report["summary"]:
        if row["metric"].split("[")[0] in sound.get(row["trial"], ()):
            key = (row["workload"], row["durability"], row["system"], row["metric"], row["unit"])
            found.setdefault(key, []).append(from_json(row))
    return found


def _order(metric: str) -> int:
    return HEADLINES.index(metric.split("[")[0])
