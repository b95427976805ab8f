"""What a system's own load tool is asked to do and what it says afterwards. It keeps no record of any message.

A system's `load_tool.py` makes the command lines and reads the output; `bench.load.native` runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from contract.workload import Workload
from provisioning.hosts.host import Host
from provisioning.hosts.requirement import Requirement
from systems.deployment import Endpoints, SoftwareStore

_SHOWN_CHARACTERS = 800


@dataclass(frozen=True)
class NativeLoad:
    """A workload as a load tool is asked for it. `rate_per_s` (all producers together) None = as fast as it goes.

    Tools that count messages send `messages`, those that go by the clock send for `duration_s`; what is sent in the warm-up is not
    in the latencies (of a tool that can leave it out). `client_settings` are the deployment's, as for our own client. A tool that
    counts gives up `consumer_timeout_s` after the last message.
    """

    service_url: str
    topic: str
    client_settings: Mapping[str, str]
    workload: Workload
    rate_per_s: int | None
    messages: int
    duration_s: float
    consumer_timeout_s: float = 60.0

    @property
    def consumers(self) -> int:
        """Those of one subscription."""
        return self.workload.consumers // self.workload.subscriptions


@dataclass(frozen=True)
class ProducerFigures:
    """What a producing tool printed; None = not that. Latency is publish latency (actual send -> ack), cut to `resolution_ms`."""

    messages: int
    rate_per_s: float
    publish_mean_ms: float | None
    publish_p50_ms: float
    publish_p95_ms: float | None
    publish_p99_ms: float
    publish_p999_ms: float | None
    publish_max_ms: float | None
    resolution_ms: float


@dataclass(frozen=True)
class ConsumerFigures:
    """What a consuming tool printed; None = it measures no latency. `rate_per_s` is the tool's own, waiting included."""

    messages: int
    rate_per_s: float
    end_to_end_p50_ms: float | None = None
    end_to_end_p99_ms: float | None = None


class NativeTool(Protocol):
    """One system's tools. `software`: what the store has to bring to the client host for them, `requirements`: what it must have.

    `measures` and `cannot_set` are sentences for the report: what the figures are, and what of a workload the tools can't be
    told. `consumer_ends`: the consumer ends by itself when it has read `messages`; else it says its figures when it is told
    to end.
    """

    name: str
    consumer_name: str
    consumer_ends: bool
    software: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    measures: tuple[str, ...]
    cannot_set: tuple[str, ...]

    def cannot(self, workload: Workload) -> str | None:
        """Why the tools can't make this load, beyond what no tool can; None = they can."""

    def producer_command(self, load: NativeLoad, host: Host, store: SoftwareStore) -> tuple[str, ...]:
        """The words that run the producer on `host`, after putting there what it needs."""

    def result(self, printed: str, load: NativeLoad) -> ProducerFigures:
        """Its figures from its output. Raises ValueError if they aren't there."""

    def consumer_command(
        self, load: NativeLoad, subscription: str, host: Host, store: SoftwareStore
    ) -> tuple[str, ...]:
        """The same for the consumers of one subscription, from the first message of the topic on."""

    def consumer_result(self, printed: str) -> ConsumerFigures:
        """Their figures from their output. Raises ValueError if they aren't there."""


def folder_of(host: Host) -> str:
    """Where tools keep what they need and write on a host."""
    return f"{host.record.root}/native"


def end_of(printed: str) -> str:
    """The end of a tool's output, for a message."""
    return printed.strip()[-_SHOWN_CHARACTERS:]


def load_of(workload: Workload, endpoints: Endpoints, topic: str, *, consumer_timeout_s: float) -> NativeLoad:
    """The load that our own workers would be given, for a tool."""
    duration_s = workload.warmup_s + workload.measure_s
    return NativeLoad(
        service_url=endpoints.service_url,
        topic=topic,
        client_settings=endpoints.client_settings,
        workload=workload,
        rate_per_s=workload.rate_per_s,
        messages=round(workload.rate_per_s * duration_s),
        duration_s=duration_s,
        consumer_timeout_s=consumer_timeout_s,
    )


def none_can(workload: Workload) -> str | None:
    """Why no native tool can make this load; None = some can."""
    if workload.pacing == "search":
        return (
            "a search is a series of loads, each at a rate that depends on the one before; a native tool runs one load"
        )
    if workload.pacing == "closed-loop":
        return "native tools are run at a given rate, and a closed loop has none"
    if workload.backlog is not None:
        return "native tools have no phases: their consumers can't let a backlog grow and then drain it"
    if workload.faults:
        return "native tools tell what came of a whole load, and not when it stood still"
    if workload.arrivals != "constant":
        return f"native tools send at even intervals, not with {workload.arrivals} arrivals"
    if workload.topics > 1:
        return f"native tools take one topic, and this load has {workload.topics}"
    return None
