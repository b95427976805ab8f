"""python -m analysis.two_campaigns FIRST SECOND [--despite GROUP ...]: prints one JSON object, or says what isn't alike and exits 1.

The headline figures of two campaigns: the range of every sound trial's value, the medians, and their ratio. Two campaigns share no
block. Whatever changed between them besides what was meant to (machines, time of day, wear of the disks) is in the ratio, and no
interval is computed: the ranges are shown, and whether they overlap.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analysis.bounded import Bounded, from_json, median_of, range_of
from analysis.documents import read_document
from analysis.errors import AnalysisError, run_plain_task
from analysis.two_campaigns.conditions import GROUPS, Difference, called_in, conditions, differences
from analysis.words import AA, EXCLUDED, HEADLINES, OPEN_LOOP, RATE

_SHOWN = 12


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


def main(arguments: Sequence[str]) -> int:
    """Parses the arguments and prints the comparison."""
    parser = argparse.ArgumentParser(prog="two_campaigns", description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--despite", action="append", default=[], choices=GROUPS)
    options = parser.parse_args(arguments)
    return run_plain_task(
        lambda: print(json.dumps(compare(options.first, options.second, despite=options.despite), indent=1))
    )


def compare(first: Path, second: Path, *, despite: Sequence[str] = ()) -> dict[str, Any]:
    """The figures of both, and what differs in the groups `despite`. Raises AnalysisError naming what else differs."""
    if first.resolve() == second.resolve():
        raise AnalysisError(
            f"{first} and {second} are the same folder.", next_step="Name two campaigns' results folders."
        )
    (one_manifest, one), (other_manifest, other) = _documents(first), _documents(second)
    unlike = differences(_conditions(first, one_manifest, one), _conditions(second, other_manifest, other))
    refused = [each for each in unlike if each.group not in despite]
    if refused:
        raise _unlike(first, second, refused)
    found = figures(one, other)
    if not found:
        raise AnalysisError(
            f"{first} and {second} have no sound trials of the same system, level and workload.",
            next_step="Compare campaigns of one campaign file, or with workloads of the same name.",
        )
    return {
        "first": _campaign(first, one_manifest),
        "second": _campaign(second, other_manifest),
        "differences": [asdict(each) for each in unlike],
        "figures": [_figure(each) for each in found],
    }


def _documents(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    manifest, report = folder / "manifest.json", folder / "report" / "report.json"
    if not manifest.is_file():
        raise AnalysisError(f"{folder} is not a results folder: it has no manifest.json.", next_step="samebox status")
    if not report.is_file():
        raise AnalysisError(f"{folder} has no report yet.", next_step=f"samebox report {folder}")
    next_step = "Was it cut off? Get the file as samebox wrote it, with a report by the version that ran the campaign."
    return read_document(manifest, next_step=next_step), read_document(report, next_step=next_step)


def _conditions(folder: Path, manifest: dict[str, Any], report: dict[str, Any]) -> dict[str, dict[str, str]]:
    try:
        return conditions(folder, manifest, report)
    except KeyError as key:
        raise AnalysisError(
            f"{folder}: manifest.json or report.json lacks {key}: another version of samebox wrote it.",
            next_step="Compare campaigns that one version has run and reported.",
        ) from None


def _unlike(first: Path, second: Path, refused: Sequence[Difference]) -> AnalysisError:
    lines = [
        f"  {each.group}: {each.condition}: {each.first or '-'} / {each.second or '-'}" for each in refused[:_SHOWN]
    ]
    more = f"\n  and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
    groups = " ".join(f"--despite {group}" for group in dict.fromkeys(each.group for each in refused))
    return AnalysisError(
        f"{first} and {second} are not alike:\n" + "\n".join(lines) + more,
        next_step=f"If that difference is what you want to see: {groups}",
    )


def _campaign(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    return {
        "results": str(folder),
        "campaign": manifest["campaign"],
        "created_ns": manifest["created_ns"],
        "git": manifest["git"],
    }


def _figure(found: Figure) -> dict[str, Any]:
    return {
        **asdict(found),
        "first": range_of(found.first).to_json(),
        "second": range_of(found.second).to_json(),
        "first_median": median_of(found.first).to_json(),
        "second_median": median_of(found.second).to_json(),
        "ratio": found.ratio.to_json() if found.ratio else None,
        "overlap": found.overlap,
    }


def figures(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Figure]:
    """Every headline metric that both campaigns (their report.json) have for the same contestant, level and workload."""
    ones, others = _values(first), _values(second)
    found = [Figure(*key, tuple(ones[key]), tuple(others[key])) for key in ones if key in others]
    return sorted(found, key=lambda each: (each.workload, each.durability, each.system, _order(each.metric)))


def _values(report: Mapping[str, Any]) -> dict[tuple[str, str, str, str, str], list[Bounded]]:
    sound = {
        trial["trial"]: HEADLINES if trial["workload"]["pacing"] == OPEN_LOOP else (RATE,)
        for trial in report["trials"]
        if trial["validity"] not in EXCLUDED and trial.get("block_kind") != AA
    }
    called = {trial["trial"]: called_in(trial) for trial in report["trials"]}
    found: dict[tuple[str, str, str, str, str], list[Bounded]] = {}
    for row in report["summary"]:
        if row["metric"].split("[")[0] in sound.get(row["trial"], ()):
            key = (row["workload"], row["durability"], called[row["trial"]], row["metric"], row["unit"])
            found.setdefault(key, []).append(from_json(row))
    return found


def _order(metric: str) -> int:
    return HEADLINES.index(metric.split("[")[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
