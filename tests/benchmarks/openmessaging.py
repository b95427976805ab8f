"""OpenMessaging Benchmark beside the others, where OMB_HOME names a built checkout of it. It brings its own clients and topics.

Producer and consumer share one JVM; its publish latency is read from the result file that it writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DRIVER_PACKAGE = "io.openmessaging.benchmark.driver"
_MINUTES = 1  # its shortest
_TIMEOUT_S = 600
_CLASS_PATH_FILE = "benchmark-framework/target/classpath.txt"


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
    if not any((folder / path).exists() for path in ("lib", _CLASS_PATH_FILE)):
        raise SystemExit(f"OMB_HOME={named}: no built OpenMessaging Benchmark (lib/ or {_CLASS_PATH_FILE}).")
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
    java = ["java", "-Xms512m", "-Xmx1g", "-XX:+UseG1GC", "-XX:-UsePerfData", "-cp", _class_path(checkout)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*java, "io.openmessaging.benchmark.Benchmark", "-d", str(driver), "-o", str(output), str(workload)],
            cwd=checkout,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            result = _await_result(process, output, folder / "log")
        finally:
            # the result is all that it still had to do, but it doesn't end by itself
            process.kill()
            process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rates = sorted(result["publishRate"])
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    messages = sum(rates) * 10 * 2  # windows of ten seconds; the warm-up before them is as long and isn't in the file
    return OpenMessagingResult(
        rates[len(rates) // 2],
        cpu_s * 1e6 / messages,
        result["aggregatedPublishLatency50pct"],
        result["aggregatedPublishLatency99pct"],
    )


def _class_path(checkout: Path) -> str:
    """As its own bin/benchmark has it, which can't be ended together with what it starts."""
    if (checkout / "lib").is_dir():
        return "lib/*"
    return f"benchmark-framework/target/classes:{(checkout / _CLASS_PATH_FILE).read_text().strip()}"


def _await_result(process: subprocess.Popen[bytes], output: Path, log: Path) -> dict[str, Any]:
    """The result file, once it is whole. Raises RuntimeError with the log's last words."""
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return dict(json.loads(output.read_text()))
        if ended:
            break
        time.sleep(1)
    raise RuntimeError(f"OpenMessaging Benchmark left no result: {log.read_text()[-800:]}")
