"""Which NATS server runs on which host, with which addresses and files. It renders and touches no host.

One server on each broker host; together they are the cluster that keeps the metadata, so hosts for metadata have nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from provisioning.hosts.daemons import Daemon
from provisioning.hosts.host import Host
from systems.deployment import Plan, Topic
from systems.nats.config_text import digest, override, settings_of, without
from systems.nats.durability import LevelSettings
from systems.processes import Process, hosts_for, on_each
from systems.profile import memory_classes
from systems.rendering import render
from systems.settings import NOTHING, Settings

CLIENT_PORT = 4222
CLUSTER_PORT = 6222
MONITOR_PORT = 8222
SERVER = "server"
PROGRAM = "nats-server"
# The setting under which the digest of all that a server has read stands beside what is in its file.
DIGEST = "config_digest"
MEMORY_LIMIT = "GOMEMLIMIT"
MEMORY = memory_classes(Path(__file__).with_name("memory.toml"))
# As Go's runtime, and the server at its start, say it.
OUT_OF_MEMORY = "runtime: out of memory|runtime: cannot allocate memory"


def servers(hosts: Sequence[Host]) -> tuple[Process, ...]:
    """One on each broker host. Raises DeploymentError."""
    brokers, _ = hosts_for("nats", hosts)
    return on_each("nats", SERVER, brokers, "nats-server.conf")


def store_dir(server: Process) -> str:
    """Where a server keeps its streams, its logs and its metadata: it takes one directory, so the host's first."""
    return f"{server.host.record.data_dirs[0].path}/nats"


def service_url(all_servers: Sequence[Process]) -> str:
    """The servers of which a client takes any."""
    return ",".join(f"{server.address}:{CLIENT_PORT}" for server in all_servers)


def monitor_url(server: Process, path: str) -> str:
    """An address of the server's own account."""
    return f"http://{server.address}:{MONITOR_PORT}/{path}"


def stream_names(topic: Topic) -> tuple[str, ...]:
    """A topic's streams in order of its partitions: a stream is NATS' unit of order, of replication and of a leader."""
    return tuple(f"{topic.name}-{partition}" for partition in range(topic.partitions))


def subjects(topic: Topic, partition: int) -> tuple[str, str]:
    """What a partition's stream takes: messages without a key, and those with one, which is the subject's last part."""
    return f"{topic.name}.{partition}", f"{topic.name}.{partition}.*"


def config(
    server: Process, all_servers: Sequence[Process], plan: Plan, level: LevelSettings, lacks: Settings = NOTHING
) -> str:
    """The server's whole file, the plan's overrides in it. `lacks`: kind of process -> settings that its version doesn't know."""
    alone = len(all_servers) == 1
    text = render(
        "nats/templates/nats-server.conf.j2",
        name=server.host.name,
        address=server.address,
        client_port=CLIENT_PORT,
        monitor_port=MONITOR_PORT,
        cluster_port=CLUSTER_PORT,
        store_dir=store_dir(server),
        sync_interval=level.sync_interval,
        routes=[] if alone else [f"nats://{each.address}:{CLUSTER_PORT}" for each in all_servers],
    )
    return override(without(text, lacks.get(SERVER, {})), plan.overrides_for(server.component))


def memory_limit(server: Process, plan: Plan) -> str:
    """How much memory the server's runtime tries to do with, in bytes; "off" where there is no limit."""
    overridden = plan.overrides_for(runtime_component(server)).get(MEMORY_LIMIT)
    return overridden or MEMORY.of(SERVER, plan.memory)["limit"]


def runtime_component(server: Process) -> str:
    """Under which name the settings of the server's Go runtime stand."""
    return f"go/{server.component}"


def intended(server: Process, text: str, plan: Plan) -> dict[str, dict[str, str]]:
    """The server's settings, from its rendered file, and its runtime's."""
    runtime = {MEMORY_LIMIT: memory_limit(server, plan)} | plan.overrides_for(runtime_component(server))
    return {server.component: settings_of(text) | {DIGEST: digest(text)}, runtime_component(server): runtime}


def daemon(server: Process, software: str, plan: Plan) -> Daemon:
    """The server's process."""
    return Daemon(
        SERVER,
        (f"{software}/bin/{PROGRAM}", "-c", server.config_path),
        server.log_path,
        env={MEMORY_LIMIT: memory_limit(server, plan)},
        niceness=plan.daemon_niceness,
        out_of_memory=OUT_OF_MEMORY,
    )
