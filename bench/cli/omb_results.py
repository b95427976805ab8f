"""`samebox import-omb` and `samebox export-omb`: result files of OpenMessaging Benchmark, in and out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from bench.checkout import CHECKOUT, RESULTS, SCRATCH
from bench.cli.campaign import master_option, reporter_of, results_argument
from bench.cli.options import console, json_option, plain_option, shown, table_console
from bench.cli.outcome import Outcome
from bench.omb.results import Import, export_results, import_results, require_folder, result_files, trials_to_export
from bench.progress import Step
from bench.results.folder import Results

IMPORTED = RESULTS / "imported"
_PIPE_COLUMNS = 200
_FIRST_WINDOW = "first-window"  # every file has it: a word in the table would say nothing


@click.command(name="import-omb")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help=f"The folder to write.  [default: {shown(IMPORTED)}]")
@plain_option
@json_option
def import_omb(files: tuple[Path, ...], out: Path | None, plain: bool, as_json: bool) -> Outcome:
    """Import result files of OpenMessaging Benchmark as the tables that own trials have. Exits 1 if a file is refused.

    Every generation of the format; a folder stands for the JSON files below it. What can't be believed in a file is not used, and
    said. An earlier import in the same folder is replaced.
    """
    found = result_files(files)
    with reporter_of(plain or as_json, [Step("import", 2.0 + 0.02 * len(found))]) as reporter:
        reporter.step("import")
        done = import_results(found, out or IMPORTED, CHECKOUT, on_line=reporter.detail)
    if as_json:
        click.echo(json.dumps({"out": str(done.folder), **done.document, "values": done.values}, indent=1))
    else:
        _print_import(done)
    return Outcome.DONE if done.complete else Outcome.ERROR


@click.command(name="export-omb")
@results_argument
@click.option("--trial", "trials", metavar="NAME", multiple=True, help="Only this trial; repeatable.")
@click.option("--out", type=click.Path(path_type=Path), help="The folder to write.  [default: RESULTS/omb]")
@master_option
@plain_option
def export_omb(results_dir: Path, trials: tuple[str, ...], out: Path | None, master: str, plain: bool) -> None:
    """Write trials as result files of OpenMessaging Benchmark, which its bin/create_charts.py draws."""
    results = Results(results_dir)
    chosen = trials_to_export(results, trials)
    require_folder(out or results_dir / "omb")
    with reporter_of(plain, [Step("export", 15.0 + 5.0 * len(chosen))]) as reporter:
        reporter.step("export")
        written = export_results(
            results,
            chosen,
            out or results_dir / "omb",
            CHECKOUT,
            master=master,
            scratch=SCRATCH,
            on_line=reporter.detail,
        )
    for file in written:
        click.echo(shown(file))
    if len(written) < len(chosen):
        console.print(f"{len(chosen) - len(written)} not exported: no load was recorded.", markup=False)


def _print_import(done: Import) -> None:
    headings = ["trial", "system", "durability", "msg/s", "publish p50", "p99", "p99.9", "faults"]
    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading.startswith(("msg", "p")) else "left", overflow="fold", no_wrap=False
        )
    for file in done.document["files"]:
        table.add_row(*_cells(file, done.values[file["trial"]]))
    table_console(_PIPE_COLUMNS).print(table)
    if any(fault["fault"] == _FIRST_WINDOW for file in done.document["files"] for fault in file["faults"]):
        click.echo("Latencies in ms. The first window counts in no rate: counters aren't reset after the warm-up.")
    else:
        click.echo("Latencies in ms.")
    for copy in done.document["copies"]:
        click.echo(f"counted once: {copy['file']} has the same bytes as {copy['of']}")
    for refused in done.document["refused"]:
        console.print(f"refused: {refused['error']}", markup=False, soft_wrap=True)
        if refused["next_step"]:
            console.print(f"   next: {refused['next_step']}", markup=False, soft_wrap=True)
    counts = f"{len(done.document['files'])} imported, {len(done.document['refused'])} refused"
    click.echo(f"{counts}: {shown(done.folder)}")


def _cells(file: Mapping[str, Any], values: Mapping[str, float]) -> list[str]:
    identity = file["identity"]
    rate = values.get("throughput_achieved")
    latencies = [values.get(f"publish_latency_{name}") for name in ("p50", "p99", "p99.9")]
    faults = dict.fromkeys(fault["fault"] for fault in file["faults"] if fault["fault"] != _FIRST_WINDOW)
    return [
        file["trial"],
        str(identity["system"]["value"] or "-"),
        str(identity["durability"]["value"] or "-"),
        "-" if rate is None else f"{rate:,.0f}",
        *("-" if value is None else f"{value:,.2f}" for value in latencies),
        ", ".join(faults),
    ]
