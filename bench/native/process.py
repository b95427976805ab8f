"""Runs a system's own load tool on a client host. What is asked of it and what its words mean is the tool's business."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bench.native.tool import NativeLoad, NativeTool, ProducerFigures
from provisioning.deployment import SoftwareStore
from provisioning.errors import HostError
from provisioning.host import Host
from provisioning.placement import scratch
from provisioning.rendering import render

_EXTRA_TIMEOUT_S = 120.0  # a JVM's start, its warm-up, a slow goodbye
_CPU = re.compile(r"^samebox-cpu ([\d.]+) ([\d.]+)$", re.M)
_HEAP = "1g"  # with less, one tool's own histograms run it out of memory
_SHOWN_CHARACTERS = 800


@dataclass(frozen=True)
class NativeRun:
    """One run: the command line as it was, its result, the CPU seconds of the whole process (its start included)."""

    command: str
    result: ProducerFigures
    cpu_s: float


def folder_of(host: Host) -> str:
    """Where tools keep what they need and write on a host."""
    return f"{host.record.root}/native"


def java_command(tool: NativeTool, arguments: Sequence[str], host: Host, store: SoftwareStore) -> tuple[str, ...]:
    """The words that run a tool on `host`, with its jars and its logging in place there."""
    classpath = ":".join(f"{host.record.root}/{store.deploy(bundle, [host])}/libs/*" for bundle in tool.bundles)
    logging = f"{folder_of(host)}/log4j2.properties"
    host.put(render(tool.log_template).encode(), logging)
    host.run(f"mkdir -p {shlex.quote(scratch(host))}")
    return (
        *("java", f"-Xmx{_HEAP}", "-XX:+UseG1GC", "-XX:-UsePerfData", f"-Djava.io.tmpdir={scratch(host)}"),
        "-Duser.language=en",  # figures with decimal points, whatever the host's language
        *(f"-Dlog4j2.configurationFile={logging}", "-cp", classpath),
        *arguments,
    )


def end_of(printed: str) -> str:
    """A tool's last words, for a message."""
    return printed.strip()[-_SHOWN_CHARACTERS:]


def run_native(tool: NativeTool, load: NativeLoad, host: Host, store: SoftwareStore) -> NativeRun:
    """Runs the producer once on `host`. Raises HostError with the end of its output if it fails or says nothing."""
    command = shlex.join(java_command(tool, tool.arguments(load), host, store))
    timed = f"TIMEFORMAT='samebox-cpu %U %S'; time {command}"
    completed = host.run(f"bash -c {shlex.quote(timed)}", timeout_s=load.duration_s * 10 + _EXTRA_TIMEOUT_S)
    cpu = _CPU.search(completed.stderr)
    try:
        result = tool.result(completed.stdout, load)
        if cpu is None:
            raise ValueError("its CPU time is missing")
    except ValueError as error:
        printed = end_of(completed.stdout + completed.stderr)
        raise HostError(host.name, f"{tool.name} said nothing usable ({error}): {printed}") from None
    return NativeRun(command, result, float(cpu[1]) + float(cpu[2]))
