"""The one registry of systems. Adding a system is one line here beside its own files; nothing else names a broker."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from bench.clients.client import ClientModule
from bench.load.driver import Limits, LoadSpec
from bench.load.jobs import client_of
from bench.native import kafka as native_kafka
from bench.native import pulsar as native_pulsar
from bench.native.tool import NativeTool
from bench.workload import Workload
from provisioning import kafka, pulsar
from provisioning.deployment import Deployment, Difference, Endpoints, SoftwareStore
from provisioning.host import Host
from provisioning.own_values import OwnValues
from provisioning.settings import Settings


@dataclass(frozen=True)
class ProducerRate:
    """The highest rate that one producer, which is one process, was measured to send at, every message recorded."""

    messages_per_s: int
    source: str


_BENCH_LOAD = (
    "make bench-load on 2026-11-21 (README): 1,024-byte messages, brokers and clients on one machine with 2 cores"
)


@dataclass(frozen=True)
class System:
    """A broker product: how to put it on hosts and which client module drives it.

    `durability` has the levels it can give, with what each means there: name -> component -> key -> value.
    `cannot` has the reason for each that it can't give, `differences` how it keeps those that it can in its own way, `own_values`
    where its rendered settings aren't its vendor's. `profiles` is the folder of its system profiles. `native_tool` is the load tool
    that it comes with. `journal_factor` is how often a host writes each stored byte (2 = a journal beside the storage), for the
    disk estimate; `start_s` is how long its cluster takes from its configuration to its first topic, for the estimate of time.
    `producer_rate`: what to expect of one producer at most.
    """

    deployment: Callable[[Sequence[Host], SoftwareStore], Deployment]
    client_module: str
    durability: Mapping[str, Settings]
    cannot: Mapping[str, str]
    differences: Sequence[Difference]
    own_values: OwnValues
    profiles: Path
    native_tool: NativeTool
    journal_factor: float
    start_s: float
    producer_rate: ProducerRate

    def load_spec(
        self,
        workload: Workload,
        endpoints: Endpoints,
        topics: tuple[str, ...],
        *,
        seed: int,
        limits: Limits,
        probe_topic: str | None = None,
    ) -> LoadSpec:
        """A load of this system, where its deployment says that clients connect."""
        return LoadSpec(
            workload=workload,
            client_module=self.client_module,
            service_url=endpoints.service_url,
            client_settings=endpoints.client_settings,
            topics=topics,
            seed=seed,
            probe_topic=probe_topic,
            limits=limits,
        )

    def client_configuration(self, load: LoadSpec) -> Mapping[str, Mapping[str, str]]:
        """All that a load's clients give their library, for the record; see ClientModule."""
        client = cast(ClientModule, importlib.import_module(self.client_module))
        return client.configuration(client_of(load, load.topics[0]))


SYSTEMS: dict[str, System] = {
    "kafka": System(
        kafka.KafkaDeployment,
        "bench.clients.kafka",
        kafka.durability_table(),
        kafka.CANNOT,
        kafka.DIFFERENCES,
        kafka.OWN_VALUES,
        kafka.PROFILES,
        native_kafka.ProducerPerformance(),
        journal_factor=1,
        start_s=10,
        producer_rate=ProducerRate(93_300, _BENCH_LOAD),
    ),
    "pulsar": System(
        pulsar.PulsarDeployment,
        "bench.clients.pulsar",
        pulsar.durability_table(),
        pulsar.CANNOT,
        pulsar.DIFFERENCES,
        pulsar.OWN_VALUES,
        pulsar.PROFILES,
        native_pulsar.PulsarPerf(),
        journal_factor=2,
        start_s=26,
        producer_rate=ProducerRate(31_750, f"{_BENCH_LOAD}; half of what two processes sent"),
    ),
}
