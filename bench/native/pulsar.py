"""Pulsar's own `pulsar-perf produce`, run with the broker's jars. Milliseconds with three decimals."""

from __future__ import annotations

import re

from bench.native.tool import NativeLoad, NativeResult

_UNLIMITED_PER_S = 1_000_000
_MOST_IN_BATCH = 100_000
_SENT = re.compile(r"Aggregated throughput stats --- (\d+) records sent")
_LATENCY = re.compile(r"Aggregated latency stats --- Latency: mean: *[\d.]+ ms - med: *([\d.]+) .*?99pct: *([\d.]+)")


class PulsarPerf:
    """See NativeTool."""

    name = "pulsar-perf produce"
    # the broker's first: its client classes are the ones of the version under test
    bundles: tuple[str, ...] = ("pulsar", "pulsar-perf")
    log_template = "pulsar/log4j2.properties.j2"

    def arguments(self, load: NativeLoad) -> tuple[str, ...]:
        batching = ("--batch-time-window", str(load.batch_delay_ms)) if load.batch_delay_ms else ("--disable-batching",)
        return (
            *("org.apache.pulsar.testclient.PulsarPerfTestTool", "/dev/null", "produce"),
            *("--service-url", load.service_url),
            *("--rate", str(load.rate_per_s or _UNLIMITED_PER_S)),
            *("--size", str(load.message_bytes)),
            *("--test-duration", str(round(load.duration_s))),
            *("--warmup-time", f"{load.warmup_s:g}"),
            *batching,
            *("--batch-max-bytes", str(load.batch_bytes)),
            *("--batch-max-messages", str(_MOST_IN_BATCH)),
            *("--max-outstanding", str(load.in_flight)),
            *("--max-outstanding-across-partitions", str(load.in_flight)),
            f"{load.client_settings.get('topic_prefix', '')}{load.topic}",
        )

    def result(self, printed: str, load: NativeLoad) -> NativeResult:
        sent, latency = _SENT.findall(printed), _LATENCY.findall(printed)
        if not sent or not latency:
            raise ValueError("no aggregated statistics")
        # its own rate divides by wall time with ten seconds of shutting down in it
        rate_per_s = int(sent[-1]) / round(load.duration_s)
        return NativeResult(
            int(sent[-1]), rate_per_s, float(latency[-1][0]), float(latency[-1][1]), resolution_ms=0.001
        )
