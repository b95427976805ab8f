"""The inventory: a testbed described as data. The contract between every testbed and everything else.

Written by a testbed (`samebox up`, `pulumi stack output`), read by all the rest. JSON on disk, frozen dataclasses in memory.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from provisioning.document import parse_document

Role = Literal["broker", "client", "metadata"]
INVENTORY_SCHEMA = 1


@dataclass(frozen=True)
class SshAddress:
    """Where a host's SSH server answers. `host_key` is the public key line ("ssh-ed25519 AAAA...") known beforehand."""

    address: str
    port: Annotated[int, Field(ge=1, le=65_535)]
    user: str
    host_key: str


@dataclass(frozen=True)
class DataDir:
    """A directory for broker data. Only an `owned` device is ever trimmed or formatted."""

    path: str
    device: str
    mount: str
    owned: bool


@dataclass(frozen=True)
class HostRecord:
    """One host. `name` is stable over replacements (broker-1); `generation` and `instance_id` are not.

    `address` is what brokers bind and clients dial; every remote file lives under `root`.
    """

    name: str
    role: Role
    ssh: SshAddress
    address: str
    root: str
    data_dirs: tuple[DataDir, ...]
    instance_id: str
    instance_type: str
    generation: int


@dataclass(frozen=True)
class TestbedRecord:
    """Which kind of testbed (`local`, `aws`, `inventory`) and its name."""

    __test__ = False  # not a pytest class
    kind: str
    name: str


@dataclass(frozen=True)
class RecordsBucket:
    """An S3 bucket that client hosts can write to."""

    name: str
    region: str


@dataclass(frozen=True)
class Inventory:
    """A testbed as data. `created` and `expires` are ISO 8601 UTC; `identity_file` is the operator's private key path.

    Client hosts send their records to `records_bucket` themselves; without one they are fetched over SSH.
    """

    schema: int
    testbed: TestbedRecord
    created: str
    expires: str | None
    identity_file: str
    hosts: tuple[HostRecord, ...]
    records_bucket: RecordsBucket | None = None

    def with_role(self, role: Role) -> tuple[HostRecord, ...]:
        """The hosts of one role, in inventory order."""
        return tuple(host for host in self.hosts if host.role == role)

    def to_json(self) -> str:
        """The inventory as indented JSON, as `load_inventory` reads it."""
        return json.dumps(asdict(self), indent=2) + "\n"


def load_inventory(path: Path) -> Inventory:
    """Reads an inventory file. Raises InvalidInput naming file and key."""
    return parse_document(Inventory, path, schema=INVENTORY_SCHEMA)
