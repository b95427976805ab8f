"""Pulsar's own `pulsar-perf produce` and `pulsar-perf consume`, run with the broker's jars."""

from __future__ import annotations

import re

from contract.workload import Workload
from provisioning.hosts.host import Host
from provisioning.hosts.requirement import Requirement
from systems.deployment import SoftwareStore
from systems.jvm.load_tool import JAVA_OF_LOAD_TOOL, java_command
from systems.load_tool import ConsumerFigures, NativeLoad, ProducerFigures

_MAIN = "org.apache.pulsar.testclient.PulsarPerfTestTool"
_NO_CONFIGURATION = "/dev/null"
_UNLIMITED_PER_S = 1_000_000
_MOST_IN_BATCH = 100_000
# gzip is the same DEFLATE in another envelope, as for our own client
_COMPRESSION = {"none": "NONE", "gzip": "ZLIB", "snappy": "SNAPPY", "lz4": "LZ4", "zstd": "ZSTD"}
_SENT = re.compile(r"Aggregated throughput stats --- (\d+) records sent")
_RECEIVED = re.compile(r"Aggregated throughput stats --- (\d+) records received --- *([\d.]+) *msg/s")
_LATENCY = re.compile(
    r"Aggregated latency stats --- Latency: mean: *([\d.]+) ms - med: *([\d.]+) - 95pct: *([\d.]+) - 99pct: *([\d.]+) "
    r"- 99.9pct: *([\d.]+) .*?Max: *([\d.]+)"
)


class PulsarPerf:
    """See NativeTool."""

    name = "pulsar-perf produce"
    consumer_name = "pulsar-perf consume"
    consumer_ends = False  # it could count, but what a producer that goes by the clock will send isn't known
    # the broker's first: its client classes are the ones of the version under test
    software: tuple[str, ...] = ("pulsar", "pulsar-perf")
    requirements: tuple[Requirement, ...] = (JAVA_OF_LOAD_TOOL,)
    measures: tuple[str, ...] = (
        "Latencies are from its send call to the acknowledgement, after the warm-up, and printed with three decimals of a millisecond.",
        "Its rate limiter waits while the window of unacknowledged messages is full, and it doesn't count what waited as late "
        "(coordinated omission): compare with our publish latency, never with response latency.",
        "The rate is what it sent divided by the seconds it was told to send for, warm-up included. The rate that it prints divides by "
        "the time to its end, which includes ten seconds of shutting down.",
        "The consumer's rate covers all the time that it ran, including waits before and after: look at the count. Its latencies are "
        "from publish time to receipt, in whole milliseconds by two hosts' clocks, warm-up included.",
    )
    cannot_set: tuple[str, ...] = (
        "One thread of one process drives all of the workload's producers.",
        "Every message has the same body of random capital letters, whatever `compressible_share` and `payload_pool` are.",
    )

    def cannot(self, workload: Workload) -> str | None:
        if workload.keys != "none":
            return f"{self.name} makes new keys all the time; the workload's come from a pool"
        if workload.partitioning == "round-robin":
            return f"{self.name} can't send each message to the next partition: it stays with one partition for a batch"
        return None

    def producer_command(self, load: NativeLoad, host: Host, store: SoftwareStore) -> tuple[str, ...]:
        return java_command(self.software, self.arguments(load), host, store)

    def consumer_command(
        self, load: NativeLoad, subscription: str, host: Host, store: SoftwareStore
    ) -> tuple[str, ...]:
        return java_command(self.software, self.consumer_arguments(load, subscription), host, store)

    def arguments(self, load: NativeLoad) -> tuple[str, ...]:
        """Main class and arguments."""
        batched = load.workload.batching and load.workload.batch_delay_ms > 0
        batching = ("--batch-time-window", str(load.workload.batch_delay_ms)) if batched else ("--disable-batching",)
        return (
            *(_MAIN, _NO_CONFIGURATION, "produce"),
            *_connection(load),
            *("--rate", str(load.rate_per_s or _UNLIMITED_PER_S)),
            *("--size", str(load.workload.message_bytes)),
            *("--num-producers", str(load.workload.producers)),
            *("--test-duration", str(round(load.duration_s))),
            *("--warmup-time", f"{load.workload.warmup_s:g}"),
            *batching,
            *("--batch-max-bytes", str(load.workload.batch_bytes)),
            *("--batch-max-messages", str(_MOST_IN_BATCH)),
            *("--compression", _COMPRESSION[load.workload.compression]),
            *("--max-outstanding", str(load.workload.in_flight)),
            *("--max-outstanding-across-partitions", str(load.workload.in_flight)),
            _topic(load),
        )

    def result(self, printed: str, load: NativeLoad) -> ProducerFigures:
        sent, latency = _SENT.findall(printed), _LATENCY.findall(printed)
        if not sent or not latency:
            raise ValueError("no aggregated statistics")
        # its own rate divides by wall time with ten seconds of shutting down in it
        rate_per_s = int(sent[-1]) / round(load.duration_s)
        mean_ms, p50_ms, p95_ms, p99_ms, p999_ms, max_ms = (float(each) for each in latency[-1])
        return ProducerFigures(
            int(sent[-1]), rate_per_s, mean_ms, p50_ms, p95_ms, p99_ms, p999_ms, max_ms, resolution_ms=0.001
        )

    def consumer_arguments(self, load: NativeLoad, subscription: str) -> tuple[str, ...]:
        """Main class and arguments."""
        settings = _settings(load)
        return (
            *(_MAIN, _NO_CONFIGURATION, "consume"),
            *_connection(load),
            *("--num-consumers", str(load.consumers)),
            *("--subscription-type", "Failover"),
            *("--subscription-position", "Earliest"),
            *("--subscriptions", subscription),
            *("--receiver-queue-size", settings["receiver_queue"]),
            *("--receiver-queue-size-across-partitions", settings["total_receiver_queue"]),
            _topic(load),
        )

    def consumer_result(self, printed: str) -> ConsumerFigures:
        received, latency = _RECEIVED.findall(printed), _LATENCY.findall(printed)
        if not received or not latency:
            raise ValueError("no aggregated statistics")
        messages, rate_per_s = received[-1]
        _, p50_ms, _, p99_ms, _, _ = (float(each) for each in latency[-1])
        return ConsumerFigures(int(messages), float(rate_per_s), p50_ms, p99_ms)


def _connection(load: NativeLoad) -> tuple[str, ...]:
    settings = _settings(load)
    return ("--service-url", load.service_url, "--num-io-threads", settings["io_threads"])


def _topic(load: NativeLoad) -> str:
    return f"{load.client_settings.get('topic_prefix', '')}{load.topic}"


def _settings(load: NativeLoad) -> dict[str, str]:
    """The client's, with its defaults."""
    from systems.pulsar.client import SETTINGS  # and its library, which most of samebox's commands never need

    return {**SETTINGS, **load.client_settings}
