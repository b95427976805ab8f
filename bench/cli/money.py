"""The command cost: what AWS charges for hosts, a campaign, or a run that is finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bench.campaign.campaign import load_campaign
from bench.campaign.choice import WHOLE, Choice
from bench.campaign.prepared import Prepared, prepare
from bench.campaign.producer_rates import Beyond, beyond_a_process, warning_lines
from bench.campaign.space import record_bytes
from bench.checkout import CHECKOUT
from bench.cli.options import (
    choice_options,
    console,
    json_option,
    read_thresholds,
    shown,
    stack_kind,
    thresholds_option,
)
from bench.progress import Step, clock_text
from bench.results.folder import Results
from bench.run.runner import steps_to_run
from bench.run.spent import run_of
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Role
from provisioning.testbeds.aws import cost as costs
from provisioning.testbeds.aws.presets import differences
from provisioning.testbeds.aws.prices import PRICES_FILE, PriceTable, load_prices
from provisioning.testbeds.aws.shape import Shape, load_shape, stack_file, stack_name, stacks
from provisioning.testbeds.aws.stack import project_directory
from provisioning.testbeds.aws.vetting_time import vetting_s
from provisioning.vetting import Thresholds

ROLE_NAMES: dict[Role, str] = {"broker": "brokers", "client": "clients", "metadata": "metadata"}


def _project() -> Path:
    return project_directory(Path.cwd(), CHECKOUT)


@click.command()
@click.argument("campaign_file", metavar="[CAMPAIGN]", required=False, type=click.Path(path_type=Path))
@choice_options
@click.option("--stack", metavar="NAME", help="A stack or preset, or the path of its file; without it, all of them.")
@click.option(
    "--after", "results_dir", metavar="RESULTS", type=click.Path(path_type=Path), help="What a finished run cost."
)
@click.option(
    "--prices",
    "prices_file",
    type=click.Path(path_type=Path),
    default=PRICES_FILE,
    help="A price table other than the kit's.",
)
@thresholds_option
@json_option
def cost(
    campaign_file: Path | None,
    choice: Choice,
    stack: str | None,
    results_dir: Path | None,
    prices_file: Path,
    thresholds: Thresholds,
    as_json: bool,
) -> None:
    """Say what a stack's hosts cost an hour and for a CAMPAIGN, or what a run has cost. Asks nobody: prices are pinned."""
    prices = load_prices(prices_file)
    if results_dir is not None:
        if campaign_file is not None:
            raise InvalidInput("--after RESULTS knows its campaign: leave CAMPAIGN out.")
        _cost_after(results_dir, stack, prices, as_json)
        return
    if campaign_file is None and choice != WHOLE:
        raise InvalidInput("--scale and --representative choose from a CAMPAIGN: name its file.")
    directory = _project()
    names = [stack] if stack else list(stacks(directory))
    if not names:
        raise InvalidInput(
            f"{shown(directory)} has no stack and no preset: no file there is named Pulumi.NAME.yaml.",
            next_step="Go to a checkout of samebox, or name such a file with --stack.",
        )
    seconds, record_bytes = None, 0.0
    beyond: tuple[Beyond, ...] = ()
    if campaign_file:
        prepared = prepare(load_campaign(campaign_file), campaign_file, stack_kind(), choice)
        seconds, record_bytes = _size_of(prepared)
        beyond = beyond_a_process(prepared.trials)
    documents = []
    for file in [stack_file(directory, name) for name in names]:
        shape = load_shape(file)
        roles = costs.hosts_per_hour(shape, prices)
        whole = None
        if seconds is not None:
            whole = costs.campaign_cost(
                shape,
                prices,
                campaign_s=seconds,
                vetting_s=vetting_s(shape, thresholds),
                record_bytes=record_bytes,
            )
        documents.append(_document(file, shape, roles, whole, prices))
        if not as_json:
            _print_cost(stack_name(file), shape, roles, whole, seconds, prices)
            _tell_differences(directory, file)
    if as_json:
        document = {"prices": _price_source(prices), "stacks": documents}
        click.echo(json.dumps(document | {"beyond_a_process": [each.to_json() for each in beyond]}, indent=1))
    else:
        _print_price_source(prices)
        for line in warning_lines(beyond):
            console.print(line, markup=False, soft_wrap=True)


def cost_of(prepared: Prepared, stack: str) -> costs.CampaignCost:
    """What a campaign is estimated to cost on a stack, by the kit's prices. Raises InvalidInput for an unknown stack."""
    shape = load_shape(stack_file(_project(), stack))
    seconds, record_bytes = _size_of(prepared)
    return costs.campaign_cost(
        shape,
        load_prices(PRICES_FILE),
        campaign_s=seconds,
        vetting_s=vetting_s(shape, read_thresholds()),
        record_bytes=record_bytes,
    )


def vetting_step(stack: str, thresholds: Thresholds) -> Step:
    """The hosts of a stack prepared and vetted, as a command's progress shows it. Raises InvalidInput for an unknown stack."""
    return Step("hosts prepared and vetted", vetting_s(load_shape(stack_file(_project(), stack)), thresholds))


def _size_of(prepared: Prepared) -> tuple[float, float]:
    """A campaign's estimated seconds, without vetting and report, and the most bytes that its records can take."""
    seconds = sum(step.estimate_s for step in steps_to_run(prepared, ()))
    return seconds, sum(record_bytes(trial) for trial in prepared.trials)


def _document(
    file: Path,
    shape: Shape,
    roles: Sequence[costs.RoleCost],
    whole: costs.CampaignCost | None,
    prices: PriceTable,
) -> dict[str, Any]:
    return {
        "stack": stack_name(file),
        "region": shape.region,
        "roles": costs.roles_to_json(roles),
        "per_hour": costs.per_hour(roles),
        "reserved_per_hour": costs.reserved_per_hour(shape, roles),
        "emr_step": costs.emr_step(shape, prices),
        "campaign": whole.to_json() if whole else None,
    }


def _tell_differences(directory: Path, file: Path) -> None:
    """That a preset was renewed, or left, since the stack's file was made of it."""
    found = differences(directory, file)
    if found:
        console.print(
            f"{file.name} isn't as its preset is: {'; '.join(found)}. Keep what you measured with; take over what was renewed.",
            markup=False,
            soft_wrap=True,
        )


def _price_source(prices: PriceTable) -> dict[str, Any]:
    return {
        "currency": "USD",
        "pinned": prices.pinned.isoformat(),
        "file": shown(prices.file),
        "sources": list(prices.sources),
    }


def _print_price_source(prices: PriceTable) -> None:
    console.print(
        f"US dollars, on demand, without tax; prices as pinned on {prices.pinned} in {shown(prices.file)}: "
        "check them there before spending.",
        markup=False,
        soft_wrap=True,
    )


def _print_cost(
    name: str,
    shape: Shape,
    roles: Sequence[costs.RoleCost],
    whole: costs.CampaignCost | None,
    seconds: float | None,
    prices: PriceTable,
) -> None:
    table = _table(f"{name} in {shape.region}", "hosts", "", "instances", "volumes", "addresses", "an hour")
    for role in roles:
        hosts = f"{role.count} x {role.instance_type}"
        figures = (role.instances, role.volumes, role.addresses, role.per_hour)
        table.add_row(ROLE_NAMES[role.role], hosts, *map(dollars, figures))
    table.add_row("all", "", "", "", "", dollars(costs.per_hour(roles)), style="bold")
    out = Console(highlight=False)
    out.print(table)
    for role in roles:
        if role.surplus:
            click.echo(
                f"{role.instance_type} is burstable: {ROLE_NAMES[role.role]} may cost up to {dollars(role.surplus)} an hour more,"
                " for CPU time above their baseline."
            )
    if shape.reserve_capacity:
        click.echo(
            "Capacity for brokers and clients is reserved first: a place costs nothing beside the host that runs in it, and as much as"
            f" the host where none does, {dollars(costs.reserved_per_hour(shape, roles))} an hour for all of them."
        )
    report = f"{shape.report_instances} x {shape.report_instance_type} of EMR"
    if whole is None or seconds is None:
        click.echo(f"and {dollars(costs.emr_step(shape, prices))} for a report on {report}.\n")
        return
    parts = _table(f"the campaign, about {clock_text(seconds)}", "", "", "in all")
    around = (
        f"{clock_text(whole.hours * 3600)}, of it {clock_text(whole.vetting_s)} to prepare and vet, "
        f"{clock_text(costs.STAND_UP_S + costs.TEAR_DOWN_S)} to stand up and tear down, {clock_text(costs.EMR_S)} for the report"
    )
    parts.add_row("hosts", around, dollars(whole.hosts))
    parts.add_row("report", report, dollars(whole.emr))
    parts.add_row("records", "in S3, a month", dollars(whole.storage_month))
    parts.add_row("transfer", f"{costs.OPERATOR_GIB:g} GiB to the operator", dollars(whole.transfer))
    parts.add_row("all", "", dollars(whole.total), style="bold")
    out.print(parts)
    again_s = costs.STAND_UP_S + whole.vetting_s
    click.echo(
        f"Hosts that vetting rejects are replaced and vetted like the first: up to {clock_text(again_s)} more each time.\n"
    )


def _table(title: str, *headings: str) -> Table:
    table = Table(box=None, header_style="bold", title=title, title_justify="left")
    for heading in headings:
        money = heading in ("instances", "volumes", "addresses", "an hour", "in all", "a GiB", "GiB", "trials", "time")
        table.add_column(heading, justify="right" if money else "left", overflow="fold")
    return table


def dollars(amount: float) -> str:
    """Cents where they say enough."""
    return f"${amount:,.2f}" if amount >= 0.095 else f"${amount:.4f}"


def _cost_after(results_dir: Path, stack: str | None, prices: PriceTable, as_json: bool) -> None:
    run = run_of(Results(results_dir))
    directory = _project()
    if stack is None:
        raise InvalidInput(
            "--after needs --stack: the region and the volumes of the run stand in its stack's config.",
            next_step=f"--stack NAME, one of: {', '.join(stacks(directory)) or 'none here'}.",
        )
    shape = load_shape(stack_file(directory, stack))
    roles = costs.inventory_per_hour(run.inventory.hosts, shape, prices)
    spent = costs.spent_cost(costs.per_hour(roles), run.trials, began_s=run.began_s, ended_s=run.ended_s)
    if as_json:
        document = {
            "prices": _price_source(prices),
            "results": shown(results_dir),
            "roles": costs.roles_to_json(roles),
            "per_hour": costs.per_hour(roles),
            **spent.to_json(),
        }
        click.echo(json.dumps(document, indent=1))
        return
    table = _table(f"{shown(results_dir)}, hosts only", "", "trials", "time", "in all", "GiB", "a GiB")
    for system in spent.systems:
        per_gib = "nothing acknowledged" if system.per_gib is None else dollars(system.per_gib)
        table.add_row(
            system.system,
            str(system.trials),
            clock_text(system.hours * 3600),
            dollars(system.cost),
            f"{system.acknowledged_gib:.3g}",
            per_gib,
        )
    table.add_row("shared", "", clock_text(spent.shared_hours * 3600), dollars(spent.shared), "", "")
    table.add_row("all", "", clock_text(spent.hours * 3600), dollars(spent.total), "", "", style="bold")
    Console(highlight=False).print(table)
    console.print(
        "GiB: payload acknowledged, warm-up included. shared: standing up, vetting, software, and what passed between trials. "
        f"Counted to the end of the last trial; every hour that the hosts lived longer cost {dollars(spent.hour)}.",
        markup=False,
        soft_wrap=True,
    )
    _print_price_source(prices)
