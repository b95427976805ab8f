"""The verbs that put Kafka on hosts. Every question to a broker is asked on its host, by Kafka's own tools."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from provisioning.errors import DeploymentError, HostError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import Probe
from provisioning.hosts.host import Host, on_all
from systems.deployment import (
    CLIENT,
    PARTITION_LIMIT_S,
    TOPIC_LIMIT_S,
    Endpoints,
    Placement,
    Plan,
    SoftwareStore,
    Topic,
)
from systems.jvm import class_data
from systems.jvm import processes as jvm
from systems.jvm.readback import look
from systems.kafka import layout, printed
from systems.kafka.durability import level_settings
from systems.kafka.wire import Wire
from systems.processes import Process, await_ready, hosts_of, place, running
from systems.release import facts_of
from systems.settings import Settings, joined

CLUSTER_ID = "c2FtZWJveC1rYWZrYS0wMQ"  # any 16 bytes in base64; every trial's cluster starts from nothing
FORMAT_TIMEOUT_S = 600.0
START_LIMIT_S = 600.0  # generous: brokers give way to others, and a death is noticed at once anyway
TOOL_TIMEOUT_S = 600.0
TOOLS_AT_ONCE = 2


class KafkaDeployment:
    """Kafka with KRaft: controllers on the metadata hosts, or combined with the brokers; see `Deployment` for the verbs."""

    system = "kafka"
    storing_daemon = "broker"

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._facts = facts_of(self.system, self.version)
        self._store = store
        self.processes = layout.nodes(hosts)
        self._hosts = hosts_of(self.processes)
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None
        self._intended: Settings = {}
        self._described = ""  # the topics, as the brokers showed them when they were complete
        self._wire = Wire(self.processes)

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts)

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        rendered, intended = self._render(plan)
        place(self.processes, rendered)
        self._plan, self._intended, self._described = plan, intended, ""
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Every host's files (path -> content), and the settings in them."""
        level = level_settings(plan.durability)
        plan.require_brokers(self.system, sum(node.daemon == "broker" for node in self.processes))
        lacks = self._facts.without
        rendered, intended = jvm.render_all(
            self.processes, lambda node: layout.files(node, self.processes, plan, lacks)
        )
        intended["topic"] = level.topic(plan.replication_factor) | plan.overrides_for("topic")
        plan.check_overrides(intended.keys())
        intended["topic/layout"] = {
            "partitions": str(plan.topics[0].partitions),
            "replication.factor": str(plan.replication_factor),
        }
        return rendered, intended

    def primed(self) -> bool:
        return class_data.there(layout.with_class_data(self.processes), self._software)

    def keep_priming(self) -> None:
        class_data.keep(self._hosts, self._software)

    def start(self) -> None:
        nodes = {node.host.name: node for node in self.processes}
        on_all("kafka: formatting and starting", self._hosts, lambda host: self._start(nodes[host.name]))
        await_ready("kafka: starting", self.processes, _joined, limit_s=START_LIMIT_S)

    def create_topics(self) -> None:
        plan = self._planned()
        own = [
            layout.NewTopic(topic, plan.replication_factor, self._intended["topic"])
            for topic in (plan.probe, *plan.topics)
        ]
        # the small ones first: brokers make partitions one after the other, and these would wait behind the others'
        topics = [layout.offsets_topic(self._intended[self.processes[0].component]), *own]
        # a JVM each: more at once than a small broker host has cores would only get into each other's way
        with ThreadPoolExecutor(max_workers=TOOLS_AT_ONCE) as pool:
            list(pool.map(self._create_topic, topics))
        self._await_complete([new.topic for new in topics])

    def _create_topic(self, new: layout.NewTopic) -> None:
        create = ["--create", "--if-not-exists", "--topic", new.topic.name, "--partitions", str(new.topic.partitions)]
        create += ["--replication-factor", str(new.replicas)]
        for key, value in new.settings.items():
            create += ["--config", f"{key}={value}"]
        self._tool("TopicCommand", *create)

    def _await_complete(self, topics: Sequence[Topic]) -> None:
        """Waits until every partition has all its replicas in sync."""
        names, expected = [topic.name for topic in topics], sum(topic.partitions for topic in topics)
        limit_s = TOPIC_LIMIT_S + PARTITION_LIMIT_S * expected
        deadline = time.monotonic() + limit_s
        while True:
            described = self._tool("TopicCommand", "--describe")
            found = [each for each in printed.partitions(described) if each.topic in names]
            behind = [each for each in found if not each.replicas or set(each.replicas) != set(each.in_sync)]
            if len(found) == expected and not behind:
                self._described = described
                return
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"kafka: {', '.join(names)} not complete after {limit_s:g} s: {len(found)} of {expected} "
                    f"partitions exist, not in sync: {', '.join(f'{each.topic}-{each.number}' for each in behind) or 'none'}"
                )

    def effective_settings(self) -> Settings:
        plan, pids = self._planned(), running(self.processes)
        controllers = [node for node in self.processes if node.daemon == "controller"]
        with ThreadPoolExecutor(max_workers=len(self.processes) + 2) as pool:
            seen = pool.submit(on_all, "kafka: reading flags", self._hosts, lambda host: look(host, pids[host.name]))
            shown = list(pool.map(self._configs, [None, *controllers]))
        of_nodes = {node_id: settings for each in shown for node_id, settings in each.items()}
        effective = {
            f"jvm/{node.component}": seen.result()[node.host.name].flags[node.daemon] for node in self.processes
        }
        effective |= {node.component: of_nodes.get(str(layout.node_id(node)), {}) for node in self.processes}
        names = [topic.name for topic in plan.topics]
        described = self._described or self._tool("TopicCommand", "--describe")
        settings, layouts = printed.topic_settings(described), printed.topic_layouts(described)
        effective["topic"] = joined(settings.get(name, {}) for name in names)
        effective["topic/layout"] = joined(layouts.get(name, {}) for name in names)
        return effective

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client
        return Endpoints(layout.service_url(self.processes), {**plan.overrides_for(CLIENT), **promised})

    def messages_stored(self) -> int:
        topics = self._planned().topics
        pattern, expected = "|".join(topic.name for topic in topics), sum(topic.partitions for topic in topics)
        output = self._tool("GetOffsetShell", "--topic", pattern, "--time", "latest")
        offsets = printed.end_offsets(output)
        if len(offsets) != expected:
            raise DeploymentError(
                f"kafka: got the end offsets of only {len(offsets)} of {expected} partitions: {output[-400:]}"
            )
        return sum(offsets.values())

    def leaders(self) -> Mapping[str, int]:
        names = [topic.name for topic in self._planned().topics]
        led = Counter(each.leader for each in printed.partitions(self._described) if each.topic in names)
        return {node.host.name: led[str(layout.node_id(node))] for node in self.processes if node.daemon == "broker"}

    def under_replicated(self) -> Sequence[str]:
        found = self._wire.partitions()
        return [f"{each.topic}-{each.number}" for each in found if each.lacks]

    def placement(self, topic: int, partition: int) -> Placement:
        name = self._planned().topic_at(topic, partition).name
        brokers = {str(layout.node_id(node)): node for node in self.processes if node.daemon == "broker"}
        for each in self._wire.partitions([name]):
            if each.number == partition and each.leader in brokers:
                others = (brokers[number] for number in each.replicas if number != each.leader)
                return Placement(brokers[each.leader], tuple(others))
        raise DeploymentError(f"kafka: nobody leads {name}-{partition} now.")

    def coordinator(self) -> Process:
        """KRaft's active controller."""
        active = self._wire.active_controller()
        for node in self.processes:
            if layout.node_id(node) == active:
                return node
        raise DeploymentError("kafka: the controllers have no leader now.")

    def start_again(self, process: Process) -> None:
        """On an empty disk it is formatted as at first, for the same cluster and under the same node id (kafka-storage.sh format), and
        fetches everything from the others: first the metadata, then each partition as a follower.
        """
        self._start(process)
        await_ready("kafka: starting again", [process], _joined, limit_s=START_LIMIT_S)

    def data_of(self, process: Process) -> Sequence[str]:
        return layout.log_dirs(process)

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("kafka: call install and configure first.")
        return self._plan

    def _software_of(self, node: Process) -> str:
        return f"{node.host.record.root}/{self._software}"

    def _start(self, node: Process) -> None:
        self._format(node)
        software, plan = self._software_of(node), self._planned()
        daemons.start(node.host, [jvm.daemon(node, software, "kafka.Kafka", plan=plan)])

    def _format(self, node: Process) -> None:
        """Once per wipe. The data directories are made here, not in `configure`: a reset may come between."""
        software, prime = self._software_of(node), self._planned().prime
        arguments = ("format", "-t", CLUSTER_ID, "-c", node.config_path)
        tool = shlex.join(layout.tool_argv(node, software, layout.FORMAT_TOOL, *arguments, prime=prime))
        kept = f"{software}/formatted/{CLUSTER_ID}"
        command = layout.format_command(layout.log_dirs(node), node.config_path, kept, tool, anew=prime)
        node.host.run(command, timeout_s=FORMAT_TIMEOUT_S)

    def _tool(self, tool: str, *arguments: str, controller: Process | None = None) -> str:
        """What a tool prints that asks the brokers, or one controller on its own host. Raises DeploymentError."""
        node = controller or layout.asked(self.processes)
        server = ("--bootstrap-server", layout.service_url(self.processes))
        if controller is not None:
            server = ("--bootstrap-controller", f"{node.address}:{layout.CONTROLLER_PORT}")
        main_class = self._facts.programs.get(tool, f"org.apache.kafka.tools.{tool}")
        # one of them suffices, and several at once would write into one file
        prime = self._planned().prime and tool == "ConfigCommand"
        words = (*server, "--command-config", f"{node.etc}/tool.properties", *arguments)
        argv = layout.tool_argv(node, self._software_of(node), main_class, *words, prime=prime)
        try:
            return node.host.run(shlex.join(argv), timeout_s=TOOL_TIMEOUT_S).stdout
        except HostError as error:
            raise DeploymentError(f"kafka: {tool} {' '.join(arguments)} failed: {error}") from error

    def _configs(self, controller: Process | None) -> dict[str, dict[str, str]]:
        """Node id -> settings: of all brokers, or of one controller."""
        one = () if controller is None else ("--entity-name", str(layout.node_id(controller)))
        arguments = ("--describe", "--all", "--entity-type", "brokers", *one)
        return printed.configs(self._tool("ConfigCommand", *arguments, controller=controller))


def _joined(node: Process) -> Probe:
    # it says so when it is registered with the controllers' quorum and may serve, not merely when it listens
    return Probe(f"{node.component} to join", ("Kafka Server started",), path=node.log_path)
