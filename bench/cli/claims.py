"""`samebox claims`: published sentences beside the evidence. It decides nothing: the analysis job does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.checkout import CHECKOUT, SCRATCH
from bench.cli.campaign import reporter_of
from bench.cli.options import json_option, plain_option, shown, table_console
from bench.progress import Step
from bench.report.claims import judge_claims, known_claims, require_evidence, require_known

_STEP = Step("claims", 2.0)
_STYLES = {"confirmed": "green", "contradicted": "red", "inconclusive": "yellow"}
Verdict = Mapping[str, Any]


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--document", metavar="NAME", help="The claims of one document only, e.g. sn2020.")
@click.option(
    "--evidence",
    "results_dir",
    metavar="RESULTS",
    type=click.Path(path_type=Path),
    help="Test them against a campaign of your own (its report) or imported results instead of what is printed.",
)
@click.option("--verbose", is_flag=True, help="Every part of each claim, and the figures that decide it.")
@json_option
@plain_option
def claims(
    ids: tuple[str, ...],
    document: str | None,
    results_dir: Path | None,
    verbose: bool,
    as_json: bool,
    plain: bool,
) -> None:
    """Say of each claim of the published comparisons whether the evidence confirms or contradicts it.

    The evidence is what the documents print themselves, beside the raw results that one of them published; with --evidence, a
    campaign of your own, or the folder of an import-omb. With IDs, those claims only, with all that decides them. Exits 0
    whatever the verdicts are.
    """
    known = known_claims(CHECKOUT)
    require_known([] if document is None else [document], known, what="document of claims")
    in_question = known if document is None else {document: known[document]}
    of_which = "claim" if document is None else f"claim of {document}"
    require_known(ids, [each for of in in_question.values() for each in of], what=of_which)
    evidence = () if results_dir is None else require_evidence(results_dir)
    with reporter_of(plain or as_json, [_STEP]) as reporter:
        if not as_json:
            reporter.step(_STEP.title)
        found = judge_claims(
            evidence, CHECKOUT, scratch=SCRATCH, on_line=(lambda _: None) if as_json else reporter.detail
        )
    chosen = [
        each for each in found["claims"] if document in (None, each["document"]) and (not ids or each["id"] in ids)
    ]
    if as_json:
        click.echo(json.dumps({**found, "claims": chosen, "counts": _counts(chosen)}, indent=1))
        return
    others = 0
    if found["evidence"]["kind"] != "printed" and not ids:
        touched = [each for each in chosen if _concerns(found["evidence"], each)]
        chosen, others = touched, len(chosen) - len(touched)
    console = table_console()
    if verbose or ids:
        for each in chosen:
            _print_whole(console, each)
    elif chosen:
        _print_table(console, chosen)
    _print_counts(console, found["evidence"], chosen, others)


def _print_table(console: Console, chosen: Sequence[Verdict]) -> None:
    table = Table("id", "sentence", "verdict", "why", box=None, header_style="bold", padding=(0, 1, 1, 0))
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    for each in chosen:
        table.add_row(Text(each["id"]), Text(each["claim"]), _coloured(each["verdict"]), Text(_why(each)))
    console.print(table)


def _print_whole(console: Console, verdict: Verdict) -> None:
    console.print(Text.assemble((verdict["id"], "bold"), f" ({verdict['where']}): {verdict['claim']}"))
    console.print(Text.assemble("  ", _coloured(verdict["verdict"]), f": {verdict['sentence']}"))
    for cited in verdict["cited"]:
        value = "none" if cited["value"] is None else f"{cited['value']:,.10g} {cited['unit']}"
        console.print(Text(f"    {cited['name']} = {value}  {cited['row']}"))
    console.print()


def _print_counts(console: Console, evidence: Mapping[str, Any], chosen: Sequence[Verdict], others: int) -> None:
    counts = ", ".join(f"{number} {verdict}" for verdict, number in _counts(chosen).items())
    console.print(Text(f"{len(chosen)} claim{'' if len(chosen) == 1 else 's'}: {counts}"))
    if evidence["kind"] == "campaign":
        blocks = f"{evidence['blocks']} block{'' if evidence['blocks'] == 1 else 's'}"
        scale = f", scaled down ({evidence['scale']['name']})" if evidence["scale"] else ""
        console.print(Text(f"Evidence: {shown(Path(evidence['results']))}, {blocks}{scale}."))
    if evidence["kind"] == "imported":
        files, blocks = evidence["files"], evidence["blocks"]
        console.print(
            Text(
                f"Evidence: {shown(Path(evidence['results']))}, {files} imported files, {blocks} block{'' if blocks == 1 else 's'}."
            )
        )
    if others:
        console.print(Text(f"{others} other claims are of what this evidence doesn't have."))


def _concerns(evidence: Mapping[str, Any], verdict: Verdict) -> bool:
    """Whether a campaign ran what a claim is about, or imported files have some figure of it."""
    if evidence["kind"] == "campaign":
        return bool(set(evidence["experiments"]) & set(verdict["experiments"]))
    return any(cited["value"] is not None for cited in verdict["cited"])


def _why(verdict: Verdict) -> str:
    """The parts that decided; all that a table has room for."""
    return "; ".join(part["sentence"] for part in verdict["parts"] if part["verdict"] == verdict["verdict"])


def _counts(chosen: Sequence[Verdict]) -> dict[str, int]:
    counted = Counter(each["verdict"] for each in chosen)
    return {verdict: counted[verdict] for verdict in _STYLES}


def _coloured(verdict: str) -> Text:
    return Text(verdict, style=_STYLES[verdict])
