"""What running JVMs and their jars show of themselves, beside a system's own interfaces."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import ask
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import HostRecord
from systems.jvm.rendering import jvm_flags

AGENT = Path(__file__).with_name("agent.py").read_bytes()
TIMEOUT_S = 90.0
# what was found in the jars of a host's folder
_constants: dict[tuple[HostRecord, str, tuple[str, ...], frozenset[str]], frozenset[str]] = {}


@dataclass(frozen=True)
class Evidence:
    """`flags`: daemon -> flag -> value, of the flags that don't have their default. `listeners`: daemon -> "address:port".

    `properties`: the system properties of the daemons that were asked for them. `constants`: names that the jars' classes know.
    `said`: answers in order.
    """

    flags: Mapping[str, dict[str, str]]
    properties: Mapping[str, dict[str, str]]
    listeners: Mapping[str, tuple[str, ...]]
    constants: frozenset[str]
    said: tuple[str, ...]


def look(
    host: Host,
    pids: Mapping[str, int],
    *,
    properties_of: Collection[str] = (),
    folder: str = "",
    jars: Sequence[str] = (),
    names: Collection[str] = (),
    say: Sequence[tuple[str, int, str]] = (),
) -> Evidence:
    """One look at a host's JVMs (daemon -> pid): flags, listeners, system properties; which `names` are strings in the `jars` of
    `folder`; what ports answer to `say`. Raises DeploymentError if a JVM doesn't answer.

    A host's jars are read once for the same names: they never change, other versions come as another folder.
    """
    question = (host.record, folder, tuple(jars), frozenset(names))
    commands = [(daemon, "VM.flags") for daemon in pids] + [(each, "VM.system_properties") for each in properties_of]
    request = {
        "commands": [[pids[daemon], command] for daemon, command in commands],
        "pids": list(pids.values()),
        "folder": folder,
        "jars": [] if question in _constants else list(jars),
        "names": sorted(names),
        "say": [list(one) for one in say],
    }
    answer = ask(host, AGENT, request, timeout_s=TIMEOUT_S)
    told = {}
    for (daemon, command), each in zip(commands, answer["told"], strict=True):
        if "error" in each:
            raise DeploymentError(
                f"{host.name}: {daemon} (pid {pids[daemon]}) did not answer {command}: {each['error']}",
                next_step="A JVM answers only the user that runs it, and not if it was started with DisableAttachMechanism.",
            )
        told[daemon, command] = each["told"]
    return Evidence(
        {daemon: flags_of(told[daemon, "VM.flags"]) for daemon in pids},
        {daemon: properties_told(told[daemon, "VM.system_properties"]) for daemon in properties_of},
        {daemon: tuple(answer["listeners"][str(pid)]) for daemon, pid in pids.items()},
        _constants.setdefault(question, frozenset(answer["constants"])),
        tuple(answer["said"]),
    )


def flags_of(printed: str) -> dict[str, str]:
    """`VM.flags`: flag -> value; a JVM prints only those that don't have their default."""
    return jvm_flags("\n".join(printed.split()))


def properties_told(printed: str) -> dict[str, str]:
    """`VM.system_properties`: a properties file in which colons and backslashes are escaped."""
    lines = [line for line in printed.splitlines() if "=" in line and not line.startswith("#")]
    pairs = (line.split("=", 1) for line in lines)
    return {key: re.sub(r"\\(.)", r"\1", value) for key, value in pairs}
