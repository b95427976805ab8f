"""The verbs that put Kafka on hosts: whole files, nodes, Kafka's own tools. It never dials a broker from the operator's machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shlex import quote

from provisioning import class_data, daemons
from provisioning.daemons import Daemon
from provisioning.deployment import PARTITION_LIMIT_S, TOPIC_LIMIT_S, DaemonState, Endpoints, Plan, SoftwareStore, Topic
from provisioning.errors import DeploymentError, HostError
from provisioning.evidence import fetch_evidence
from provisioning.host import Host, on_all
from provisioning.jvm import read_flags, shell
from provisioning.kafka import layout, printed
from provisioning.kafka.durability import level_settings
from provisioning.overrides import CLIENT, check_overrides, overrides_for
from provisioning.placement import place
from provisioning.settings import Settings, joined

CLUSTER_ID = "c2FtZWJveC1rYWZrYS0wMQ"  # any 16 bytes in base64; every trial's cluster starts from nothing
FORMAT_TIMEOUT_S = 120.0
START_LIMIT_S = 180.0  # generous: a death is noticed at once anyway
TOOL_TIMEOUT_S = 120.0
TOOLS_AT_ONCE = 2
STOP_GRACE_S = 15.0


class KafkaDeployment:
    """Kafka with KRaft: controllers on the metadata hosts, or combined with the brokers; see `Deployment` for the verbs."""

    system = "kafka"
    storing_daemon = "broker"

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._store = store
        self._nodes = layout.nodes(hosts)
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts())

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        rendered, intended = self._render(plan)
        logs = {node.host.name: node.log_path for node in self._nodes}
        on_all(
            "kafka: writing configuration",
            self._hosts(),
            lambda host: place(host, rendered[host.name], emptied=[logs[host.name]]),
        )
        self._plan = plan
        self._topic_settings = intended["topic"]
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Every host's files (path -> content), and the settings in them."""
        level = level_settings(plan.durability)
        rendered = {node.host.name: layout.files(node, self._nodes, plan) for node in self._nodes}
        intended: dict[str, dict[str, str]] = {}
        for node in self._nodes:
            intended |= layout.settings_of(node, rendered[node.host.name])
        intended["topic"] = level.topic | overrides_for(plan, "topic")
        intended["topic/layout"] = {
            "partitions": str(plan.topics[0].partitions),
            "replication.factor": str(layout.replicas(self._nodes)),
        }
        check_overrides(plan, intended.keys() - {"topic/layout"})
        return rendered, intended

    def class_data_there(self) -> bool:
        return class_data.there([(node.host, node.daemon) for node in self._nodes], self._software)

    def keep_class_data(self) -> None:
        class_data.keep(self._hosts(), self._software)

    def start(self) -> None:
        if self._planned().record_class_data:
            class_data.prepare(self._hosts(), self._software)
        nodes = {node.host.name: node for node in self._nodes}
        on_all("kafka: formatting", self._hosts(), lambda host: self._format(nodes[host.name]))
        on_all("kafka: starting", self._hosts(), lambda host: self._start(nodes[host.name]))
        # A node says so when it is registered with the controllers' quorum and may serve, not merely when it listens.
        probes = {
            node.host.name: [daemons.Probe(f"{node.component} to join", ("Kafka Server started",), path=node.log_path)]
            for node in self._nodes
        }
        names = {node.host.name: [node.daemon] for node in self._nodes}
        daemons.await_ready("kafka: starting", probes, names, self._hosts(), limit_s=START_LIMIT_S)

    def create_topics(self) -> None:
        plan = self._planned()
        topics = [*plan.topics, plan.probe]
        # a JVM each: more at once than a small broker host has cores would only get into each other's way
        with ThreadPoolExecutor(max_workers=TOOLS_AT_ONCE) as pool:
            list(pool.map(self._create_topic, topics))
        self._await_complete(topics)

    def _create_topic(self, topic: Topic) -> None:
        create = ["--create", "--if-not-exists", "--topic", topic.name, "--partitions", str(topic.partitions)]
        create += ["--replication-factor", str(layout.replicas(self._nodes))]
        for key, value in self._topic_settings.items():
            create += ["--config", f"{key}={value}"]
        self._tool(self._brokers()[0], "TopicCommand", *create)

    def _await_complete(self, topics: Sequence[Topic]) -> None:
        """Waits until every partition has all its replicas in sync."""
        names, expected = [topic.name for topic in topics], sum(topic.partitions for topic in topics)
        limit_s = TOPIC_LIMIT_S + PARTITION_LIMIT_S * expected
        deadline = time.monotonic() + limit_s
        while True:
            described = printed.partitions(self._tool(self._brokers()[0], "TopicCommand", "--describe"))
            found = [each for each in described if each.topic in names]
            behind = [each for each in found if not each.replicas or set(each.replicas) != set(each.in_sync)]
            if len(found) == expected and not behind:
                return
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"kafka: {', '.join(names)} not complete after {limit_s:g} s: {len(found)} of {expected} "
                    f"partitions there, not in sync: {', '.join(f'{each.topic}-{each.number}' for each in behind) or 'none'}"
                )

    def effective_settings(self) -> Settings:
        plan = self._planned()
        dead = [f"{state.host}: {state.daemon}" for state in self.daemons() if state.pid is None]
        if dead:
            raise DeploymentError(f"kafka: not running any more, so not to be asked: {', '.join(dead)}")
        with ThreadPoolExecutor(max_workers=len(self._nodes) + 3) as pool:
            flags = [(node, pool.submit(self._jvm_flags, node)) for node in self._nodes]
            controllers = [
                (node, pool.submit(self._node_configs, node)) for node in self._nodes if node.daemon == "controller"
            ]
            brokers = pool.submit(self._configs, self._brokers()[0], "--entity-type", "brokers")
            topics = pool.submit(self._configs, self._brokers()[-1], "--entity-type", "topics")
            described = pool.submit(self._tool, self._brokers()[-1], "TopicCommand", "--describe")
        effective = {f"jvm/{node.component}": future.result() for node, future in flags}
        effective |= {node.component: future.result() for node, future in controllers}
        effective |= {node.component: brokers.result().get(str(node.node_id), {}) for node in self._brokers()}
        names = [topic.name for topic in plan.topics]
        layouts = printed.topic_layouts(described.result())
        effective["topic"] = joined(topics.result().get(name, {}) for name in names)
        effective["topic/layout"] = joined(layouts.get(name, {}) for name in names)
        return effective

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client
        return Endpoints(layout.service_url(self._nodes), {**overrides_for(plan, CLIENT), **promised})

    def messages_stored(self) -> int:
        topics = self._planned().topics
        pattern, expected = "|".join(topic.name for topic in topics), sum(topic.partitions for topic in topics)
        output = self._tool(self._brokers()[0], "GetOffsetShell", "--topic", pattern, "--time", "latest")
        offsets = printed.end_offsets(output)
        if len(offsets) != expected:
            raise DeploymentError(f"kafka: end offsets of {len(offsets)} of {expected} partitions: {output[-400:]}")
        return sum(offsets.values())

    def under_replicated(self) -> Sequence[str]:
        output = self._tool(self._brokers()[0], "TopicCommand", "--describe", "--under-replicated-partitions")
        return [f"{each.topic}-{each.number}" for each in printed.partitions(output)]

    def daemons(self) -> Sequence[DaemonState]:
        expected = [(node.host, node.daemon) for node in self._nodes]
        return daemons.expected_states("kafka: looking for daemons", expected)

    def stop(self) -> None:
        # All at once: a combined node that outlives the controllers' quorum waits for it, up to five minutes.
        names = {node.host.name: [node.daemon] for node in self._nodes}
        on_all(
            "kafka: stopping", self._hosts(), lambda host: daemons.stop(host, names[host.name], grace_s=STOP_GRACE_S)
        )

    def collect_logs(self, target: Path) -> None:
        on_all(
            "kafka: fetching logs", self._hosts(), lambda host: fetch_evidence(host, self.system, target / host.name)
        )

    def _hosts(self) -> list[Host]:
        return [node.host for node in self._nodes]

    def _brokers(self) -> list[layout.Node]:
        return [node for node in self._nodes if node.daemon == "broker"]

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("kafka: install and configure come first.")
        return self._plan

    def _software_of(self, node: layout.Node) -> str:
        return f"{node.host.record.root}/{self._software}"

    def _start(self, node: layout.Node) -> None:
        plan = self._planned()
        argv = layout.broker_argv(node, self._software_of(node), record_class_data=plan.record_class_data)
        daemons.start(node.host, [Daemon(node.daemon, argv, node.log_path, niceness=plan.daemon_niceness)])

    def _format(self, node: layout.Node) -> None:
        """Once per wipe. The data directories are made here, not in `configure`: a reset may come between."""
        directories = " ".join(quote(path) for path in node.log_dirs)
        argv = ("format", "-t", CLUSTER_ID, "-c", node.config_path)
        storage_tool = shell(layout.tool_argv(node, self._software_of(node), "kafka.tools.StorageTool", *argv))
        marker = quote(f"{node.log_dirs[0]}/meta.properties")
        command = f"mkdir -p {directories} && {{ test -f {marker} || {storage_tool}; }}"
        node.host.run(command, timeout_s=FORMAT_TIMEOUT_S)

    def _tool(self, node: layout.Node, tool: str, *arguments: str, server: str = "--bootstrap-server") -> str:
        if server == "--bootstrap-server":
            address = layout.service_url(self._nodes)
        else:
            address = f"{node.host.record.address}:{layout.CONTROLLER_PORT}"
        config = ("--command-config", f"{node.etc}/tool.properties")
        package = "kafka.admin" if tool == "ConfigCommand" else "org.apache.kafka.tools"
        argv = layout.tool_argv(
            node, self._software_of(node), f"{package}.{tool}", server, address, *config, *arguments
        )
        try:
            return node.host.run(shell(argv), timeout_s=TOOL_TIMEOUT_S).stdout
        except HostError as error:
            raise DeploymentError(f"kafka: {tool} {' '.join(arguments)} failed: {error}") from error

    def _configs(self, node: layout.Node, *entity: str) -> dict[str, dict[str, str]]:
        return printed.configs(self._tool(node, "ConfigCommand", "--describe", "--all", *entity))

    def _node_configs(self, node: layout.Node) -> dict[str, str]:
        entity = ("--describe", "--all", "--entity-type", "brokers", "--entity-name", str(node.node_id))
        output = self._tool(node, "ConfigCommand", *entity, server="--bootstrap-controller")
        return printed.configs(output).get(str(node.node_id), {})

    def _jvm_flags(self, node: layout.Node) -> dict[str, str]:
        pid = daemons.running(node.host).get(node.daemon)
        if pid is None:
            raise DeploymentError(f"{node.host.name}: {node.daemon} doesn't run any more.")
        return read_flags(node.host, {node.daemon: pid})[node.daemon]
