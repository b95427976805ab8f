"""What a campaign of a watch has measured, out of its manifest.json and report.json, as the watch's history has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.documents import read_document
from analysis.errors import AnalysisError
from analysis.words import CLOSED_LOOP, EXCLUDED, OPEN_LOOP, RATE, SEARCH
from contract import results_folder as layout
from contract.watch_history import Known, Round, Suspicion, WatchedBlock

# where the load is given, how long messages take; where it isn't, how many there are
WATCHED: Mapping[str, tuple[str, ...]] = {
    OPEN_LOOP: ("response_latency_p50", "response_latency_p99"),
    SEARCH: (RATE,),
    CLOSED_LOOP: (RATE,),
}
HIGHER_IS_BETTER = frozenset({RATE})


def round_in(results: Path, confirms: Sequence[Suspicion] = ()) -> Round:
    """Reads the documents of a results folder. Raises AnalysisError, naming the file."""
    again = "Make its report again: samebox report RESULTS"
    manifest = read_document(results / layout.MANIFEST, next_step=again)
    report = read_document(results / layout.REPORT / "report.json", next_step=again)
    try:
        return _round(manifest, report, confirms)
    except KeyError as key:
        raise AnalysisError(f"{results}: its documents lack {key}.", next_step=again) from None


def _round(manifest: Mapping[str, Any], report: Mapping[str, Any], confirms: Sequence[Suspicion]) -> Round:
    """The campaign's first contestant is the anchor."""
    version_of = {each["name"]: str(each["version"]) for each in manifest["definition"]["contestants"]}
    sound = {each["trial"]: each for each in report["trials"] if each["validity"] not in EXCLUDED}
    blocks: dict[str, dict[int, dict[str, Known]]] = {}
    for row in report["summary"]:
        trial = sound.get(row["trial"])
        if trial and row["metric"] in WATCHED.get(trial["workload"]["pacing"], ()):
            values = blocks.setdefault(row["metric"], {}).setdefault(row["block"], {})
            values[version_of[row["contestant"]]] = Known(row["value"], row["low"], row["high"])
    return Round(
        campaign=manifest["campaign"],
        created_ns=int(manifest["created_ns"]),
        testbed=str(manifest["testbed"]["testbed"]["kind"]),
        versions=tuple(version_of.values())[1:],
        metrics={
            name: tuple(WatchedBlock(block, values) for block, values in sorted(own.items()))
            for name, own in sorted(blocks.items())
        },
        confirms=tuple(confirms),
        not_met={version_of[each["contestant"]]: each["not_met"] for each in report["outcomes"] if each["not_met"]},
        excluded=len(report["trials"]) - len(sound),
    )
