"""Java processes on hosts: their command lines, and their flags read back from the running process. It starts nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import ask
from provisioning.hosts.daemons import Daemon
from provisioning.hosts.host import Host

AGENT = Path(__file__).with_name("jvm_agent.py").read_bytes()
TIMEOUT_S = 90.0
OUT_OF_MEMORY = "OutOfMemoryError|OutOfDirectMemoryError"
ATTACH_SOCKET = "/tmp/.java_pid{pid}"
_FLAG = re.compile(r"-XX:(?:([+-])(\w+)|(\w+)=(\S*))")


def java(argfile: str, libs: str, main_class: str, *arguments: str, class_data: str | None = None) -> tuple[str, ...]:
    """The argument vector of a Java program: flags from a rendered argument file, every jar of `libs` (a JVM wildcard).

    `class_data`: see `systems.jvm.class_data.flag`.
    """
    flags = (f"@{argfile}",) if class_data is None else (f"@{argfile}", class_data)
    return ("java", *flags, "-cp", f"{libs}/*", main_class, *arguments)


def daemon(name: str, argv: tuple[str, ...], log_path: str, *, tier: int = 0, niceness: int = 0) -> Daemon:
    """A Java process as a daemon: killed, it can't remove the socket on which it answered."""
    return Daemon(
        name, argv, log_path, tier=tier, niceness=niceness, out_of_memory=OUT_OF_MEMORY, leaves=(ATTACH_SOCKET,)
    )


def parse_flags(printed: str) -> dict[str, str]:
    """`VM.flags` of a JVM: flag -> value; only flags that don't have their default are printed."""
    found = {}
    for sign, switch, key, value in _FLAG.findall(printed):
        if switch:
            found[switch] = "true" if sign == "+" else "false"
        else:
            found[key] = value
    return found


def read_flags(host: Host, pids: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """The flags of running JVMs: daemon -> flag -> value. Raises DeploymentError if one didn't answer."""
    told = _told(host, [(name, pid, "VM.flags") for name, pid in pids.items()])
    return {name: parse_flags(printed) for name, printed in zip(pids, told, strict=True)}


def _told(host: Host, questions: Sequence[tuple[str, int, str]]) -> list[str]:
    """What JVMs say to diagnostic commands, (daemon, pid, command) each."""
    if not questions:
        return []
    request = {"questions": [[pid, command] for _, pid, command in questions]}
    answers = ask(host, AGENT, request, timeout_s=TIMEOUT_S)
    for (name, pid, command), answer in zip(questions, answers, strict=True):
        if "error" in answer:
            raise DeploymentError(
                f"{host.name}: {name} (pid {pid}) did not answer {command}: {answer['error']}",
                next_step="A JVM answers the user that runs it, and none that was started with DisableAttachMechanism.",
            )
    return [answer["said"] for answer in answers]


def system_properties(printed: str) -> dict[str, str]:
    """`VM.system_properties`: a Java properties file, in which colons and backslashes are escaped."""
    lines = [line for line in printed.splitlines() if "=" in line and not line.startswith("#")]
    pairs = (line.split("=", 1) for line in lines)
    return {key: re.sub(r"\\(.)", r"\1", value) for key, value in pairs}


def read_system_properties(host: Host, daemon: str, pid: int) -> dict[str, str]:
    """The system properties of a running JVM. Raises DeploymentError if it didn't answer."""
    [told] = _told(host, [(daemon, pid, "VM.system_properties")])
    return system_properties(told)


def shell(argv: tuple[str, ...]) -> str:
    """An argument vector as a shell command line."""
    return shlex.join(argv)
