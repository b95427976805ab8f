"""The commands about a testbed: up, down, vet."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.checkout import TESTBED_STATE, VETTING_STATE
from bench.cli.detached import refuse_if_taken
from bench.cli.hosts import prepare_testbed
from bench.cli.options import (
    BROKERS,
    Target,
    console,
    inventory_option,
    json_option,
    local_testbed,
    shown,
    stack_option,
    target_of,
    thresholds_option,
)
from bench.cli.outcome import Outcome
from bench.run.vetted import vetted
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connect
from provisioning.testbeds.local.lock import exclusive
from provisioning.vetting import Thresholds, Vetting, vet_and_replace
from provisioning.vetting import vet as vet_hosts

VETTING_COLUMNS = {"metric": 21, "measured": 9, "expected": 9, "deviation": 9, "rule": 7, "verdict": 10}
MARKS = {"accept": "[green]accept[/]", "warn": "[yellow]warn[/]", "reject": "[bold red]reject[/]"}


@click.command()
@click.option(
    "--brokers", type=click.IntRange(1, 20), default=BROKERS, show_default=True, help="How many broker hosts it has."
)
@json_option
def up(brokers: int, as_json: bool) -> None:
    """Stand up the local testbed: broker hosts and a client host on loopback addresses."""
    with exclusive(TESTBED_STATE):
        inventory = local_testbed(brokers).up()
    if as_json:
        click.echo(inventory.to_json(), nl=False)
    else:
        for host in inventory.hosts:
            click.echo(f"{host.name:<10} {host.role:<8} ssh {host.ssh.user}@{host.ssh.address} -p {host.ssh.port}")
    console.print(
        f"The testbed is up. Next: samebox vet. Inventory: {shown(TESTBED_STATE / 'inventory.json')}", markup=False
    )


@click.command()
def down() -> None:
    """Tear the local testbed down: processes, listeners, directories. Results stay."""
    with exclusive(TESTBED_STATE):
        local_testbed().down()
    VETTING_STATE.unlink(missing_ok=True)
    console.print("The testbed is down.")


@click.command()
@inventory_option
@stack_option
@json_option
@click.option("--replace", is_flag=True, help="Replace rejected hosts and vet again.")
@click.option("--max-replacements", type=click.IntRange(1, 100), default=3, show_default=True)
@thresholds_option
def vet(
    inventory_file: Path | None,
    stack_name: str | None,
    as_json: bool,
    replace: bool,
    max_replacements: int,
    thresholds: Thresholds,
) -> Outcome:
    """Probe every host's disks (dd, fsync latency), judge them, and say why. Exits 2 if a host is rejected."""
    target = target_of(inventory_file, stack_name)
    with exclusive(target.state):
        if replace:
            target.testbed(lambda _: None)  # refuses one whose hosts can't be replaced
        inventory = target.inventory()
        refuse_if_taken(inventory, target.typed)
        replacements = max_replacements if replace else 0
        with console.status("vetting") as status:
            vetting = vet_testbed(
                target,
                inventory,
                thresholds,
                lambda text: status.update(f"vetting: {text}"),
                max_replacements=replacements,
            )
    if as_json:
        click.echo(json.dumps({"summary": vetting.summary(), "hosts": vetting.documents()}, indent=1))
    else:
        print_vetting(vetting, target)
    return Outcome.UNSOUND if vetting.rejected else Outcome.DONE


def vet_testbed(
    target: Target,
    inventory: Inventory,
    thresholds: Thresholds,
    progress: Callable[[str], None],
    *,
    max_replacements: int,
) -> Vetting:
    """Vets, replaces rejected hosts (0 = none), and keeps the outcome for `samebox run`.

    Hosts of a stack are prepared first, and so are their successors: they come as AWS makes them.
    """

    thresholds = target.thresholds(thresholds)

    def show(done: int, of: int, text: str) -> None:
        progress(f"{text} ({done}/{of})")

    def prepared(inventory: Inventory) -> Sequence[Host]:
        # a machine that has just taken a rejected one's place is bare, and would be measured in another state than the rest
        prepare_testbed(inventory, progress)
        return connect(inventory)

    hosts = prepared(inventory) if target.stack_name is not None else connect(inventory)
    try:
        if max_replacements:
            vetting, hosts = vet_and_replace(
                target.testbed(progress),
                hosts,
                prepared,
                thresholds,
                max_replacements=max_replacements,
                progress=show,
            )
        else:
            vetting = vet_hosts(hosts, thresholds, progress=show)
    finally:
        for host in hosts:
            host.close()
    vetted(vetting).save(target.vetting_file)
    return vetting


def print_vetting(vetting: Vetting, target: Target) -> None:
    """A table of verdicts for each disk and its hosts, then the caveats."""
    out = Console(highlight=False)
    for (hosts, device), rows in groupby(vetting.rows(), key=lambda row: (row.host, row.device)):
        table = Table(box=None, header_style="bold", title=f"{hosts}: {device}", title_justify="left")
        for heading, width in VETTING_COLUMNS.items():
            table.add_column(heading, min_width=width)
        for row in rows:
            verdict = MARKS.get(row.verdict, row.verdict)
            table.add_row(row.metric, row.measured, row.expected, row.deviation, row.rule, verdict)
        out.print(table)
    for caveat in vetting.caveats:
        console.print(f"note: {caveat}", markup=False)
    if vetting.rejected:
        hint = vetting.stopped or f"Next: {target.after_rejection}"
        console.print(f"rejected: {', '.join(vetting.rejected)}. {hint}", markup=False)
