"""The vendor's own load tool, `nats bench`, which its command line program brings."""

from __future__ import annotations

import re

from contract.workload import Workload
from provisioning.hosts.host import Host
from provisioning.hosts.requirement import Requirement
from systems.deployment import SoftwareStore
from systems.load_tool import ConsumerFigures, NativeLoad, ProducerFigures, folder_of

SOFTWARE = "natscli"
PROGRAM = "nats"
# Each client has one message on its way: so many of them can keep a rate up as long as an acknowledgement takes less than this.
_ANSWER_WITHIN_S = 0.02
_MOST_CLIENTS = 100
_MOST_OUTSTANDING = 4_000  # beyond, the vendor's client gives up with an error when it has waited a fifth of a second
_NUMBER = r"([\d,]+(?:\.\d+)?)"
_US_TO_MS = 1e-3
_RATE = re.compile(rf"(?:aggregated )?stats: {_NUMBER} msgs/sec")
# of one client, then of several
_ONE = re.compile(
    rf"min: {_NUMBER}us ~ avg: {_NUMBER}us ~ max: {_NUMBER}us ~ P50: {_NUMBER}us ~ P90: {_NUMBER}us ~ P99: {_NUMBER}us "
    rf"~ P99.9: {_NUMBER}us"
)
_SEVERAL = re.compile(
    rf"latencies per operation min {_NUMBER}us \| avg {_NUMBER}us \| max {_NUMBER}us \| stddev {_NUMBER}us \| P50 {_NUMBER}us "
    rf"\| P90 {_NUMBER}us \| P99 {_NUMBER}us \| P99.9: {_NUMBER}us"
)
_EXPECTING = re.compile(rf"Starting JetStream ordered ephemeral consumer, expecting {_NUMBER} messages")


class NatsBench:
    """See NativeTool."""

    name = "nats bench js pub"
    consumer_name = "nats bench js ordered"
    consumer_ends = True
    software: tuple[str, ...] = (SOFTWARE,)
    requirements: tuple[Requirement, ...] = ()
    measures: tuple[str, ...] = (
        "Latencies are those of a synchronous publish, from its call to the acknowledgement; a message that its loop sends late isn't "
        "counted as late (coordinated omission), so compare with our publish latency, never with response latency.",
        "The warm-up is in its figures. It prints no 95th percentile.",
        "The consumer's rate is from the first message to the last; it reads by an ordered consumer, which acknowledges nothing.",
    )
    cannot_set: tuple[str, ...] = (
        "Instead of one window, many clients in one process have one message each on their way: as many as keep the rate up if an "
        f"acknowledgement takes {_ANSWER_WITHIN_S * 1e3:g} ms, at most {_MOST_CLIENTS}.",
        "It waits for acknowledgements, also at the level that asks for none.",
        "Each subscription is read by one consumer.",
        "Message bodies are zeros, whatever `compressible_share` and `payload_pool` are.",
    )

    def cannot(self, workload: Workload) -> str | None:
        if workload.partitions > 1:
            return f"nats bench publishes into one stream, and a topic of {workload.partitions} partitions is as many"
        return "nats bench sends no keys" if workload.keys != "none" else None

    def producer_command(self, load: NativeLoad, host: Host, store: SoftwareStore) -> tuple[str, ...]:
        return self._command(host, store, load, self.arguments(load))

    def consumer_command(
        self, load: NativeLoad, subscription: str, host: Host, store: SoftwareStore
    ) -> tuple[str, ...]:
        del subscription  # an ordered consumer is nobody else's
        return self._command(host, store, load, self.consumer_arguments(load))

    def _command(
        self, host: Host, store: SoftwareStore, load: NativeLoad, arguments: tuple[str, ...]
    ) -> tuple[str, ...]:
        program = f"{host.record.root}/{store.deploy(SOFTWARE, [host])}/bin/{PROGRAM}"
        # it keeps its own settings in its user's home
        home = ("env", f"HOME={folder_of(host)}", f"XDG_CONFIG_HOME={folder_of(host)}")
        servers = ",".join(f"nats://{server}" for server in load.service_url.split(","))
        return (*home, program, "--server", servers, "bench", "js", *arguments)

    def arguments(self, load: NativeLoad) -> tuple[str, ...]:
        """Of `nats bench js`, to publish. Without a rate it publishes batches, and its latencies are those of whole ones."""
        if load.rate_per_s is None:
            window = min(load.workload.in_flight, _MOST_OUTSTANDING)
            how = ("async", "--clients", str(load.workload.producers), "--batch", str(window))
        else:
            clients = min(_MOST_CLIENTS, max(load.workload.producers, round(load.rate_per_s * _ANSWER_WITHIN_S)))
            how = ("sync", "--clients", str(clients), "--throughput", str(load.rate_per_s))
        return (
            *("pub", *how),
            *("--stream", f"{load.topic}-0"),
            *("--msgs", str(load.messages)),
            *("--size", f"{load.workload.message_bytes}B"),
            *("--no-progress", f"{load.topic}.0"),
        )

    def result(self, printed: str, load: NativeLoad) -> ProducerFigures:
        rates, one, several = _RATE.findall(printed), _ONE.findall(printed), _SEVERAL.findall(printed)
        if not rates or not (several or one):
            raise ValueError("no statistics")
        if several:  # those of each client come before
            _, mean, most, _, p50, _, p99, p999 = map(_value, several[-1])
        else:
            _, mean, most, p50, _, p99, p999 = map(_value, one[-1])
        return ProducerFigures(
            messages=load.messages,  # all: it ends with an error, and without statistics, if a client fails
            rate_per_s=_value(rates[-1]),
            publish_mean_ms=mean * _US_TO_MS,
            publish_p50_ms=p50 * _US_TO_MS,
            publish_p95_ms=None,
            publish_p99_ms=p99 * _US_TO_MS,
            publish_p999_ms=p999 * _US_TO_MS,
            publish_max_ms=most * _US_TO_MS,
            resolution_ms=1e-5,
        )

    def consumer_arguments(self, load: NativeLoad) -> tuple[str, ...]:
        """Of `nats bench js`, to read all messages of the stream."""
        return (
            "ordered",
            "--stream",
            f"{load.topic}-0",
            "--clients",
            "1",
            "--msgs",
            str(load.messages),
            "--no-progress",
        )

    def consumer_result(self, printed: str) -> ConsumerFigures:
        rates = _RATE.findall(printed)
        if not rates:
            raise ValueError("no statistics")
        # all that it waited for: it prints no statistics before it has them
        return ConsumerFigures(round(sum(map(_value, _EXPECTING.findall(printed)))), _value(rates[-1]))


def _value(number: str) -> float:
    return float(number.replace(",", ""))
