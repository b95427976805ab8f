"""The commands about a testbed: up, down, vet."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.checkout import TESTBED_STATE, VETTING_STATE
from bench.cli.options import console, inventory_of, inventory_option, json_option, local_testbed, shown
from bench.results import write_json
from provisioning.errors import InvalidInput
from provisioning.inventory import Inventory
from provisioning.local.testbed import exclusive
from provisioning.ssh import connect
from provisioning.vetting import Thresholds, Vetting, load_thresholds, vet_and_replace
from provisioning.vetting import vet as vet_hosts

MARKS = {"accept": "[green]accept[/]", "warn": "[yellow]warn[/]", "reject": "[bold red]reject[/]"}


@click.command()
@json_option
def up(as_json: bool) -> int:
    """Stand up the local testbed: three broker hosts and a client host on loopback addresses."""
    with exclusive(TESTBED_STATE):
        inventory = local_testbed().up()
    if as_json:
        click.echo(inventory.to_json(), nl=False)
    else:
        for host in inventory.hosts:
            click.echo(f"{host.name:<10} {host.role:<8} ssh {host.ssh.user}@{host.ssh.address} -p {host.ssh.port}")
    console.print(
        f"The testbed is up. Next: samebox vet. Inventory: {shown(TESTBED_STATE / 'inventory.json')}", markup=False
    )
    return 0


@click.command()
def down() -> int:
    """Tear the local testbed down: processes, listeners, directories. Results stay."""
    with exclusive(TESTBED_STATE):
        local_testbed().down()
    VETTING_STATE.unlink(missing_ok=True)
    console.print("The testbed is down.")
    return 0


@click.command()
@inventory_option
@json_option
@click.option("--replace", is_flag=True, help="Replace rejected hosts and vet again.")
@click.option("--max-replacements", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option(
    "--thresholds", "thresholds_file", type=click.Path(path_type=Path), help="Thresholds other than the kit's."
)
def vet(
    inventory_file: Path | None, as_json: bool, replace: bool, max_replacements: int, thresholds_file: Path | None
) -> int:
    """Probe every host's disks (dd, fsync latency), judge them, and say why. Exits 2 if a host is rejected."""
    thresholds = load_thresholds(thresholds_file)
    with exclusive(TESTBED_STATE):
        inventory = inventory_of(inventory_file)
        vetting = vet_testbed(inventory, thresholds, replace=replace, max_replacements=max_replacements)
    if as_json:
        click.echo(json.dumps(vetting.documents(), indent=1))
    else:
        print_vetting(vetting)
    return 2 if vetting.rejected else 0


def vet_testbed(inventory: Inventory, thresholds: Thresholds, *, replace: bool, max_replacements: int) -> Vetting:
    """Vets, replaces if asked, and keeps the outcome for `samebox run`."""
    with console.status("vetting: disks") as status:
        if replace:
            if inventory.testbed.kind != "local":
                raise InvalidInput(
                    f"--replace works on testbeds that samebox stood up, not on {inventory.testbed.kind!r}."
                )
            vetting = vet_and_replace(
                local_testbed(), inventory, thresholds, max_replacements=max_replacements, progress=status.update
            )
        else:
            with ExitStack() as stack:
                hosts = connect(inventory)
                for host in hosts:
                    stack.callback(host.close)
                vetting = vet_hosts(hosts, thresholds, progress=status.update)
    write_json(VETTING_STATE, vetting.to_json())
    return vetting


def print_vetting(vetting: Vetting) -> None:
    """The table of verdicts, then the caveats."""
    table = Table(
        "host", "disk", "metric", "measured", "expected", "deviation", "rule", "verdict", box=None, header_style="bold"
    )
    for row in vetting.rows():
        table.add_row(*row[:-1], MARKS.get(row[-1], row[-1]))
    Console(highlight=False).print(table)
    for caveat in vetting.caveats:
        console.print(f"note: {caveat}", markup=False)
    if vetting.rejected:
        console.print(f"rejected: {', '.join(vetting.rejected)}. Next: samebox vet --replace", markup=False)
