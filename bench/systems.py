"""The one registry of systems. Adding a system is one line here beside its own files; nothing else names a broker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from provisioning.deployment import Deployment, SoftwareStore
from provisioning.host import Host
from provisioning.kafka import KafkaDeployment
from provisioning.pulsar import PulsarDeployment


@dataclass(frozen=True)
class System:
    """A broker product: how to put it on hosts and which client module drives it.

    `journal_factor` is how often a host writes each stored byte (2 = a journal beside the storage), for the disk estimate.
    """

    deployment: Callable[[Sequence[Host], SoftwareStore], Deployment]
    client_module: str
    durabilities: tuple[int, ...]
    journal_factor: float


SYSTEMS: dict[str, System] = {
    "kafka": System(KafkaDeployment, "bench.clients.kafka", (1, 2), journal_factor=1),
    "pulsar": System(PulsarDeployment, "bench.clients.pulsar", (1, 2), journal_factor=2),
}
