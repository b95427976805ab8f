"""OpenMessaging Benchmark beside the others, where OMB_HOME names a built checkout of it. It brings its own clients and topics.

Producer and consumer share one JVM; its publish latency is read from the result file that it writes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DRIVER_PACKAGE = "io.openmessaging.benchmark.driver"
_MINUTES = 1  # its shortest
_TIMEOUT_S = 600


@dataclass(frozen=True)
class OpenMessagingLoad:
    """What all tools are given alike; `rate_per_s` far above the maximum is its way of going as fast as it can."""

    rate_per_s: int
    partitions: int
    message_bytes: int
    batch_bytes: int
    batch_delay_ms: int
    in_flight: int
    requests_in_flight: int


@dataclass(frozen=True)
class OpenMessagingResult:
    """Median over its 10 s windows of the publish rate; whole-run publish percentiles; CPU of producer and consumer together."""

    rate_per_s: float
    cpu_us: float
    publish_p50_ms: float
    publish_p99_ms: float


def home() -> Path | None:
    """The checkout that OMB_HOME names. Exits naming what is missing if it isn't a built one."""
    named = os.environ.get("OMB_HOME")
    if not named:
        return None
    folder = Path(named)
    built = (folder / "lib", folder / "benchmark-framework" / "target" / "classpath.txt")
    if not (folder / "bin" / "benchmark").is_file() or not any(path.exists() for path in built):
        raise SystemExit(
            f"OMB_HOME={named}: no built OpenMessaging Benchmark (bin/benchmark and lib/ or target/classpath.txt)."
        )
    return folder


def kafka_driver(service_url: str, settings: Mapping[str, str], load: OpenMessagingLoad) -> dict[str, Any]:
    """Its driver file for Kafka."""
    producer = {
        "acks": settings.get("acks", "all"),
        "enable.idempotence": "false",
        "linger.ms": load.batch_delay_ms,
        "batch.size": load.batch_bytes,
        "buffer.memory": max(load.in_flight * load.message_bytes, 2 * load.batch_bytes),
        "max.in.flight.requests.per.connection": load.requests_in_flight,
    }
    return {
        "name": "Kafka",
        "driverClass": f"{_DRIVER_PACKAGE}.kafka.KafkaBenchmarkDriver",
        "replicationFactor": 3,
        "topicConfig": "min.insync.replicas=2\n",
        "commonConfig": f"bootstrap.servers={service_url}\n",
        "producerConfig": "".join(f"{key}={value}\n" for key, value in producer.items()),
        "consumerConfig": "auto.offset.reset=earliest\nenable.auto.commit=false\n",
    }


def pulsar_driver(service_url: str, settings: Mapping[str, str], load: OpenMessagingLoad) -> dict[str, Any]:
    """Its driver file for Pulsar. It makes a namespace of its own, in the cluster that the deployment calls `samebox`."""
    del settings
    web_url = "http://" + service_url.removeprefix("pulsar://").split(",")[0].replace(":6650", ":8080")
    return {
        "name": "Pulsar",
        "driverClass": f"{_DRIVER_PACKAGE}.pulsar.PulsarBenchmarkDriver",
        "client": {
            "serviceUrl": service_url,
            "httpUrl": web_url,
            "ioThreads": 1,
            "connectionsPerBroker": 1,
            "clusterName": "samebox",
            "namespacePrefix": "benchmark/ns",
            "topicType": "persistent",
            "persistence": {"ensembleSize": 3, "writeQuorum": 3, "ackQuorum": 2, "deduplicationEnabled": False},
        },
        "producer": {
            "batchingEnabled": True,
            "batchingMaxPublishDelayMs": load.batch_delay_ms,
            "batchingMaxBytes": load.batch_bytes,
            "blockIfQueueFull": True,
            "pendingQueueSize": load.in_flight,
        },
        "consumer": {"receiverQueueSize": 1000, "subscriptionType": "Failover"},
    }


DRIVERS = {"kafka": kafka_driver, "pulsar": pulsar_driver}


def run_openmessaging(
    checkout: Path, system: str, service_url: str, settings: Mapping[str, str], load: OpenMessagingLoad, folder: Path
) -> OpenMessagingResult:
    """One run of a minute, after its own minute of warm-up. Raises RuntimeError with its last words if it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    # JSON is YAML, too
    driver, workload, output = folder / "driver.yaml", folder / "workload.yaml", folder / "result.json"
    driver.write_text(json.dumps(DRIVERS[system](service_url, settings, load)))
    workload.write_text(
        json.dumps(
            {
                "name": "bench-load",
                "topics": 1,
                "partitionsPerTopic": load.partitions,
                "messageSize": load.message_bytes,
                "useRandomizedPayloads": True,
                "randomBytesRatio": 0.5,
                "randomizedPayloadPoolSize": 1000,
                "subscriptionsPerTopic": 1,
                "consumerPerSubscription": 1,
                "producersPerTopic": 1,
                "producerRate": load.rate_per_s,
                "consumerBacklogSizeGB": 0,
                "testDurationMinutes": _MINUTES,
                "warmupDurationMinutes": _MINUTES,
            }
        )
    )
    output.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        ["bin/benchmark", "-d", str(driver), "-o", str(output), str(workload)],
        cwd=checkout,
        env={**os.environ, "HEAP_OPTS": "-Xms512m -Xmx1g -XX:-UsePerfData"},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode != 0 or not output.exists():
        raise RuntimeError(f"OpenMessaging Benchmark: exit {ran.returncode}: {(ran.stdout + ran.stderr)[-800:]}")
    result = json.loads(output.read_text())
    rates = sorted(result["publishRate"])
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    messages = sum(rates) * 10 * 2  # windows of ten seconds; the warm-up before them is as long and isn't in the file
    return OpenMessagingResult(
        rates[len(rates) // 2],
        cpu_s * 1e6 / messages,
        result["aggregatedPublishLatency50pct"],
        result["aggregatedPublishLatency99pct"],
    )
