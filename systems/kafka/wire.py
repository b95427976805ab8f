"""What brokers are asked by their own protocol, on their hosts: they answer in milliseconds, where Kafka's tools take a JVM's start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import ask
from systems.kafka.layout import CLIENT_PORT, asked
from systems.kafka.printed import Partition
from systems.processes import Process

AGENT = Path(__file__).with_name("wire_agent.py").read_bytes()
ANSWER_S = 5.0  # one that takes longer may be frozen: another is asked


class Wire:
    """The brokers of one deployment, any of which answers for all."""

    def __init__(self, nodes: Sequence[Process]) -> None:
        self._asked = asked(nodes)
        others = [node for node in nodes if node.daemon == "broker" and node is not self._asked]
        self._brokers = [[broker.address, CLIENT_PORT] for broker in (self._asked, *others)]

    def partitions(self, names: Sequence[str] | None = None) -> list[Partition]:
        """Those of these topics, of all if none are named. Raises DeploymentError where no broker answers."""
        return partitions(self._ask("topics", names=None if names is None else list(names)))

    def active_controller(self) -> int:
        """Its node id, by the broker's own question to the controllers; -1 = there is none. Raises DeploymentError."""
        return int(self._ask("quorum"))

    def _ask(self, verb: str, **what: Any) -> Any:
        request = {"brokers": self._brokers, "timeout_s": ANSWER_S, "verb": verb, **what}
        host = self._asked.host
        answer = ask(host, AGENT, request, timeout_s=ANSWER_S * (len(self._brokers) + 2))
        if "failed" in answer:
            raise DeploymentError(f"kafka: asked on {host.name} for {verb}: {answer['failed']}")
        return answer["answer"]


def partitions(told: Mapping[str, Any]) -> list[Partition]:
    """Those of the agent's `topics`."""
    return [
        Partition(name, each["number"], str(each["leader"]), _ids(each["replicas"]), _ids(each["in_sync"]))
        for name, topic in told["topics"].items()
        for each in topic["partitions"]
    ]


def _ids(numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(map(str, numbers))
