"""`samebox status`: what is up, what runs there by itself, how far each campaign is. It changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from bench.checkout import RESULTS, STACKS_STATE
from bench.cli.detached import detached_state
from bench.cli.options import (
    Target,
    inventory_option,
    json_option,
    left_to_itself,
    local_testbed,
    shown,
    stack_of,
    stack_option,
    target_of,
)
from bench.results.folder import Results
from provisioning.errors import HostError, InvalidInput
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.time_to_live import utc


@click.command()
@inventory_option
@stack_option
@json_option
def status(inventory_file: Path | None, stack_name: str | None, as_json: bool) -> None:
    """Say whether a testbed is up, what runs by itself there, and how far each campaign in results/ is.

    Without --stack nobody is asked about stacks on AWS; with it Pulumi is, and the hosts that it names.
    """
    target = target_of(inventory_file, stack_name)
    inventory = _inventory_of(target)
    others = [] if inventory_file is not None or stack_name is not None else _stacks_used_here()
    here = left_to_itself(stack_name).lines() if stack_name is not None else []
    detached, silent = None, ""
    if inventory and inventory.hosts:
        try:
            detached = detached_state(inventory)
        except HostError as error:  # the rest is worth saying all the same
            silent = f"whether a campaign runs by itself there isn't known: {error}"
    campaigns, unreadable = {}, []
    for manifest_file in sorted(RESULTS.glob("*/manifest.json")):
        results = Results(manifest_file.parent)
        try:
            planned = len(results.manifest("order")["order"])
        except InvalidInput as error:  # the others are worth saying all the same
            unreadable.append(error)
            continue
        campaigns[results.root.name] = {
            "finished": len(results.finished()),
            "trials": planned,
            "report": shown(results.report_file) if results.report_file.exists() else None,
        }
    if as_json:
        hosts = [host.name for host in inventory.hosts] if inventory else []
        runs = detached.to_json() if detached else None
        document = {
            "looked_at": target.title,
            "testbed": hosts,
            "stacks_not_asked": others,
            "detached": runs,
            "by_itself_here": here,
        }
        click.echo(json.dumps(document | {"campaigns": campaigns}, indent=1))
        _require_none(unreadable)
        return
    click.echo(f"{target.title}: {_how_it_is(inventory, datetime.now(UTC))}")
    for line in here:
        click.echo(line)
    for line in detached.lines() if detached else [silent] if silent else []:
        click.echo(line)
    for name, entry in campaigns.items():
        report_text = entry["report"] or "no report yet"
        click.echo(f"{name}: {entry['finished']} of {entry['trials']} trials, {report_text}")
    for name in others:
        click.echo(f"stack {name} was worked on from here and hasn't been asked: samebox status --stack {name}")
    _require_none(unreadable)


def _inventory_of(target: Target) -> Inventory | None:
    """The hosts, as whoever made them says. Hosts of a stack that don't answer are hosts all the same: they cost money."""
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


def _require_none(unreadable: Sequence[InvalidInput]) -> None:
    if unreadable:
        raise InvalidInput(
            "\n".join(str(error) for error in unreadable),
            next_step="Get these files as samebox wrote them, or move the folders out of results/.",
        )
