"""The command extend: how long a stack's hosts live."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import click

from bench.cli.options import console, stack_of
from provisioning.testbeds.aws.time_to_live import extend as extend_stack
from provisioning.testbeds.aws.time_to_live import utc


def _finite(context: click.Context, parameter: click.Parameter, value: float) -> float:
    """NaN is within every range, as click compares."""
    if math.isnan(value):
        raise click.BadParameter("nan is not in the range 0<=x<=168.", context, parameter)
    return value


@click.command()
@click.argument("hours", type=click.FloatRange(0, 168), callback=_finite)
@click.option("--stack", "name", metavar="NAME", required=True, help="The Pulumi stack whose hosts shall live longer.")
def extend(hours: float, name: str) -> None:
    """Let a stack's hosts live HOURS longer: the timer outside and every host's own. 0 arms them all anew."""
    stack = stack_of(name)
    with console.status("extending") as status:
        extended = extend_stack(
            stack, hours, datetime.now(UTC), lambda line: status.update(f"extending: {line}".replace("[", r"\["))
        )
    left_h = (utc(extended.expires, where="expires") - datetime.now(UTC)).total_seconds() / 3600
    click.echo(
        f"{len(extended.hosts)} hosts end at {extended.expires}, in {left_h:.1f} h: {', '.join(extended.hosts)}."
    )
