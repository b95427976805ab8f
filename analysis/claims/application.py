"""The task of claims: claims and evidence in, one JSON document of verdicts out. It changes nothing in the results.

Exit code 0: verdicts were written, whatever they are; 1: they weren't.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from analysis.campaign import AA
from analysis.claims.claim import Document, packaged_documents
from analysis.claims.conclude import Kind, conclude, with_raw_results
from analysis.claims.figures import PRINTED_FILE, RAW_FILE, Figure, packaged_figures
from analysis.claims.judge import Printed, Substituted, weigh
from analysis.claims.own_campaign import own_campaign
from analysis.claims.verdict import VERDICTS, Verdict
from analysis.schema import SCHEMA_VERSION, require_known_schema
from analysis.storage import Storage
from analysis.task import Progress, run_task


def run(arguments: Sequence[str], scratch: Path) -> int:
    """Parses the arguments and writes the verdicts."""
    del scratch
    parser = argparse.ArgumentParser(prog="job.py claims", description="Puts published claims beside evidence.")
    parser.add_argument("out", help="the JSON file to write")
    parser.add_argument(
        "--results", help="a campaign's results folder with its report: a path, or any URI that Spark reads"
    )
    options = parser.parse_args(arguments)

    def write(spark: SparkSession, progress: Progress) -> None:
        progress("claims")
        document = claims_document(spark, results=options.results)
        Path(options.out).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")

    return run_task("samebox claims", write)


def claims_document(spark: SparkSession, *, results: str | None) -> dict[str, Any]:
    """Every claim's verdict by what is printed, and by a campaign's own report if there is one."""
    documents, figures = packaged_documents(), packaged_figures(PRINTED_FILE)
    report = None
    if results is not None:
        report = Storage(spark).read_json(f"{results.rstrip('/')}/report/report.json")
        next_step = f"Make the report anew: samebox report {results}"
        require_known_schema(report, f"{results}/report/report.json", next_step=next_step)
        verdicts = campaign_verdicts(spark, documents, figures, report)
    else:
        verdicts = printed_verdicts(spark, documents, figures)
    return {
        "schema": SCHEMA_VERSION,
        "evidence": {"kind": "printed"} if report is None else described(report, str(results)),
        "documents": [{"name": document.name, "title": document.title} for document in documents],
        "claims": [verdict.to_json() for verdict in verdicts],
        "counts": {word: sum(verdict.verdict == word for verdict in verdicts) for word in VERDICTS},
    }


def printed_verdicts(spark: SparkSession, documents: Sequence[Document], figures: Sequence[Figure]) -> list[Verdict]:
    """By the printed figures; the sentences say where raw results that were published beside them differ."""
    printed, raw = Printed(), Substituted({figure.key: figure.value for figure in packaged_figures(RAW_FILE)})
    verdicts = []
    for document in documents:
        of_printed, of_raw = (
            weigh(spark, document.claims, figures, printed),
            weigh(spark, document.claims, figures, raw),
        )
        for weighed, beside in zip(of_printed, of_raw, strict=True):
            verdict = conclude(document, weighed, printed, Kind())
            verdicts.append(with_raw_results(verdict, weighed, beside, raw.values))
    return verdicts


def campaign_verdicts(
    spark: SparkSession, documents: Sequence[Document], figures: Sequence[Figure], report: Mapping[str, Any]
) -> list[Verdict]:
    """By a campaign's own report (the document of its report.json)."""
    kind = Kind(sampled=True, relations_only=bool(report["manifest"].get("scale")))
    verdicts = []
    for document in documents:
        evidence = own_campaign(report, document)
        found = weigh(spark, document.claims, figures, evidence)
        verdicts += [conclude(document, weighed, evidence, kind) for weighed in found]
    return verdicts


def described(report: Mapping[str, Any], results: str) -> dict[str, Any]:
    """The campaign that is the evidence: its experiments, and how many blocks compare systems."""
    manifest = report["manifest"]
    return {
        "kind": "campaign",
        "results": results,
        "campaign": manifest["campaign"],
        "scale": manifest.get("scale"),
        "experiments": sorted({str(trial["experiment"]) for trial in report["trials"]}),
        "blocks": len({trial["block"] for trial in report["trials"] if trial.get("block_kind") != AA}),
    }
