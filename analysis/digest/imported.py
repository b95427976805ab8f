"""The digest of imported results: published figures that have no records, so that nobody can recompute them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from analysis.bounded import exactly
from analysis.digest.entries import MOST_ENTRIES, SHOWN
from analysis.digest.reading import digested, flat, rounded, text, told
from analysis.documents import read_document, require_shape
from analysis.promise import promise
from contract.durability import LEVELS, Durability

IMPORT, SUMMARY = "import.json", "summary.csv"
NO_RECORDS = "no records"  # in a trial's validity: it can't be judged
_NEXT = "Import its files again: samebox import-omb FILES --out FOLDER"
_SHAPE = {
    "origin": str,
    "files": [{"file": str, "trial": str, "workload": str, "driver": str, "identity": {}, "faults": [{"fault": str}]}],
}
_LEVELS: Mapping[str, Durability] = {each.name: each for each in LEVELS}


def imported_digest(folder: Path, where: str) -> dict[str, Any]:
    """Of a folder that `samebox import-omb` wrote. Raises AnalysisError, naming `where`, for anything else."""
    document = read_document(folder / IMPORT, next_step=_NEXT)
    return digested(where, lambda: _digest(document, _values(folder / SUMMARY)))


def _values(file: Path) -> dict[str, dict[str, Mapping[str, str]]]:
    found: dict[str, dict[str, Mapping[str, str]]] = {}
    with file.open(newline="", encoding="utf-8") as opened:
        for row in csv.DictReader(opened):
            found.setdefault(row["trial"], {})[row["metric"]] = row
    return found


def _digest(document: Mapping[str, Any], values: Mapping[str, Mapping[str, Mapping[str, str]]]) -> dict[str, Any]:
    require_shape(document, _SHAPE)
    files = document["files"]
    if len(files) > MOST_ENTRIES:
        raise ValueError(f"{len(files):,} files; a site takes {MOST_ENTRIES:,} of an import")
    return {
        "origin": text(document["origin"], 80),
        "entries": [_entry(each, values.get(each["trial"], {})) for each in files],
    }


def _entry(file: Mapping[str, Any], rows: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    identity = {name: each["value"] for name, each in file["identity"].items()}
    rate = identity.pop("rate_per_s", None)
    system, durability = identity.pop("system", None), identity.pop("durability", None)
    return {
        "contestant": text(system or "unknown", 80),
        "system": text(system or "unknown", 40),
        "version": "",
        "promise": _promise(durability),
        "workload": {
            "name": text(file["workload"], 80),
            "rate_per_s": None if rate is None else rounded(rate),
            "shape": dict(sorted(flat(identity).items())),
        },
        "trials": [[0, NO_RECORDS]],
        "not_met": {},
        "figures": [_figure(metric, rows[metric]) for metric in SHOWN if metric in rows],
        "source": text(PurePath(file["file"]).name, 120),
        "doubts": _doubts(file["faults"]),
    }


def _figure(metric: str, row: Mapping[str, str]) -> dict[str, Any]:
    value = told(exactly(float(row["value"])))
    return {"metric": metric, "unit": text(row["unit"], 20), "median": value, "values": [value]}


def _doubts(faults: Sequence[Mapping[str, Any]]) -> list[str]:
    return [text(each, 60) for each in dict.fromkeys(fault["fault"] for fault in faults)]


def _promise(durability: Any) -> dict[str, Any] | None:
    """None where no name in the file states it. What a level's variant is has its name after the level's."""
    level = _LEVELS.get(str(durability).partition("-")[0])
    if level is None:
        return None
    said = promise({"replication": level.replication, "local": level.local})
    return {"level": level.level, "replication": level.replication, "local": level.local, "words": said}
