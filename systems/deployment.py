"""What every system's deployment must do. One implementation in each system's folder.

All verbs act through `Host` on the hosts of one inventory, are idempotent, and raise DeploymentError (or HostsFailed). What is done
in the same way for every system is no verb of theirs: `systems.processes` watches the processes and fetches their logs, and
`provisioning.hosts.daemons` ends whatever was started, from the highest `Daemon.tier` to the lowest.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from contract.durability import DEFAULT_REPLICATION_FACTOR, Durability
from provisioning.errors import DeploymentError, UnsupportedDurability
from provisioning.hosts.host import Host
from systems.processes import Process
from systems.settings import Settings

CLIENT = "client"  # the component of every system that is none of its processes: the load generator's client
Level = TypeVar("Level")


@dataclass(frozen=True)
class Difference:
    """Where a system keeps a promise in a way of its own, and whom that favours in a comparison.

    `aspect` is the same for all systems, so that the report can show their ways side by side. `durability`: the levels it is about.
    """

    aspect: str
    what: str
    favours: str
    durability: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """A topic to be made, in as many copies as the plan says and with the settings of its durability level."""

    name: str
    partitions: int


# How long topics may take to be complete: a fixed time, and several times what a partition took on two busy cores.
TOPIC_LIMIT_S, PARTITION_LIMIT_S = 180.0, 0.05


@dataclass(frozen=True)
class Plan:
    """What is to run: the durability, the memory of each process (from the testbed's profile), the topics, which are alike.

    `probe` is a topic beside the measured ones: a message acknowledged on it proves that the system answers.

    `memory` maps a daemon's name to its sizes, in the system's own terms: {"broker": {"memory": "512m"}}.
    `overrides` maps a component of `Settings`, or its kind ("broker" for "broker/broker-1"), to keys and values that replace or
    extend the rendered ones (those of a system profile, of a campaign, of tests); they are rendered and read back like all others.
    Its component "client" is for the load generator's client, and comes back in `Endpoints`.
    `replication_factor`: in how many copies the plan's topics are kept, at most as many as there are broker hosts.
    `daemon_niceness`: see `Daemon.niceness`. `prime`: when the processes end they leave behind what makes later starts quicker.
    """

    durability: Durability
    topics: tuple[Topic, ...]
    memory: Mapping[str, Mapping[str, str]]
    overrides: Mapping[str, Mapping[str, str]]
    probe: Topic = Topic("samebox-probe", 1)
    daemon_niceness: int = 0
    prime: bool = False
    replication_factor: int = DEFAULT_REPLICATION_FACTOR

    def topic_at(self, topic: int, partition: int) -> Topic:
        """One of its topics, that has a partition of this number; both are numbered from 0. Raises DeploymentError."""
        if not 0 <= topic < len(self.topics) or not 0 <= partition < self.topics[topic].partitions:
            counts = ", ".join(str(each.partitions) for each in self.topics)
            raise DeploymentError(
                f"there is no partition {topic}/{partition}.",
                next_step=f"Topics and partitions are numbered from 0; topics: {len(self.topics)}, their partitions: {counts}.",
            )
        return self.topics[topic]

    def overrides_for(self, component: str) -> dict[str, str]:
        """Those of its kind on all hosts ("broker"), then its own ("broker/broker-1")."""
        kind = component.rpartition("/")[0]
        return {**(self.overrides.get(kind, {}) if kind else {}), **self.overrides.get(component, {})}

    def check_overrides(self, components: Collection[str]) -> None:
        """Raises DeploymentError naming a component that the system doesn't have, and those that it has."""
        kinds = {component.rpartition("/")[0] for component in components} - {""}
        valid = sorted({*components, *kinds, CLIENT})
        for component in self.overrides:
            if component not in valid:
                close = difflib.get_close_matches(component, valid, n=1)
                guess = f" Did you mean {close[0]!r}?" if close else ""
                raise DeploymentError(
                    f"settings for unknown component {component!r}.{guess}",
                    next_step=f"Valid components: {', '.join(valid)}.",
                )

    def require_brokers(self, system: str, found: int) -> None:
        """Raises DeploymentError where there are fewer broker hosts than copies."""
        if self.replication_factor > found:
            raise DeploymentError(
                f"{system} needs {self.replication_factor} broker hosts for as many copies; the inventory has {found}.",
                next_step="Lower the campaign's replication_factor, or give the testbed more brokers (samebox up --brokers N).",
            )


def level_of(system: str, levels: Mapping[str, Level], durability: Durability) -> Level:
    """A system's settings for a durability. Raises UnsupportedDurability naming those that it has."""
    if durability.name not in levels:
        raise UnsupportedDurability(
            f"{system} can't be deployed at durability level {durability.name}.",
            next_step=f"Levels it has: {', '.join(levels)}.",
        )
    return levels[durability.name]


@dataclass(frozen=True)
class Endpoints:
    """Where clients connect: the bootstrap string of the system's own client, and its settings.

    `client_settings` are those of the plan, overridden by those of the durability level: {"acks": "all"}.
    """

    service_url: str
    client_settings: Mapping[str, str]


@dataclass(frozen=True)
class Placement:
    """Where a partition is now.

    `leader`: the process that clients send its messages to. `followers`: those that keep its other copies, which may be of another
    kind than the leader.
    """

    leader: Process
    followers: tuple[Process, ...]


class Breakable(Protocol):
    """What is asked of a deployment, and told, while its processes are broken: all that faults need of one."""

    storing_daemon: str  # the name of the process that puts messages on a broker host's disk
    processes: tuple[Process, ...]  # all that run on the hosts once it is started

    def under_replicated(self) -> Sequence[str]:
        """Partitions that lack replicas now, by name, or what the system has instead; empty = all in sync."""

    def placement(self, topic: int, partition: int) -> Placement:
        """Who leads a partition of the plan's topics (both numbered from 0) now, and who keeps its other copies.

        It is asked shortly before a fault, also while some of the cluster is down: it costs the hosts little, and any process that
        lives can answer. Raises DeploymentError where nobody leads it.
        """

    def coordinator(self) -> Process:
        """The process that decides for the cluster now: who leads what, who is a member. Raises DeploymentError where nobody does."""

    def start_again(self, process: Process) -> None:
        """Starts a process that has ended, on whatever data it finds, none included, and waits until it is ready.

        Its earlier log is kept beside the new one. Raises DeploymentError.
        """

    def data_of(self, process: Process) -> Sequence[str]:
        """The directories (absolute, on its host) without which a replaced process comes back; they are emptied while it is down."""


class Deployment(Breakable, Protocol):
    """The verbs that put a system on hosts. A deployment object belongs to one testbed; constructing it touches nothing."""

    system: str
    version: str

    def install(self) -> None:
        """Puts the software on every broker and metadata host where it is missing."""

    def intended_settings(self, plan: Plan) -> Settings:
        """What `configure` would write, only rendered: an impossible plan is refused before anything runs.

        Raises UnsupportedDurability, or DeploymentError for too few hosts or an unknown component in the overrides.
        """

    def configure(self, plan: Plan) -> Settings:
        """Renders whole files for `plan` onto the hosts and returns the intended settings. Raises UnsupportedDurability."""

    def primed(self) -> bool:
        """Whether the hosts have what makes a start quick; True if there is no such thing. Call it after `install`."""

    def keep_priming(self) -> None:
        """Lets later starts use what the processes of a plan with `prime` left behind; only if none of them had to be killed."""

    def start(self) -> None:
        """Starts all processes and waits until the cluster is complete (every member registered)."""

    def create_topics(self) -> None:
        """Makes the plan's topics and its probe topic, and waits until every replica is in place."""

    def effective_settings(self) -> Settings:
        """What the running processes say of themselves, for (at least) every key of the intended settings they know."""

    def endpoints(self) -> Endpoints:
        """Where and how clients connect."""

    def messages_stored(self) -> int:
        """How many messages the plan's topics have accepted by the system's own count, over all partitions."""

    def leaders(self) -> Mapping[str, int]:
        """Broker host -> how many partitions of the plan's topics clients found there when the topics were complete."""


class SoftwareStore(Protocol):
    """The operator's content-addressed store of software; deployments ask it, never the network."""

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        """Puts the pinned bundle `name` on the hosts where missing; returns its remote directory relative to `root`."""

    def version(self, name: str) -> str:
        """The version of what `deploy` would bring."""
