"""The engine's event lines and a stack's inventory, as pulumi 3.259 prints them, for tests with a scripted pulumi."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from provisioning.hosts.inventory import DataDir, HostRecord, Inventory, Role, SshAddress, TestbedRecord

INSTANCE = "aws:ec2/instance:Instance"
HOSTS = ("broker-1", "broker-2", "broker-3", "client-1")


def urn(resource_type: str, name: str) -> str:
    """A resource's URN in stack sn."""
    return f"urn:pulumi:sn::samebox::samebox:infra:Fleet${resource_type}::{name}"


def step(operation: str, name: str, resource_type: str = INSTANCE, *, host: str | None = None) -> dict[str, object]:
    """A step's metadata; a host's resources carry its name as a tag."""
    state = {"type": resource_type, "inputs": {"tags": {"host": host}} if host else {}, "outputs": {}}
    return {"op": operation, "urn": urn(resource_type, name), "type": resource_type, "old": None, "new": state}


def lines(*events: Mapping[str, object]) -> str:
    """Events as the lines of --json."""
    prelude: Mapping[str, object] = {"preludeEvent": {"config": {"samebox:region": "us-west-2"}}}
    stack: Mapping[str, object] = {"resourcePreEvent": {"metadata": step("same", "samebox-sn", "pulumi:pulumi:Stack")}}
    return "\n".join(json.dumps({"sequence": n, **event}) for n, event in enumerate([prelude, stack, *events])) + "\n"


def began(operation: str, name: str, resource_type: str = INSTANCE, *, host: str | None = None) -> dict[str, object]:
    """A step begins (in a preview: would be done)."""
    return {"resourcePreEvent": {"metadata": step(operation, name, resource_type, host=host)}}


def done(operation: str, name: str, resource_type: str = INSTANCE, *, host: str | None = None) -> dict[str, object]:
    """A step has succeeded."""
    return {"resOutputsEvent": {"metadata": step(operation, name, resource_type, host=host)}}


def error(name: str, message: str) -> dict[str, object]:
    """A resource's error, coloured as the engine colours it."""
    text = f"<{{%reset%}}>{message}<{{%reset%}}>\n"
    return {"diagnosticEvent": {"urn": urn(INSTANCE, name), "message": text, "severity": "error", "color": "raw"}}


def replacement(name: str) -> list[dict[str, object]]:
    """The steps of one host's replacement, successor first."""
    return [
        event
        for operation in ("create-replacement", "replace", "delete-replaced")
        for event in (began(operation, name, host=name), done(operation, name, host=name))
    ]


def inventory(**generations: int) -> Inventory:
    """Three brokers and a client; `broker_2=3` is the third machine called broker-2."""
    counts = {name: generations.get(name.replace("-", "_"), 1) for name in HOSTS}
    return Inventory(
        schema=1,
        testbed=TestbedRecord("aws", "latency"),
        created="2026-11-21T10:00:00Z",
        expires="2026-11-21T20:00:00Z",
        identity_file="operator_key",
        hosts=tuple(_host(name, generation) for name, generation in counts.items()),
    )


def _host(name: str, generation: int) -> HostRecord:
    role: Role = "client" if name.startswith("client") else "broker"
    return HostRecord(
        name=name,
        role=role,
        ssh=SshAddress("127.0.0.1", 22, "ec2-user", f"ssh-ed25519 {name}"),
        address="10.0.0.1",
        root="/opt/samebox",
        data_dirs=(DataDir("/mnt/data-1", "/dev/nvme1n1", "/mnt/data-1", owned=True),),
        instance_id=f"i-{name}-{generation}",
        instance_type="i3en.2xlarge",
        generation=generation,
    )


def outputs(shown: Inventory | None) -> str:
    """What `pulumi stack output --json` prints."""
    return json.dumps({} if shown is None else {"inventory": json.loads(shown.to_json()), "region": "us-west-2"})


def other_machine(shown: Inventory, name: str) -> Inventory:
    """The same inventory with another machine behind one name."""
    hosts = tuple(replace(host, instance_id="i-other") if host.name == name else host for host in shown.hosts)
    return replace(shown, hosts=hosts)
