"""Which RabbitMQ node runs on which host, with which addresses, files and flags. It renders and touches no host.

One node on each broker host. Nodes find each other without epmd, Erlang's own directory of nodes: each listens for the others at one
port of its host's address, which is the same on all hosts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from provisioning.hosts.daemons import Daemon, Probe
from provisioning.hosts.host import Host
from systems.deployment import Plan, Topic
from systems.processes import Process, hosts_for, on_each, scratch
from systems.profile import memory_classes
from systems.rabbitmq.config_text import override_settings, settings
from systems.rabbitmq.durability import LevelSettings
from systems.rabbitmq.topic_client import queue_of
from systems.rendering import render

PORT = 5672
NODE_PORT = 25672
SERVER = "server"
# As Erlang's runtime says it when it gives up; a node that is full, but lives, says the other to its log and makes publishers wait.
OUT_OF_MEMORY = r"Cannot (re)?allocate \d+ bytes of memory|memory resource limit alarm set"
MEMORY = memory_classes(Path(__file__).with_name("memory.toml"))
COOKIE = ".erlang.cookie"
# What the vendor's start script gives to Erlang: allocators, limits, and no busy waiting.
_FLAGS = (
    *("-noinput", "-s", "rabbit", "boot", "-boot", "start_sasl"),
    *("+W", "w", "+MBas", "ageffcbf", "+MHas", "ageffcbf", "+MBlmbcs", "512", "+MHlmbcs", "512", "+MMmcs", "30"),
    *("+pc", "unicode", "+P", "1048576", "+t", "5000000", "+stbt", "db", "+zdbbl", "128000"),
    *("+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"),
    *("-syslog", "logger", "[]", "-syslog", "syslog_error_logger", "false"),
    *("-kernel", "prevent_overlapping_partitions", "false"),
)


def servers(hosts: Sequence[Host]) -> tuple[Process, ...]:
    """One on each broker host. Raises DeploymentError."""
    brokers, _ = hosts_for("rabbitmq", hosts)
    return on_each("rabbitmq", SERVER, brokers, "rabbitmq.conf")


def service_url(all_servers: Sequence[Process]) -> str:
    """The nodes of which a client takes any."""
    return ",".join(f"{server.address}:{PORT}" for server in all_servers)


def node_of(server: Process) -> str:
    """What Erlang calls a node."""
    return f"rabbit@{server.address}"


def data_dir(server: Process) -> str:
    """Where a node keeps its queues, streams and metadata: it takes one directory, so the host's first."""
    return f"{server.host.record.data_dirs[0].path}/rabbitmq"


def home(server: Process) -> str:
    """Where Erlang looks for the cookie. Below the rendered files, which are fetched with the logs: what is in here isn't."""
    return f"{server.etc}/home"


def queues(topic: Topic) -> tuple[str, ...]:
    """A topic's queues or streams in order of its partitions: each has a leader, an order and copies of its own."""
    return tuple(queue_of(topic.name, partition) for partition in range(topic.partitions))


def config(server: Process, plan: Plan) -> str:
    """The node's rabbitmq.conf, the plan's overrides in it."""
    text = render(
        "rabbitmq/templates/rabbitmq.conf.j2",
        address=server.address,
        port=PORT,
        watermark=MEMORY.of(SERVER, plan.memory)["watermark"],
    )
    return override_settings(text, plan.overrides_for(server.component))


def log_component(server: Process) -> str:
    """Under which name the settings of the log of all quorum queues stand that rabbitmq.conf has no keys for."""
    return f"ra/{server.host.name}"


def intended(server: Process, plan: Plan, level: LevelSettings) -> dict[str, dict[str, str]]:
    """The node's settings, from what is rendered."""
    log = {"wal_sync_method": level.wal_sync_method, **plan.overrides_for(log_component(server))}
    return {server.component: settings(config(server, plan)), log_component(server): log}


def files(server: Process, plan: Plan, wanted: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Path -> content, of all but the secret."""
    return {
        server.config_path: config(server, plan),
        f"{server.etc}/advanced.config": render(
            "rabbitmq/templates/advanced.config.j2", ra=wanted[log_component(server)]
        ),
        f"{server.etc}/enabled_plugins": "[].\n",
    }


def environment(server: Process) -> dict[str, str]:
    """What the node is told where its files and data are. Its log goes to standard output."""
    data, temporary = data_dir(server), scratch(server.host)
    return {
        "HOME": home(server),
        "LANG": "C.UTF-8",
        "RABBITMQ_NODENAME": node_of(server),
        "RABBITMQ_USE_LONGNAME": "true",
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_CONFIG_FILE": server.config_path,
        "RABBITMQ_ADVANCED_CONFIG_FILE": f"{server.etc}/advanced.config",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{server.etc}/enabled_plugins",
        "RABBITMQ_MNESIA_BASE": data,
        "RABBITMQ_GENERATED_CONFIG_DIR": f"{temporary}/rabbitmq-config",
        "RABBITMQ_LOG_BASE": f"{temporary}/rabbitmq-log",
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_PID_FILE": f"{temporary}/rabbitmq.pid",
        "ERL_MAX_ETS_TABLES": "50000",
        "ERL_MAX_PORTS": "65536",
        "ERL_CRASH_DUMP": f"{temporary}/erl_crash.dump",
        "ERL_CRASH_DUMP_SECONDS": "0",
    }


def daemon(server: Process, software: str, plan: Plan) -> Daemon:
    """The node's process."""
    network = ("-start_epmd", "false", "-erl_epmd_port", str(NODE_PORT), "-name", node_of(server))
    interface = ("-kernel", "inet_dist_use_interface", _erlang_address(server.address))
    return Daemon(
        SERVER,
        (f"{software}/bin/erl", *_FLAGS, *network, *interface),
        server.log_path,
        env=environment(server),
        niceness=plan.daemon_niceness,
        out_of_memory=OUT_OF_MEMORY,
    )


def make_folders(server: Process) -> str:
    """A shell command."""
    folders = [data_dir(server), f"{scratch(server.host)}/rabbitmq-config", f"{scratch(server.host)}/rabbitmq-log"]
    return f"mkdir -p {' '.join(map(quote, folders))}"


def is_empty(server: Process) -> str:
    """A shell command that succeeds where a node would start without anything that it knew."""
    return f"test ! -d {quote(f'{data_dir(server)}/{node_of(server)}')}"


def started(server: Process) -> Probe:
    """The last line of a start. It takes connections a moment earlier, but a node that is told to join others then may die of it."""
    return Probe(f"{server.component} to start", ("Time to start RabbitMQ",), path=server.log_path)


def _erlang_address(address: str) -> str:
    """An IPv4 address as Erlang has it: {127,0,1,11}."""
    return "{" + re.sub(r"\.", ",", address) + "}"
