"""Kafka's own `kafka-producer-perf-test` (ProducerPerformance), which comes with the broker's jars. Whole milliseconds."""

from __future__ import annotations

import re

from bench.clients.kafka import IN_FLIGHT_REQUESTS
from bench.native.tool import NativeLoad, NativeResult

_SUMMARY = re.compile(
    r"^(\d+)(?: steady state)? records sent, ([\d.]+) records/sec .* ([\d.]+) ms 50th, [\d.]+ ms 95th, ([\d.]+) ms 99th",
    re.M,
)


class ProducerPerformance:
    """See NativeTool."""

    name = "kafka-producer-perf-test"
    bundles: tuple[str, ...] = ("kafka",)
    log_template = "kafka/log4j2.properties.j2"

    def arguments(self, load: NativeLoad) -> tuple[str, ...]:
        properties = {
            "bootstrap.servers": load.service_url,
            "acks": load.client_settings.get("acks", "all"),
            "enable.idempotence": load.client_settings.get("idempotence", "false"),
            "max.in.flight.requests.per.connection": IN_FLIGHT_REQUESTS,
            "linger.ms": load.batch_delay_ms,
            "batch.size": load.batch_bytes,
            # it bounds what is in flight by bytes
            "buffer.memory": max(load.in_flight * load.message_bytes, 2 * load.batch_bytes),
            "compression.type": "none",
        }
        warmup = round((load.rate_per_s or 0) * load.warmup_s)
        return (
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", load.topic),
            *("--num-records", str(load.messages)),
            *("--record-size", str(load.message_bytes)),
            *("--throughput", str(load.rate_per_s or -1)),
            *(("--warmup-records", str(warmup)) if warmup else ()),
            *("--command-property", *(f"{key}={value}" for key, value in properties.items())),
        )

    def result(self, printed: str, load: NativeLoad) -> NativeResult:
        del load
        summaries = _SUMMARY.findall(printed)
        if not summaries:
            raise ValueError("no summary")
        messages, rate_per_s, p50_ms, p99_ms = summaries[-1]  # the steady state's comes after the whole run's
        return NativeResult(int(messages), float(rate_per_s), float(p50_ms), float(p99_ms), resolution_ms=1.0)
