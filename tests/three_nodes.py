"""One system on the testbed's hosts, fresh for a benchmark or a test of the records, and the loads for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from bench.campaign.prepared import PROBE_TOPIC
from bench.campaign.system_settings import profile_of
from bench.campaign.testbed_profile import load_profile
from bench.load.load import Limits, LoadSpec, load_spec
from contract.workload import Workload
from provisioning.hosts import daemons
from provisioning.hosts.host import Host, on_all
from provisioning.reset.wiping import wipe
from provisioning.software.store import Store
from systems.deployment import Plan, Topic
from systems.profile import VENDOR_DEFAULT
from systems.registry import DURABILITY, SYSTEMS
from systems.settings import Settings, merged

LEVEL = "2"  # acknowledged by a quorum, in page caches: what is looked at is the client or the record, not the disk


def clear(hosts: Sequence[Host]) -> None:
    """Ends every process, and empties the brokers' data directories."""
    daemons.stop_everything(hosts)
    on_all("emptying data directories", [host for host in hosts if host.record.role == "broker"], wipe)


class ThreeNodes:
    """A cluster of three, once `running` is entered. `profile` is the system's, as in a campaign; `settings` are added to it."""

    def __init__(
        self, system: str, hosts: Sequence[Host], store: Store, topic: Topic, profile: str = VENDOR_DEFAULT,
        level: str = LEVEL, settings: Settings | None = None,
    ) -> None:  # fmt: skip
        self._level = level
        self.system = system
        self.topic = topic
        self.hosts = hosts
        self.brokers = [host for host in hosts if host.record.role == "broker"]
        self.clients = [host for host in hosts if host.record.role == "client"]
        self.store = store
        self.deployment = SYSTEMS[system].deployment(hosts, store)
        self._settings = merged(profile_of(system, profile, None).settings, settings or {})

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Started on empty disks, with its topics. Nothing of it is left afterwards."""
        profile = load_profile("local")
        plan = Plan(
            durability=DURABILITY[self._level],
            topics=(self.topic,),
            memory=SYSTEMS[self.system].memory.for_hosts(None),
            overrides=self._settings,
            probe=Topic(PROBE_TOPIC, 1),
            daemon_niceness=profile.daemon_niceness,
        )
        clear(self.hosts)
        try:
            self.deployment.install()
            self.deployment.configure(plan)
            self.deployment.start()
            self.deployment.create_topics()
            yield
        finally:
            clear(self.hosts)

    def load(self, workload: Workload, *, seed: int = 1, limits: Limits | None = None) -> LoadSpec:
        """A load of the topic."""
        endpoints, topics = self.deployment.endpoints(), (self.topic.name,)
        return load_spec(
            SYSTEMS[self.system],
            workload,
            endpoints,
            topics,
            seed=seed,
            limits=limits or Limits(),
            probe_topic=PROBE_TOPIC,
        )
