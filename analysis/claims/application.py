"""The task of claims: claims and evidence in, one JSON document of verdicts out. It needs no Spark.

Exit code 0: verdicts were written, whatever they are; 1: they weren't.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from analysis.claims.claim import Document, packaged_documents
from analysis.claims.conclude import conclude, number, shown_part, verdicts_on
from analysis.claims.figures import PRINTED_FILE, RAW_FILE, Figure, packaged_figures
from analysis.claims.judge import Published, Weighed, weigh
from analysis.claims.verdict import VERDICTS, Verdict
from analysis.documents import SCHEMA_VERSION, write_json
from analysis.errors import run_plain_task

MISMATCH = 0.05  # beyond this share a printed figure isn't its raw result, rounded


def run(arguments: Sequence[str], scratch: Path) -> int:
    """Parses the arguments and writes the verdicts."""
    del scratch
    parser = argparse.ArgumentParser(prog="job.py claims", description="Puts published claims beside evidence.")
    parser.add_argument("out", type=Path, help="the JSON file to write")
    evidence = parser.add_mutually_exclusive_group()
    evidence.add_argument("--results", type=Path, help="a campaign's results folder with its report")
    evidence.add_argument("--imported", type=Path, help="a folder that import-omb wrote")
    options = parser.parse_args(arguments)
    return run_plain_task(
        lambda: write_json(options.out, claims_document(results=options.results, imported=options.imported))
    )


def claims_document(*, results: Path | None = None, imported: Path | None = None) -> dict[str, Any]:
    """Every claim's verdict: by what is printed, by a campaign's own report, or by imported results."""
    documents, figures = packaged_documents(), packaged_figures(PRINTED_FILE)
    # each kind of evidence imports what it alone needs
    if results is not None:
        from analysis.claims.own_campaign import described, read_report

        report = read_report(results)
        verdicts, evidence = campaign_verdicts(documents, figures, report), described(report, str(results))
    elif imported is not None:
        from analysis.claims.imported import read_imported

        found = read_imported(imported)
        verdicts, evidence = verdicts_on(documents, figures, found), found.described()
    else:
        verdicts, evidence = printed_verdicts(documents, figures), {"kind": "printed"}
    return {
        "schema": SCHEMA_VERSION,
        "evidence": evidence,
        "documents": [{"name": document.name, "title": document.title} for document in documents],
        "claims": [asdict(verdict) for verdict in verdicts],
        "counts": {word: sum(verdict.verdict == word for verdict in verdicts) for word in VERDICTS},
    }


def printed_verdicts(documents: Sequence[Document], figures: Sequence[Figure]) -> list[Verdict]:
    """By the printed figures; the sentences say where raw results that were published beside them differ."""
    printed, raw = Published.of(figures), Published.of(packaged_figures(RAW_FILE))
    return [
        _with_raw_results(conclude(document, weighed, printed), weighed, beside, raw.values)
        for document in documents
        for weighed, beside in zip(*(weigh(document, figures, each) for each in (printed, raw)), strict=True)
    ]


def campaign_verdicts(
    documents: Sequence[Document], figures: Sequence[Figure], report: Mapping[str, Any]
) -> list[Verdict]:
    """By a campaign's own report (the document of its report.json)."""
    from analysis.claims.own_campaign import own_campaign

    return verdicts_on(documents, figures, own_campaign(report))


def claim_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The report's chapter on claims: those about something that the campaign ran, by the printed figures and by its own report."""
    ran = {str(trial["experiment"]) for trial in report["trials"]}
    documents, figures = packaged_documents(), packaged_figures(PRINTED_FILE)
    documents = tuple(each for each in documents if ran & {cell.experiment for cell in each.cells})
    printed, own = printed_verdicts(documents, figures), campaign_verdicts(documents, figures, report)
    return [
        {"printed": asdict(one), "own": asdict(other)}
        for one, other in zip(printed, own, strict=True)
        if ran & set(other.experiments)
    ]


def _with_raw_results(
    verdict: Verdict, printed: Weighed, raw: Weighed, values: Mapping[tuple[str, ...], float]
) -> Verdict:
    """A verdict on printed figures whose sentence says of how many of its rows there is a raw result, and what those say."""
    (of_printed,), (of_raw,) = printed.blocks.values(), raw.blocks.values()
    rows = {figure.key: figure for named in printed.rows.values() for figure in named}
    backed = [figure for figure in rows.values() if figure.key in values]
    if not backed:
        return verdict
    turned = [  # parts that come out otherwise by the raw results
        f"{shown_part(part, [found], {})}{'' if found.holds else ', so not as claimed'}"
        for part, found, before in zip(raw.claim.parts, of_raw, of_printed, strict=True)
        if found.holds is not None and found.holds != before.holds
    ]
    corrected = [
        f"{figure.place} is {number(values[figure.key])} {figure.unit}, printed {number(figure.value)}"
        for figure in backed
        if abs(figure.value - values[figure.key]) > MISMATCH * figure.value
    ]
    which = f"{len(backed)} of its {len(rows)} rows"
    if len(backed) == len(rows):
        which = {1: "its one row", 2: "both of its rows"}.get(len(rows), f"all of its {len(rows)} rows")
    agreement = "they say otherwise" if turned else "they differ" if corrected else "they agree"
    said = "; ".join([*turned, *corrected])
    sentence = f"Raw results are published for {which}; {agreement}{': ' if said else ''}{said}."
    return replace(verdict, sentence=f"{verdict.sentence} {sentence}")
