"""Which Kafka process runs on which host, with which addresses, files and commands. It renders and touches no host.

Its `daemon` is "broker" (with or without a controller in it) or "controller".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from contract.durability import quorum_of
from provisioning.hosts.host import Host
from systems.deployment import Plan, Topic
from systems.jvm import processes as jvm
from systems.kafka.wire import NewTopic
from systems.processes import Process, hosts_for, on_each
from systems.profile import memory_classes
from systems.rendering import render
from systems.settings import NOTHING, Settings

CLIENT_PORT = 9092
CONTROLLER_PORT = 9093
FIRST_CONTROLLER_ID = 101
MEMORY = memory_classes(Path(__file__).with_name("memory.toml"))


def nodes(hosts: Sequence[Host]) -> tuple[Process, ...]:
    """Controllers on the metadata hosts where there are any, else combined with the brokers. Raises DeploymentError."""
    brokers, metadata = hosts_for("kafka", hosts)
    controllers = on_each("kafka", "controller", metadata, "controller.properties")
    return on_each("kafka", "broker", brokers, "broker.properties") + controllers


def node_id(node: Process) -> int:
    return node.number if node.daemon == "broker" else FIRST_CONTROLLER_ID + node.number - 1


def port(node: Process) -> int:
    """Where it answers questions about itself."""
    return CLIENT_PORT if node.daemon == "broker" else CONTROLLER_PORT


def log_dirs(node: Process) -> tuple[str, ...]:
    return tuple(f"{data_dir.path}/kafka" for data_dir in node.host.record.data_dirs)


def offsets_topic(broker: Mapping[str, str]) -> NewTopic:
    """Where consumer groups keep their offsets, as a broker with these settings would make it.

    A broker makes it when the first consumer asks for its group, and tells that consumer to retry; one that comes after the others
    then waits for their next heartbeat. Made with the trial's own topics it is there before any consumer.
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


def service_url(all_nodes: Sequence[Process]) -> str:
    """The bootstrap string of Kafka clients."""
    return ",".join(f"{node.address}:{CLIENT_PORT}" for node in all_nodes if node.daemon == "broker")


def _properties(node: Process, all_nodes: Sequence[Process], plan: Plan) -> str:
    """The node's whole server.properties, before the plan's overrides."""
    voters = [each for each in all_nodes if each.daemon == "controller"] or all_nodes
    is_broker, is_controller = node.daemon == "broker", node in voters
    listeners = [f"PLAINTEXT://{node.address}:{CLIENT_PORT}"] * is_broker
    listeners += [f"CONTROLLER://{node.address}:{CONTROLLER_PORT}"] * is_controller
    return render(
        "kafka/templates/server.properties.j2",
        roles=",".join(["broker"] * is_broker + ["controller"] * is_controller),
        node_id=node_id(node),
        is_broker=is_broker,
        address=node.address,
        client_port=CLIENT_PORT,
        listeners=",".join(listeners),
        voters=",".join(f"{node_id(each)}@{each.address}:{CONTROLLER_PORT}" for each in voters),
        log_dirs=",".join(log_dirs(node)),
        replicas=plan.replication_factor,
        min_insync_replicas=quorum_of(plan.replication_factor),
    )


def files(node: Process, all_nodes: Sequence[Process], plan: Plan, lacks: Settings = NOTHING) -> dict[str, str]:
    """Every file of the node: path -> content. `lacks`: see `jvm.files`."""
    heap = MEMORY.of(node.daemon, plan.memory)["heap"]
    config = _properties(node, all_nodes, plan)
    return jvm.files(node, plan, config=config, arguments="broker.jvm.j2", lacks=lacks, heap=heap)


def format_argv(node: Process, software: str, cluster_id: str) -> tuple[str, ...]:
    """What formats the node's data directories for a cluster, on the node's host."""
    arguments = ("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", node.config_path)
    return ("java", f"@{jvm.tool_arguments(node)}", "-cp", f"{software}/{jvm.LIBS}/*", *arguments)


def format_command(log_dirs: Sequence[str], config_path: str, kept: str, tool: str) -> str:
    """A shell command that gives a node's data directories their first content, unless they have it.

    `tool` is the shell command that formats. It is a JVM: seconds of computing on each of the nodes, for some hundred bytes that are
    the same for the same configuration but for random ids. What it has written once is therefore kept in the folder `kept`, by the
    configuration file's SHA-256, and given again to the same configuration.
    """
    places = [(quote(path), f'"$kept"/{number}') for number, path in enumerate(log_dirs)]
    directories = " ".join(path for path, _ in places)
    take = " && ".join(f"cp -a {place}/. {path}/" for path, place in places)
    keep = " && ".join(f'cp -a {path} "$new"/{number}' for number, (path, _) in enumerate(places))
    return (
        f"mkdir -p {directories} && test -f {places[0][0]}/meta.properties && exit 0\n"
        f"kept={quote(kept)}/$(sha256sum < {quote(config_path)} | cut -c1-16) && new=$kept.new || exit 1\n"
        f'if test -d "$kept"; then {take}; exit; fi\n'
        # renamed when it is whole: half of it must never be taken
        f'{tool} && rm -rf "$kept" "$new" && mkdir -p "$new" && {keep} && mv "$new" "$kept"'
    )


def asked(all_nodes: Sequence[Process]) -> list[Process]:
    """The brokers in the order in which they are asked what any of them knows: the same in whatever order the hosts are given."""
    return sorted((node for node in all_nodes if node.daemon == "broker"), key=lambda node: node.host.name)
