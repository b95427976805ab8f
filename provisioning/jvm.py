"""Java processes on hosts: their command lines, and their flags read back from the running process. It starts nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from provisioning.errors import DeploymentError
from provisioning.host import Host

JCMD_TIMEOUT_S = 60.0
JCMD = "jcmd -J-XX:-UsePerfData"  # jcmd is a JVM too, and would leave its counters in /tmp
_PID = re.compile(r"^(\d+):$", re.M)
_FLAG = re.compile(r"-XX:(?:([+-])(\w+)|(\w+)=(\S*))")


def java(argfile: str, libs: str, main_class: str, *arguments: str, class_data: str | None = None) -> tuple[str, ...]:
    """The argument vector of a Java program: flags from a rendered argument file, every jar of `libs` (a JVM wildcard).

    `class_data`: see `provisioning.class_data.flag`.
    """
    flags = (f"@{argfile}",) if class_data is None else (f"@{argfile}", class_data)
    return ("java", *flags, "-cp", f"{libs}/*", main_class, *arguments)


def flags_command(pids: Mapping[str, int]) -> str:
    """The command line that prints the flags of several JVMs of one host."""
    return f"for pid in {' '.join(str(pid) for pid in pids.values())}; do {JCMD} $pid VM.flags; done"


def parse_flags(printed: str) -> dict[int, dict[str, str]]:
    """`jcmd PID VM.flags` of several JVMs: pid -> flag -> value; only flags that don't have their default are printed."""
    parts = _PID.split(printed)[1:]
    return {int(pid): _flags(body) for pid, body in zip(parts[::2], parts[1::2], strict=True)}


def _flags(body: str) -> dict[str, str]:
    found = {}
    for sign, switch, key, value in _FLAG.findall(body):
        if switch:
            found[switch] = "true" if sign == "+" else "false"
        else:
            found[key] = value
    return found


def read_flags(host: Host, pids: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """The flags of running JVMs: daemon -> flag -> value. Raises DeploymentError if one didn't answer."""
    if not pids:
        return {}
    completed = host.run(flags_command(pids), timeout_s=JCMD_TIMEOUT_S, check=False)
    by_pid = parse_flags(completed.stdout)
    silent = [name for name, pid in pids.items() if not by_pid.get(pid)]
    if silent:
        raise DeploymentError(
            f"{host.name}: jcmd did not print the flags of {', '.join(silent)}: {completed.stderr.strip()[-400:]}",
            next_step="jcmd comes with a JDK (a JRE is not enough) and must run as the user that runs the daemon.",
        )
    return {name: by_pid[pid] for name, pid in pids.items()}


def system_properties(printed: str) -> dict[str, str]:
    """`jcmd PID VM.system_properties`: a Java properties file, in which colons and backslashes are escaped."""
    lines = [line for line in printed.splitlines() if "=" in line and not line.startswith("#")]
    pairs = (line.split("=", 1) for line in lines)
    return {key: re.sub(r"\\(.)", r"\1", value) for key, value in pairs}


def read_system_properties(host: Host, pid: int) -> dict[str, str]:
    """The system properties of a running JVM."""
    return system_properties(host.run(f"{JCMD} {pid} VM.system_properties", timeout_s=JCMD_TIMEOUT_S).stdout)


def shell(argv: tuple[str, ...]) -> str:
    """An argument vector as a shell command line."""
    return shlex.join(argv)
