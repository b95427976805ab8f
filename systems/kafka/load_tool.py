"""Kafka's own `kafka-producer-perf-test` and `kafka-consumer-perf-test`, which come with the broker's jars."""

from __future__ import annotations

import re

from contract.workload import Workload
from provisioning.hosts.host import Host
from provisioning.hosts.requirement import Requirement
from systems.deployment import SoftwareStore
from systems.jvm.load_tool import JAVA_OF_LOAD_TOOL, java_command
from systems.load_tool import ConsumerFigures, NativeLoad, ProducerFigures

_SUMMARY = re.compile(
    r"^(\d+)(?: steady state)? records sent, ([\d.]+) records/sec .*?([\d.]+) ms avg latency, ([\d.]+) ms max latency, "
    r"([\d.]+) ms 50th, ([\d.]+) ms 95th, ([\d.]+) ms 99th, ([\d.]+) ms 99\.9th",
    re.M,
)
# start, end, MB, MB/s, messages, messages/s, joining, fetching, and what was fetched per second of that
_CONSUMED = re.compile(r"^\d{4}-[^,]*, \d{4}-[^,]*, [\d.]+, [\d.]+, (\d+), ([\d.]+), \d+, -?\d+, ", re.M)


class ProducerPerformance:
    """See NativeTool."""

    name = "kafka-producer-perf-test"
    consumer_name = "kafka-consumer-perf-test"
    consumer_ends = True
    software: tuple[str, ...] = ("kafka",)
    requirements: tuple[Requirement, ...] = (JAVA_OF_LOAD_TOOL,)
    measures: tuple[str, ...] = (
        "Latencies are in whole milliseconds, from just before its send call to the acknowledgement: time that the call itself "
        "takes when its buffer is full is in them, which our publish latency leaves to the send delay.",
        "It doesn't count a message that its sending loop sends late as late: what waited behind a stall is left out (coordinated "
        "omission), so compare with our publish latency, never with response latency.",
        "Figures are those of the steady state, which begins after as many messages as the warm-up has; its rate ends with the last "
        "acknowledgement. Of more than 500,000 messages only every n-th is in the percentiles.",
        "The consumer's rate covers all the time that it ran, including the wait for the first message: look at the count.",
    )
    cannot_set: tuple[str, ...] = (
        "One producer in one process sends for all of the workload's producers; its window is the sum of theirs, as the bytes of "
        "a buffer.",
        "Each subscription is read by one consumer.",
        "Message bodies are random capital letters, whatever `compressible_share` and `payload_pool` are.",
    )

    def cannot(self, workload: Workload) -> str | None:
        return f"{self.name} sends no keys" if workload.keys != "none" else None

    def producer_command(self, load: NativeLoad, host: Host, store: SoftwareStore) -> tuple[str, ...]:
        return java_command(self.software, self.arguments(load), host, store)

    def consumer_command(
        self, load: NativeLoad, subscription: str, host: Host, store: SoftwareStore
    ) -> tuple[str, ...]:
        return java_command(self.software, self.consumer_arguments(load, subscription), host, store)

    def arguments(self, load: NativeLoad) -> tuple[str, ...]:
        """Main class and arguments."""
        settings = _settings(load)
        properties = {
            "bootstrap.servers": load.service_url,
            "acks": settings.get("acks", "all"),
            "enable.idempotence": settings["idempotence"],
            "max.in.flight.requests.per.connection": settings["in_flight_requests"],
            "linger.ms": load.workload.batch_delay_ms if load.workload.batching else 0,
            "batch.size": load.workload.batch_bytes if load.workload.batching else 0,
            # it bounds what is in flight by bytes
            "buffer.memory": max(
                load.workload.producers * load.workload.in_flight * load.workload.message_bytes,
                2 * load.workload.batch_bytes,
            ),
            "compression.type": load.workload.compression,
        }
        if load.workload.partitioning == "round-robin":
            properties["partitioner.class"] = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
        warmup = round((load.rate_per_s or 0) * load.workload.warmup_s)
        return (
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", load.topic),
            *("--num-records", str(load.messages)),
            *("--record-size", str(load.workload.message_bytes)),
            *("--throughput", str(load.rate_per_s or -1)),
            *(("--warmup-records", str(warmup)) if warmup else ()),
            *("--command-property", *(f"{key}={value}" for key, value in properties.items())),
        )

    def result(self, printed: str, load: NativeLoad) -> ProducerFigures:
        del load
        summaries = _SUMMARY.findall(printed)
        if not summaries:
            raise ValueError("no summary")
        messages, rate_per_s, *latencies = summaries[-1]  # the steady state's comes after the whole run's
        mean_ms, max_ms, p50_ms, p95_ms, p99_ms, p999_ms = (float(latency) for latency in latencies)
        return ProducerFigures(
            int(messages), float(rate_per_s), mean_ms, p50_ms, p95_ms, p99_ms, p999_ms, max_ms, resolution_ms=1.0
        )

    def consumer_arguments(self, load: NativeLoad, subscription: str) -> tuple[str, ...]:
        """Main class and arguments."""
        settings = _settings(load)
        return (
            "org.apache.kafka.tools.ConsumerPerformance",
            *("--bootstrap-server", load.service_url),
            *("--topic", load.topic),
            *("--group", subscription),
            *("--num-records", str(load.messages)),
            *("--fetch-size", settings["max_partition_fetch_bytes"]),
            *("--timeout", str(round(load.consumer_timeout_s * 1000))),
        )

    def consumer_result(self, printed: str) -> ConsumerFigures:
        summaries = _CONSUMED.findall(printed)
        if not summaries:
            raise ValueError("no summary")
        messages, rate_per_s = summaries[-1]
        return ConsumerFigures(int(messages), float(rate_per_s))


def _settings(load: NativeLoad) -> dict[str, str]:
    """The client's, with its defaults."""
    from systems.kafka.client import SETTINGS  # and its library, which most of samebox's commands never need

    return {**SETTINGS, **load.client_settings}
