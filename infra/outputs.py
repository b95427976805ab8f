"""The stack outputs `inventory`, which the rest of samebox reads (schema 1), and `sshConfig`, which `ssh -F` needs to reach the hosts.

A disk's `device` is its file system label's link, /dev/disk/by-label/data-N: the kernel may name the disks otherwise at every boot.
Host keys are in `sshConfig` too, as commands that print them: one file is enough, and no key is trusted on first sight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from infra.fleet import FleetHost
from infra.network import SSH_PORT
from infra.settings import Settings
from infra.user_data import LOGIN, ROOT

SCHEMA = 1
ROOT_DEVICE = "/dev/nvme0n1p1"
HEAD = "# pulumi stack output sshConfig > ssh_config; ssh -F ssh_config {first}"
HOST = """\
Host {name}
  HostName {address}
  Port {port}
  User {user}
  KnownHostsCommand /bin/echo %H {host_key}
"""
ALL = """\
Host *
  IdentityFile {identity_file}
  IdentitiesOnly yes
  StrictHostKeyChecking yes
  UserKnownHostsFile none
  GlobalKnownHostsFile none
"""


def inventory(settings: Settings, hosts: Sequence[FleetHost], records: aws.s3.Bucket) -> dict[str, Any]:
    """Plain data with outputs in it. `records`: where client hosts put theirs."""
    return {
        "schema": SCHEMA,
        "testbed": {"kind": "aws", "name": settings.campaign},
        "created": settings.created,
        "expires": settings.expires,
        "identity_file": str(settings.identity_file),
        "hosts": [_host(host) for host in hosts],
        "records_bucket": {"name": records.bucket, "region": settings.region},
    }


def _host(host: FleetHost) -> dict[str, Any]:
    return {
        "name": host.name,
        "role": host.role,
        "ssh": {"address": host.instance.public_ip, "port": SSH_PORT, "user": LOGIN, "host_key": host.key.public},
        "address": host.instance.private_ip,
        "root": ROOT,
        "data_dirs": data_dirs(host),
        "instance_id": host.instance.id,
        "instance_type": host.group.instance_type,
        "generation": host.generation,
    }


def data_dirs(host: FleetHost) -> list[dict[str, Any]]:
    """One per instance disk. A metadata host without any keeps its data on the root volume, which is never trimmed."""
    if host.role == "metadata" and not host.group.machine.instance_disks:
        return [{"path": f"{ROOT}/data-1", "device": ROOT_DEVICE, "mount": "/", "owned": False}]
    return [
        {"path": mount, "device": f"/dev/disk/by-label/data-{at}", "mount": mount, "owned": True}
        for at in range(1, host.group.machine.instance_disks + 1)
        for mount in [f"/mnt/data-{at}"]
    ]


def ssh_config(inventory: Mapping[str, Any]) -> pulumi.Output[str]:
    """As text; `inventory` may hold outputs."""
    return pulumi.Output.from_input(dict(inventory)).apply(rendered)


def rendered(inventory: Mapping[str, Any]) -> str:
    """The same of an inventory whose outputs are known."""
    hosts = [HOST.format(name=host["name"], **host["ssh"]) for host in inventory["hosts"]]
    first = inventory["hosts"][0]["name"] if hosts else "HOST"
    return "\n".join([HEAD.format(first=first), *hosts, ALL.format(identity_file=_quoted(inventory["identity_file"]))])


def _quoted(path: str) -> str:
    """As ssh_config(5) wants a path with a space."""
    return f'"{path}"' if " " in path else path
