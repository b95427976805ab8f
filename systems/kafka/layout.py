"""Which Kafka process runs on which host, with which addresses and paths. Pure: it renders files, it touches no host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.durability import quorum_of
from provisioning.errors import DeploymentError
from provisioning.hosts.host import Host
from systems.deployment import Plan, Topic
from systems.jvm.class_data import flag
from systems.jvm.processes import java
from systems.jvm.rendering import jvm_flags, override_jvm_flags, override_properties, properties
from systems.overrides import overrides_for
from systems.placement import scratch
from systems.rendering import render

CLIENT_PORT = 9092
CONTROLLER_PORT = 9093
LIBS = "/libs"
FIRST_CONTROLLER_ID = 101
FORMAT_TOOL = "kafka.tools.StorageTool"
FORMAT, ADMIN = "format", "admin"  # the tools' class data
DEFAULT_HEAP = {"broker": "512m", "controller": "256m"}


@dataclass(frozen=True)
class Node:
    """One Kafka process. Its `daemon` is "broker" (a broker, with or without a controller in it) or "controller"."""

    host: Host
    node_id: int
    roles: str

    @property
    def daemon(self) -> str:
        return "broker" if "broker" in self.roles else "controller"

    @property
    def etc(self) -> str:
        return f"{self.host.record.root}/etc/kafka"

    @property
    def config_path(self) -> str:
        return f"{self.etc}/{self.daemon}.properties"

    @property
    def log_path(self) -> str:
        return f"{self.host.record.root}/log/kafka-{self.daemon}.log"

    @property
    def component(self) -> str:
        return f"{self.daemon}/{self.host.name}"

    @property
    def log_dirs(self) -> tuple[str, ...]:
        return tuple(f"{data_dir.path}/kafka" for data_dir in self.host.record.data_dirs)


@dataclass(frozen=True)
class NewTopic:
    """A topic as it is to be made."""

    topic: Topic
    replicas: int
    settings: Mapping[str, str]


def nodes(hosts: Sequence[Host]) -> tuple[Node, ...]:
    """Controllers on the metadata hosts where there are any, else combined with the brokers. Raises DeploymentError."""
    brokers = [host for host in hosts if host.record.role == "broker"]
    metadata = [host for host in hosts if host.record.role == "metadata"]
    if not brokers:
        raise DeploymentError("kafka needs hosts of role broker; the inventory has none.")
    for host in brokers + metadata:
        if not host.record.data_dirs:
            raise DeploymentError(f"{host.name}: kafka needs a data directory; the inventory lists none for this host.")
    roles = "broker" if metadata else "broker,controller"
    controllers = [Node(host, FIRST_CONTROLLER_ID + at, "controller") for at, host in enumerate(metadata)]
    return tuple([Node(host, at, roles) for at, host in enumerate(brokers, start=1)] + controllers)


def offsets_topic(broker: Mapping[str, str]) -> NewTopic:
    """Where groups of consumers keep their offsets, as a broker of these settings would make it.

    A broker makes it when the first consumer asks for its group, and tells that one to come again later; who then comes after the
    others waits for their next heartbeat. Made with the trial's own topics it is there before them.
    """
    return NewTopic(
        Topic("__consumer_offsets", int(broker["offsets.topic.num.partitions"])),
        int(broker["offsets.topic.replication.factor"]),
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": broker.get("offsets.topic.segment.bytes", "104857600"),
        },
    )


def service_url(all_nodes: Sequence[Node]) -> str:
    """The bootstrap string of Kafka clients."""
    return ",".join(f"{node.host.record.address}:{CLIENT_PORT}" for node in all_nodes if node.daemon == "broker")


def render_properties(node: Node, all_nodes: Sequence[Node], plan: Plan) -> str:
    """The node's whole server.properties."""
    address = node.host.record.address
    is_broker, is_controller = "broker" in node.roles, "controller" in node.roles
    listeners = [f"PLAINTEXT://{address}:{CLIENT_PORT}"] * is_broker
    listeners += [f"CONTROLLER://{address}:{CONTROLLER_PORT}"] * is_controller
    voters = [each for each in all_nodes if "controller" in each.roles]
    text = render(
        "kafka/templates/server.properties.j2",
        roles=node.roles,
        node_id=node.node_id,
        is_broker=is_broker,
        address=address,
        client_port=CLIENT_PORT,
        listeners=",".join(listeners),
        voters=",".join(f"{each.node_id}@{each.host.record.address}:{CONTROLLER_PORT}" for each in voters),
        log_dirs=",".join(node.log_dirs),
        replicas=plan.replication_factor,
        min_insync_replicas=quorum_of(plan.replication_factor),
    )
    return override_properties(text, overrides_for(plan, node.component))


def render_jvm(node: Node, plan: Plan) -> str:
    """The node's whole Java argument file."""
    heap = plan.memory.get(node.daemon, {}).get("heap", DEFAULT_HEAP[node.daemon])
    text = render(
        "kafka/templates/broker.jvm.j2", heap=heap, log4j2=f"{node.etc}/log4j2.properties", tmp=scratch(node.host)
    )
    return override_jvm_flags(text, overrides_for(plan, f"jvm/{node.component}"))


def files(node: Node, all_nodes: Sequence[Node], plan: Plan) -> dict[str, str]:
    """Every file of the node: path -> content."""
    return {
        node.config_path: render_properties(node, all_nodes, plan),
        f"{node.etc}/{node.daemon}.jvm": render_jvm(node, plan),
        f"{node.etc}/tool.jvm": render("kafka/templates/tool.jvm.j2", tmp=scratch(node.host)),
        f"{node.etc}/tool.properties": render("kafka/templates/tool.properties.j2"),
        f"{node.etc}/log4j2.properties": render("kafka/templates/log4j2.properties.j2"),
    }


def settings_of(node: Node, rendered: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The node's intended settings, from its rendered files."""
    return {
        node.component: properties(rendered[node.config_path]),
        f"jvm/{node.component}": jvm_flags(rendered[f"{node.etc}/{node.daemon}.jvm"]),
    }


def broker_argv(node: Node, software: str, *, prime: bool) -> tuple[str, ...]:
    """What starts the node; `software` is where its software lies on the host."""
    class_data = flag(software, node.daemon, record=prime)
    return java(
        f"{node.etc}/{node.daemon}.jvm", software + LIBS, "kafka.Kafka", node.config_path, class_data=class_data
    )


def tool_argv(node: Node, software: str, tool: str, *arguments: str, prime: bool = False) -> tuple[str, ...]:
    """What runs one of Kafka's own tools (its class) on the node's host. Those that ask brokers share their class data."""
    class_data = flag(software, FORMAT if tool == FORMAT_TOOL else ADMIN, record=prime)
    return java(f"{node.etc}/tool.jvm", software + LIBS, tool, *arguments, class_data=class_data)


def with_class_data(all_nodes: Sequence[Node]) -> list[tuple[Host, str]]:
    """Each kind of process that leaves its class data on a host."""
    asking = [node for node in all_nodes if node.daemon == "controller"] + [asked(all_nodes)]
    kinds = [(node.host, node.daemon) for node in all_nodes] + [(node.host, FORMAT) for node in all_nodes]
    return kinds + [(node.host, ADMIN) for node in asking]


def asked(all_nodes: Sequence[Node]) -> Node:
    """The broker on whose host the tools run that ask any of them: the same in whatever order the hosts are given."""
    return min((node for node in all_nodes if node.daemon == "broker"), key=lambda node: node.host.name)
