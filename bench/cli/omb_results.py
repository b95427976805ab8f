"""`samebox import-omb` and `samebox export-omb`: result files of OpenMessaging Benchmark, in and out."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table

from bench.checkout import RESULTS
from bench.cli.options import PATH, json_option, master_option, plain_option, results_argument
from bench.cli.outcome import Outcome
from bench.cli.terminal import print_json, reporter_of, say, shown, table_console
from bench.progress import Step
from bench.report.here import run_plain_job, submit_job
from bench.results.folder import Results
from bench.results.sent_records import require_here
from provisioning.errors import InvalidInput

F = TypeVar("F", bound=Callable[..., Any])
IMPORTED = RESULTS / "imported"
_PIPE_COLUMNS = 200
_FIRST_WINDOW = "first-window"  # every file has it: a word in the table would say nothing


def out_option(default: str) -> Callable[[F], F]:
    """--out"""
    return click.option("--out", type=PATH, help=f"The folder to write to.  [default: {default}]")


@click.command(name="import-omb")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
@out_option(shown(IMPORTED))
@plain_option
@json_option
def import_omb(files: tuple[Path, ...], out: Path | None, plain: bool, as_json: bool) -> Outcome:
    """Import result files of OpenMessaging Benchmark.

    Writes the same tables as for trials of samebox, from every generation of the format. A folder stands for the JSON files
    below it. Implausible figures are reported and not used. An earlier import in the same folder is replaced. Exits 1 if a
    file is refused.
    """
    found = result_files(files)
    with reporter_of(plain or as_json, [Step("import", 2.0 + 0.02 * len(found))]) as reporter:
        reporter.step("import")
        done = import_results(found, out or IMPORTED, on_line=reporter.detail)
    if as_json:
        print_json({"out": str(done.folder), **done.document, "values": done.values})
    else:
        _print_import(done)
    return Outcome.DONE if done.complete else Outcome.ERROR


@click.command(name="export-omb")
@results_argument
@click.option("--trial", "trials", metavar="NAME", multiple=True, help="Export only this trial; repeatable.")
@out_option("RESULTS/omb")
@master_option
@plain_option
def export_omb(results_dir: Path, trials: tuple[str, ...], out: Path | None, master: str, plain: bool) -> None:
    """Export trials as result files of OpenMessaging Benchmark.

    Its bin/create_charts.py draws them.
    """
    results, folder = Results(results_dir), out or results_dir / "omb"
    chosen = trials_to_export(results, trials)
    require_folder(folder)
    with reporter_of(plain, [Step("export", 15.0 + 5.0 * len(chosen))]) as reporter:
        reporter.step("export")
        written = export_results(results, chosen, folder, master=master, on_line=reporter.detail)
    for file in written:
        click.echo(shown(file))
    if len(written) < len(chosen):
        say(f"{len(chosen) - len(written)} not exported: no load was recorded.")


def _print_import(done: Import) -> None:
    headings = ["trial", "system", "durability", "msg/s", "publish p50", "p99", "p99.9", "faults"]
    table = Table(box=None, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right" if heading.startswith(("msg", "p")) else "left", overflow="fold")
    for file in done.document["files"]:
        table.add_row(*_cells(file, done.values[file["trial"]]))
    table_console(_PIPE_COLUMNS).print(table)
    first = any(fault["fault"] == _FIRST_WINDOW for file in done.document["files"] for fault in file["faults"])
    left_out = " Rates leave out the first window: counters aren't reset after the warm-up." if first else ""
    click.echo(f"Latencies in ms.{left_out}")
    for copy in done.document["copies"]:
        click.echo(f"counted once: {copy['file']} has the same bytes as {copy['of']}")
    for refused in done.document["refused"]:
        say(f"refused: {refused['error']}")
        if refused["next_step"]:
            say(f"   next: {refused['next_step']}")
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


def import_results(files: Sequence[Path], out: Path, *, on_line: Callable[[str], None]) -> Import:
    """Imports files into the folder `out`. Raises SameboxError if none of them can be."""
    require_folder(out)
    arguments = ["import-omb", "--out", str(out.resolve()), "--", *map(str, files)]
    run_plain_job(arguments, on_line=on_line, what="import")
    values: dict[str, dict[str, float]] = {}
    with (out / "summary.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values.setdefault(row["trial"], {})[row["metric"]] = float(row["value"])
    return Import(out, json.loads((out / "import.json").read_text(encoding="utf-8")), values)


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
    results: Results, trials: Sequence[str], out: Path, *, master: str, on_line: Callable[[str], None]
) -> list[Path]:
    """Writes trials as result files into `out` and returns those; a trial without a recorded load has none."""
    named = [word for trial in trials for word in ("--trial", trial)]
    arguments = ["export-omb", str(results.root.resolve()), *named, "--out", str(out.resolve())]
    submit_job(arguments, master=master, on_line=on_line, what="export")
    return sorted(out.glob("*.json"))
