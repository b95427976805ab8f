"""A stack before it is up, as its file describes it, and what a look at it answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from provisioning.testbeds.aws.shape import Shape, load_shape, read_stack_config, stack_file, stack_name


class Answer(NamedTuple):
    """Whether a need is met (None: not known), what was found, and what to do if it isn't met."""

    met: bool | None
    found: str
    next_step: str = ""


@dataclass(frozen=True)
class Planned:
    """A stack before it is up: its file, hosts, zone, image and campaign, and the account and subnet that it names (or "").

    `needs_s`: the estimate for its campaign, from the first launch to the last host's end; None where no campaign was named.
    """

    directory: Path
    file: Path
    shape: Shape
    zone: str
    ami: str
    campaign: str
    account: str
    subnet: str
    needs_s: float | None = None

    @property
    def host_types(self) -> tuple[str, ...]:
        """The instance types of the hosts, each once."""
        return tuple(sorted({hosts.instance_type for hosts in self.shape.by_role().values()}))

    @property
    def types(self) -> tuple[str, ...]:
        """Those, and that of the report's cluster, whose machines stand in the same zone."""
        return tuple(sorted({*self.host_types, self.shape.report_instance_type}))

    def set_command(self, key: str, value: str) -> str:
        """What sets a key of the stack's config."""
        return f"`pulumi config set --stack {stack_name(self.file)} samebox:{key} {value}`"


def planned(directory: Path, stack: str, *, needs_s: float | None = None) -> Planned:
    """From the stack's own file, or from the preset of its name. Raises InvalidInput."""
    file = stack_file(directory, stack)
    config = read_stack_config(file)
    keys = ("availabilityZone", "ami", "campaign", "awsAccount", "subnetId")
    zone, ami, campaign, account, subnet = (str(config.get(key, "")) for key in keys)
    return Planned(directory, file, load_shape(file), zone, ami, campaign, account, subnet, needs_s)
