"""The entries of one campaign: each contestant in each cell, with the values of all its trials and whether they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.bounded import Bounded, from_json, median_of
from analysis.digest.conditions import promise_of, workload_of
from analysis.digest.reading import Told, text, told, whole
from analysis.words import AA, EXCLUDED, HEADLINES, NOT_MET, OPEN_LOOP, OUTCOME, RATE

# those of faults have a part of their own
SHOWN = tuple(metric for metric in HEADLINES if not metric.startswith("fault_"))
MOST_ENTRIES = 2_000


@dataclass(frozen=True)
class Place:
    """What an entry is of: one contestant at one promise under one workload of its campaign."""

    contestant: str
    workload: str
    level: int


@dataclass(frozen=True)
class Figure:
    """One metric of one entry. `median`: of the trials that count, None without one; `values`: of each trial, in the order of the
    entry's trials, None where it has none."""

    metric: str
    unit: str
    median: Told | None
    values: tuple[Told | None, ...]


@dataclass(frozen=True)
class Entry:
    """`trials`: block and validity of each; `not_met`: outcome check -> in how many of them."""

    place: Place
    system: str
    version: str
    promise: Mapping[str, Any]
    workload: Mapping[str, Any]
    trials: tuple[tuple[int, str], ...]
    not_met: Mapping[str, int]
    figures: tuple[Figure, ...]

    def to_json(self) -> dict[str, Any]:
        """As a digest has it."""
        return {
            "contestant": text(self.place.contestant, 80),
            "system": text(self.system, 40),
            "version": text(self.version, 40),
            "promise": dict(self.promise),
            "workload": dict(self.workload),
            "trials": [list(each) for each in self.trials],
            "not_met": dict(self.not_met),
            "figures": [vars(each) for each in self.figures],
        }


def entries_of(report: Mapping[str, Any]) -> dict[Place, Entry]:
    """Every entry of a report.json, in the order of its trials; trials of A/A blocks are in none. Raises ValueError for too many."""
    trials: dict[Place, list[Mapping[str, Any]]] = {}
    for trial in report["trials"]:
        if trial["block_kind"] != AA:
            trials.setdefault(place_of(trial), []).append(trial)
    if len(trials) > MOST_ENTRIES:
        raise ValueError(f"{len(trials):,} contestants in cells; a site takes {MOST_ENTRIES:,} of a campaign")
    rows: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in report["summary"]:
        rows.setdefault(str(row["trial"]), {})[str(row["metric"])] = row
    failed: dict[str, list[str]] = {}
    for check in report["checks"]:
        if check["axis"] == OUTCOME and check["verdict"] == NOT_MET:
            failed.setdefault(str(check["trial"]), []).append(text(check["check"], 40))
    return {place: _entry(place, own, rows, failed) for place, own in trials.items()}


def place_of(trial: Mapping[str, Any]) -> Place:
    """Of one of a report's trials."""
    return Place(str(trial["contestant"]), str(trial["workload"]["name"]), whole(trial["durability"]["level"]))


def _entry(
    place: Place,
    trials: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Mapping[str, Mapping[str, Any]]],
    failed: Mapping[str, Sequence[str]],
) -> Entry:
    one = trials[0]
    # where each ran as fast as it could, latencies say nothing
    metrics = SHOWN if one["workload"]["pacing"] == OPEN_LOOP else (RATE,)
    own = [rows.get(str(trial["trial"]), {}) for trial in trials]
    sound = [trial["validity"] not in EXCLUDED for trial in trials]
    figures = [_figure(metric, [each.get(metric) for each in own], sound) for metric in metrics]
    return Entry(
        place=place,
        system=str(one["system"]),
        version=str(one["version"]),
        promise=promise_of(one["durability"]),
        workload=workload_of(one["workload"]),
        trials=tuple((whole(trial["block"]), text(trial["validity"], 20)) for trial in trials),
        not_met=Counter(check for trial in trials for check in failed.get(str(trial["trial"]), ())),
        figures=tuple(each for each in figures if each),
    )


def _figure(metric: str, rows: Sequence[Mapping[str, Any] | None], sound: Sequence[bool]) -> Figure | None:
    known: list[Bounded | None] = [None if row is None else from_json(row) for row in rows]
    if not any(known):
        return None
    counted = [each for each, counts in zip(known, sound, strict=True) if each and counts]
    return Figure(
        metric=metric,
        unit=next(text(row["unit"], 20) for row in rows if row),
        median=told(median_of(counted)) if counted else None,
        values=tuple(None if each is None else told(each) for each in known),
    )
