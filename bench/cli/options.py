"""Arguments and options that several commands share, each declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from bench.campaign.choice import Choice
from bench.cli.target import read_thresholds, target_of
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput
from systems.registry import SYSTEMS
from systems.software.added import added

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)

campaign_argument = click.argument("campaign_file", metavar="CAMPAIGN", type=PATH)
optional_campaign_argument = click.argument("campaign_file", metavar="[CAMPAIGN]", required=False, type=PATH)
results_argument = click.argument("results_dir", metavar="RESULTS", type=PATH)
plain_option = click.option("--plain", is_flag=True, help="Print plain lines instead of a progress bar.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
master_option = click.option("--master", default="local[*]", show_default=True, help="The Spark master.")
again_option = click.option(
    "--again", is_flag=True, help="Start over; results of an earlier run are kept under their date."
)


def one_value(name: str, make: Callable[..., Any], *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Options of which `make` makes one value: the command gets it as `name`. They are called as the parameters of `make`."""
    taken = inspect.signature(make).parameters

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_value(**given: Any) -> Any:
            value = make(**{each: given.pop(each) for each in taken})
            return command(**given, **{name: value})

        return functools.reduce(lambda made, option: option(made), reversed(options), with_value)  # type: ignore[return-value]

    return decorate


def stack_option(help: str, *, required: bool = False) -> Callable[[F], F]:
    """--stack; what a stack is to a command differs."""
    return click.option("--stack", "stack_name", metavar="NAME", required=required, help=help)


def max_replacements_option(least: int) -> Callable[[F], F]:
    """--max-replacements"""
    return click.option(
        "--max-replacements",
        type=click.IntRange(least, 100),
        default=3,
        show_default=True,
        help="Replace at most this many rejected hosts.",
    )


def given() -> Collection[str]:
    """The systems whose archive the operator has added."""
    return added(user_cache()).keys()


def _tarballs(software: tuple[str, ...]) -> Mapping[str, Path]:
    """Those that were added, and over them those of this command; `systems.software.added.needed` verifies them."""
    tarballs = {name: record.path(user_cache()) for name, record in added(user_cache()).items()}
    for value in software:
        system, equals, path = value.partition("=")
        if not equals or not path:
            raise InvalidInput(f"--software {value}: expected SYSTEM=TARBALL.")
        if system not in SYSTEMS:
            known = ", ".join(sorted(SYSTEMS))
            raise InvalidInput(f"--software {value}: unknown system {system!r}. Valid choices: {known}.")
        if not Path(path).is_file():
            raise InvalidInput(f"--software {value}: no such file: {path}.")
        tarballs[system] = Path(path)
    return tarballs


target_options = one_value(
    "target",
    target_of,
    click.option(
        "--inventory",
        "inventory_file",
        type=PATH,
        help="An inventory file, or the inventory.toml of your own hosts. Default: the local testbed of `samebox up`.",
    ),
    stack_option("The hosts of a Pulumi stack on AWS."),
)
choice_options = one_value(
    "choice",
    Choice,
    click.option("--scale", metavar="NAME", help="Shrink the campaign by one of its own scales, e.g. local."),
    click.option(
        "--representative",
        is_flag=True,
        help="Run only what represents each experiment: one workload at one durability level.",
    ),
)
thresholds_option = one_value(
    "thresholds",
    read_thresholds,
    click.option(
        "--thresholds", "thresholds_file", type=PATH, help="A thresholds file for vetting instead of the kit's."
    ),
)
software_option = one_value(
    "tarballs",
    _tarballs,
    click.option(
        "--software",
        multiple=True,
        metavar="SYSTEM=TARBALL",
        help="Use an official tarball instead of the pinned artifacts, e.g. kafka=kafka_2.13-4.3.1.tgz.",
    ),
)
