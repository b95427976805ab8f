"""The operator's own machines: `inventory.toml` into an Inventory. checks.py asks the machines.

docs/own-hosts.md has every key. From there on they are hosts like any others, except that none can be replaced.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import (
    INVENTORY_SCHEMA,
    DataDir,
    HostRecord,
    Inventory,
    Role,
    SshAddress,
    TestbedRecord,
)
from provisioning.reset.wiping import is_plain

OWN_HOSTS_SCHEMA = 1
KIND = "inventory"
KNOWN_HOSTS = Path("~/.ssh/known_hosts")


@dataclass(frozen=True)
class OwnDataDir:
    """`owned` = samebox may format, trim and empty `device`, which is mounted on `mount` (default: `path`)."""

    path: str
    device: str = ""
    mount: str = ""
    owned: bool = False


@dataclass(frozen=True)
class OwnHost:
    """One machine. `address` is what brokers bind and clients dial; empty strings and zero mean: as for all hosts."""

    name: str
    role: Role
    address: str
    data_dirs: tuple[OwnDataDir, ...] = ()
    ssh_address: str = ""
    ssh_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    ssh_user: str = ""
    host_key: str = ""
    root: str = ""
    instance_type: str = ""


@dataclass(frozen=True)
class OwnHosts:
    """inventory.toml. `different_machines` = the operator knows that machines of one role differ."""

    schema: int
    name: str
    identity_file: str
    hosts: tuple[OwnHost, ...]
    ssh_user: str
    ssh_port: Annotated[int, Field(ge=1, le=65_535)] = 22
    root: str = "/opt/samebox"
    instance_type: str = "own"
    different_machines: bool = False


def load_own_hosts(path: Path, *, known_hosts: Path = KNOWN_HOSTS) -> tuple[OwnHosts, Inventory]:
    """Reads an inventory.toml. Raises InvalidInput naming file and key; all problems of the hosts at once."""
    own = parse_document(OwnHosts, path, schema=OWN_HOSTS_SCHEMA)
    problems = list(_problems(own))
    if problems:
        raise InvalidInput("\n".join(f"{path}: {problem}" for problem in problems))
    identity = (path.parent / os.path.expanduser(own.identity_file)).absolute()  # noqa: PTH111  # Path's raises for a user that isn't
    if not os.path.isfile(identity):  # noqa: PTH113  # likewise for a name too long
        raise InvalidInput(f"{path}: key 'identity_file' = {own.identity_file!r}: no such file: {identity}.")
    hosts = tuple(
        _record(own, host, path, f"hosts.{number}", known_hosts.expanduser()) for number, host in enumerate(own.hosts)
    )
    described = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return own, Inventory(INVENTORY_SCHEMA, TestbedRecord(KIND, own.name), described, None, str(identity), hosts)


def _problems(own: OwnHosts) -> Iterator[str]:
    """What is wrong with the file beyond the types of its keys."""
    if not any(host.role == "broker" for host in own.hosts):
        yield 'no host has role = "broker"; at least one is needed.'
    if not any(host.role == "client" for host in own.hosts):
        yield 'no host has role = "client"; the load needs at least one.'
    for name, count in Counter(host.name for host in own.hosts).items():
        if count > 1:
            yield f"{count} hosts are called {name!r}."
    for number, host in enumerate(own.hosts):
        where = f"key 'hosts.{number}"
        if not host.name.replace("-", "").isalnum():
            yield f"{where}.name' = {host.name!r}: letters, digits and dashes only; it becomes part of file names."
        if host.role != "client" and not host.data_dirs:
            yield f"{where}.data_dirs' is missing: {host.name} is a {host.role} and needs a data directory."
        root = PurePosixPath(host.root or own.root)
        if not is_plain(root):
            yield f"{where}.root' = {str(root)!r}: an absolute path at least two folders deep is needed."
        for index, data_dir in enumerate(host.data_dirs):
            yield from _data_dir_problems(f"{where}.data_dirs.{index}", data_dir, root)


def _data_dir_problems(where: str, data_dir: OwnDataDir, root: PurePosixPath) -> Iterator[str]:
    path, mount = PurePosixPath(data_dir.path), PurePosixPath(data_dir.mount or data_dir.path)
    if not is_plain(path):
        yield f"{where}.path' = {data_dir.path!r}: an absolute path at least two folders deep is needed."
    if data_dir.owned:
        if not data_dir.device.startswith("/dev/"):
            yield f"{where}.device' = {data_dir.device!r}: with owned = true, name the device to format and trim, e.g. /dev/nvme1n1."
        if not path.is_relative_to(mount) or mount == PurePosixPath("/"):
            yield f"{where}.mount' = {data_dir.mount!r}: {data_dir.path} isn't below it."
    elif not path.is_relative_to(root) or path == root:
        yield (
            f"{where}.path' = {data_dir.path!r}: it is emptied before each trial, so it must lie below root ({root}),"
            " or on a device with owned = true."
        )


def _record(own: OwnHosts, host: OwnHost, path: Path, where: str, known_hosts: Path) -> HostRecord:
    address, port = host.ssh_address or host.address, host.ssh_port or own.ssh_port
    host_key = " ".join((host.host_key or _known_key(address, port, known_hosts)).split()[:2])
    if len(host_key.split()) != 2:
        scan = f"ssh-keyscan -t ed25519 {f'-p {port} ' if port != 22 else ''}{address}"
        raise InvalidInput(
            f"{path}: key '{where}.host_key' is missing, and {known_hosts} doesn't know {address} port {port}.",
            next_step=f"Log in to {host.name} once by ssh and confirm its key, or write it as host_key (to see it: {scan}).",
        )
    return HostRecord(
        name=host.name,
        role=host.role,
        ssh=SshAddress(address, port, host.ssh_user or own.ssh_user, host_key),
        address=host.address,
        root=host.root or own.root,
        data_dirs=tuple(
            DataDir(each.path, each.device or "unknown", each.mount or (each.path if each.owned else "/"), each.owned)
            for each in host.data_dirs
        ),
        # a machine installed anew has another host key: it isn't the one that was vetted
        instance_id=f"own-{hashlib.sha256(host_key.encode()).hexdigest()[:12]}",
        instance_type=host.instance_type or own.instance_type,
        generation=1,
    )


def _known_key(address: str, port: int, known_hosts: Path) -> str:
    """The key that the operator's ssh knows, ed25519 before others; empty = none. ssh-keygen reads hashed names too."""
    name = address if port == 22 else f"[{address}]:{port}"
    try:
        found = subprocess.run(
            ["ssh-keygen", "-F", name, "-f", str(known_hosts)], capture_output=True, text=True, timeout=30, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    keys = [line.split()[1:3] for line in found.splitlines() if line and not line.startswith(("#", "@"))]
    keys.sort(key=lambda key: key[0] != "ssh-ed25519")
    return " ".join(keys[0]) if keys else ""
