"""`samebox status`: what is up, which detached campaign runs there, how far each campaign is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from bench.checkout import RESULTS, STACKS_STATE
from bench.cli.background import background_of
from bench.cli.detached import detached_state
from bench.cli.options import json_option, target_options
from bench.cli.target import Target, local_testbed, stack_of
from bench.cli.terminal import print_json, shown
from bench.results.folder import Results
from provisioning.errors import HostError, InvalidInput
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.time_to_live import utc


@click.command()
@target_options
@json_option
def status(target: Target, as_json: bool) -> None:
    """Show whether a testbed is up and how far campaigns are.

    Covers the campaigns in results/, and a detached one on the testbed. Stacks on AWS are only looked at if named with --stack.
    """
    inventory = _inventory_of(target)
    others = _stacks_used_here() if target == Target() else []
    here = background_of(target.stack_name).lines() if target.stack_name is not None else []
    detached, silent = None, ""
    if inventory and inventory.hosts:
        try:
            detached = detached_state(inventory)
        except HostError as error:  # the rest is worth showing all the same
            silent = f"whether a detached campaign runs there isn't known: {error}"
    campaigns, unreadable = _campaigns()
    if as_json:
        document = {
            "looked_at": target.title,
            "testbed": [host.name for host in inventory.hosts] if inventory else [],
            "stacks_not_asked": others,
            "detached": detached.to_json() if detached else None,
            "by_itself_here": here,
            "campaigns": campaigns,
        }
        print_json(document)
    else:
        click.echo(f"{target.title}: {_how_it_is(inventory, datetime.now(UTC))}")
        for line in [*here, *(detached.lines() if detached else [silent] if silent else [])]:
            click.echo(line)
        for name, entry in campaigns.items():
            report = entry["report"] or "no report yet"
            click.echo(f"{name}: {entry['finished']} of {entry['trials']} trials, {report}")
        for name in others:
            click.echo(f"stack {name} was used from here and hasn't been looked at: samebox status --stack {name}")
    if unreadable:
        raise InvalidInput(
            "\n".join(str(error) for error in unreadable),
            next_step="Restore these files as samebox wrote them, or move the folders out of results/.",
        )


def _campaigns() -> tuple[dict[str, dict[str, Any]], Sequence[InvalidInput]]:
    """How far each campaign in results/ is, and what is wrong with those that can't be read."""
    campaigns, unreadable = {}, []
    for manifest_file in sorted(RESULTS.glob("*/manifest.json")):
        results = Results(manifest_file.parent)
        try:
            planned = len(results.manifest("order")["order"])
        except InvalidInput as error:
            unreadable.append(error)
            continue
        campaigns[results.root.name] = {
            "finished": len(results.finished()),
            "trials": planned,
            "report": shown(results.report_file) if results.report_file.exists() else None,
        }
    return campaigns, unreadable


def _inventory_of(target: Target) -> Inventory | None:
    """The hosts, as whoever made them says. Hosts of a stack that don't answer count: they cost money."""
    if target.stack_name is not None:
        return stack_of(target.stack_name).inventory()
    return target.inventory() if target.inventory_file is not None else local_testbed().inventory()


def _how_it_is(inventory: Inventory | None, now: datetime) -> str:
    if inventory is None or not inventory.hosts:
        return "down"
    up = f"{len(inventory.hosts)} hosts up"
    if inventory.expires is None:
        return up
    if utc(inventory.expires, where="the testbed's 'expires'") <= now:
        return f"{len(inventory.hosts)} hosts, whose time to live ended at {inventory.expires}; `samebox sweep` shows what is left"
    return f"{up} until {inventory.expires}"


def _stacks_used_here() -> list[str]:
    """The stacks that some command on this machine has worked on; whether anything is up there only Pulumi knows."""
    return sorted(folder.name.replace("--", "/") for folder in STACKS_STATE.glob("*") if folder.is_dir())
