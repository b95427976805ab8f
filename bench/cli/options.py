"""Options that several commands share, and how a command gets at the testbed they name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from bench.campaign.choice import Choice
from bench.checkout import CHECKOUT, LEFT_STATE, STACKS_STATE, TESTBED_STATE, VETTING_STATE
from bench.cli.by_itself import ByItself
from provisioning.errors import InvalidInput, SameboxError
from provisioning.hosts.inventory import Inventory, load_inventory
from provisioning.hosts.ssh import connected
from provisioning.testbeds.aws.rehearsal.mark import KIND, rehearsing
from provisioning.testbeds.aws.shape import load_shape
from provisioning.testbeds.aws.stack import Follow, Stack, project_directory
from provisioning.testbeds.aws.testbed import AwsTestbed
from provisioning.testbeds.aws.update_record import UpdateRecord
from provisioning.testbeds.aws.vetting_time import thresholds_of
from provisioning.testbeds.local.testbed import LocalTestbed
from provisioning.testbeds.own.checks import check_own_hosts
from provisioning.testbeds.own.hosts import load_own_hosts
from provisioning.testbeds.testbed import Testbed
from provisioning.vetting import Thresholds, load_thresholds, rehearsed
from systems.registry import SYSTEMS, ports

BROKERS = 3  # of a local testbed, unless asked otherwise
F = TypeVar("F", bound=Callable[..., Any])


console = Console(stderr=True, highlight=False)


def table_console(columns_of_a_file: int = 160) -> Console:
    """For tables on standard output: as wide as the terminal, and in a file or a pipe so wide that nothing is cut off."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else columns_of_a_file)


def stack_kind() -> str:
    """The kind of testbed that a stack is."""
    return KIND if rehearsing() else "aws"


def read_thresholds(file: Path | None = None) -> Thresholds:
    """What vetting decides by: the kit's or the operator's, in a rehearsal as for one machine."""
    thresholds = load_thresholds(file) if file else load_thresholds()
    return rehearsed(thresholds) if rehearsing() else thresholds


def plain_option(command: F) -> F:
    """--plain"""
    return click.option("--plain", is_flag=True, help="Plain lines instead of a progress bar.")(command)


def json_option(command: F) -> F:
    """--json"""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def thresholds_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--thresholds; it becomes `thresholds`"""

    @click.option(
        "--thresholds", "thresholds_file", type=click.Path(path_type=Path), help="Thresholds other than the kit's."
    )
    @functools.wraps(command)
    def with_thresholds(*arguments: Any, thresholds_file: Path | None, **options: Any) -> Any:
        return command(*arguments, thresholds=read_thresholds(thresholds_file), **options)

    return with_thresholds


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--scale and --representative; together they become `choice`"""

    @click.option("--scale", metavar="NAME", help="Shrink the campaign by one of its own scales, e.g. local.")
    @click.option(
        "--representative", is_flag=True, help="Run only what represents each experiment: one workload at one promise."
    )
    @functools.wraps(command)
    def with_choice(*arguments: Any, scale: str | None, representative: bool, **options: Any) -> Any:
        return command(*arguments, choice=Choice(scale, representative), **options)

    return with_choice


def inventory_option(command: F) -> F:
    """--inventory"""
    return click.option(
        "--inventory",
        "inventory_file",
        type=click.Path(path_type=Path),
        help="An inventory file, or an inventory.toml of own hosts; without it, the local testbed that `samebox up` made.",
    )(command)


def stack_option(command: F) -> F:
    """--stack"""
    return click.option("--stack", "stack_name", metavar="NAME", help="The hosts of a Pulumi stack on AWS.")(command)


def software_option(command: F) -> F:
    """--software SYSTEM=TARBALL, repeatable; becomes a mapping"""
    return click.option(
        "--software",
        "tarballs",
        multiple=True,
        metavar="SYSTEM=TARBALL",
        callback=_tarballs,
        help="Use an official tarball instead of the pinned artifacts, e.g. kafka=kafka_2.13-4.3.1.tgz.",
    )(command)


def _tarballs(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Path]:
    del context, parameter
    tarballs = {}
    for value in values:
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


def local_testbed(brokers: int | None = None) -> LocalTestbed:
    """This checkout's local testbed, up or not; `brokers` only matters to one that is to be made."""
    return LocalTestbed(
        TESTBED_STATE,
        brokers=brokers or BROKERS,
        broker_ports=ports(),
        notice=lambda text: console.print(f"  {text}", markup=False),
    )


def inventory_of(inventory_file: Path | None) -> Inventory:
    """The inventory a command works on. Raises SameboxError if no testbed is up."""
    if inventory_file is not None and is_own_hosts(inventory_file):
        return checked_own_hosts(inventory_file)
    if inventory_file is not None:
        return load_inventory(inventory_file)
    inventory = local_testbed().inventory()
    if inventory is None:
        raise SameboxError("no testbed is up.", next_step="Type `samebox up`, or name one with --inventory FILE.")
    return inventory


def is_own_hosts(inventory_file: Path) -> bool:
    """Whether the operator wrote it (TOML), and no testbed did (JSON)."""
    return inventory_file.suffix == ".toml"


def checked_own_hosts(inventory_file: Path, *, prepared: bool = True) -> Inventory:
    """The operator's own hosts, found fit. `prepared=False`: but for what `samebox prepare` brings about."""
    own, inventory = load_own_hosts(inventory_file)
    with connected(inventory) as hosts:
        check_own_hosts(own, hosts, prepared=prepared)
    return inventory


def stack_state(name: str) -> Path:
    """The folder with what this checkout knows of a stack."""
    return STACKS_STATE / name.replace("/", "--")


def left_to_itself(stack_name: str) -> ByItself:
    """The campaign that goes on, or went on, by itself on a stack, begun on this machine."""
    return ByItself(LEFT_STATE / stack_state(stack_name).name)


def stack_of(name: str) -> Stack:
    """The stack of that name, up or not. Raises InvalidInput if nobody has described one."""
    stack = Stack(
        name,
        project_directory(Path.cwd(), CHECKOUT),
        notice=lambda text: console.print(text, markup=False),
        record=UpdateRecord(stack_state(name) / "update"),
    )
    stack.require_config()
    return stack


@dataclass(frozen=True)
class Target:
    """The testbed that a command works on: the local one, an inventory of the operator's, or a stack."""

    inventory_file: Path | None = None
    stack_name: str | None = None

    @property
    def state(self) -> Path:
        """The folder that is locked while a command works on it."""
        return stack_state(self.stack_name) if self.stack_name else TESTBED_STATE

    @property
    def vetting_file(self) -> Path:
        """Where its last vetting is kept."""
        return self.state / "vetting.json" if self.stack_name else VETTING_STATE

    @property
    def title(self) -> str:
        """What to call it before people."""
        if self.inventory_file is not None:
            return f"testbed of {shown(self.inventory_file)}"
        return f"stack {self.stack_name}" if self.stack_name else "local testbed"

    @property
    def typed(self) -> str:
        """The option that names it, as it is to be typed again."""
        if self.inventory_file is not None:
            return f" --inventory {shown(self.inventory_file)}"
        return f" --stack {self.stack_name}" if self.stack_name else ""

    @property
    def after_rejection(self) -> str:
        """What to do about hosts that vetting rejected."""
        if self.inventory_file is not None:
            return "Mend them, or take them out of the inventory: nobody can put another machine in their place."
        return (
            f"`samebox vet --replace{self.typed}`" if self.stack_name else "`samebox vet --replace`, after `samebox up`"
        )

    def testbed(self, on_line: Follow) -> Testbed:
        """It, as something whose hosts can be replaced. Raises InvalidInput for an inventory of the operator's."""
        if self.stack_name is not None:
            return AwsTestbed(stack_of(self.stack_name), on_line=on_line)
        if self.inventory_file is not None:
            raise InvalidInput(
                "--replace works on the testbed that samebox stood up, not on an --inventory of yours:"
                " nobody can put another machine in the place of one that stands there.",
                next_step="Take the rejected host out of the inventory, or mend it, and vet again without --replace.",
            )
        return local_testbed()

    def thresholds(self, given: Thresholds) -> Thresholds:
        """Those by which its hosts are vetted: a stack may choose its probes. Raises InvalidInput if there are none such."""
        if self.stack_name is None:
            return given
        return thresholds_of(load_shape(stack_of(self.stack_name).config_file), given)

    def inventory(self) -> Inventory:
        """Its hosts. Raises SameboxError if it isn't up."""
        if self.stack_name is None:
            return inventory_of(self.inventory_file)
        inventory = stack_of(self.stack_name).inventory()
        if inventory is None or not inventory.hosts:
            raise SameboxError(
                f"nothing is up in stack {self.stack_name}.",
                next_step=f"`pulumi up --stack {self.stack_name}`, or all of it: "
                f"`samebox campaign aws CAMPAIGN --stack {self.stack_name}`",
            )
        return inventory


def target_of(inventory_file: Path | None, stack_name: str | None) -> Target:
    """What --inventory and --stack name together."""
    if inventory_file is not None and stack_name is not None:
        raise InvalidInput("--inventory and --stack name two testbeds.", next_step="Give one of them.")
    if stack_name is not None:
        Stack(stack_name, Path())  # refuses what is no name before a lock is made for it
    return Target(inventory_file, stack_name)


def shown(path: Path) -> str:
    """A path as the user would type it: relative where it lies below the current folder."""
    for base in (Path.cwd(), CHECKOUT):
        try:
            return str(path.resolve().relative_to(base))
        except ValueError:
            continue
    return str(path)
