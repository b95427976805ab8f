"""The testbed that a command works on: the local one, an inventory of the operator's, or a Pulumi stack on AWS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.checkout import CHECKOUT, STACKS_STATE, TESTBED_STATE, VETTING_STATE
from bench.cli.terminal import say, shown
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
from provisioning.testbeds.testbed import BROKERS, Testbed
from provisioning.vetting import Thresholds, load_thresholds, rehearsed
from systems.registry import ports


@dataclass(frozen=True)
class Target:
    """What --inventory and --stack name; without either, the local testbed."""

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
        """What to call it in messages."""
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
            return "Repair them, or remove them from the inventory: samebox can't replace your own machines."
        return (
            f"`samebox vet --replace{self.typed}`" if self.stack_name else "`samebox vet --replace`, after `samebox up`"
        )

    def testbed(self, on_line: Follow) -> Testbed:
        """It, as something whose hosts can be replaced. Raises InvalidInput for an inventory of the operator's."""
        if self.stack_name is not None:
            return AwsTestbed(stack_of(self.stack_name), on_line=on_line)
        if self.inventory_file is not None:
            raise InvalidInput(
                "--replace needs a testbed that samebox stood up: it can't replace the machines of your own --inventory.",
                next_step="Remove the rejected host from the inventory, or repair it, and vet again without --replace.",
            )
        return local_testbed()

    def thresholds(self, given: Thresholds) -> Thresholds:
        """Those by which its hosts are vetted: a stack may choose its probes. Raises InvalidInput for an unknown choice."""
        if self.stack_name is None:
            return given
        return thresholds_of(load_shape(stack_of(self.stack_name).config_file), given)

    def inventory(self, *, prepared: bool = True, brokers: int | None = None) -> Inventory:
        """Its hosts. Own hosts are checked; with `prepared=False` not for what `samebox prepare` does. `brokers`: how many a campaign
        needs, for whoever has to make a local testbed first. Raises SameboxError.
        """
        if self.stack_name is not None:
            inventory = stack_of(self.stack_name).inventory()
            if inventory is None or not inventory.hosts:
                raise SameboxError(
                    f"nothing is up in stack {self.stack_name}.",
                    next_step=f"`pulumi up --stack {self.stack_name}`, or everything at once: "
                    f"`samebox campaign aws CAMPAIGN --stack {self.stack_name}`",
                )
        elif self.inventory_file is None:
            inventory = local_testbed().inventory()
            if inventory is None:
                up = f"samebox up --brokers {brokers}" if brokers else "samebox up"
                raise SameboxError("no testbed is up.", next_step=f"Type `{up}`, or name one with --inventory FILE.")
        elif self.inventory_file.suffix == ".toml":  # written by the operator; testbeds write JSON
            own, inventory = load_own_hosts(self.inventory_file)
            with connected(inventory) as hosts:
                check_own_hosts(own, hosts, prepared=prepared)
        else:
            inventory = load_inventory(self.inventory_file)
        return inventory


def target_of(inventory_file: Path | None, stack_name: str | None) -> Target:
    """What --inventory and --stack name together."""
    if inventory_file is not None and stack_name is not None:
        raise InvalidInput("--inventory and --stack name two testbeds.", next_step="Give one of them.")
    if stack_name is not None:
        Stack(stack_name, Path())  # refuses a malformed name before a lock is made for it
    return Target(inventory_file, stack_name)


def local_testbed(brokers: int | None = None) -> LocalTestbed:
    """This checkout's local testbed, up or not; `brokers` only matters when it is made."""
    return LocalTestbed(
        TESTBED_STATE, brokers=brokers or BROKERS, broker_ports=ports(), notice=lambda text: say(f"  {text}")
    )


def project() -> Path:
    """The folder with the Pulumi project: the current one, or this checkout."""
    return project_directory(Path.cwd(), CHECKOUT)


def stack_state(name: str) -> Path:
    """The folder with what this checkout knows of a stack."""
    return STACKS_STATE / name.replace("/", "--")


def stack_of(name: str) -> Stack:
    """The stack of that name, up or not. Raises InvalidInput if it has no config file."""
    stack = Stack(name, project(), notice=say, record=UpdateRecord(stack_state(name) / "update"))
    stack.require_config()
    return stack


def stack_kind() -> str:
    """The kind of testbed that a stack is."""
    return KIND if rehearsing() else "aws"


def read_thresholds(thresholds_file: Path | None = None) -> Thresholds:
    """What vetting decides by: the kit's thresholds or the operator's; in a rehearsal, adapted to a single machine."""
    thresholds = load_thresholds(thresholds_file) if thresholds_file else load_thresholds()
    return rehearsed(thresholds) if rehearsing() else thresholds
