"""The command sweep: what samebox left on AWS is listed, and taken away when asked to."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from bench.checkout import CHECKOUT
from bench.cli.options import console, json_option, stack_of, table_console
from provisioning.aws.shape import read_stack_config, stack_file, stacks
from provisioning.aws.stack import project_directory
from provisioning.errors import InvalidInput

if TYPE_CHECKING:
    from provisioning.aws.sweep import Found

LEFT = 1
PIPE_COLUMNS = 240


@click.command()
@click.option("--campaign", metavar="NAME", help="Only what is tagged with this campaign.")
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="REGION",
    help="Where to look; repeatable. Without it: the regions of the stacks here, and AWS_REGION.",
)
@click.option("--against-state", "stack_name", metavar="STACK", help="Say of each whether this stack's state knows it.")
@click.option("--delete", is_flag=True, help="Take away what is left, after asking.")
@click.option("--yes", is_flag=True, help="With --delete: don't ask.")
@json_option
def sweep(
    campaign: str | None, regions: tuple[str, ...], stack_name: str | None, delete: bool, yes: bool, as_json: bool
) -> int:
    """List everything of samebox that AWS still has, by tag, without any state. Exits 1 while something is left."""
    # boto3 takes a third of a second to import, which no other command should wait for
    from provisioning.aws.sweep import Sweep

    if yes and not delete:
        raise InvalidInput("--yes goes with --delete; without it nothing is deleted.")
    known = stack_of(stack_name).resource_ids() if stack_name else None
    looked = Sweep(regions or _regions(), campaign)
    with console.status("looking"):
        found = looked.find()
    if delete and found.left:
        if not as_json:
            _print_found(found, known, campaign)
        if not yes and not _agreed(found):
            click.echo("Nothing was deleted.", err=True)
            return LEFT
        with console.status("deleting") as status:
            found = looked.remove_all(found.left, lambda line: status.update(f"deleting: {line}".replace("[", r"\[")))
    if as_json:
        click.echo(json.dumps(found.to_json(known), indent=1))
    else:
        _print_found(found, known, campaign)
    return 0 if found.clean else LEFT


def _regions() -> tuple[str, ...]:
    """Where samebox may have been at work, as far as this machine can tell."""
    directory = project_directory(Path.cwd(), CHECKOUT)
    files = [stack_file(directory, name) for name in stacks(directory)]
    configured = [read_stack_config(file).get("region") for file in files]
    named = [*configured, os.environ.get("AWS_REGION"), os.environ.get("AWS_DEFAULT_REGION")]
    found = tuple(dict.fromkeys(str(region) for region in named if region))
    if not found:
        raise InvalidInput(
            "no region to look in: no stack here names one, and AWS_REGION isn't set.", next_step="--region us-west-2"
        )
    return found


def _agreed(found: Found) -> bool:
    """Whether the operator says yes. Raises Abort if nobody answers."""
    try:
        return click.confirm(f"Delete these {len(found.left)}? Nothing brings them back", err=True)
    except click.Abort:
        console.print("Nothing was deleted. Where nobody can answer: --delete --yes")
        raise


def _print_found(found: Found, known: Collection[str] | None, campaign: str | None) -> None:
    where = ", ".join(found.regions)
    whose = f" of campaign {campaign}" if campaign else ""
    if found.leftovers:
        headings = ["kind", "id", "campaign", "region", "state", *(["stack"] if known is not None else []), ""]
        table = Table(*headings, box=None, header_style="bold")
        for each in found.leftovers:
            cells = [each.kind, each.id, each.campaign, each.region, each.state]
            if known is not None:
                cells.append("knows it" if each.id in known else "doesn't know it")
            table.add_row(*cells, "kept" if each.kept else each.detail)
        # ids must come out whole in a pipe, too
        table_console(PIPE_COLUMNS).print(table)
    for refusal in found.refused:
        console.print(f"not known: {refusal}", markup=False, soft_wrap=True)
    kept = len(found.leftovers) - len(found.left)
    buckets = f" {kept} kept on purpose." if kept else ""
    if found.clean:
        click.echo(f"Nothing{whose} is left in {where}.{buckets}")
    else:
        unknown = f" {len(found.refused)} answers are missing." if found.refused else ""
        click.echo(f"{len(found.left)}{whose} left in {where}.{buckets}{unknown}")
