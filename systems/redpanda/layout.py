"""Which Redpanda broker runs on which host, with which addresses, files and options. It renders and touches no host.

One broker on each broker host; together they keep the metadata, so hosts for metadata have nothing to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from provisioning.errors import DeploymentError
from provisioning.hosts.daemons import Daemon
from provisioning.hosts.host import Host
from systems.deployment import Plan
from systems.processes import Process, hosts_for, on_each
from systems.profile import memory_classes
from systems.redpanda.config_text import override, settings_of
from systems.rendering import render

CLIENT_PORT = 9092
RPC_PORT = 33145
ADMIN_PORT = 9644
BROKER = "broker"
CLUSTER = "cluster"
BUILD = "build"
PROGRAM = "libexec/redpanda"
LOADER = "lib/ld.so"
BOOTSTRAP = ".bootstrap.yaml"  # its name beside the broker's own file is the broker's choice
MEMORY = memory_classes(Path(__file__).with_name("memory.toml"))
LEAST_OF_ITS_OWN = 2.0  # GiB; a broker that has less shares its host, and gets one core, which takes 1 GiB
BYPASS_FSYNC = "unsafe-bypass-fsync"
OVERPROVISIONED = "overprovisioned"
DEVELOPER_MODE = "developer_mode"
YES = ("true", "1", "yes", "on")
# As Seastar, which has all of a broker's memory, says it.
OUT_OF_MEMORY = r"seastar - Failed to allocate \d+ bytes|seastar_memory - Dumping seastar memory diagnostics"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def brokers(hosts: Sequence[Host]) -> tuple[Process, ...]:
    """One on each broker host. Raises DeploymentError."""
    found, _ = hosts_for("redpanda", hosts)
    return on_each("redpanda", BROKER, found, "redpanda.yaml")


def data_directory(broker: Process) -> str:
    """Where a broker keeps everything: it takes one directory, so the host's first."""
    return f"{broker.host.record.data_dirs[0].path}/redpanda"


def service_url(all_brokers: Sequence[Process]) -> str:
    """The bootstrap string of Kafka clients."""
    return ",".join(f"{broker.address}:{CLIENT_PORT}" for broker in all_brokers)


def admin_url(broker: Process, path: str) -> str:
    """An address of the broker's admin API."""
    return f"http://{broker.address}:{ADMIN_PORT}/v1/{path}"


def bootstrap_path(broker: Process) -> str:
    """Where the cluster's properties are read when it is founded."""
    return f"{broker.etc}/{BOOTSTRAP}"


def options_component(broker: Process) -> str:
    """Under which name the options of the broker's process stand: those of Seastar, the library that it is built on."""
    return f"seastar/{broker.component}"


def config(broker: Process, all_brokers: Sequence[Process], plan: Plan) -> str:
    """The broker's own file, the plan's overrides in it."""
    rpc = {"address": broker.address, "port": RPC_PORT}
    text = render(
        "redpanda/templates/redpanda.yaml.j2",
        node_id=broker.number,
        data_directory=data_directory(broker),
        seed_servers=[{"host": {"address": each.address, "port": RPC_PORT}} for each in all_brokers],
        rpc=rpc,
        kafka={"address": broker.address, "port": CLIENT_PORT},
        admin={"address": broker.address, "port": ADMIN_PORT},
    )
    return override(text, _properties(broker.component, plan))


def bootstrap(plan: Plan) -> str:
    """The cluster's properties, the same file on every broker."""
    text = render("redpanda/templates/bootstrap.yaml.j2", replicas=plan.replication_factor)
    return override(text, _properties(CLUSTER, plan))


def _properties(component: str, plan: Plan) -> dict[str, str]:
    """Overrides by property. Raises DeploymentError for what can't be the name of one."""
    found = plan.overrides_for(component)
    if wrong := [key for key in found if _NAME.fullmatch(key) is None]:
        raise DeploymentError(
            f"redpanda: settings.{component} has {', '.join(wrong)}, which can't be properties of Redpanda.",
            next_step="Properties are named as in its documentation, such as kafka_batch_max_bytes.",
        )
    return found


def options(broker: Process, plan: Plan) -> dict[str, str]:
    """The options that a broker's process is started with, by name; a switch has true or false."""
    memory = MEMORY.of(BROKER, plan.memory)["memory"]
    found = {
        "default-log-level": "info",
        # never left to the default: a run whose syncs do nothing is no measurement
        BYPASS_FSYNC: "0",
        "memory": memory,
        OVERPROVISIONED: "false",
    }
    if _gibibytes(memory) < LEAST_OF_ITS_OWN:
        found |= {"smp": "1", OVERPROVISIONED: "true", "reserve-memory": "0M"}
    return found | plan.overrides_for(options_component(broker))


def intended(broker: Process, text: str, plan: Plan) -> dict[str, dict[str, str]]:
    """The broker's settings, from its rendered file, and its process's options."""
    return {broker.component: settings_of(text), options_component(broker): options(broker, plan)}


def _gibibytes(size: str) -> float:
    """A size of Seastar's ("1G", "512M"). Raises DeploymentError for anything else."""
    found = re.fullmatch(r"(\d+)([MGT])", size)
    if found is None:
        raise DeploymentError(f"redpanda: {size!r} is no size of a broker's memory, such as 1G or 512M.")
    return int(found[1]) * {"M": 2**-10, "G": 1.0, "T": 2**10}[found[2]]


def development(intended_settings: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What of these settings, intended or read back, is of the development mode, which may skip every sync."""
    return [
        f"{component}.{key}={value}"
        for component, settings in intended_settings.items()
        for key, value in settings.items()
        if key in (DEVELOPER_MODE, BYPASS_FSYNC) and value.strip().lower() in YES
    ]


def daemon(broker: Process, software: str, plan: Plan) -> Daemon:
    """The broker's process: by the loader and the libraries of its own archive, wherever it lies."""
    given = options(broker, plan)
    switch = given.pop(OVERPROVISIONED, "false")
    words = [f"--{key}={value}" for key, value in given.items()]
    words += [f"--{OVERPROVISIONED}"] * (switch in YES)
    return Daemon(
        BROKER,
        (
            *(f"{software}/{LOADER}", "--library-path", f"{software}/lib", f"{software}/{PROGRAM}"),
            *("--redpanda-cfg", broker.config_path, *words),
        ),
        broker.log_path,
        # where Seastar looks for options of the user's own: there are none
        env={"HOME": broker.etc},
        niceness=plan.daemon_niceness,
        out_of_memory=OUT_OF_MEMORY,
    )
