"""The vendor's own load tool, PerfTest, a Java program that speaks AMQP 0-9-1 as our client does."""

from __future__ import annotations

import math
import re

from contract.workload import Workload
from provisioning.hosts.host import Host
from provisioning.hosts.requirement import Requirement
from systems.deployment import SoftwareStore
from systems.jvm.load_tool import JAVA_OF_LOAD_TOOL, java_command
from systems.load_tool import ConsumerFigures, NativeLoad, ProducerFigures
from systems.rabbitmq.client import SETTINGS
from systems.rabbitmq.link_client import PASSWORD, USER
from systems.rabbitmq.topic_client import STREAM_TYPE, pattern_of

SOFTWARE = "perf-test"
_MAIN = "com.rabbitmq.perf.PerfTest"
_DEFAULT_EXCHANGE = "amq.default"
_US_OF_MS = 1_000
_TOLD = re.compile(r"^id: messages-(\d+), ", re.MULTILINE)
_SENT = re.compile(r"sending rate avg: (\d+) msg/s")
_RECEIVED = re.compile(r"receiving rate avg: (\d+) msg/s")
# microseconds; a terminal without the sign for them gets a question mark
_LATENCY = re.compile(r", confirm latency min/median/75th/95th/99th (\d+)/(\d+)/(\d+)/(\d+)/(\d+) [µ?]s")


class PerfTest:
    """See NativeTool."""

    name = "PerfTest"
    consumer_name = "PerfTest, consuming"
    consumer_ends = True
    software: tuple[str, ...] = (SOFTWARE,)
    requirements: tuple[Requirement, ...] = (JAVA_OF_LOAD_TOOL,)
    measures: tuple[str, ...] = (
        "Latencies are from its publish to the confirm, over all of its connections, in microseconds; a message that its loop sends "
        "late isn't counted as late (coordinated omission), so compare with our publish latency, never with response latency.",
        "The warm-up is in its figures, its own start as well. It prints no mean, 99.9th percentile or maximum.",
        "The consumer's rate covers all the time that it ran, including the wait for the first message: look at the count. Its "
        "latencies are left out: in microseconds they hold only where producer and consumer share a machine's clock.",
    )
    cannot_set: tuple[str, ...] = (
        "One process has a connection for each partition, with its share of rate and window; ours has one to each node.",
        "It waits for confirms, also at the level that asks for none.",
        "Each partition is read by one consumer, all of them in one process.",
        "Message bodies are zeros, whatever `compressible_share` and `payload_pool` are.",
    )

    def cannot(self, workload: Workload) -> str | None:
        if workload.keys != "none":
            return f"{self.name} sends no keys that choose a queue"
        if workload.partitioning == "round-robin":
            return f"{self.name} can't send each message to the next partition: each of its producers stays with one"
        return None

    def producer_command(self, load: NativeLoad, host: Host, store: SoftwareStore) -> tuple[str, ...]:
        return java_command(self.software, self.arguments(load), host, store)

    def consumer_command(
        self, load: NativeLoad, subscription: str, host: Host, store: SoftwareStore
    ) -> tuple[str, ...]:
        del subscription  # a queue has one, and a stream knows of none
        return java_command(self.software, self.consumer_arguments(load), host, store)

    def arguments(self, load: NativeLoad) -> tuple[str, ...]:
        """Main class and arguments."""
        producers = _producers(load.workload)
        rate = () if load.rate_per_s is None else ("--rate", f"{load.rate_per_s / producers:.3f}")
        return (
            *_common(load),
            *("--producers", str(producers), "--consumers", "0"),
            *("--size", str(load.workload.message_bytes)),
            *("--flag", "persistent", "--flag", "mandatory"),
            *("--confirm", str(max(1, load.workload.producers * load.workload.in_flight // producers))),
            *("--pmessages", str(_messages(load) // producers)),
            *rate,
        )

    def result(self, printed: str, load: NativeLoad) -> ProducerFigures:
        rate, latency = _SENT.findall(printed), _LATENCY.findall(printed)
        if not rate or not latency or "Producer reached message limit" not in printed:
            raise ValueError("no summary of all messages")
        _, p50, _, p95, p99 = (int(each) / _US_OF_MS for each in latency[-1])
        return ProducerFigures(
            messages=_messages(load),  # it ends when it has sent them
            rate_per_s=float(rate[-1]),
            publish_mean_ms=None,
            publish_p50_ms=p50,
            publish_p95_ms=p95,
            publish_p99_ms=p99,
            publish_p999_ms=None,
            publish_max_ms=None,
            resolution_ms=0.001,
        )

    def consumer_arguments(self, load: NativeLoad) -> tuple[str, ...]:
        """Main class and arguments. As many in flight, and acknowledged at once, as our own consumers have."""
        settings = {**SETTINGS, **load.client_settings}
        prefetch, partitions = int(settings["prefetch"]), load.workload.partitions
        first = ("--stream-consumer-offset", "first") if settings.get("queue_type") == STREAM_TYPE else ()
        return (
            *_common(load),
            *("--producers", "0", "--consumers", str(partitions)),
            *("--qos", str(prefetch), "--multi-ack-every", str(max(1, prefetch // 2))),
            *first,
            *("--cmessages", str(_messages(load) // partitions)),
        )

    def consumer_result(self, printed: str) -> ConsumerFigures:
        rate, told = _RECEIVED.findall(printed), _TOLD.findall(printed)
        if not rate or not told or "Consumer reached message limit" not in printed:
            raise ValueError("no summary of all messages")
        return ConsumerFigures(int(told[-1]), float(rate[-1]))


def _common(load: NativeLoad) -> tuple[str, ...]:
    """Where, and which queues: those that are there. The identifier is printed with everything: it tells how many messages it is."""
    uris = ",".join(f"amqp://{USER}:{PASSWORD}@{server}" for server in load.service_url.split(","))
    return (
        *(_MAIN, "--id", f"messages-{_messages(load)}"),
        *("--uris", uris, "--predeclared", "--exchange", _DEFAULT_EXCHANGE),
        *("--queue-pattern", pattern_of(load.topic)),
        *("--queue-pattern-from", "0", "--queue-pattern-to", str(load.workload.partitions - 1)),
    )


def _producers(workload: Workload) -> int:
    """As many for each partition, and no fewer than the workload has: a producer sends to one queue."""
    return workload.partitions * math.ceil(workload.producers / workload.partitions)


def _messages(load: NativeLoad) -> int:
    """Of all producers: as many from each, so a few more than the load has, if need be."""
    producers = _producers(load.workload)
    return producers * math.ceil(load.messages / producers)
