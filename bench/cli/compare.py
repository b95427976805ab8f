"""`samebox compare`: two campaigns side by side, if they are alike; what is alike is decided in analysis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from bench.cli.options import PATH, json_option
from bench.cli.terminal import print_json, table_console
from bench.report.ask import ask


@click.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@click.option(
    "--despite",
    multiple=True,
    metavar="GROUP",
    help="Compare although this differs; repeatable. One of testbed, machines, scale, workloads, durability, settings, "
    "effective (settings that were read back), checks, software, samebox.",
)
@json_option
def compare(first: Path, second: Path, despite: tuple[str, ...], as_json: bool) -> None:
    """Compare the figures of two campaigns.

    FIRST and SECOND are results folders with a report: a campaign that was run twice, or before and after one change. Campaigns
    that aren't alike are refused, with what differs.
    """
    document = _document(first, second, despite)
    if as_json:
        print_json(document)
        return
    for each in document["differences"]:
        click.echo(f"differs  {each['group']}: {each['condition']}: {each['first'] or '-'} / {each['second'] or '-'}")
    table_console().print(_table(document["figures"]))
    click.echo(
        "Medians over the valid trials. The campaigns share no block, so each ratio includes whatever else changed between them, "
        "and there is no confidence interval: where the ranges overlap, no difference is shown."
    )


def _document(first: Path, second: Path, despite: tuple[str, ...]) -> dict[str, Any]:
    arguments = [str(first), str(second)]
    arguments += [word for group in despite for word in ("--despite", group)]
    document: dict[str, Any] = json.loads(ask("analysis.two_campaigns", arguments))
    return document


def _table(figures: list[dict[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=True)
    for column in ("workload", "level", "system", "metric", "first", "second", "unit", "ratio", "ranges"):
        table.add_column(column, justify="right" if column in ("first", "second", "ratio") else "left", no_wrap=True)
    for each in figures:
        table.add_row(
            *(each["workload"], each["durability"], each["system"], each["metric"].replace("_", " ")),
            *(_known(each["first_median"]), _known(each["second_median"]), each["unit"]),
            "-" if each["ratio"] is None else _known(each["ratio"], ",.2f"),
            f"{_known(each['first'])} / {_known(each['second'])}{', overlap' if each['overlap'] else ', apart'}",
        )
    return table


def _known(found: dict[str, Any], digits: str = ",.4g") -> str:
    """What is known of a value: itself, or what it lies between. No upper bound: it lies among what was never answered."""
    value, low, high = found["value"], found["low"], found["high"]
    if value is not None or low == high:
        return f"{low if value is None else value:{digits}}"
    return f"> {low:{digits}}" if high is None else f"{low:{digits}} to {high:{digits}}"
