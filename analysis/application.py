"""The report job: results folder in, report folder out. It writes nothing else into the results.

1. read the documents and refuse what isn't known
2. aggregate the rows on Spark
3. judge every trial, count outcomes, compare
4. draw, write aside, rename

Exit code 0: a report was written, whatever it says; 1: it wasn't.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.answer import answer
from analysis.campaign import Campaign, read_campaign
from analysis.checks import judge
from analysis.claims.application import claim_rows
from analysis.client_cpu import client_cpus
from analysis.comparison import compare, count_outcomes, excluded_trials
from analysis.contestants import contestant_differences
from analysis.cross_check import CHECKS as NATIVE_CHECKS
from analysis.cross_check import cross_checks
from analysis.curve_figure import curve_drawings
from analysis.curves.curve import curves_of
from analysis.curves.document import ladders_of
from analysis.curves.figure import load_curve_drawings
from analysis.disk_figure import disk_drawings
from analysis.drawing import Drawing, Drawings, Palette, colours_of
from analysis.faults.document import faults_of
from analysis.faults.recovery_figure import recovery_drawings
from analysis.faults.time_figure import around_faults
from analysis.gather import gather
from analysis.metrics import measurements
from analysis.outputs import write_outputs
from analysis.page import render_page
from analysis.pipeline import Aggregates, aggregate, count, seconds_of
from analysis.ranking import rank
from analysis.ranking_figure import ranking_drawings
from analysis.ratio_figure import ratio_drawings
from analysis.records.files import records_of
from analysis.report import Results, report_document
from analysis.session import Progress, run_task
from analysis.steady_state import STEADY_STATE
from analysis.storage import Storage
from analysis.thirds import Third, marked_thirds
from analysis.time_figure import time_drawings, unsteady_drawings
from analysis.vetting_figure import vetting_drawings
from analysis.words import WARN

MOST_DRAWN_IN_PAIRS = 3  # contestants of a cell: six have 15 pairs


def run(arguments: Sequence[str], scratch: Path, session: Callable[[], SparkSession]) -> int:
    """Parses the arguments and makes the report."""
    parser = argparse.ArgumentParser(prog="job.py", description="Turns a campaign's results into its report.")
    parser.add_argument(
        "results", help="results folder: a path, or any URI that Spark reads (s3://bucket/results/demo)"
    )
    parser.add_argument("--out", help="folder of the report; default: report/ inside the results folder")
    options = parser.parse_args(arguments)
    results = str(options.results).rstrip("/")
    out = options.out or f"{results}/report"
    return run_task(
        session,
        lambda spark, progress: make_report(spark, results, out=out, scratch=scratch, progress=progress),
    )


def make_report(spark: SparkSession, results: str, *, out: str, scratch: Path, progress: Progress) -> None:
    """Reads `results`, writes the report to `out`; `scratch` is an empty local folder."""
    storage = Storage(spark)
    progress(f"reading {results}")
    campaign = read_campaign(storage, results)
    records = records_of(storage, campaign)
    counted = count(spark, campaign, records, progress)
    known = seconds_of(counted)
    with ThreadPoolExecutor(1) as beside:  # most figures need none of the other looks
        own = [trial for trial in campaign.trials if not trial.is_native]
        times = beside.submit(time_drawings, own, known)
        vetting = beside.submit(vetting_drawings, campaign.vetting)
        aggregates = aggregate(spark, campaign, records, counted, known, progress)
        progress("checks and comparison")
        found = conclude(campaign, aggregates)
        progress("figures")
        marked = unsteady_drawings(own, known, unsteady_thirds(found))
        drawings = draw(found, times.result() | marked, tuple(vetting.result()))
    report = report_document(found)
    progress("claims")
    report["claims"] = claim_rows(report)
    folder = scratch / "report"
    folder.mkdir()
    write_outputs(folder, page=render_page(report, drawings), report=report, drawings=drawings.all)
    storage.publish(folder, out)
    progress(f"report: {out}/index.html")


def conclude(campaign: Campaign, aggregates: Aggregates) -> Results:
    """Everything that follows from the aggregates: verdicts, outcomes, exclusions, comparisons, the answer."""
    recorded, declared = gather(campaign, aggregates), campaign.manifest["checks"]
    trials = [evidence for evidence in recorded if not evidence.trial.is_native]
    natives = [evidence for evidence in recorded if evidence.trial.is_native]
    campaign = replace(campaign, trials=tuple(evidence.trial for evidence in trials))
    checks = judge(trials, declared) + judge(natives, [rule for rule in declared if rule["check"] in NATIVE_CHECKS])
    measured = [measurement for evidence in trials for measurement in measurements(evidence)]
    outcomes, aa_outcomes = (
        count_outcomes([evidence for evidence in trials if evidence.trial.is_aa is aa], checks) for aa in (False, True)
    )
    excluded = excluded_trials(trials, checks)
    comparisons, client_cpu = compare(trials, checks, measured), client_cpus(trials, excluded, measured)
    rankings = rank(trials, excluded, checks, measured, comparisons)
    differences, faults = contestant_differences(campaign), faults_of(trials, {each.trial for each in excluded})
    prices = (campaign.manifest.get("prices") or {}).get("hosts", {})
    ladders = ladders_of(curves_of(trials, excluded, checks, measured), prices)
    return Results(
        campaign=campaign,
        trials=trials,
        checks=checks,
        measured=measured,
        outcomes=outcomes,
        aa_outcomes=aa_outcomes,
        excluded=excluded,
        comparisons=comparisons,
        rankings=rankings,
        ladders=ladders,
        answer=answer(
            *(campaign, trials, comparisons, outcomes, excluded, aa_outcomes, checks, client_cpu, rankings),
            differences=differences,
            ladders=ladders,
            faults=faults,
        ),
        faults=faults,
        contestant_differences=differences,
        client_cpu=client_cpu,
        cross_checks=cross_checks(trials, natives, checks, measured),
    )


def unsteady_thirds(found: Results) -> dict[str, tuple[Third, ...]]:
    """The thirds of every trial that the check of its steady state warns of, by its name."""
    warned = {check.trial for check in found.checks if check.check == STEADY_STATE and check.verdict == WARN}
    return {
        each.trial.name: marked_thirds(each.trial, each.thirds) for each in found.trials if each.trial.name in warned
    }


def draw(found: Results, times: Mapping[str, Drawing], vetting: tuple[Drawing, ...]) -> Drawings:
    """Ratios, percentile curves and disks; beside them what was drawn before: every trial over time by its name, and the vetting."""
    systems = {evidence.trial.contestant: evidence.trial.system for evidence in found.trials}
    excluded = {exclusion.trial for exclusion in found.excluded}
    palette = Palette(colours_of(systems, found.campaign.manifest.get("colours") or {}), excluded)
    compared = [evidence for evidence in found.trials if not evidence.trial.is_aa]
    crowded = {each.cell for each in found.rankings if len(each.places) > MOST_DRAWN_IN_PAIRS}
    return Drawings(
        load_curves=tuple(load_curve_drawings(found.ladders, palette)),
        faults=(*recovery_drawings(found.faults, palette), *around_faults(found.faults, palette)),
        ratios=tuple(ratio_drawings([each for each in found.comparisons if each.cell not in crowded])),
        rankings=tuple(ranking_drawings(found.rankings, palette)),
        curves=tuple(curve_drawings(compared, palette)),
        disks=tuple(disk_drawings(found.trials, found.campaign.vetting, palette)),
        times=tuple(
            replace(drawing, title=f"{name} (not compared)") if name in excluded else drawing
            for name, drawing in times.items()
        ),
        vetting=vetting,
        colours=palette.colours,
    )
