"""`samebox rungs`: from the searches of a campaign, the keys of a ladder for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from bench.campaign.ladder import Span, span_of
from bench.cli.options import json_option, results_argument
from bench.cli.terminal import print_json, shown
from bench.results.folder import Results
from contract import results_folder as layout
from contract.workload import MOST_RUNGS
from provisioning.document import read_document
from provisioning.errors import InvalidInput


@dataclass(frozen=True)
class Found:
    """What the searches of one workload found at one durability level, and the rates of a ladder that follow from it."""

    workload: str
    level: int
    lowest_sustained_per_s: int
    highest_sustained_per_s: int
    span: Span


@click.command()
@results_argument
@click.option("--rungs", type=click.IntRange(2, MOST_RUNGS), default=8, show_default=True, help="How many rungs.")
@json_option
def rungs(results_dir: Path, rungs: int, as_json: bool) -> None:
    """Print the rates of a ladder, from what searches found.

    RESULTS is a campaign that has workloads with pacing = "search". Per workload and durability level, the ladder begins at a
    quarter of the lowest rate that a contestant sustained, and ends at the highest rate at which a search failed: above what any of
    them sustains.
    """
    found = _found(Results(results_dir))
    if as_json:
        print_json([{**asdict(each), "rungs": rungs} for each in found])
        return
    for each in found:
        low, high = each.lowest_sustained_per_s, each.highest_sustained_per_s
        click.echo(f"# {each.workload}, durability level {each.level}: {low:,} to {high:,} msg/s were sustained")
        click.echo(
            f'pacing = "ladder"\nlowest_rate_per_s = {each.span.lowest_per_s}\nrate_per_s = {each.span.highest_per_s}'
        )
        click.echo(f"rungs = {rungs}\n")


def _found(results: Results) -> list[Found]:
    """By workload and level, in the order in which they ran. Raises InvalidInput where no search has found anything."""
    results.manifest("order")
    searches: dict[tuple[str, int], list[tuple[int, int | None]]] = {}
    for name in results.finished():
        document = read_document(results.trial_dir(name) / layout.TRIAL)
        search = document["observations"].get("search")
        if search and search["rate_per_s"] is not None:
            key = str(document["workload"]["name"]), int(document["durability"]["level"])
            searches.setdefault(key, []).append((search["rate_per_s"], search["failed_per_s"]))
    if not searches:
        raise InvalidInput(
            f"{shown(results.root)} has no finished search that sustained a rate: a ladder's rates follow from those.",
            next_step='Run a campaign whose workload has pacing = "search", or choose the rates yourself (docs/campaigns.md).',
        )
    return [_of(*key, own) for key, own in searches.items()]


def _of(workload: str, level: int, searches: Sequence[tuple[int, int | None]]) -> Found:
    sustained = [rate_per_s for rate_per_s, _ in searches]
    return Found(workload, level, min(sustained), max(sustained), span_of(searches))
