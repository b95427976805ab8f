"""The verbs that put RabbitMQ on hosts. Every question to a node is asked on its own host."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from shlex import quote

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.host import Host, on_all
from systems.deployment import (
    CLIENT,
    PARTITION_LIMIT_S,
    TOPIC_LIMIT_S,
    Endpoints,
    Placement,
    Plan,
    SoftwareStore,
)
from systems.processes import Process, await_ready, hosts_of, place, running
from systems.rabbitmq import again, layout
from systems.rabbitmq.durability import NO_COORDINATOR, level_settings
from systems.rabbitmq.node import TIMEOUT_S, Nodes, arguments, binaries
from systems.rabbitmq.readback import Queue, lacks, paths, queues_of
from systems.rabbitmq.topic_client import QUORUM, STREAM_TYPE
from systems.settings import Settings, joined

START_LIMIT_S = 300.0  # generous: nodes give way to others, and a death is noticed at once anyway
RETRY_S = 0.2
SETTLED_S = 0.3
SETTLING_LIMIT_S = 20.0
ERLANG = "27.3.4.1"
_COPIES = {QUORUM: "x-quorum-initial-group-size", STREAM_TYPE: "x-initial-cluster-size"}
_PARTITION_ASKED_S = 0.02
_SHOWN = 300


class RabbitDeployment:
    """RabbitMQ nodes with quorum queues or streams, one on each broker host; see `Deployment` for the verbs."""

    system = "rabbitmq"
    storing_daemon = layout.SERVER

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._store = store
        self.processes = layout.servers(hosts)
        self._servers = {server.host.name: server for server in self.processes}
        self._hosts = hosts_of(self.processes)
        self._nodes = Nodes(self.processes, "")
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None
        self._intended: Settings = {}
        self._complete: dict[str, Queue] = {}  # the queues as they were when all were complete

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts)
        self._nodes = Nodes(self.processes, self._software)

    def intended_settings(self, plan: Plan) -> Settings:
        level = level_settings(plan.durability)
        plan.require_brokers(self.system, len(self.processes))
        intended: dict[str, dict[str, str]] = {}
        for server in self.processes:
            intended |= layout.intended(server, plan, level)
        intended["topic"] = {"x-queue-type": level.queue_type, **plan.overrides_for("topic")}
        plan.check_overrides(intended.keys())
        members = ",".join(sorted(layout.node_of(server) for server in self.processes))
        for server in self.processes:
            build = {"version": self.version, "erlang": ERLANG, "emulator": "jit"}
            intended[f"build/{server.host.name}"] = build
            intended[f"cluster/{server.host.name}"] = {"nodes": members}
        intended["topic/layout"] = {
            "partitions": str(plan.topics[0].partitions),
            "replicas": str(plan.replication_factor),
        }
        return intended

    def configure(self, plan: Plan) -> Settings:
        intended = self.intended_settings(plan)
        place(self.processes, {each.host.name: layout.files(each, plan, intended) for each in self.processes})
        # made here and for this cluster alone: nobody keeps it, and those who ask a node read it on its host
        cookie = secrets.token_hex(32).encode()
        on_all("rabbitmq: writing the cookie", self._hosts, lambda host: self._put_cookie(host, cookie))
        self._plan, self._intended, self._complete = plan, intended, {}
        return intended

    def _put_cookie(self, host: Host, cookie: bytes) -> None:
        folder = layout.home(self._servers[host.name])
        host.run(f"rm -rf {quote(folder)}")
        host.put(cookie, f"{folder}/{layout.COOKIE}", mode=0o400)

    def primed(self) -> bool:
        return True

    def keep_priming(self) -> None:
        """There is nothing that makes a start quicker."""

    def start(self) -> None:
        self._planned()
        on_all("rabbitmq: starting", self._hosts, lambda host: self._start(self._servers[host.name]))
        try:
            await_ready("rabbitmq: starting", self.processes, layout.started, limit_s=START_LIMIT_S)
        except DeploymentError as error:
            reasons = on_all("rabbitmq: why it didn't start", self._hosts, self._first_errors)
            told = "".join(f"\n{name} says first:\n{reason}" for name, reason in reasons.items() if reason)
            raise DeploymentError(f"{error}{told}") from None
        first, *others = self.processes
        for server in others:  # one by one, as the vendor tells to: each has to learn of those before it
            self._nodes.ask(server, "join", first=layout.node_of(first), timeout_s=START_LIMIT_S)
        members = sorted(layout.node_of(server) for server in self.processes)

        def lacking() -> list[str]:
            told = self._nodes.ask_all("members")
            return [f"{name} sees {', '.join(seen)}" for name, seen in told.items() if seen != members]

        self._await("nodes that don't see all others", lacking, START_LIMIT_S)

    def create_topics(self) -> None:
        plan = self._planned()
        own = self._intended["topic"]
        values = {**own, _COPIES[own["x-queue-type"]]: str(plan.replication_factor)}
        limit_s = TOPIC_LIMIT_S + PARTITION_LIMIT_S * sum(topic.partitions for topic in plan.topics)
        names = [name for topic in (*plan.topics, plan.probe) for name in layout.queues(topic)]
        for at, server in enumerate(self.processes):
            # a queue's leader is on the node that it is made on: in turn, as producers go to the nodes (client.py)
            if mine := names[at :: len(self.processes)]:
                self._nodes.ask(server, "declare", names=binaries(mine), arguments=arguments(values), timeout_s=limit_s)

        def lacking() -> list[str]:
            self._complete = self._found(names)
            return [
                name
                for name in names
                if name not in self._complete or lacks(self._complete[name], plan.replication_factor)
            ]

        self._await("queues without all their copies", lacking, limit_s)

    def effective_settings(self) -> Settings:
        plan = self._planned()
        running(self.processes)
        keys = {key for server in self.processes for key in self._intended[server.component]}
        told = self._nodes.ask_all("settings", paths=paths(sorted(keys)))
        effective: dict[str, Mapping[str, str]] = {}
        for name, server in self._servers.items():
            effective[server.component] = told[name]["server"]
            for kind in ("ra", "build", "cluster"):
                effective[f"{kind}/{name}"] = told[name][kind]
        queues = self._found(self._measured())
        effective["topic"] = joined(queue.arguments for queue in queues.values())
        of_topics = [[queues[name] for name in layout.queues(topic) if name in queues] for topic in plan.topics]
        effective["topic/layout"] = joined(
            {"partitions": str(len(some)), "replicas": ",".join(sorted({str(len(each.members)) for each in some}))}
            for some in of_topics
        )
        return effective

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client
        return Endpoints(layout.service_url(self.processes), {**plan.overrides_for(CLIENT), **promised})

    def messages_stored(self) -> int:
        """A queue forgets what was read, but nodes count the acknowledgements of consumers; nobody reads the probe's queue.

        A message whose acknowledgement is on its way is in a queue and among those counts, so they are asked until nothing moves.
        """
        counted, deadline_s = self._counts(), time.monotonic() + SETTLING_LIMIT_S
        while self._intended["topic"]["x-queue-type"] == QUORUM:
            time.sleep(SETTLED_S)
            before, counted = counted, self._counts()
            if counted == before:
                break
            if time.monotonic() > deadline_s:
                raise DeploymentError(f"rabbitmq: consumers still acknowledge messages after {SETTLING_LIMIT_S:g} s.")
        return sum(counted)

    def _counts(self) -> tuple[int, int]:
        """How many messages are in queues or streams, and how many were acknowledged by those who read queues."""
        wanted = self._measured()
        told = self._nodes.ask_all("stored", names=binaries(wanted), timeout_s=self._limit_s(wanted))
        stored: dict[str, int] = {name: count for of_node in told.values() for name, count in of_node.items()}
        if lacking := [name for name in wanted if name not in stored]:
            raise DeploymentError(f"rabbitmq: no leader, which counts its messages: {', '.join(lacking)}")
        forgotten: dict[str, int] = {}
        if self._intended["topic"]["x-queue-type"] == QUORUM:
            forgotten = self._nodes.ask_all("acknowledged")
        return sum(stored.values()), sum(forgotten.values())

    def leaders(self) -> Mapping[str, int]:
        led = Counter(self._complete[name].leader for name in self._measured() if name in self._complete)
        return {name: led[server.address] for name, server in self._servers.items()}

    def under_replicated(self) -> Sequence[str]:
        plan, wanted = self._planned(), self._measured()
        queues = self._found(wanted)
        lacking = [name for name in wanted if name not in queues or lacks(queues[name], plan.replication_factor)]
        whole = [name for name in wanted if name not in lacking]
        behind = again.behind(self._nodes, self.processes, whole, self._limit_s(whole)) if whole else []
        return [*lacking, *behind]

    def placement(self, topic: int, partition: int) -> Placement:
        name = layout.queues(self._planned().topic_at(topic, partition))[partition]
        queue = self._found([name], again.SOON_S).get(name)
        at = {server.address: server for server in self.processes}
        if queue is None or queue.leader not in at:
            raise DeploymentError(f"rabbitmq: nobody leads {name} now.")
        return Placement(at[queue.leader], tuple(at[each] for each in queue.members if each != queue.leader))

    def coordinator(self) -> Process:
        """There is none, so a campaign that aims at it is refused before. Raises DeploymentError."""
        raise DeploymentError(f"rabbitmq: {NO_COORDINATOR}.")

    def start_again(self, process: Process) -> None:
        """A node that finds an empty disk has been forgotten by the others before, and joins them as a new one: see `again`."""

        def start() -> None:
            self._start(process)
            await_ready("rabbitmq: starting again", [process], layout.started, limit_s=START_LIMIT_S)

        if process.host.run(layout.is_empty(process), check=False).exit_status != 0:
            start()
            return
        others = [each for each in self.processes if each != process]
        held = [name for name, queue in self._complete.items() if process.address in queue.members]
        again.replaced(self._nodes, process, others, held, start)

    def data_of(self, process: Process) -> Sequence[str]:
        return (layout.data_dir(process),)

    def _found(self, names: Sequence[str], timeout_s: float | None = None) -> dict[str, Queue]:
        """What the first node that answers says of queues. Raises DeploymentError if none does."""
        limit_s = self._limit_s(names) if timeout_s is None else timeout_s
        _, told = again.first_answer(self._nodes, self.processes, "queues", timeout_s=limit_s, names=binaries(names))
        return queues_of(told)

    def _limit_s(self, names: Sequence[str]) -> float:
        return TIMEOUT_S + _PARTITION_ASKED_S * len(names)

    def _measured(self) -> list[str]:
        """The queues of the plan's topics."""
        return [name for topic in self._planned().topics for name in layout.queues(topic)]

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("rabbitmq: call install and configure first.")
        return self._plan

    def _start(self, server: Process) -> None:
        """The folders are made here, not in `configure`: a reset may come between and wipe the data directories."""
        server.host.run(layout.make_folders(server))
        software = f"{server.host.record.root}/{self._software}"
        daemons.start(server.host, [layout.daemon(server, software, self._planned())])

    def _first_errors(self, host: Host) -> str:
        """A node tells the reason before it ends, and then much else."""
        log = quote(self._servers[host.name].log_path)
        said = host.run(
            f"sed -n '/BOOT FAILED/q;/\\[error\\]/p' {log} 2>/dev/null | cut -c-{_SHOWN} | tail -n 12", check=False
        )
        return said.stdout.strip()

    def _await(self, what: str, lacking: Callable[[], Sequence[str]], limit_s: float) -> None:
        deadline_s = time.monotonic() + limit_s
        while left := lacking():
            if time.monotonic() > deadline_s:
                raise DeploymentError(f"rabbitmq: {what} after {limit_s:g} s: {', '.join(left)}")
            time.sleep(RETRY_S)
