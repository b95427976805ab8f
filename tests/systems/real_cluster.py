"""A system's real processes on the local testbed, for the tests of its deployment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from provisioning.cache import user_cache
from provisioning.hosts.host import Host
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.deployment import Deployment, Plan, SoftwareStore
from systems.registry import software
from systems.settings import Settings
from tests.three_nodes import clear

AnyDeployment = TypeVar("AnyDeployment", bound=Deployment)
Kind = Callable[[Sequence[Host], SoftwareStore], AnyDeployment]


@dataclass(frozen=True)
class Cluster(Generic[AnyDeployment]):
    """A deployment that was configured, and what was intended of it."""

    deployment: AnyDeployment
    intended: Settings
    brokers: tuple[Host, ...]


@contextmanager
def configured(
    kind: Kind[AnyDeployment], hosts: Mapping[str, SshHost], plan: Plan, archives: Mapping[str, Path] | None = None
) -> Iterator[Cluster[AnyDeployment]]:
    """Installed and configured on empty disks, and not started. Nothing of it is left afterwards."""
    everyone = tuple(hosts.values())
    clear(everyone)
    try:
        deployment = kind(everyone, Store(user_cache(), software(archives)))
        deployment.install()
        brokers = tuple(host for host in everyone if host.record.role == "broker")
        yield Cluster(deployment, deployment.configure(plan), brokers)
    finally:
        clear(everyone)


@contextmanager
def altered(
    kind: Kind[AnyDeployment], hosts: Mapping[str, SshHost], plan: Plan, *, file: str, old: bytes, new: bytes,
    archives: Mapping[str, Path] | None = None,
) -> Iterator[Cluster[AnyDeployment]]:  # fmt: skip
    """Started, with its topics, after broker-2's `file` ("kafka/broker.properties") was changed behind the kit's back."""
    with configured(kind, hosts, plan, archives) as cluster:
        host = hosts["broker-2"]
        path = f"{host.record.root}/etc/{file}"
        host.put(host.get(path).replace(old, new), path)
        cluster.deployment.start()
        cluster.deployment.create_topics()
        yield cluster
