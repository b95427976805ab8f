"""The task of claims: claims and evidence in, one JSON document of verdicts out. It changes nothing in the results, and needs no Spark.

Exit code 0: verdicts were written, whatever they are; 1: they weren't.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.claims.claim import Document, packaged_documents
from analysis.claims.conclude import Kind, conclude
from analysis.claims.figures import PRINTED_FILE, RAW_FILE, Figure, packaged_figures
from analysis.claims.judge import Printed, Substituted, weigh
from analysis.claims.raw_results import with_raw_results
from analysis.claims.verdict import VERDICTS, Verdict
from analysis.documents import SCHEMA_VERSION
from analysis.errors import run_plain_task


def run(arguments: Sequence[str], scratch: Path) -> int:
    """Parses the arguments and writes the verdicts."""
    del scratch
    parser = argparse.ArgumentParser(prog="job.py claims", description="Puts published claims beside evidence.")
    parser.add_argument("out", help="the JSON file to write")
    evidence = parser.add_mutually_exclusive_group()
    evidence.add_argument("--results", type=Path, help="a campaign's results folder with its report")
    evidence.add_argument("--imported", type=Path, help="a folder that import-omb wrote")
    options = parser.parse_args(arguments)

    def write() -> None:
        document = claims_document(results=options.results, imported=options.imported)
        Path(options.out).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")

    return run_plain_task(write)


def claims_document(*, results: Path | None = None, imported: Path | None = None) -> dict[str, Any]:
    """Every claim's verdict: by what is printed, by a campaign's own report, or by imported results."""
    documents, figures = packaged_documents(), packaged_figures(PRINTED_FILE)
    # each kind of evidence loads what it alone needs
    if results is not None:
        from analysis.claims.own_campaign import described
        from analysis.claims.report_file import read_report

        report = read_report(results)
        verdicts, evidence = campaign_verdicts(documents, figures, report), described(report, str(results))
    elif imported is not None:
        from analysis.claims.imported import read_imported

        found = read_imported(imported)
        verdicts, evidence = found.verdicts(documents, figures), found.described()
    else:
        verdicts, evidence = printed_verdicts(documents, figures), {"kind": "printed"}
    return {
        "schema": SCHEMA_VERSION,
        "evidence": evidence,
        "documents": [{"name": document.name, "title": document.title} for document in documents],
        "claims": [verdict.to_json() for verdict in verdicts],
        "counts": {word: sum(verdict.verdict == word for verdict in verdicts) for word in VERDICTS},
    }


def printed_verdicts(documents: Sequence[Document], figures: Sequence[Figure]) -> list[Verdict]:
    """By the printed figures; the sentences say where raw results that were published beside them differ."""
    printed, raw = Printed(), Substituted({figure.key: figure.value for figure in packaged_figures(RAW_FILE)})
    verdicts = []
    for document in documents:
        of_printed, of_raw = (weigh(document.claims, figures, evidence) for evidence in (printed, raw))
        for weighed, beside in zip(of_printed, of_raw, strict=True):
            verdict = conclude(document, weighed, printed, Kind())
            verdicts.append(with_raw_results(verdict, weighed, beside, raw.values))
    return verdicts


def campaign_verdicts(
    documents: Sequence[Document], figures: Sequence[Figure], report: Mapping[str, Any]
) -> list[Verdict]:
    """By a campaign's own report (the document of its report.json)."""
    from analysis.claims.own_campaign import own_campaign

    kind = Kind(sampled=True, relations_only=bool(report["manifest"].get("scale")))
    verdicts = []
    for document in documents:
        evidence = own_campaign(report, document)
        verdicts += [
            conclude(document, weighed, evidence, kind) for weighed in weigh(document.claims, figures, evidence)
        ]
    return verdicts
