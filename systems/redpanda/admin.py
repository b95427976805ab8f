"""What is asked of Redpanda's brokers, each on its own host: their admin API, and by Kafka's protocol what only that has."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import HttpRequest, http
from provisioning.hosts.host import Host, on_all
from systems.deployment import TOPIC_LIMIT_S
from systems.kafka.wire import NONE, QUICK_S, NewTopic, Partition, Wire
from systems.processes import Process, hosts_of
from systems.redpanda.layout import CLIENT_PORT, admin_url
from systems.redpanda.readback import Health, health, versions

ACCOUNT_S = 30.0
REPORT_LIMIT_S = 60.0  # brokers report their health every ten seconds
OK = 200
GROUP = "samebox"


class Admin:
    """The brokers of one deployment. What they answer is asked on their hosts: this machine may not reach their ports.

    `wire`: what Kafka's protocol is asked by.
    """

    def __init__(self, brokers: Sequence[Process], *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._brokers = brokers
        self.wire = Wire(brokers, CLIENT_PORT, monotonic_s=monotonic_s)

    def documents(self, path: str) -> dict[str, Any]:
        """What every broker says at an address of its admin API ("node_config"), by the name of its host. Raises DeploymentError."""
        urls = {broker.host.name: admin_url(broker, path) for broker in self._brokers}

        def document(host: Host) -> Any:
            [answer] = http(host, [HttpRequest("GET", urls[host.name])])
            if answer.status != OK:
                raise DeploymentError(f"redpanda: {urls[host.name]}: status {answer.status}, {answer.body[:400]}")
            return json.loads(answer.body)

        return on_all(f"redpanda: reading /v1/{path.partition('?')[0]}", hosts_of(self._brokers), document)

    def health(self) -> Health:
        """The cluster's, as its controller sees it. Raises DeploymentError where no broker answers."""
        return health(self._first("cluster/health_overview"))

    def controller(self) -> int:
        """The node id of the leader of the controllers' own partition; -1 = it has none. Raises DeploymentError."""
        return int(self._first("partitions/redpanda/controller/0", QUICK_S)["leader_id"])

    def versions(self) -> dict[int, str]:
        """Node id -> the version that each broker runs. It is in the cluster's next report of its health, which is awaited.

        Raises DeploymentError.
        """
        found: dict[int, str] = {}

        def unknown() -> list[str]:
            found.update(versions(self._first("brokers")))
            return [broker.component for broker in self._brokers if broker.number not in found]

        self.wire.until_none("brokers that don't tell their version", unknown, REPORT_LIMIT_S)
        return found

    def _first(self, path: str, timeout_s: float = ACCOUNT_S) -> Any:
        """What the first broker says that answers in time."""
        said = []
        for broker in self._brokers:
            url = admin_url(broker, path)
            [answer] = http(broker.host, [HttpRequest("GET", url)], timeout_s=timeout_s)
            if answer.status == OK:
                return json.loads(answer.body)
            said.append(f"{url}: status {answer.status}, {answer.body[:200]}")
        raise DeploymentError(f"redpanda: no broker answers: {'; '.join(said)}")

    def await_members(self, limit_s: float) -> None:
        """Waits until every broker is a member of the cluster and alive. Raises DeploymentError."""
        members = len(self._brokers)
        self.wire.until_none(
            "the cluster isn't complete", lambda: [why] if (why := self.health().lacks(members)) else [], limit_s
        )

    def create(self, topics: Sequence[NewTopic]) -> list[Partition]:
        """Makes topics, waits until each partition has its leader and its copies, and returns what they are then.

        The topic of the groups' offsets is made first: brokers make it when the first group is asked for, and that one waits for it.
        Raises DeploymentError.
        """

        def no_coordinator() -> list[str]:
            error = self.wire.ask("coordinator", group=GROUP)
            return [] if error == NONE else [f"error {error}"]

        self.wire.until_none("groups have no coordinator", no_coordinator, TOPIC_LIMIT_S)
        # not what the cluster's health says: up to 10 s old, and wrong for long of topics that nobody writes to
        return self.wire.create(topics, complete=lambda each: each.leader >= 0)

    def settings(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Topic -> key -> value, of all settings that have one. Raises DeploymentError."""
        told = self.wire.settings("topic", names)
        return {
            name: {key: each.value for key, each in keys.items() if each.value is not None}
            for name, keys in told.items()
        }
