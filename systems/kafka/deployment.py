"""The verbs that put Kafka on hosts. Every question to a broker is asked on its host, by Kafka's own protocol."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import Probe
from provisioning.hosts.host import Host, on_all
from systems.deployment import CLIENT, Endpoints, Placement, Plan, SoftwareStore
from systems.jvm import class_data
from systems.jvm import processes as jvm
from systems.jvm.readback import Evidence, look
from systems.kafka import layout
from systems.kafka.durability import level_settings
from systems.kafka.wire import QUICK_S, NewTopic, Partition, Setting, Wire, layout_of
from systems.processes import Process, await_ready, hosts_of, place, running
from systems.release import facts_of
from systems.settings import Settings, joined

CLUSTER_ID = "c2FtZWJveC1rYWZrYS0wMQ"  # any 16 bytes in base64; every trial's cluster starts from nothing
FORMAT_TIMEOUT_S = 600.0
START_LIMIT_S = 600.0  # generous: brokers give way to others, and a death is noticed at once anyway


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
        self._complete: list[Partition] = []  # as they were when all were complete
        self._wire = Wire(layout.asked(self.processes), layout.CLIENT_PORT)

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts)

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        rendered, intended = self._render(plan)
        place(self.processes, rendered)
        self._plan, self._intended, self._complete = plan, intended, []
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
        return class_data.there([(node.host, node.daemon) for node in self.processes], self._software)

    def keep_priming(self) -> None:
        class_data.keep(self._hosts, self._software)

    def start(self) -> None:
        nodes = {node.host.name: node for node in self.processes}
        on_all("kafka: formatting and starting", self._hosts, lambda host: self._start(nodes[host.name]))
        await_ready("kafka: starting", self.processes, _joined, limit_s=START_LIMIT_S)

    def create_topics(self) -> None:
        plan = self._planned()
        offsets = layout.offsets_topic(self._intended[self.processes[0].component])
        own = [
            NewTopic(topic, plan.replication_factor, self._intended["topic"]) for topic in (plan.probe, *plan.topics)
        ]
        self._complete = self._wire.create([offsets, *own])

    def effective_settings(self) -> Settings:
        plan, pids = self._planned(), running(self.processes)
        nodes = {node.host.name: node for node in self.processes}

        def read(host: Host) -> tuple[Evidence, dict[str, Setting]]:
            return look(host, pids[host.name]), _settings_of(nodes[host.name])

        effective: dict[str, dict[str, str]] = {}
        for name, (evidence, settings) in on_all("kafka: reading settings", self._hosts, read).items():
            node = nodes[name]
            effective[f"jvm/{node.component}"] = evidence.flags[node.daemon]
            effective[node.component] = {key: each.text for key, each in settings.items()}
        names = self._measured()
        told, found = self._wire.settings("topic", names), self._wire.partitions(names)
        effective["topic"] = joined(
            {key: each.text for key, each in told[name].items() if not each.default} for name in names
        )
        effective["topic/layout"] = joined(layout_of(topic, found) for topic in plan.topics)
        return effective

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client
        return Endpoints(layout.service_url(self.processes), {**plan.overrides_for(CLIENT), **promised})

    def messages_stored(self) -> int:
        offsets = self._wire.end_offsets(self._measured())
        expected = sum(topic.partitions for topic in self._planned().topics)
        if len(offsets) != expected:
            raise DeploymentError(f"kafka: got the end offsets of only {len(offsets)} of {expected} partitions")
        return sum(offsets.values())

    def leaders(self) -> Mapping[str, int]:
        names = self._measured()
        led = Counter(each.leader for each in self._complete if each.topic in names)
        return {node.host.name: led[layout.node_id(node)] for node in self.processes if node.daemon == "broker"}

    def under_replicated(self) -> Sequence[str]:
        return [each.name for each in self._wire.partitions(answer_s=QUICK_S) if each.lacks]

    def placement(self, topic: int, partition: int) -> Placement:
        name = self._planned().topic_at(topic, partition).name
        brokers = {layout.node_id(node): node for node in self.processes if node.daemon == "broker"}
        for each in self._wire.partitions([name], answer_s=QUICK_S):
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

    def _measured(self) -> list[str]:
        """The plan's topics."""
        return [topic.name for topic in self._planned().topics]

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
        software = self._software_of(node)
        kept = f"{software}/formatted/{CLUSTER_ID}"
        tool = shlex.join(layout.format_argv(node, software, CLUSTER_ID))
        node.host.run(
            layout.format_command(layout.log_dirs(node), node.config_path, kept, tool), timeout_s=FORMAT_TIMEOUT_S
        )


def _settings_of(node: Process) -> dict[str, Setting]:
    """As it tells them itself: no other node knows them."""
    name = str(layout.node_id(node))
    return Wire([node], layout.port(node)).settings("node", [name])[name]


def _joined(node: Process) -> Probe:
    # it says so when it is registered with the controllers' quorum and may serve, not merely when it listens
    return Probe(f"{node.component} to join", ("Kafka Server started",), path=node.log_path)
