"""What brokers are asked by Kafka's protocol, on their hosts: they answer in milliseconds, where Kafka's tools take a JVM's start."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import ask
from systems.deployment import PARTITION_LIMIT_S, TOPIC_LIMIT_S, Topic
from systems.processes import Process

AGENT = Path(__file__).with_name("wire_agent.py").read_bytes()
ANSWER_S = 20.0
QUICK_S = 5.0  # in the midst of a trial: one that takes longer may be frozen, and another is asked
RETRY_S = 0.2
NONE, TIMED_OUT, EXISTS, NOT_CONTROLLER = 0, 7, 36, 41  # error codes of the protocol
LATER = (TIMED_OUT, NOT_CONTROLLER)  # whatever will be possible when the controller has been found
TOPICS_AT_ONCE = 100  # a command line takes some hundred


@dataclass(frozen=True)
class NewTopic:
    """A topic as it is to be made."""

    topic: Topic
    replicas: int
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Partition:
    """One partition as the brokers' metadata shows it: node ids; `leader` -1 = none."""

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]

    @property
    def name(self) -> str:
        """As people write it: "topic-0"."""
        return f"{self.topic}-{self.number}"

    @property
    def lacks(self) -> bool:
        """Whether it has no leader, or a replica that isn't in sync."""
        return self.leader not in self.in_sync or len(self.in_sync) < len(self.replicas)


@dataclass(frozen=True)
class Setting:
    """A setting as a broker tells it; `value` None = none. `default`: nobody has set it."""

    value: str | None
    default: bool

    @property
    def text(self) -> str:
        """As Kafka's own tools print it."""
        return "null" if self.value is None else self.value


def has_leader_and_copies(partition: Partition) -> bool:
    """Whether it can be used as it was asked for."""
    return not partition.lacks


class Wire:
    """Some nodes of one deployment that listen at the same port; the first one that answers is asked, on the first one's host.

    Every question raises DeploymentError where none of them answers.
    """

    def __init__(
        self, nodes: Sequence[Process], port: int, *, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._host, self._system = nodes[0].host, nodes[0].system
        self._addresses = [[node.address, port] for node in nodes]
        self._monotonic_s = monotonic_s

    def partitions(self, names: Sequence[str] | None = None, *, answer_s: float = ANSWER_S) -> list[Partition]:
        """Those of these topics, of all if none are named."""
        told = self.ask("topics", answer_s=answer_s, names=None if names is None else list(names))
        return partitions(told)

    def active_controller(self) -> int:
        """Its node id, by the broker's own question to the controllers; -1 = there is none."""
        return int(self.ask("quorum", answer_s=QUICK_S))

    def settings(self, kind: str, names: Sequence[str]) -> dict[str, dict[str, Setting]]:
        """Those of topics (`kind` "topic") or of the one node that is asked ("node", by its id): name -> key -> value.

        Passwords aren't told, nor keys that a node has in its file and doesn't know.
        """
        told = self.ask("settings", kind=kind, names=list(names))
        return {name: {key: Setting(*each) for key, each in keys.items()} for name, keys in told.items()}

    def end_offsets(self, names: Sequence[str]) -> dict[tuple[str, int], int]:
        """Topic and partition -> how many messages it has taken, as its leader says."""
        told = self.ask("end_offsets", names=list(names))
        return {(name, int(number)): offset for name, each in told.items() for number, offset in each.items()}

    def create(
        self, topics: Sequence[NewTopic], complete: Callable[[Partition], bool] = has_leader_and_copies
    ) -> list[Partition]:
        """Makes those that aren't there, in this order, waits until each partition has all its copies and is complete, and returns what
        they are then.

        Raises DeploymentError for one that is refused, and after a time that grows with the partitions.
        """
        copies = {new.topic.name: new.replicas for new in topics}
        expected = sum(new.topic.partitions for new in topics)
        limit_s = TOPIC_LIMIT_S + PARTITION_LIMIT_S * expected
        found: list[Partition] = []

        def not_complete() -> list[str]:
            found[:] = self.partitions(list(copies))
            lacking = [each.name for each in found if len(each.replicas) != copies[each.topic] or not complete(each)]
            if len(found) != expected:
                lacking.append(f"{expected - len(found)} of {expected} aren't there")
            return lacking

        self.until_none("topics that aren't made", lambda: self._not_made(topics), limit_s)
        self.until_none("partitions without leader or replicas", not_complete, limit_s)
        return found

    def _not_made(self, topics: Sequence[NewTopic]) -> list[str]:
        """Asks for those that aren't there. Those that have to be asked for again, with the reason."""
        later = []
        wanted = [
            {"name": new.topic.name, "partitions": new.topic.partitions, "replicas": new.replicas}
            | {"settings": dict(new.settings)}
            for new in topics
        ]
        for at in range(0, len(wanted), TOPICS_AT_ONCE):
            for name, (error, message) in self.ask("create", topics=wanted[at : at + TOPICS_AT_ONCE]).items():
                if error not in (NONE, EXISTS, *LATER):
                    raise DeploymentError(f"{self._system}: topic {name} can't be made: error {error}, {message}")
                later += [f"{name} (error {error})"] if error in LATER else []
        return later

    def until_none(self, what: str, lacking: Callable[[], Sequence[str]], limit_s: float) -> None:
        """Asks again and again until nothing is lacking. Raises DeploymentError after its time."""
        deadline_s = self._monotonic_s() + limit_s
        while left := lacking():
            if self._monotonic_s() > deadline_s:
                raise DeploymentError(f"{self._system}: {what} after {limit_s:g} s: {', '.join(left)}")
            time.sleep(RETRY_S)

    def ask(self, verb: str, *, answer_s: float = ANSWER_S, **what: Any) -> Any:
        """The agent's answer; see there."""
        request = {"brokers": self._addresses, "timeout_s": answer_s, "verb": verb, **what}
        answer = ask(self._host, AGENT, request, timeout_s=answer_s * (len(self._addresses) + 2))
        if "failed" in answer:
            raise DeploymentError(f"{self._system}: asked on {self._host.name} for {verb}: {answer['failed']}")
        return answer["answer"]


def partitions(told: Mapping[str, Any]) -> list[Partition]:
    """Those of the agent's `topics`."""
    return [
        Partition(name, each["number"], each["leader"], tuple(each["replicas"]), tuple(each["in_sync"]))
        for name, topic in told["topics"].items()
        for each in topic["partitions"]
    ]


def layout_of(topic: Topic, found: Sequence[Partition]) -> dict[str, str]:
    """How many partitions and copies a topic has, as settings; where copies differ, all numbers are listed."""
    own = [each for each in found if each.topic == topic.name]
    copies = sorted({str(len(each.replicas)) for each in own})
    return {"partitions": str(len(own)), "replication.factor": ",".join(copies)}
