"""The stack output `inventory`: the hosts as the rest of samebox reads them (schema 1). It decides nothing.

A disk's `device` is its file system label's link, /dev/disk/by-label/data-N: the kernel may name the disks otherwise at every boot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi_aws as aws

from infra.fleet import LOGIN, ROOT, FleetHost
from infra.network import SSH_PORT
from infra.settings import Settings

SCHEMA = 1
ROOT_DEVICE = "/dev/nvme0n1p1"


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
