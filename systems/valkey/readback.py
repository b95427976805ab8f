"""What running servers say of themselves, as settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from provisioning.errors import DeploymentError
from provisioning.hosts.host import on_all
from systems.processes import Process, hosts_of
from systems.valkey.resp_client import Reply
from systems.valkey.server import ask_server

_QUESTIONS = (("CONFIG", "GET", "*"), ("INFO", "server", "memory", "replication"))


def pairs(reply: Reply) -> dict[str, str]:
    """A reply of names and values in turn, as CONFIG GET gives it. Raises DeploymentError for any other."""
    if not isinstance(reply, list) or len(reply) % 2 or not all(isinstance(each, bytes) for each in reply):
        raise DeploymentError(f"valkey: not a reply of names and values: {reply!r:.200}")
    words = [each.decode() for each in reply if isinstance(each, bytes)]
    return dict(zip(words[::2], words[1::2], strict=True))


def info(reply: Reply) -> dict[str, str]:
    """INFO: name -> value. Raises DeploymentError for any other reply."""
    if not isinstance(reply, bytes):
        raise DeploymentError(f"valkey: not a reply to INFO: {reply!r:.200}")
    lines = (line for line in reply.decode().splitlines() if ":" in line and not line.startswith("#"))
    return dict(line.split(":", 1) for line in lines)


def settings_of(process: Process, config: Reply, told: Reply) -> dict[str, dict[str, str]]:
    """A server's components: its configuration, what it was built as, and its place among the others."""
    facts = info(told)
    keys = ("role", "connected_slaves", "master_host", "master_link_status")
    return {
        process.component: pairs(config),
        f"build/{process.host.name}": {
            "version": facts.get("valkey_version", ""),
            "mem_allocator": facts.get("mem_allocator", ""),
        },
        f"replication/{process.host.name}": {key: facts[key] for key in keys if key in facts},
    }


def read_servers(processes: Sequence[Process]) -> dict[str, Mapping[str, str]]:
    """Of all servers at once. Raises DeploymentError or HostsFailed."""
    of_host = {process.host.name: process for process in processes}

    def read(name: str) -> dict[str, dict[str, str]]:
        process = of_host[name]
        config, told = ask_server(process, _QUESTIONS)
        return settings_of(process, config, told)

    found = on_all("valkey: reading settings back", hosts_of(processes), lambda host: read(host.name))
    return {component: settings for each in found.values() for component, settings in each.items()}


def online(reply: Reply) -> set[str]:
    """The addresses of the replicas that a primary sees in step, by its INFO replication."""
    states = [value for key, value in info(reply).items() if key.removeprefix("slave").isdigit()]
    found = (dict(part.split("=", 1) for part in state.split(",")) for state in states)
    return {each["ip"] for each in found if each["state"] == "online"}
