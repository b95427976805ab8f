"""What a system's own load tool is asked to do and what it says afterwards. It keeps no record of any message.

A tool module of a system says how its command line reads and how its output is to be understood; this file runs it on a client
host and measures what it costs there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from provisioning.deployment import SoftwareStore
from provisioning.errors import HostError
from provisioning.host import Host
from provisioning.placement import scratch
from provisioning.rendering import render

_EXTRA_TIMEOUT_S = 120.0  # a JVM's start, its warm-up, a slow goodbye
_CPU = re.compile(r"^samebox-cpu ([\d.]+) ([\d.]+)$", re.M)
_HEAP = "1g"  # with less, one tool's own histograms run it out of memory


@dataclass(frozen=True)
class NativeLoad:
    """A load in neutral words. `rate_per_s` None = as fast as it goes.

    Tools that count messages send `messages`, those that go by the clock send for `duration_s`; the first `warmup_s` are not in
    the latencies (of a tool that can leave them out). `client_settings` are the deployment's, as for our own client.
    """

    service_url: str
    topic: str
    client_settings: Mapping[str, str]
    rate_per_s: int | None
    messages: int
    duration_s: float
    warmup_s: float
    message_bytes: int
    batch_bytes: int
    batch_delay_ms: int
    in_flight: int


@dataclass(frozen=True)
class NativeResult:
    """What the tool printed. Latency is publish latency (actual send -> ack), cut to multiples of `resolution_ms`."""

    messages: int
    rate_per_s: float
    publish_p50_ms: float
    publish_p99_ms: float
    resolution_ms: float


@dataclass(frozen=True)
class NativeRun:
    """One run: the command line as it was, its result, the CPU seconds of the whole process (its start included)."""

    command: str
    result: NativeResult
    cpu_s: float


class NativeTool(Protocol):
    """One system's tool. `bundles` are what the store has to bring to the client host for it."""

    name: str
    bundles: tuple[str, ...]
    log_template: str

    def arguments(self, load: NativeLoad) -> tuple[str, ...]:
        """Main class and arguments."""

    def result(self, printed: str, load: NativeLoad) -> NativeResult:
        """Its figures from its output. Raises ValueError if they aren't there."""


def run_native(tool: NativeTool, load: NativeLoad, host: Host, store: SoftwareStore) -> NativeRun:
    """Runs the tool once on `host`. Raises HostError with the end of its output if it fails or says nothing."""
    root = host.record.root
    classpath = ":".join(f"{root}/{store.deploy(bundle, [host])}/libs/*" for bundle in tool.bundles)
    logging = f"{root}/native/log4j2.properties"
    host.put(render(tool.log_template).encode(), logging)
    java = ["java", f"-Xmx{_HEAP}", "-XX:+UseG1GC", "-XX:-UsePerfData", f"-Djava.io.tmpdir={scratch(host)}"]
    java += [f"-Dlog4j2.configurationFile={logging}", "-cp", classpath]
    command = shlex.join([*java, *tool.arguments(load)])
    timed = f"TIMEFORMAT='samebox-cpu %U %S'; time {command}"
    completed = host.run(
        f"mkdir -p {shlex.quote(scratch(host))} && bash -c {shlex.quote(timed)}",
        timeout_s=load.duration_s * 10 + _EXTRA_TIMEOUT_S,
    )
    cpu = _CPU.search(completed.stderr)
    try:
        result = tool.result(completed.stdout, load)
        if cpu is None:
            raise ValueError("its CPU time is missing")
    except ValueError as error:
        printed = (completed.stdout + completed.stderr).strip()[-800:]
        raise HostError(host.name, f"{tool.name} said nothing usable ({error}): {printed}") from None
    return NativeRun(command, result, float(cpu[1]) + float(cpu[2]))
