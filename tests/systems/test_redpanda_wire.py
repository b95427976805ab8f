"""The agent that speaks Kafka's protocol to Redpanda, against the brokers that are at hand: real Kafka ones.

That Redpanda answers alike is for its own integration test, which takes the operator's archive (test_redpanda_cluster.py).
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer

from provisioning.hosts.agents import ask
from provisioning.hosts.ssh import SshHost
from systems.deployment import Plan, Topic
from systems.kafka import wire_agent
from systems.kafka.deployment import KafkaDeployment
from systems.kafka.wire import AGENT
from systems.registry import DURABILITY
from tests.systems.real_cluster import Cluster, configured

NONE, UNKNOWN_TOPIC, EXISTS = 0, 3, 36


@pytest.fixture(scope="module")
def kafka(hosts: dict[str, SshHost]) -> Iterator[Cluster[KafkaDeployment]]:
    """Three Kafka brokers with a topic of six partitions at level 1."""
    with configured(KafkaDeployment, hosts, Plan(DURABILITY["1"], (Topic("six", 6),), {}, {})) as cluster:
        cluster.deployment.start()
        cluster.deployment.create_topics()
        yield cluster


def asked(cluster: Cluster[KafkaDeployment], verb: str, **what: Any) -> Any:
    """The agent's answer from the first broker's host."""
    host = cluster.brokers[0]
    # nobody listens at the first
    request = {
        "brokers": [[host.record.address, 1], [host.record.address, 9092]],
        "timeout_s": 20.0,
        "verb": verb,
        **what,
    }
    return ask(host, AGENT, request)


@pytest.mark.integration
def test_topics_are_told_as_the_brokers_own_tool_tells_them(kafka: Cluster[KafkaDeployment]) -> None:
    """Brokers, leaders, replicas; a topic that there isn't is told and not made."""
    found = asked(kafka, "topics", names=["six", "none"])["answer"]
    assert found["controller"] in (1, 2, 3)
    assert found["brokers"] == {str(at): [host.record.address, 9092] for at, host in enumerate(kafka.brokers, start=1)}
    assert found["topics"]["none"] == {"error": UNKNOWN_TOPIC, "partitions": []}
    partitions = found["topics"]["six"]["partitions"]
    assert [each["number"] for each in sorted(partitions, key=lambda each: each["number"])] == list(range(6))
    led = [f"broker-{each['leader']}" for each in partitions]
    assert {name: led.count(name) for name in kafka.deployment.leaders()} == kafka.deployment.leaders()
    assert all(sorted(each["replicas"]) == sorted(each["in_sync"]) == [1, 2, 3] for each in partitions)


@pytest.mark.integration
def test_topics_are_made_with_their_settings_once(kafka: Cluster[KafkaDeployment]) -> None:
    """And read back; the second time the broker says that there is one, and a wrong value is refused in its words."""
    wish = {"name": "made", "partitions": 4, "replicas": 3, "settings": {"retention.ms": "-1"}}
    assert asked(kafka, "create", topics=[wish])["answer"]["made"][0] == NONE
    assert asked(kafka, "create", topics=[wish])["answer"]["made"][0] == EXISTS
    error, message = asked(kafka, "create", topics=[{**wish, "name": "odd", "settings": {"retention.ms": "x"}}])[
        "answer"
    ]["odd"]
    assert error != NONE and "retention.ms" in message
    described = asked(kafka, "settings", kind="topic", names=["made", "six"])["answer"]
    assert (described["made"]["retention.ms"], described["six"]["flush.messages"]) == (["-1", False], ["1", False])


@pytest.mark.integration
def test_end_offsets_are_the_messages_that_were_sent(kafka: Cluster[KafkaDeployment]) -> None:
    """Over all partitions, whichever broker leads them; a topic that there isn't is a failure."""
    endpoints = kafka.deployment.endpoints()
    producer = Producer({"bootstrap.servers": endpoints.service_url, **endpoints.client_settings, "log_level": 3})
    for at in range(60):
        producer.produce("six", b"x", partition=at % 6)
    assert producer.flush(60) == 0
    assert asked(kafka, "end_offsets", names=["six"])["answer"] == {"six": {str(at): 10 for at in range(6)}}
    assert asked(kafka, "end_offsets", names=["none"])["failed"] == "ValueError: topic none: error 3"


@pytest.mark.integration
def test_a_group_has_its_coordinator(kafka: Cluster[KafkaDeployment]) -> None:
    """Its topic is there, so the answer is no error."""
    assert asked(kafka, "coordinator", group="samebox")["answer"] == NONE


@pytest.mark.integration
def test_the_independent_reader_reads_what_was_sent(kafka: Cluster[KafkaDeployment], tmp_path: Path) -> None:
    """Keyed or not, in batches or alone, every message at its place: what it says of Redpanda rests on that."""
    endpoints = kafka.deployment.endpoints()
    asked(kafka, "create", topics=[{"name": "read", "partitions": 3, "replicas": 3, "settings": {}}])
    sent: dict[tuple[int, int], bytes] = {}

    def delivered(_error: object, message: Message) -> None:
        sent[message.partition() or 0, message.offset() or 0] = message.value() or b""

    producer = Producer({"bootstrap.servers": endpoints.service_url, "acks": "all", "linger.ms": 20, "log_level": 3})
    for at in range(3000):
        key = str(at) if at % 2 else None
        producer.produce("read", at.to_bytes(4, "big") * (1 + at % 300), key, at % 3, on_delivery=delivered)
        if at % 500 == 0:
            producer.flush(60)
    assert producer.flush(60) == 0 and len(sent) == 3000
    output = tmp_path / "stored.tsv"
    program = Path(__file__).parents[1] / "truth" / "redpanda_reader.py"
    subprocess.run([sys.executable, "-IS", program, endpoints.service_url, "read", output], check=True)
    read = [line.split("\t") for line in output.read_text().splitlines()]
    assert len(read) == 3000
    for partition, offset, digest, head in read:
        payload = sent[int(partition), int(offset)]
        assert (digest, head) == (hashlib.sha256(payload).hexdigest(), payload[:32].hex())


def test_nobody_there_is_told() -> None:
    """As a failure in the answer, not as a traceback."""
    request = {"brokers": [["127.0.0.1", 1]], "timeout_s": 1.0, "verb": "topics", "names": []}
    program = ["-IS", wire_agent.__file__, json.dumps(request)]
    said = subprocess.run([sys.executable, *program], capture_output=True, text=True, check=True).stdout
    assert json.loads(said)["failed"].startswith("ConnectionError: 127.0.0.1:1:")
