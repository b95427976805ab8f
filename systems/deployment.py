"""What every system's deployment must do, in words that no system owns. One implementation in each system's folder.

All verbs act through `Host` on the hosts of one inventory, are idempotent, and raise DeploymentError (or HostsFailed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from contract.durability import DEFAULT_REPLICATION_FACTOR, Durability
from provisioning.errors import DeploymentError
from provisioning.hosts.daemons import DaemonState
from provisioning.hosts.host import Host
from systems.settings import Settings


@dataclass(frozen=True)
class Difference:
    """Where one system keeps a promise in another way than others may, and whom that favours in a comparison.

    `aspect` is shared by the systems: what they do about it is read side by side. `durability`: the names it is about.
    """

    aspect: str
    what: str
    favours: str
    durability: tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """A topic to be made: in as many copies as the plan says, with what the durability level asks of it."""

    name: str
    partitions: int


# How long a topic may take to be complete: beside a fixed time, several times what a partition took on two busy cores.
TOPIC_LIMIT_S, PARTITION_LIMIT_S = 180.0, 0.05


@dataclass(frozen=True)
class Plan:
    """What is to run: the durability, the memory of each process (from the testbed's profile), the topics, which are alike.

    `probe` is a topic beside the measured one: a message acknowledged on it is the proof that the system answers.

    `memory` maps a daemon's name to its sizes, in the system's own words: {"broker": {"heap": "512m"}}.
    `overrides` maps a component of `Settings` to keys and values that replace or extend the rendered ones (those of a
    system profile, of a campaign, of tests); they are rendered and audited like all others. Its component "client" is not
    rendered: it is for the load generator's client, and comes back in `Endpoints`.
    `replication_factor`: in how many copies the plan's topics are kept, at most as many as there are broker hosts.
    `daemon_niceness`: see `Daemon.niceness`. `prime`: the processes leave behind, when they end, what makes
    later starts quicker.
    """

    durability: Durability
    topics: tuple[Topic, ...]
    memory: Mapping[str, Mapping[str, str]]
    overrides: Mapping[str, Mapping[str, str]]
    probe: Topic = Topic("samebox-probe", 1)
    daemon_niceness: int = 0
    prime: bool = False
    replication_factor: int = DEFAULT_REPLICATION_FACTOR


@dataclass(frozen=True)
class Endpoints:
    """Where clients connect: the bootstrap string of the system's own client, and its settings.

    `client_settings` are those of the plan, then what durability needs, in the words of the system's client: {"acks": "all"}.
    """

    service_url: str
    client_settings: Mapping[str, str]


class Deployment(Protocol):
    """The verbs that put a system on hosts. A deployment object belongs to one testbed; constructing it touches nothing."""

    system: str
    version: str
    storing_daemon: str  # the name of the process that puts messages on a broker host's disk

    def install(self) -> None:
        """Puts the software on every broker and metadata host where it is missing."""

    def intended_settings(self, plan: Plan) -> Settings:
        """What `configure` would write, rendered and not written: a plan that can't be is refused before anything runs.

        Raises UnsupportedDurability, DeploymentError (too few hosts) or InvalidInput (an unknown component in the overrides).
        """

    def configure(self, plan: Plan) -> Settings:
        """Renders whole files for `plan` onto the hosts and returns the intended settings. Raises UnsupportedDurability."""

    def primed(self) -> bool:
        """Whether an installed system has on its hosts what makes a start quick; True if there is no such thing."""

    def keep_priming(self) -> None:
        """Has later starts use what the processes of a plan with `prime` left when they ended by themselves."""

    def start(self) -> None:
        """Starts all processes and waits until the cluster is complete (every member registered)."""

    def create_topics(self) -> None:
        """Makes the plan's topic and its probe topic, and waits until every replica is in place."""

    def effective_settings(self) -> Settings:
        """What the running processes say of themselves, for (at least) every key of the intended settings they know."""

    def endpoints(self) -> Endpoints:
        """Where and how clients connect."""

    def messages_stored(self) -> int:
        """The system's own count of messages accepted in the plan's topic, over all partitions; not from our clients."""

    def leaders(self) -> Mapping[str, int]:
        """Broker host -> how many partitions of the plan's topics clients find there, as it was when they were complete."""

    def under_replicated(self) -> Sequence[str]:
        """Partitions (or ledgers) lacking replicas now, by name; empty = all in sync."""

    def daemons(self) -> Sequence[DaemonState]:
        """Every process that should be running, as found now."""

    def stop(self) -> None:
        """Stops all processes of this system, gently then hard, and waits until they are gone."""

    def collect_logs(self, target: Path) -> None:
        """Fetches log and configuration files of every host into `target`/<host>/; call it after `stop`."""


def require_hosts(system: str, plan: Plan, brokers: int) -> None:
    """Raises DeploymentError where there are fewer broker hosts than copies."""
    if plan.replication_factor > brokers:
        raise DeploymentError(
            f"{system} needs {plan.replication_factor} broker hosts for as many copies; the inventory has {brokers}.",
            next_step="Lower the campaign's replication_factor, or give the testbed more brokers (samebox up --brokers N).",
        )


class SoftwareStore(Protocol):
    """The operator's content-addressed store of software; deployments ask it, never the network."""

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        """Puts the pinned bundle `name` on the hosts where missing; returns its remote directory relative to `root`."""

    def version(self, name: str) -> str:
        """The version of what `deploy` would bring."""
