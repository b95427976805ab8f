"""What is going to be stood up and who asks for it, as the looks are told. Reads the stack's file; asks neither Pulumi nor AWS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import boto3

from provisioning.testbeds.aws.shape import Shape, load_shape, read_stack_config, stack_file, stack_name
from provisioning.testbeds.finding import Finding


@dataclass(frozen=True)
class Planned:
    """A stack before it is up: its file, its hosts, their zone and image, its campaign's name, the account that it is for and
    the subnet that is given (or "").

    `needs_s`: how long its campaign is reckoned to take, from the first launch to the last host's end; None where none was named.
    """

    directory: Path
    file: Path
    shape: Shape
    zone: str
    ami: str
    campaign: str
    needs_s: float | None = None
    account: str = ""
    subnet: str = ""

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
    texts = {key: str(config.get(key, "")) for key in ("availabilityZone", "ami", "campaign", "awsAccount", "subnetId")}
    return Planned(
        directory,
        file,
        load_shape(file),
        texts["availabilityZone"],
        texts["ami"],
        texts["campaign"],
        needs_s,
        texts["awsAccount"],
        texts["subnetId"],
    )


@dataclass(frozen=True)
class LookHere:
    """A look that asks nobody but this machine."""

    need: str
    look: Callable[[Planned], Finding]


@dataclass(frozen=True)
class LookAtAws:
    """A look that asks AWS. `look` may raise botocore's errors: its line then says that the answer isn't known."""

    need: str
    look: Callable[[Planned, boto3.session.Session], Finding]
