"""`samebox claims`: published claims beside the evidence; the verdicts are those of the analysis job."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.checkout import CHECKOUT, SCRATCH
from bench.cli.options import PATH, json_option, plain_option
from bench.cli.terminal import print_json, reporter_of, shown, table_console
from bench.progress import Step
from bench.report.here import require_report, run_plain_job
from bench.results.folder import Results
from contract import results_folder as layout
from provisioning.errors import InvalidInput

_STEP = Step("claims", 2.0)
_STYLES = {"confirmed": "green", "contradicted": "red", "inconclusive": "yellow"}
Verdict = Mapping[str, Any]


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--document", metavar="NAME", help="Only the claims of this document, e.g. sn2020.")
@click.option(
    "--evidence",
    "results_dir",
    metavar="RESULTS",
    type=PATH,
    help="Judge by a campaign of your own (its report) or by imported results instead of the published figures.",
)
@click.option("--verbose", is_flag=True, help="Print every part of each claim, and the figures that decide it.")
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
    """Judge the claims of the published comparisons by the evidence.

    Each claim is confirmed, contradicted or inconclusive. The evidence is the figures that the documents print themselves, and
    the raw results that one of them published; with --evidence, a campaign of your own, or a folder that import-omb wrote.

    With IDs only those claims are printed, with everything that decides them. Exits 0 whatever the verdicts are.
    """
    known = known_claims()
    require_known([] if document is None else [document], known, what="document of claims")
    in_question = known if document is None else {document: known[document]}
    of_which = "claim" if document is None else f"claim of {document}"
    require_known(ids, [each for of in in_question.values() for each in of], what=of_which)
    evidence = () if results_dir is None else require_evidence(results_dir)
    with reporter_of(plain or as_json, [_STEP]) as reporter:
        if not as_json:
            reporter.step(_STEP.title)
        found = judge_claims(evidence, on_line=(lambda _: None) if as_json else reporter.detail)
    chosen = [
        each for each in found["claims"] if document in (None, each["document"]) and (not ids or each["id"] in ids)
    ]
    if as_json:
        print_json({**found, "claims": chosen, "counts": _counts(chosen)})
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
    console.print(Text(f"{_counted(len(chosen), 'claim')}: {counts}"))
    if evidence["kind"] in ("campaign", "imported"):
        imported = f"{evidence['files']} imported files, " if evidence["kind"] == "imported" else ""
        scale = evidence.get("scale")
        scaled = f", scaled down ({scale['name']})" if scale else ""
        blocks = _counted(evidence["blocks"], "block")
        console.print(Text(f"Evidence: {shown(Path(evidence['results']))}, {imported}{blocks}{scaled}."))
    if others:
        console.print(Text(f"{others} other claims are about something else than this evidence covers."))


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


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


IMPORT_FILE = "import.json"


def known_claims() -> dict[str, tuple[str, ...]]:
    """The ids of all claims, by document."""
    files = sorted((CHECKOUT / "analysis" / "claims").glob("*.toml"))
    return {file.stem: tuple(claim["id"] for claim in tomllib.loads(file.read_text())["claims"]) for file in files}


def require_known(given: Iterable[str], known: Iterable[str], *, what: str) -> None:
    """Raises InvalidInput with the nearest names for one that isn't known."""
    known = list(known)
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=5, cutoff=0.5)
            choices = f"Did you mean {', '.join(near)}?" if near else f"Valid choices: {_shortened(known)}."
            raise InvalidInput(f"no {what} {name!r}. {choices}", next_step="`samebox claims` lists them all.")


def require_evidence(folder: Path) -> tuple[str, ...]:
    """How to name a folder to the job: a campaign's results with a report, or an import. Raises InvalidInput for another one."""
    if (folder / IMPORT_FILE).is_file():
        return ("--imported", str(folder.resolve()))
    if not (folder / layout.MANIFEST).is_file():
        raise InvalidInput(
            f"{folder}: neither a campaign's results folder (it has no manifest.json) nor imported results (no {IMPORT_FILE}).",
            next_step="Name the folder of a campaign, such as results/demo, or one that `samebox import-omb` wrote.",
        )
    results = Results(folder)
    results.manifest()
    require_report(results)
    return ("--results", str(results.root.resolve()))


def judge_claims(evidence: Sequence[str], *, on_line: Callable[[str], None]) -> Mapping[str, Any]:
    """The document of verdicts: by the published figures, or by `evidence` (of require_evidence). Raises SameboxError."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="claims-", dir=SCRATCH) as folder:
        verdicts = Path(folder) / "verdicts.json"
        run_plain_job(["claims", str(verdicts), *evidence], on_line=on_line, what="claims")
        document: Mapping[str, Any] = json.loads(verdicts.read_text())
    return document


def _shortened(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:4])} ... {', '.join(names[-2:])}"
