"""python -m analysis.two_campaigns FIRST SECOND [--despite GROUP ...]: prints one JSON object, or says what isn't alike and exits 1."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis.bounded import median_of, range_of
from analysis.errors import AnalysisError
from analysis.schema import require_known_schema
from analysis.two_campaigns.conditions import GROUPS, Difference, conditions, differences
from analysis.two_campaigns.effective import effective_settings
from analysis.two_campaigns.figures import Figure, figures

_SHOWN = 12


def main(arguments: Sequence[str]) -> int:
    """The only place that prints."""
    parser = argparse.ArgumentParser(prog="two_campaigns", description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--despite", action="append", default=[], choices=GROUPS)
    options = parser.parse_args(arguments)
    try:
        document = compare(options.first, options.second, despite=options.despite)
    except AnalysisError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.next_step:
            print(f"next: {error.next_step}", file=sys.stderr)
        return 1
    print(json.dumps(document, indent=1))
    return 0


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


def _conditions(folder: Path, manifest: dict[str, Any], report: dict[str, Any]) -> dict[str, dict[str, str]]:
    try:
        return conditions(manifest, report, effective_settings(folder, manifest, report["trials"]))
    except KeyError as key:
        raise AnalysisError(
            f"{folder}: manifest.json or report.json lacks {key}: another version of samebox wrote it.",
            next_step="Compare campaigns that one version has run and reported.",
        ) from None


def _documents(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    found = []
    for file in (folder / "manifest.json", folder / "report" / "report.json"):
        if not file.is_file():
            if file.name == "manifest.json":
                raise AnalysisError(
                    f"{folder} is no results folder: it has no manifest.json.", next_step="samebox status"
                )
            raise AnalysisError(f"{folder} has no report yet.", next_step=f"samebox report {folder}")
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:  # not UTF-8, or not JSON
            raise AnalysisError(
                f"{file}: not valid JSON: {error}", next_step="Was it cut off? Get the file as samebox wrote it."
            ) from None
        if not isinstance(document, dict):
            raise AnalysisError(f"{file}: expected a JSON object.", next_step="Get the file as samebox wrote it.")
        next_step = "Make the report with the samebox version that ran the campaign, and compare with that one."
        require_known_schema(document, str(file), next_step=next_step)
        found.append(document)
    return found[0], found[1]


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
