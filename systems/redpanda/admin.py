"""What is asked of Redpanda's brokers, each on its own host: their admin API, and by Kafka's protocol what only that has."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import HttpRequest, ask, http
from provisioning.hosts.host import Host, on_all
from systems.deployment import PARTITION_LIMIT_S, TOPIC_LIMIT_S
from systems.kafka.wire import AGENT
from systems.processes import Process, hosts_of
from systems.redpanda.layout import CLIENT_PORT, admin_url
from systems.redpanda.readback import Health, Partition, health, partitions, versions

RETRY_S = 0.2
ANSWER_S = 20.0
ACCOUNT_S = 30.0
SOON_S = 5.0  # one that takes longer to answer one question may be frozen: another is asked
REPORT_LIMIT_S = 60.0  # brokers report their health every ten seconds
OK = 200
GROUP = "samebox"
NONE, TIMED_OUT, NOT_CONTROLLER, EXISTS = 0, 7, 41, 36  # error codes of Kafka's protocol
LATER = (TIMED_OUT, NOT_CONTROLLER)  # whatever will be possible when the controller has been found


class Admin:
    """The brokers of one deployment. What they answer is asked on their hosts: this machine may not reach their ports."""

    def __init__(self, brokers: Sequence[Process], *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._brokers = brokers
        self._monotonic_s = monotonic_s

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
        return int(self._first("partitions/redpanda/controller/0", SOON_S)["leader_id"])

    def versions(self) -> dict[int, str]:
        """Node id -> the version that each broker runs. It is in the cluster's next report of its health, which is awaited.

        Raises DeploymentError.
        """
        found: dict[int, str] = {}

        def unknown() -> list[str]:
            found.update(versions(self._first("brokers")))
            return [broker.component for broker in self._brokers if broker.number not in found]

        self._await("brokers that don't tell their version", unknown, REPORT_LIMIT_S)
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
        self._await(
            "the cluster isn't complete", lambda: [why] if (why := self.health().lacks(members)) else [], limit_s
        )

    def create(self, topics: Mapping[str, Mapping[str, Any]]) -> list[Partition]:
        """Makes topics (name -> partitions, replicas, settings), waits until each is complete, and returns what they are then.

        The topic of the groups' offsets is made first: brokers make it when the first group is asked for, and that one waits for it.
        Raises DeploymentError.
        """
        expected = sum(each["partitions"] for each in topics.values())
        limit_s = TOPIC_LIMIT_S + PARTITION_LIMIT_S * expected
        made: list[Partition] = []

        def no_coordinator() -> list[str]:
            error = self._ask("coordinator", group=GROUP)
            return [] if error == NONE else [f"error {error}"]

        def not_made() -> list[str]:
            wanted = [{"name": name, **each} for name, each in topics.items()]
            answers = self._ask("create", topics=wanted)
            for name, (error, message) in answers.items():
                if error not in (NONE, EXISTS, *LATER):
                    raise DeploymentError(f"redpanda: topic {name} can't be made: error {error}, {message}")
            return [f"{name} (error {error})" for name, (error, _) in answers.items() if error in LATER]

        def not_complete() -> list[str]:
            made[:] = self.partitions(list(topics))
            lacking = [f"{each.topic}-{each.number}" for each in made if not self._whole(each, topics)]
            if len(made) != expected:
                lacking.append(f"{expected - len(made)} of {expected} aren't there")
            # not what the cluster's health says: up to 10 s old, and wrong for long of topics that nobody writes to
            return lacking

        self._await("groups have no coordinator", no_coordinator, limit_s)
        self._await("topics that aren't made", not_made, limit_s)
        self._await("partitions without leader or replicas", not_complete, limit_s)
        return made

    def partitions(self, names: Sequence[str], timeout_s: float = ANSWER_S) -> list[Partition]:
        """Those of these topics. Raises DeploymentError."""
        return partitions(self._ask("topics", timeout_s, names=list(names)))

    def settings(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Topic -> key -> value, of all settings that have one. Raises DeploymentError."""
        told = self._ask("settings", names=list(names))
        return {name: {key: value for key, value in each.items() if value is not None} for name, each in told.items()}

    def end_offsets(self, names: Sequence[str]) -> dict[tuple[str, int], int]:
        """Topic and partition -> how many messages it has taken. Raises DeploymentError."""
        told = self._ask("end_offsets", names=list(names))
        return {(name, int(number)): offset for name, each in told.items() for number, offset in each.items()}

    @staticmethod
    def _whole(partition: Partition, topics: Mapping[str, Mapping[str, Any]]) -> bool:
        return partition.leader >= 0 and len(partition.replicas) == topics[partition.topic]["replicas"]

    def _ask(self, verb: str, timeout_s: float = ANSWER_S, **what: Any) -> Any:
        brokers = [[broker.address, CLIENT_PORT] for broker in self._brokers]
        request = {"brokers": brokers, "timeout_s": timeout_s, "verb": verb, **what}
        host = self._brokers[0].host
        answer = ask(host, AGENT, request, timeout_s=4 * ANSWER_S)
        if "failed" in answer:
            raise DeploymentError(f"redpanda: asked on {host.name} for {verb}: {answer['failed']}")
        return answer["answer"]

    def _await(self, what: str, lacking: Callable[[], Sequence[str]], limit_s: float) -> None:
        deadline_s = self._monotonic_s() + limit_s
        while left := lacking():
            if self._monotonic_s() > deadline_s:
                raise DeploymentError(f"redpanda: {what} after {limit_s:g} s: {', '.join(left)}")
            time.sleep(RETRY_S)
