"""`samebox ab`: two versions, settings or clients of one system, from one line to a verdict."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bench.campaign.two_contestants import STEADY, Asked, campaign_of
from bench.checkout import RESULTS
from bench.cli.one_line import (
    blocks_option,
    durability_option,
    manner_of_this_line,
    prepared_for,
    require_known,
    run_there,
    seed_option,
    workload_in,
    workload_option,
)
from bench.cli.options import again_option, master_option, plain_option, software_option, target_options
from bench.cli.outcome import Outcome
from bench.cli.plan import FEWEST_BLOCKS, print_plan
from bench.cli.target import Target
from bench.cli.terminal import say
from bench.report.here import require_spark
from bench.results.folder import Results
from provisioning.errors import InvalidInput
from systems.registry import DURABILITY, SYSTEMS

_EXAMPLES = {
    "--set": "broker.num.io.threads=16",
    "--memory": "broker.SIZE=1g",
    "--client": "batch_delay_ms=5",
}


@click.command()
@click.argument("system")
@click.argument("versions", nargs=-1)
@click.option(
    "--set", "settings", multiple=True, metavar="COMPONENT.KEY=VALUE", help="A setting of the second; repeatable."
)
@click.option("--client", multiple=True, metavar="KEY=VALUE", help="How the second's client sends; repeatable.")
@click.option(
    "--memory", multiple=True, metavar="DAEMON.SIZE=VALUE", help="A size of the second's processes; repeatable."
)
@click.option("--profile", metavar="NAME", help="The second's system profile.")
@workload_option
@durability_option
@blocks_option("How often both are run.")
@click.option(
    "--aa",
    "aa_blocks",
    type=click.IntRange(0, 1000),
    default=0,
    show_default=True,
    help="A/A blocks, for a noise band.",
)
@seed_option
@target_options
@software_option
@plain_option
@again_option
@master_option
def ab(
    system: str,
    versions: tuple[str, ...],
    settings: Sequence[str],
    client: Sequence[str],
    memory: Sequence[str],
    profile: str | None,
    workload_file: Path | None,
    durability: str,
    blocks: int,
    aa_blocks: int,
    seed: int,
    target: Target,
    tarballs: Mapping[str, Path],
    plain: bool,
    again: bool,
    master: str,
) -> Outcome:
    """Compare two versions, settings or clients of one SYSTEM.

    \b
    samebox ab kafka 4.3.1 4.4.0
    samebox ab kafka --set broker.num.io.threads=16
    samebox ab pulsar --client batch_delay_ms=5

    Writes the campaign file, shows its plan, runs it (on a local testbed that is stood up and taken down, unless --inventory or
    --stack names another), and ends with the verdict. Exits 2 if a trial is invalid.
    """
    require_known("SYSTEM", system, SYSTEMS)
    require_known("--durability", durability, DURABILITY)
    asked = Asked(
        system, versions, _nested("--set", settings), _flat("--client", client), _nested("--memory", memory), profile
    )
    workload = STEADY if workload_file is None else workload_in(workload_file)
    document = campaign_of(asked, workload, durability=durability, blocks=blocks, aa_blocks=aa_blocks, seed=seed)
    prepared = prepared_for(target, document, "ab", tarballs)
    require_spark()
    print_plan(prepared, target.stack_name)
    if blocks < FEWEST_BLOCKS:
        say(
            f"{blocks} blocks are too few for a verdict, which takes {FEWEST_BLOCKS}; the report will say how many would do."
        )
    outcome = run_there(target, prepared, tarballs, manner_of_this_line(plain=plain, again=again, master=master))
    for sentence in _verdict(Results(RESULTS / prepared.campaign.name)):
        click.echo(sentence)
    return outcome


def _verdict(results: Results) -> list[str]:
    """The report's first screen: what differs, the ratios with their intervals, and how certain they are."""
    report = results.report_dir / "report.json"
    if not report.is_file():  # made elsewhere: on EMR, or later
        return []
    answer = json.loads(report.read_text())["answer"]
    return [*answer["findings"], answer["certainty"]]


def _nested(option: str, given: Sequence[str]) -> dict[str, dict[str, str]]:
    """COMPONENT.KEY=VALUE, where the key may have dots of its own: component -> key -> value. Raises InvalidInput."""
    found: dict[str, dict[str, str]] = {}
    for one in given:
        name, equals, value = one.partition("=")
        component, dot, key = name.partition(".")
        if not (equals and dot and component and key):
            raise InvalidInput(f"{option} {one}: expected COMPONENT.KEY=VALUE, such as {_EXAMPLES[option]}.")
        _put(option, found.setdefault(component, {}), key, value)
    return found


def _flat(option: str, given: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE, where the value is a number, true, false or a word. Raises InvalidInput."""
    found: dict[str, Any] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not (equals and key and value):
            raise InvalidInput(f"{option} {one}: expected KEY=VALUE, such as {_EXAMPLES[option]}.")
        _put(option, found, key, _typed(value))
    return found


def _put(option: str, found: dict[str, Any], key: str, value: Any) -> None:
    if key in found:
        raise InvalidInput(f"{option}: {key} is given twice.")
    found[key] = value


def _typed(value: str) -> Any:
    """As TOML has it; what TOML doesn't know is a word."""
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value
