"""`samebox cost`: what AWS charges for a stack's hosts, for a campaign on them, or for a run that is finished."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import WHOLE, Choice
from bench.campaign.estimate import record_bytes
from bench.campaign.prepared import Prepared, prepare
from bench.campaign.producer_rates import beyond_a_process, warning_lines
from bench.cli.options import (
    PATH,
    choice_options,
    given,
    json_option,
    optional_campaign_argument,
    stack_option,
    thresholds_option,
)
from bench.cli.target import project, read_thresholds, stack_kind
from bench.cli.terminal import print_json, say, shown
from bench.progress import Step, clock_text
from bench.results.folder import Results
from bench.run.runner import steps_to_run
from bench.run.spent import run_of
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Role
from provisioning.testbeds.aws import cost as costs
from provisioning.testbeds.aws.prices import PRICES_FILE, PriceTable, load_prices
from provisioning.testbeds.aws.shape import Shape, differences, load_shape, stack_file, stack_name, stacks
from provisioning.testbeds.aws.vetting_time import vetting_s
from provisioning.vetting import Thresholds

ROLE_NAMES: dict[Role, str] = {"broker": "brokers", "client": "clients", "metadata": "metadata"}


@click.command()
@optional_campaign_argument
@choice_options
@stack_option("A stack or preset, or the path of its file. Default: all of them.")
@click.option("--after", "results_dir", metavar="RESULTS", type=PATH, help="Show what a finished run has cost instead.")
@click.option("--prices", "prices_file", type=PATH, default=PRICES_FILE, help="A price table instead of the kit's.")
@thresholds_option
@json_option
def cost(
    campaign_file: Path | None,
    choice: Choice,
    stack_name: str | None,
    results_dir: Path | None,
    prices_file: Path,
    thresholds: Thresholds,
    as_json: bool,
) -> None:
    """Show what AWS charges for a stack.

    Prints the price of its hosts per hour, and of CAMPAIGN if one is named. Prices are pinned in a file, so neither an account
    nor a network connection is needed.
    """
    prices = load_prices(prices_file)
    if results_dir is not None:
        if campaign_file is not None:
            raise InvalidInput("--after RESULTS knows its campaign: leave CAMPAIGN out.")
        _print_spent(results_dir, stack_name, prices, as_json)
        return
    if campaign_file is None and choice != WHOLE:
        raise InvalidInput("--scale and --representative choose from a CAMPAIGN: name its file.")
    names = [stack_name] if stack_name else stacks(project())
    if not names:
        raise InvalidInput(
            f"{shown(project())} has no stack and no preset: no file there is named Pulumi.NAME.yaml.",
            next_step="Go to a checkout of samebox, or name such a file with --stack.",
        )
    prepared = (
        prepare(load_campaign(campaign_file), campaign_file, stack_kind(), choice, given()) if campaign_file else None
    )
    print_costs(names, prepared, prices, thresholds, as_json=as_json)


def print_costs(
    names: Sequence[str],
    prepared: Prepared | None,
    prices: PriceTable,
    thresholds: Thresholds,
    *,
    as_json: bool = False,
) -> None:
    """What these stacks cost an hour and, with a campaign, for it, with the date of the prices."""
    documents = []
    for file in [stack_file(project(), name) for name in names]:
        shape = load_shape(file)
        roles = costs.hosts_per_hour(shape, prices)
        campaign = _campaign_cost(shape, prepared, prices, thresholds) if prepared else None
        if as_json:
            documents.append(_document(file, shape, roles, campaign, prices))
            continue
        _print_hosts(stack_name(file), shape, roles)
        if campaign and prepared:
            _print_campaign(shape, campaign, _seconds(prepared))
        else:
            click.echo(f"and {dollars(costs.emr_step(shape, prices))} for a report on {_cluster(shape)}.\n")
        if found := differences(project(), file):
            say(
                f"{file.name} isn't as its preset is: {'; '.join(found)}. "
                "Keep what you have measured with; take over what was renewed."
            )
    beyond = beyond_a_process(prepared.trials) if prepared else ()
    if as_json:
        document = {"prices": _price_source(prices), "stacks": documents}
        print_json(document | {"beyond_a_process": [each.to_json() for each in beyond]})
        return
    _print_price_source(prices)
    for line in warning_lines(beyond):
        say(line)


def cost_of(prepared: Prepared, stack: str) -> costs.CampaignCost:
    """What a campaign is estimated to cost on a stack, by the kit's prices. Raises InvalidInput for an unknown stack."""
    return _campaign_cost(
        load_shape(stack_file(project(), stack)), prepared, load_prices(PRICES_FILE), read_thresholds()
    )


def vetting_step(stack: str, thresholds: Thresholds) -> Step:
    """The hosts of a stack prepared and vetted, as a command's progress shows it. Raises InvalidInput for an unknown stack."""
    return Step("hosts prepared and vetted", vetting_s(load_shape(stack_file(project(), stack)), thresholds))


def _campaign_cost(shape: Shape, prepared: Prepared, prices: PriceTable, thresholds: Thresholds) -> costs.CampaignCost:
    """By the estimated time, without vetting and report, and the most bytes that its records can take."""
    return costs.campaign_cost(
        shape,
        prices,
        campaign_s=_seconds(prepared),
        vetting_s=vetting_s(shape, thresholds),
        record_bytes=sum(record_bytes(trial) for trial in prepared.trials),
    )


def _seconds(prepared: Prepared) -> float:
    return sum(step.estimate_s for step in steps_to_run(prepared, ()))


def _document(
    file: Path, shape: Shape, roles: Sequence[costs.RoleCost], campaign: costs.CampaignCost | None, prices: PriceTable
) -> dict[str, Any]:
    return {
        "stack": stack_name(file),
        "region": shape.region,
        "roles": costs.roles_to_json(roles),
        "per_hour": costs.per_hour(roles),
        "reserved_per_hour": costs.reserved_per_hour(shape, roles),
        "emr_step": costs.emr_step(shape, prices),
        "campaign": campaign.to_json() if campaign else None,
    }


def _price_source(prices: PriceTable) -> dict[str, Any]:
    return {
        "currency": "USD",
        "pinned": prices.pinned.isoformat(),
        "file": shown(prices.file),
        "sources": list(prices.sources),
    }


def _print_price_source(prices: PriceTable) -> None:
    say(
        f"US dollars, on demand, without tax; prices as pinned on {prices.pinned} in {shown(prices.file)}: "
        "check them there before spending."
    )


def _print_hosts(name: str, shape: Shape, roles: Sequence[costs.RoleCost]) -> None:
    money = ("instances", "volumes", "addresses", "an hour")
    table = _table(f"{name} in {shape.region}", "hosts", "", *money, right=money)
    for role in roles:
        figures = (role.instances, role.volumes, role.addresses, role.per_hour)
        table.add_row(ROLE_NAMES[role.role], f"{role.count} x {role.instance_type}", *map(dollars, figures))
    table.add_row("all", "", "", "", "", dollars(costs.per_hour(roles)), style="bold")
    Console(highlight=False).print(table)
    for role in roles:
        if role.surplus:
            click.echo(
                f"{role.instance_type} is burstable: {ROLE_NAMES[role.role]} may cost up to {dollars(role.surplus)} an hour more,"
                " for CPU time above their baseline."
            )
    if shape.reserve_capacity:
        click.echo(
            "Capacity for brokers and clients is reserved first: a reservation costs nothing while its host runs, and as much as"
            f" the host otherwise, {dollars(costs.reserved_per_hour(shape, roles))} an hour for all of them."
        )


def _print_campaign(shape: Shape, campaign: costs.CampaignCost, seconds: float) -> None:
    table = _table(f"the campaign, about {clock_text(seconds)}", "", "", "in all", right=("in all",))
    around = (
        f"{clock_text(campaign.hours * 3600)}, of it {clock_text(campaign.vetting_s)} to prepare and vet, "
        f"{clock_text(costs.STAND_UP_S + costs.TEAR_DOWN_S)} to stand up and tear down, {clock_text(costs.EMR_S)} for the report"
    )
    table.add_row("hosts", around, dollars(campaign.hosts))
    table.add_row("report", _cluster(shape), dollars(campaign.emr))
    table.add_row("records", "in S3, a month", dollars(campaign.storage_month))
    table.add_row("transfer", f"{costs.OPERATOR_GIB:g} GiB to the operator", dollars(campaign.transfer))
    table.add_row("all", "", dollars(campaign.total), style="bold")
    Console(highlight=False).print(table)
    again_s = costs.STAND_UP_S + campaign.vetting_s
    click.echo(
        f"Hosts that vetting rejects are replaced and vetted like the first: up to {clock_text(again_s)} more each time.\n"
    )


def _cluster(shape: Shape) -> str:
    return f"{shape.report_instances} x {shape.report_instance_type} of EMR"


def _table(title: str, *headings: str, right: Collection[str]) -> Table:
    table = Table(box=None, header_style="bold", title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return table


def dollars(amount: float) -> str:
    """Cents where they say enough."""
    return f"${amount:,.2f}" if amount >= 0.095 else f"${amount:.4f}"


def _print_spent(results_dir: Path, stack: str | None, prices: PriceTable, as_json: bool) -> None:
    run = run_of(Results(results_dir))
    if stack is None:
        raise InvalidInput(
            "--after needs --stack: the region and the volumes of the run are in its stack's config.",
            next_step=f"--stack NAME, one of: {', '.join(stacks(project())) or 'none here'}.",
        )
    roles = costs.inventory_per_hour(run.inventory.hosts, load_shape(stack_file(project(), stack)), prices)
    spent = costs.spent_cost(costs.per_hour(roles), run.trials, began_s=run.began_s, ended_s=run.ended_s)
    if as_json:
        document = {"prices": _price_source(prices), "results": shown(results_dir)}
        hosts = {"roles": costs.roles_to_json(roles), "per_hour": costs.per_hour(roles)}
        print_json({**document, **hosts, **spent.to_json()})
        return
    figures = ("trials", "time", "in all", "GiB", "a GiB")
    table = _table(f"{shown(results_dir)}, hosts only", "", *figures, right=figures)
    for system in spent.systems:
        per_gib = "nothing acknowledged" if system.per_gib is None else dollars(system.per_gib)
        time, gib = clock_text(system.hours * 3600), f"{system.acknowledged_gib:.3g}"
        table.add_row(system.system, str(system.trials), time, dollars(system.cost), gib, per_gib)
    table.add_row("shared", "", clock_text(spent.shared_hours * 3600), dollars(spent.shared), "", "")
    table.add_row("all", "", clock_text(spent.hours * 3600), dollars(spent.total), "", "", style="bold")
    Console(highlight=False).print(table)
    say(
        "GiB: payload acknowledged, warm-up included. shared: standing up, vetting, software, and the time between trials. "
        f"Counted to the end of the last trial; every hour that the hosts lived longer cost {dollars(spent.hour)}."
    )
    _print_price_source(prices)
