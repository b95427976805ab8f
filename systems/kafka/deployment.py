"""The verbs that put Kafka on hosts: whole files, nodes, Kafka's own tools. It never dials a broker from the operator's machine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from provisioning.errors import DeploymentError, HostError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import DaemonState
from provisioning.hosts.host import Host, on_all
from systems.deployment import PARTITION_LIMIT_S, TOPIC_LIMIT_S, Endpoints, Plan, SoftwareStore, Topic, require_hosts
from systems.evidence import fetch_evidence
from systems.jvm import class_data
from systems.jvm.processes import daemon, read_flags, shell
from systems.kafka import layout, printed
from systems.kafka.durability import level_settings
from systems.kafka.formatting import format_command
from systems.overrides import CLIENT, check_overrides, overrides_for
from systems.placement import place
from systems.settings import Settings, joined

CLUSTER_ID = "c2FtZWJveC1rYWZrYS0wMQ"  # any 16 bytes in base64; every trial's cluster starts from nothing
FORMAT_TIMEOUT_S = 600.0
START_LIMIT_S = 600.0  # generous: brokers give way to others, and a death is noticed at once anyway
TOOL_TIMEOUT_S = 600.0
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
        self._intended: Settings = {}
        self._described = ""  # the topics, as the brokers showed them when they were complete

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
        self._described = ""
        self._intended = intended
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Every host's files (path -> content), and the settings in them."""
        level = level_settings(plan.durability)
        require_hosts(self.system, plan, sum(node.daemon == "broker" for node in self._nodes))
        rendered = {node.host.name: layout.files(node, self._nodes, plan) for node in self._nodes}
        intended: dict[str, dict[str, str]] = {}
        for node in self._nodes:
            intended |= layout.settings_of(node, rendered[node.host.name])
        intended["topic"] = level.topic(plan.replication_factor) | overrides_for(plan, "topic")
        intended["topic/layout"] = {
            "partitions": str(plan.topics[0].partitions),
            "replication.factor": str(plan.replication_factor),
        }
        check_overrides(plan, intended.keys() - {"topic/layout"})
        return rendered, intended

    def primed(self) -> bool:
        return class_data.there(layout.with_class_data(self._nodes), self._software)

    def keep_priming(self) -> None:
        class_data.keep(self._hosts(), self._software)

    def start(self) -> None:
        if self._planned().prime:
            class_data.prepare(self._hosts(), self._software)
        nodes = {node.host.name: node for node in self._nodes}
        on_all("kafka: formatting and starting", self._hosts(), lambda host: self._start(nodes[host.name]))
        # A node says so when it is registered with the controllers' quorum and may serve, not merely when it listens.
        probes = {
            node.host.name: [daemons.Probe(f"{node.component} to join", ("Kafka Server started",), path=node.log_path)]
            for node in self._nodes
        }
        names = {node.host.name: [node.daemon] for node in self._nodes}
        daemons.await_ready("kafka: starting", probes, names, self._hosts(), limit_s=START_LIMIT_S)

    def create_topics(self) -> None:
        plan = self._planned()
        own = [
            layout.NewTopic(topic, plan.replication_factor, self._intended["topic"])
            for topic in (plan.probe, *plan.topics)
        ]
        # the small ones first: brokers make partitions one after the other, and these would wait behind the others'
        topics = [layout.offsets_topic(self._intended[self._nodes[0].component]), *own]
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
                    f"partitions there, not in sync: {', '.join(f'{each.topic}-{each.number}' for each in behind) or 'none'}"
                )

    def effective_settings(self) -> Settings:
        plan = self._planned()
        states = self.daemons()
        dead = [f"{state.host}: {state.daemon}" for state in states if state.pid is None]
        if dead:
            raise DeploymentError(f"kafka: not running any more, so not to be asked: {', '.join(dead)}")
        pids = {state.host: {state.daemon: state.pid} for state in states if state.pid is not None}
        controllers = [node for node in self._nodes if node.daemon == "controller"]
        with ThreadPoolExecutor(max_workers=len(self._nodes) + 2) as pool:
            flags = pool.submit(
                on_all, "kafka: reading flags", self._hosts(), lambda host: read_flags(host, pids[host.name])
            )
            brokers = pool.submit(self._broker_configs)
            of_controllers = pool.map(self._controller_configs, controllers)
        effective = {f"jvm/{node.component}": flags.result()[node.host.name][node.daemon] for node in self._nodes}
        effective |= {node.component: settings for node, settings in zip(controllers, of_controllers, strict=True)}
        effective |= {
            node.component: brokers.result().get(str(node.node_id), {})
            for node in self._nodes
            if node.daemon == "broker"
        }
        names = [topic.name for topic in plan.topics]
        described = self._described or self._tool("TopicCommand", "--describe")
        settings, layouts = printed.topic_settings(described), printed.topic_layouts(described)
        effective["topic"] = joined(settings.get(name, {}) for name in names)
        effective["topic/layout"] = joined(layouts.get(name, {}) for name in names)
        return effective

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client
        return Endpoints(layout.service_url(self._nodes), {**overrides_for(plan, CLIENT), **promised})

    def messages_stored(self) -> int:
        topics = self._planned().topics
        pattern, expected = "|".join(topic.name for topic in topics), sum(topic.partitions for topic in topics)
        output = self._tool("GetOffsetShell", "--topic", pattern, "--time", "latest")
        offsets = printed.end_offsets(output)
        if len(offsets) != expected:
            raise DeploymentError(f"kafka: end offsets of {len(offsets)} of {expected} partitions: {output[-400:]}")
        return sum(offsets.values())

    def leaders(self) -> Mapping[str, int]:
        names = [topic.name for topic in self._planned().topics]
        led = Counter(each.leader for each in printed.partitions(self._described) if each.topic in names)
        return {node.host.name: led[str(node.node_id)] for node in self._nodes if node.daemon == "broker"}

    def under_replicated(self) -> Sequence[str]:
        output = self._tool("TopicCommand", "--describe", "--under-replicated-partitions")
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

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("kafka: install and configure come first.")
        return self._plan

    def _software_of(self, node: layout.Node) -> str:
        return f"{node.host.record.root}/{self._software}"

    def _start(self, node: layout.Node) -> None:
        plan = self._planned()
        self._format(node)
        argv = layout.broker_argv(node, self._software_of(node), prime=plan.prime)
        daemons.start(node.host, [daemon(node.daemon, argv, node.log_path, niceness=plan.daemon_niceness)])

    def _format(self, node: layout.Node) -> None:
        """Once per wipe. The data directories are made here, not in `configure`: a reset may come between."""
        software, record = self._software_of(node), self._planned().prime
        arguments = ("format", "-t", CLUSTER_ID, "-c", node.config_path)
        tool = shell(layout.tool_argv(node, software, layout.FORMAT_TOOL, *arguments, prime=record))
        command = format_command(
            node.log_dirs, node.config_path, f"{software}/formatted/{CLUSTER_ID}", tool, anew=record
        )
        node.host.run(command, timeout_s=FORMAT_TIMEOUT_S)

    def _tool(self, tool: str, *arguments: str, controller: layout.Node | None = None) -> str:
        """What a tool prints that asks the brokers, or one controller on its own host. Raises DeploymentError."""
        node = controller or layout.asked(self._nodes)
        server = ("--bootstrap-server", layout.service_url(self._nodes))
        if controller is not None:
            server = ("--bootstrap-controller", f"{node.host.record.address}:{layout.CONTROLLER_PORT}")
        main_class = f"{'kafka.admin' if tool == 'ConfigCommand' else 'org.apache.kafka.tools'}.{tool}"
        # one of them suffices, and several at once would write into one file
        record = self._planned().prime and tool == "ConfigCommand"
        words = (*server, "--command-config", f"{node.etc}/tool.properties", *arguments)
        argv = layout.tool_argv(node, self._software_of(node), main_class, *words, prime=record)
        try:
            return node.host.run(shell(argv), timeout_s=TOOL_TIMEOUT_S).stdout
        except HostError as error:
            raise DeploymentError(f"kafka: {tool} {' '.join(arguments)} failed: {error}") from error

    def _broker_configs(self) -> dict[str, dict[str, str]]:
        """Node id -> settings, of all brokers."""
        return printed.configs(self._tool("ConfigCommand", "--describe", "--all", "--entity-type", "brokers"))

    def _controller_configs(self, node: layout.Node) -> dict[str, str]:
        entity = ("--describe", "--all", "--entity-type", "brokers", "--entity-name", str(node.node_id))
        return printed.configs(self._tool("ConfigCommand", *entity, controller=node)).get(str(node.node_id), {})
