"""Starts import and export of OpenMessaging Benchmark's result files, tasks of the analysis job. It reads only what they wrote."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report.here import job_file, run_plain_job, submit_job
from bench.results.folder import Results
from bench.results.sent_records import require_here
from provisioning.errors import InvalidInput


@dataclass(frozen=True)
class Import:
    """What an import wrote: import.json, and each trial's values by metric (ms, messages per second)."""

    folder: Path
    document: dict[str, Any]
    values: dict[str, dict[str, float]]

    @property
    def complete(self) -> bool:
        """Whether no file was refused."""
        return not self.document["refused"]


def result_files(given: Sequence[Path]) -> list[Path]:
    """The files given, and the JSON files below folders given. Raises InvalidInput if a folder has none."""
    found: list[Path] = []
    for path in given:
        below = sorted(file for file in path.rglob("*.json") if not file.is_dir()) if path.is_dir() else [path]
        if not below:
            raise InvalidInput(
                f"{path}: no JSON file in it.", next_step="Name result files of OpenMessaging Benchmark."
            )
        found += below
    return list(dict.fromkeys(found))


def import_results(files: Sequence[Path], out: Path, checkout: Path, *, on_line: Callable[[str], None]) -> Import:
    """Imports files into the folder `out`. Raises SameboxError if none of them can be."""
    require_folder(out)
    arguments = ["import-omb", "--out", str(out.resolve()), "--", *map(str, files)]
    run_plain_job(arguments, checkout, on_line=on_line, what="import")
    return read_import(out)


def read_import(folder: Path) -> Import:
    """What an earlier import wrote."""
    values: dict[str, dict[str, float]] = {}
    with (folder / "summary.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values.setdefault(row["trial"], {})[row["metric"]] = float(row["value"])
    return Import(folder, json.loads((folder / "import.json").read_text(encoding="utf-8")), values)


def trials_to_export(results: Results, named: Sequence[str]) -> tuple[str, ...]:
    """The trials named, or all that are finished. Raises InvalidInput if one isn't there, or its records aren't here."""
    results.manifest()
    finished = results.finished()
    for trial in named:
        if trial not in finished:
            known = ", ".join(finished) or "none"
            raise InvalidInput(f"{results.root}: no finished trial {trial!r}.", next_step=f"Finished are: {known}.")
    if not finished:
        raise InvalidInput(f"{results.root} has no finished trial, so there is nothing to export.")
    require_here(results)
    return tuple(named) or finished


def require_folder(out: Path) -> None:
    """Raises InvalidInput if no folder can be written there."""
    nearest = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise InvalidInput(
            f"--out {out}: {nearest} is a file.", next_step="Name a folder, or a path where one can be made."
        )
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InvalidInput(f"--out {out}: {nearest} can't be written to.", next_step="Name a folder of your own.")


def export_results(
    results: Results,
    trials: Sequence[str],
    out: Path,
    checkout: Path,
    *,
    master: str,
    scratch: Path,
    on_line: Callable[[str], None],
) -> list[Path]:
    """Writes trials as result files into `out` and returns those; a trial without a recorded load has none."""
    named = [word for trial in trials for word in ("--trial", trial)]
    arguments = ["export-omb", str(results.root.resolve()), *named, "--out", str(out.resolve())]
    submit_job(job_file(checkout), arguments, checkout, master=master, scratch=scratch, on_line=on_line, what="export")
    return sorted(out.glob("*.json"))
