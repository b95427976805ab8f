"""Which server runs on which host, with which files and commands. It renders and touches no host.

The first broker host has the primary, with every stream; on the others are its replicas, as many as the plan has further copies. A
server that is one too many stands alone and stays empty.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from provisioning.errors import InvalidInput
from provisioning.hosts.daemons import Daemon, Probe
from provisioning.hosts.host import Host
from systems.deployment import Plan
from systems.processes import Process, hosts_for, on_each
from systems.profile import memory_classes
from systems.rendering import render
from systems.valkey.config_text import in_bytes, override_settings
from systems.valkey.durability import level_settings

PORT = 6379
PROGRAM = "valkey-server"
DAEMON = "server"
ALLOCATOR = "libc"  # what the pinned program is built with
# The first is the server's own, when the system gives it no memory; the other is its answer to clients at `maxmemory`.
OUT_OF_MEMORY = "Out Of Memory allocating|OOM command not allowed"
LIMIT = f"{DAEMON}.maxmemory"
# Of a stream, for each message beside its payload: 1.8 million messages of 1 KiB filled 2 GiB.
MESSAGE_OVERHEAD_BYTES = 170
MEMORY = memory_classes(Path(__file__).with_name("memory.toml"))


def servers(hosts: Sequence[Host]) -> tuple[Process, ...]:
    """One on each broker host, the primary on the first: whose turn that is, is drawn for every block. Raises DeploymentError."""
    brokers, _ = hosts_for("valkey", hosts)
    return on_each("valkey", DAEMON, brokers, "valkey.conf")


def replicas_of(processes: Sequence[Process], plan: Plan) -> tuple[Process, ...]:
    """Those that have copies of what the primary has."""
    return tuple(processes[1 : plan.replication_factor])


def service_url(processes: Sequence[Process]) -> str:
    """Where clients connect: the primary."""
    return f"{processes[0].address}:{PORT}"


def messages_held(plan: Plan, message_bytes: int) -> int:
    """How many messages a server holds before it refuses more. Raises InvalidInput for a limit that is no size."""
    given = plan.overrides_for(DAEMON).get("maxmemory", MEMORY.of(DAEMON, plan.memory)["maxmemory"])
    limit = in_bytes(given)
    if not limit.isdigit():
        raise InvalidInput(
            f"settings.valkey.{LIMIT}: {given!r} is no size.", next_step='Write it as "8gb"; "0" is no limit.'
        )
    return int(limit) // (message_bytes + MESSAGE_OVERHEAD_BYTES) if int(limit) else sys.maxsize


def data_dir(process: Process) -> str:
    """Where a server writes: one folder, on the first data disk."""
    return f"{process.host.record.data_dirs[0].path}/valkey"


def config(process: Process, processes: Sequence[Process], plan: Plan) -> str:
    """A server's whole configuration file, the plan's overrides in it."""
    text = render(
        "valkey/templates/valkey.conf.j2",
        address=process.address,
        port=PORT,
        primary=processes[0].address if process in replicas_of(processes, plan) else "",
        dir=data_dir(process),
        appendfsync=level_settings(plan.durability).appendfsync,
        maxmemory=MEMORY.of(process.daemon, plan.memory)["maxmemory"],
    )
    return override_settings(text, plan.overrides_for(process.component))


def daemon(process: Process, software: str, plan: Plan) -> Daemon:
    """A server as a daemon; its folder is made by `make_folder` before."""
    return Daemon(
        process.daemon,
        (f"{software}/bin/{PROGRAM}", process.config_path),
        process.log_path,
        niceness=plan.daemon_niceness,
        out_of_memory=OUT_OF_MEMORY,
    )


def make_folder(process: Process) -> str:
    """A shell command."""
    return f"mkdir -p {quote(data_dir(process))}"


def sign(process: Process, processes: Sequence[Process], plan: Plan, *, alone: bool = False) -> Probe:
    """What shows that a server is where it should be: the primary sees each replica in step, and no file is being made anew.

    `alone`: whatever the others do; a replica that is in step shows that the primary is.
    """
    followers = replicas_of(processes, plan)
    contains = ["aof_enabled:1", "aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0", "loading:0"]
    if process in followers:
        contains += ["master_link_status:up", "master_sync_in_progress:0"]
    elif process == processes[0] and not alone:
        contains += [f"ip={each.address},port={PORT},state=online" for each in followers]
    return Probe(
        f"{process.component} to be in step",
        tuple(contains),
        address=process.address,
        port=PORT,
        send="INFO replication\r\nINFO persistence\r\nQUIT\r\n",
    )
