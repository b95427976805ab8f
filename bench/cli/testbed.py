"""The commands about a testbed: up, prepare, vet, extend, down."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby

import click
from rich.console import Console
from rich.table import Table

from bench.campaign.testbed_profile import load_profile
from bench.checkout import TESTBED_STATE, VETTING_STATE
from bench.cli.detached import refuse_if_taken
from bench.cli.options import json_option, max_replacements_option, stack_option, target_options, thresholds_option
from bench.cli.outcome import Outcome
from bench.cli.target import Target, local_testbed, stack_of
from bench.cli.terminal import print_json, say, shown, spinner
from bench.run.vetted import vetted
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connect, connected
from provisioning.preparation.prepare import Preparation
from provisioning.preparation.prepare import prepare as prepare_hosts
from provisioning.preparation.step import Step
from provisioning.testbeds.aws.time_to_live import extend as extend_stack
from provisioning.testbeds.aws.time_to_live import utc
from provisioning.testbeds.local.lock import exclusive
from provisioning.testbeds.testbed import BROKERS
from provisioning.vetting import Thresholds, Vetting, vet_and_replace
from provisioning.vetting import vet as vet_hosts
from systems.registry import requirements

VETTING_COLUMNS = {"metric": 21, "measured": 9, "expected": 9, "deviation": 9, "rule": 7, "verdict": 10}
MARKS = {"accept": "green", "warn": "yellow", "reject": "bold red", "changed": "yellow", "left": "yellow"}


@click.command()
@click.option(
    "--brokers", type=click.IntRange(1, 20), default=BROKERS, show_default=True, help="The number of broker hosts."
)
@json_option
def up(brokers: int, as_json: bool) -> None:
    """Stand up the local testbed.

    Broker hosts and a client host, each an sshd on a loopback address of its own.
    """
    with exclusive(TESTBED_STATE):
        inventory = local_testbed(brokers).up()
    if as_json:
        click.echo(inventory.to_json(), nl=False)
    else:
        for host in inventory.hosts:
            click.echo(f"{host.name:<10} {host.role:<8} ssh {host.ssh.user}@{host.ssh.address} -p {host.ssh.port}")
    say(f"The testbed is up. Next: samebox vet. Inventory: {shown(TESTBED_STATE / 'inventory.json')}")


@click.command()
def down() -> None:
    """Tear down the local testbed; results are kept."""
    with exclusive(TESTBED_STATE):
        local_testbed().down()
    VETTING_STATE.unlink(missing_ok=True)
    say("The testbed is down.")


@click.command()
@target_options
@click.option("--replace", is_flag=True, help="Replace rejected hosts and vet again.")
@max_replacements_option(1)
@thresholds_option
@json_option
def vet(target: Target, replace: bool, max_replacements: int, thresholds: Thresholds, as_json: bool) -> Outcome:
    """Probe the disks of all hosts and judge them.

    Measures throughput (dd) and fsync latency, and says of each host whether it is accepted, warned about or rejected, and why.
    Exits 2 if a host is rejected.
    """
    with exclusive(target.state):
        if replace:
            target.testbed(lambda _: None)  # refuses one whose hosts can't be replaced
        inventory = target.inventory()
        refuse_if_taken(inventory, target.typed)
        with spinner("vetting") as show:
            vetting = vet_testbed(
                target, inventory, thresholds, show, max_replacements=max_replacements if replace else 0
            )
    if as_json:
        print_json({"summary": vetting.summary(), "hosts": vetting.documents()})
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
    """Vets, replaces rejected hosts (at most so many), and keeps the outcome for `samebox run`.

    Hosts of a stack are prepared first, and so are their replacements: AWS delivers them bare.
    """
    thresholds = target.thresholds(thresholds)

    def show(done: int, of: int, text: str) -> None:
        progress(f"{text} ({done}/{of})")

    def prepared(inventory: Inventory) -> Sequence[Host]:
        # a bare replacement would be measured in another state than the rest
        prepare_testbed(inventory, progress)
        return connect(inventory)

    hosts = prepared(inventory) if target.stack_name is not None else connect(inventory)
    try:
        if max_replacements:
            vetting, hosts = vet_and_replace(
                target.testbed(progress).replace,
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
            deviation = "-" if row.deviation is None else f"{row.deviation:+.1%}"
            table.add_row(row.metric, *(text or "-" for text in row.shown), deviation, row.rule, _marked(row.verdict))
        out.print(table)
    for caveat in vetting.caveats:
        say(f"note: {caveat}")
    if vetting.rejected:
        hint = vetting.stopped or f"Next: {target.after_rejection}"
        say(f"rejected: {', '.join(vetting.rejected)}. {hint}")


@click.command()
@target_options
@click.option("--erase", is_flag=True, help="Overwrite owned disks that hold data (asks first).")
@click.option("--yes", is_flag=True, help="Don't ask before overwriting.")
@json_option
def prepare(target: Target, erase: bool, yes: bool, as_json: bool) -> None:
    """Prepare a testbed's hosts for measuring.

    Installs packages, formats and mounts disks, and sets kernel settings and clocks. Changes only what differs, and reads it
    back.
    """
    with exclusive(target.state):
        inventory = target.inventory(prepared=False)
        refuse_if_taken(inventory, target.typed)
        if erase and not yes:
            click.confirm(f"{_owned(inventory)}\nAll data on these disks will be lost. Continue?", abort=True, err=True)
        with spinner("preparing") as show:
            preparation = prepare_testbed(inventory, show, erase=erase)
        target.inventory()  # own hosts are checked anew, now for everything
    if as_json:
        print_json([asdict(row) for row in preparation.rows])
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
            alike.setdefault((row.name, row.wanted, row.before, row.after, _marked(row.status)), []).append(row.host)
        for columns, hosts in alike.items():
            table.add_row(", ".join(hosts), *columns)
        Console(highlight=False).print(table)
    if preparation.left:
        say("left: these hosts are this machine, whose settings are yours; they were not changed.")
    say(f"{_counts(preparation.rows)}. Next: samebox vet{target.typed}")


def _marked(word: str) -> str:
    return f"[{MARKS[word]}]{word}[/]" if word in MARKS else word


def _counts(rows: tuple[Step, ...]) -> str:
    counts = {
        status: sum(row.status == status for row in rows) for status in ("changed", "as wanted", "left", "not there")
    }
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def _owned(inventory: Inventory) -> str:
    lines = [f"  {host.name}: {each.device}" for host in inventory.hosts for each in host.data_dirs if each.owned]
    return "Owned disks:\n" + ("\n".join(lines) or "  none")


def _finite(context: click.Context, parameter: click.Parameter, value: float) -> float:
    """NaN is within every range, as click compares."""
    if math.isnan(value):
        raise click.BadParameter("nan is not in the range 0<=x<=168.", context, parameter)
    return value


@click.command()
@click.argument("hours", type=click.FloatRange(0, 168), callback=_finite)
@stack_option("The Pulumi stack whose hosts are to live longer.", required=True)
def extend(hours: float, stack_name: str) -> None:
    """Extend the life of a stack's hosts by HOURS.

    Moves the timer outside the hosts and the one on each host. With 0, all timers are only set again.
    """
    stack = stack_of(stack_name)
    with spinner("extending") as show:
        extended = extend_stack(stack, hours, datetime.now(UTC), show)
    left_h = (utc(extended.expires, where="expires") - datetime.now(UTC)).total_seconds() / 3600
    click.echo(
        f"{len(extended.hosts)} hosts end at {extended.expires}, in {left_h:.1f} h: {', '.join(extended.hosts)}."
    )
