"""`samebox status`: what is up, what runs there by itself, how far each campaign is. It changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from bench.checkout import RESULTS
from bench.cli.detached import detached_state
from bench.cli.options import inventory_option, json_option, shown, stack_option, target_of
from bench.results import Results
from provisioning.errors import HostError, InvalidInput


@click.command()
@inventory_option
@stack_option
@json_option
def status(inventory_file: Path | None, stack_name: str | None, as_json: bool) -> int:
    """Say whether a testbed is up, what runs by itself there, and how far each campaign in results/ is."""
    target = target_of(inventory_file, stack_name)
    inventory = target.inventory() if inventory_file is not None else target.testbed(lambda _: None).inventory()
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
        click.echo(json.dumps({"testbed": hosts, "detached": runs, "campaigns": campaigns}, indent=1))
        _require_none(unreadable)
        return 0
    until = f" until {inventory.expires}" if inventory and inventory.expires else ""
    click.echo(f"testbed: {len(inventory.hosts)} hosts up{until}" if inventory else "testbed: down")
    for line in detached.lines() if detached else [silent] if silent else []:
        click.echo(line)
    for name, entry in campaigns.items():
        report_text = entry["report"] or "no report yet"
        click.echo(f"{name}: {entry['finished']} of {entry['trials']} trials, {report_text}")
    _require_none(unreadable)
    return 0


def _require_none(unreadable: Sequence[InvalidInput]) -> None:
    if unreadable:
        raise InvalidInput(
            "\n".join(str(error) for error in unreadable),
            next_step="Get these files as samebox wrote them, or move the folders out of results/.",
        )
