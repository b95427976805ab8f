"""The task export-omb: a results folder in, a folder with one result file of OpenMessaging Benchmark per trial out.

Exit code 0: at least one trial was exported; 1: none was, and nothing was written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.campaign import Campaign, Trial, read_campaign
from analysis.documents import write_json
from analysis.errors import AnalysisError
from analysis.load import load_records
from analysis.omb.export import ABOUT, figures, result_document, span_of
from analysis.session import Progress, run_task
from analysis.storage import SUCCESS, Storage

ABOUT_FILE = "about.txt"


def run(arguments: Sequence[str], scratch: Path) -> int:
    """Parses the arguments and exports."""
    parser = argparse.ArgumentParser(
        prog="job.py export-omb", description="Exports trials for OpenMessaging Benchmark."
    )
    parser.add_argument("results", help="results folder: a path, or any URI that Spark reads")
    parser.add_argument("--trial", action="append", default=[], help="only this trial; repeatable")
    parser.add_argument("--out", required=True, help="the folder to write")
    options = parser.parse_args(arguments)
    return run_task(
        "samebox export-omb",
        lambda spark, progress: export_trials(
            spark, options.results, options.trial, out=options.out, scratch=scratch, progress=progress
        ),
    )


def export_trials(
    spark: SparkSession, results: str, names: Sequence[str], *, out: str, scratch: Path, progress: Progress
) -> list[str]:
    """Writes `out` and returns the trials in it; without `names`, all that have records. `scratch` is an empty local folder."""
    storage = Storage(spark)
    progress(f"reading {results}")
    campaign = _only(read_campaign(storage, results), names)
    records = load_records(spark, storage, campaign)
    folder = scratch / "export"
    folder.mkdir()
    written, without = [], []
    for trial in campaign.trials:
        span, produced = span_of(trial), records.produced.of_trial.get(trial.name)
        if span is None or produced is None:
            without.append(trial.name)
            continue
        progress(f"counting {trial.name}")
        found = figures(produced, records.consumed.of_trial.get(trial.name), span)
        write_json(folder / f"{trial.name}.json", result_document(trial, span, found))
        written.append(trial.name)
    missing = f"no load was recorded of {', '.join(without)}" if without else ""
    if not written:
        raise AnalysisError(f"{results}: {missing or 'it has no trial'}, so there is nothing to export.")
    note = f"Not exported: {missing}.\n" if missing else ""
    (folder / ABOUT_FILE).write_text(f"{ABOUT}{note}", encoding="utf-8")
    replaceable = {f"{trial.name}.json" for trial in read_campaign(storage, results).trials} | {ABOUT_FILE, SUCCESS}
    storage.publish(folder, out, kind="export", replaces=replaceable)
    progress(f"exported: {out}")
    return written


def _only(campaign: Campaign, names: Sequence[str]) -> Campaign:
    """The campaign with the trials named. Raises AnalysisError for one that it doesn't have."""
    known: dict[str, Trial] = {trial.name: trial for trial in campaign.trials}
    for name in names:
        if name not in known:
            raise AnalysisError(
                f"{campaign.results}: no trial {name!r}.", next_step=f"Its trials are: {', '.join(known) or 'none'}."
            )
    return replace(campaign, trials=tuple(known[name] for name in names)) if names else campaign
