"""The inventory: written and read back, and refused when it isn't whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import DataDir, HostRecord, Inventory, Role, SshAddress, TestbedRecord, load_inventory


def _host(name: str, role: Role) -> HostRecord:
    return HostRecord(
        name=name,
        role=role,
        ssh=SshAddress("10.0.0.5", 22, "admin", "ssh-ed25519 AAAA"),
        address="10.0.0.5",
        root="/srv/samebox",
        data_dirs=(DataDir("/mnt/nvme0", "/dev/nvme1n1", "/mnt/nvme0", True),),
        instance_id="i-1",
        instance_type="i3en.2xlarge",
        generation=1,
    )


INVENTORY = Inventory(
    schema=1,
    testbed=TestbedRecord("inventory", "rack-4"),
    created="2025-01-01T00:00:00+00:00",
    expires=None,
    identity_file="/home/operator/key",
    hosts=(_host("broker-1", "broker"), _host("client-1", "client"), _host("broker-2", "broker")),
)


def _written(folder: Path, change: dict[str, Any]) -> Path:
    document = {**json.loads(INVENTORY.to_json()), **change}
    (folder / "inventory.json").write_text(json.dumps(document))
    return folder / "inventory.json"


def test_an_inventory_is_read_back_as_written(tmp_path: Path) -> None:
    """What to_json writes, load_inventory reads as an equal inventory."""
    assert load_inventory(_written(tmp_path, {})) == INVENTORY


def test_hosts_are_found_by_role() -> None:
    """with_role keeps the inventory's order and gives nothing for a role that no host has."""
    assert [host.name for host in INVENTORY.with_role("broker")] == ["broker-1", "broker-2"]
    assert INVENTORY.with_role("metadata") == ()


def test_an_operators_own_inventory_may_be_toml(tmp_path: Path) -> None:
    """Hosts that the operator already has are described in TOML with the same keys."""
    (tmp_path / "inventory.toml").write_text(
        """
schema = 1
created = "2025-01-01T00:00:00+00:00"
expires = "2025-01-02T00:00:00+00:00"
identity_file = "/home/operator/key"
testbed = {kind = "inventory", name = "rack-4"}
[[hosts]]
name = "broker-1"
role = "broker"
ssh = {address = "10.0.0.5", port = 22, user = "admin", host_key = "ssh-ed25519 AAAA"}
address = "10.0.0.5"
root = "/srv/samebox"
data_dirs = [{path = "/mnt/nvme0", device = "/dev/nvme1n1", mount = "/mnt/nvme0", owned = true}]
instance_id = "i-1"
instance_type = "i3en.2xlarge"
generation = 1
"""
    )
    assert load_inventory(tmp_path / "inventory.toml").hosts == INVENTORY.hosts[:1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 9}, "schema is 9, this samebox reads schema = 1"),
        ({"hosts": [{"name": "broker-1"}]}, "key 'hosts.0.role' is missing"),
        ({"identity": "x"}, "unknown key 'identity'. Did you mean 'identity_file'?"),
    ],
)
def test_an_inventory_that_is_not_whole_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """The error names the file and the key."""
    path = _written(tmp_path, change)
    with pytest.raises(InvalidInput) as caught:
        load_inventory(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_role_is_one_of_three(tmp_path: Path) -> None:
    """A host with another role is refused with the roles there are."""
    hosts = json.loads(INVENTORY.to_json())["hosts"]
    hosts[1]["role"] = "server"
    with pytest.raises(InvalidInput, match=r"hosts\.1\.role.*'broker', 'client' or 'metadata'"):
        load_inventory(_written(tmp_path, {"hosts": hosts}))
