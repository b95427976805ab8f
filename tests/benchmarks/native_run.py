"""One run of a system's own producing tool, with the CPU time of its whole process."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from provisioning.errors import HostError
from provisioning.hosts.host import Host
from systems.deployment import SoftwareStore
from systems.load_tool import NativeLoad, NativeTool, ProducerFigures, end_of

EXTRA_TIMEOUT_S = 120.0  # a start, a warm-up, a slow goodbye
CPU = re.compile(r"^samebox-cpu ([\d.]+) ([\d.]+)$", re.M)


@dataclass(frozen=True)
class NativeRun:
    """One run: the command line as it was, its result, the CPU seconds of the whole process (its start included)."""

    command: str
    result: ProducerFigures
    cpu_s: float


def run_native(tool: NativeTool, load: NativeLoad, host: Host, store: SoftwareStore) -> NativeRun:
    """Runs the producer once on `host`. Raises HostError with the end of its output if it fails or says nothing."""
    command = shlex.join(tool.producer_command(load, host, store))
    timed = f"TIMEFORMAT='samebox-cpu %U %S'; time {command}"
    completed = host.run(f"bash -c {shlex.quote(timed)}", timeout_s=load.duration_s * 10 + EXTRA_TIMEOUT_S)
    cpu = CPU.search(completed.stderr)
    try:
        result = tool.result(completed.stdout, load)
        if cpu is None:
            raise ValueError("its CPU time is missing")
    except ValueError as error:
        printed = end_of(completed.stdout + completed.stderr)
        raise HostError(host.name, f"{tool.name} said nothing usable ({error}): {printed}") from None
    return NativeRun(command, result, float(cpu[1]) + float(cpu[2]))
