"""`samebox prepare`: packages, disks, kernel settings and clocks of a testbed's hosts, applied and read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.campaign.testbed_profile import load_profile
from bench.cli.detached import refuse_if_taken
from bench.cli.options import (
    Target,
    checked_own_hosts,
    console,
    inventory_option,
    is_own_hosts,
    json_option,
    shown,
    stack_option,
    target_of,
)
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connected
from provisioning.preparation import Preparation, Step
from provisioning.preparation import prepare as prepare_hosts
from provisioning.testbeds.local.lock import exclusive
from systems.registry import requirements

MARKS = {"changed": "[yellow]changed[/]", "left": "[yellow]left[/]"}


@click.command()
@inventory_option
@stack_option
@click.option("--erase", is_flag=True, help="Overwrite owned disks that hold something (asks first).")
@click.option("--yes", is_flag=True, help="Don't ask before overwriting.")
@json_option
def prepare(inventory_file: Path | None, stack_name: str | None, erase: bool, yes: bool, as_json: bool) -> None:
    """Bring a testbed's hosts into the state that is measured in: packages, disks, settings, clocks. Changes what differs."""
    target = target_of(inventory_file, stack_name)
    with exclusive(target.state):
        inventory = _unprepared(target)
        refuse_if_taken(inventory, target.typed)
        if erase and not yes:
            click.confirm(f"{_owned(inventory)}\nWhat is on these disks is lost. Go on?", abort=True, err=True)
        with console.status("preparing") as status:
            preparation = prepare_testbed(inventory, lambda text: status.update(f"preparing: {text}"), erase=erase)
        target.inventory()  # own hosts are checked anew, now for everything
    if as_json:
        click.echo(json.dumps([asdict(row) for row in preparation.rows], indent=1))
    else:
        print_preparation(preparation, target)


def prepare_testbed(inventory: Inventory, notice: Callable[[str], None], *, erase: bool = False) -> Preparation:
    """Prepares all hosts of an inventory as its kind of testbed wants it. Raises HostsFailed."""
    with connected(inventory) as hosts:
        time_server = load_profile(inventory.testbed.kind).time_server
        return prepare_hosts(hosts, time_server=time_server, of_systems=requirements(), notice=notice, erase=erase)


def print_preparation(preparation: Preparation, target: Target) -> None:
    """What was changed, what differs and was left, and how much was as wanted."""
    told = [*preparation.changed, *preparation.left]
    if told:
        table = Table("hosts", "what", "wanted", "found", "now", "", box=None, header_style="bold")
        alike: dict[tuple[str, ...], list[str]] = {}
        for row in told:
            alike.setdefault((row.name, row.wanted, row.before, row.after, MARKS[row.status]), []).append(row.host)
        for columns, hosts in alike.items():
            table.add_row(", ".join(hosts), *columns)
        Console(highlight=False).print(table)
    if preparation.left:
        console.print(
            "left: these hosts are this very machine, and what is set on it is yours; nothing of it was changed.",
            markup=False,
        )
    named = f" --inventory {shown(target.inventory_file)}" if target.inventory_file else target.typed
    console.print(f"{_counts(preparation.rows)}. Next: samebox vet{named}", markup=False)


def _counts(rows: tuple[Step, ...]) -> str:
    counts = {
        status: sum(row.status == status for row in rows) for status in ("changed", "as wanted", "left", "not there")
    }
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def _unprepared(target: Target) -> Inventory:
    """The target's hosts; own hosts needn't have yet what preparation brings."""
    if target.inventory_file is not None and is_own_hosts(target.inventory_file):
        return checked_own_hosts(target.inventory_file, prepared=False)
    return target.inventory()


def _owned(inventory: Inventory) -> str:
    lines = [f"  {host.name}: {each.device}" for host in inventory.hosts for each in host.data_dirs if each.owned]
    return "Owned disks:\n" + ("\n".join(lines) or "  none")
