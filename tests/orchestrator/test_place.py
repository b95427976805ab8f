"""Which host runs a detached campaign, and how it reaches the others."""

from __future__ import annotations

import pytest

from bench.orchestrator.place import orchestrator_of, seen_from_inside
from provisioning.hosts.inventory import Inventory, Role, TestbedRecord
from tests.orchestrator.folder_host import record


def inventory(*roles: Role) -> Inventory:
    """Hosts of these roles, in this order."""
    hosts = tuple(record(f"{role}-{number}", role, "/box") for number, role in enumerate(roles, start=1))
    return Inventory(1, TestbedRecord("aws", "demo"), "now", None, "/home/operator/key", hosts)


@pytest.mark.parametrize(
    ("roles", "name"),
    [
        (("broker", "client", "metadata", "metadata"), "metadata-3"),
        (("broker", "client", "client"), "client-2"),
    ],
)
def test_a_metadata_host_before_a_client(roles: tuple[Role, ...], name: str) -> None:
    """The host that carries the least load, and without one the first client."""
    assert orchestrator_of(inventory(*roles)).name == name


def test_from_inside_by_the_testbeds_own_addresses() -> None:
    """The operator's way in (a public address, the operator's key) is nobody else's."""
    inside = seen_from_inside(inventory("broker", "client"), "/box/orchestrator/key")
    assert {host.ssh.address for host in inside.hosts} == {"10.0.0.7"}
    assert inside.identity_file == "/box/orchestrator/key"
    assert {host.ssh.host_key for host in inside.hosts} == {"ssh-ed25519 AAAA"}
