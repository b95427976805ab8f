"""Kafka's client library against its own mock cluster: what it was really given, and what becomes of messages."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing

import confluent_kafka
import pytest

from contract.fault import Fault
from contract.workload import Workload
from systems.client import ClientSpec, Consumer, Producer
from systems.kafka import client as kafka
from tests.systems.told import Told

FAULTS = (Fault(1.0, "kill"),)

TOPIC = "t"
SPEC = ClientSpec(
    module="systems.kafka.client",
    service_url="",
    topic=TOPIC,
    settings={
        "acks": "1",
        "idempotence": "false",
        "in_flight_requests": "3",
        "max_partition_fetch_bytes": "65536",
        "socket_timeout_ms": "50000",
        "reconnect_backoff_ms": "50",
        "reconnect_backoff_max_ms": "2500",
    },
    workload=Workload(
        "w",
        rate_per_s=1,
        message_bytes=8,
        measure_s=1.0,
        partitions=4,
        partitioning="round-robin",
        batch_delay_ms=7,
        batch_bytes=40_000,
        in_flight=100,
        compression="lz4",
    ),
    delivery_timeout_s=2.0,
    connect_timeout_s=20.0,
)
# One whole configuration, which differs from every default, as librdkafka prints it.
GIVEN = {
    "acks": "1",
    "enable.idempotence": "false",
    "max.in.flight.requests.per.connection": "3",
    "linger.ms": "7",
    "batch.size": "40000",
    "batch.num.messages": "10000",
    "sticky.partitioning.linger.ms": "14",
    "queue.buffering.max.messages": "1200",
    "queue.buffering.max.kbytes": "2097151",
    "delivery.timeout.ms": "2000",
    "socket.timeout.ms": "50000",
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "2500",
    "request.timeout.ms": "2000",
    "compression.type": "lz4",
    "partitioner": "murmur2_random",
}


class MockCluster:
    """Three brokers of librdkafka's own, within this process, for as long as the object lives. Their topics have four partitions."""

    def __init__(self) -> None:
        config = {"test.mock.num.brokers": 3, "bootstrap.servers": "", "log_level": 0}
        self._keeper = confluent_kafka.Producer(config)
        brokers = self._keeper.list_topics(TOPIC, timeout=30).brokers.values()
        self.service_url = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def end(self) -> None:
        """All its brokers are gone."""
        del self._keeper


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    yield MockCluster()


@pytest.fixture
def spec(cluster: MockCluster) -> ClientSpec:
    return dataclasses.replace(SPEC, service_url=cluster.service_url)


def test_what_the_library_itself_runs_with(spec: ClientSpec) -> None:
    """Every setting of a producer, asked of librdkafka: acks, lingering, batches, compression, what is in flight."""
    with closing(kafka.connect_producer(spec, Told(0))) as producer:
        assert of(producer, GIVEN) == GIVEN
    for acks in ("0", "all"):
        one = dataclasses.replace(spec, settings={"acks": acks})
        with closing(kafka.connect_producer(one, Told(0))) as producer:
            assert of(producer, ["acks"]) == {"acks": acks}


def test_without_batching_every_message_goes_by_itself(spec: ClientSpec) -> None:
    """And doesn't wait for others, whatever the delay of batches is."""
    single = dataclasses.replace(spec, workload=dataclasses.replace(spec.workload, batching=False))
    with closing(kafka.connect_producer(single, Told(0))) as producer:
        assert of(producer, ["linger.ms", "batch.num.messages"]) == {
            "linger.ms": "0",
            "batch.num.messages": "1",
        }


def test_where_the_workload_has_faults_messages_are_numbered_and_silence_is_noticed_soon(spec: ClientSpec) -> None:
    """Unless another setting is asked for; and where not all replicas acknowledge, the library can't number them."""
    disturbed = dataclasses.replace(
        spec, workload=Workload("w", 1, 40, 10.0, faults=FAULTS), settings={}, delivery_timeout_s=60.0
    )
    keys = ("enable.idempotence", "socket.timeout.ms", "request.timeout.ms", "reconnect.backoff.max.ms")

    def told_with(**settings: str) -> tuple[str, ...]:
        with closing(kafka.connect_producer(dataclasses.replace(disturbed, settings=settings), Told(0))) as producer:
            return tuple(of(producer, keys).values())

    assert told_with() == ("true", "10000", "10000", "1000")
    assert told_with(acks="1") == ("false", "10000", "10000", "1000")
    assert told_with(idempotence="false", socket_timeout_ms="60000") == ("false", "60000", "30000", "1000")


def test_what_is_recorded_is_what_the_library_runs_with(spec: ClientSpec) -> None:
    """Key by key, of producer and consumer."""
    recorded = kafka.configuration(spec)
    with closing(kafka.connect_producer(spec, Told(0))) as producer:
        assert of(producer, recorded["producer"]) == recorded["producer"]
    with closing(kafka.connect_consumer(spec, "s", "consumer-0")) as consumer:
        assert of(consumer, recorded["consumer"]) == recorded["consumer"]
    assert recorded["consumer"]["auto.offset.reset"] == "earliest"


def test_two_clients_that_are_given_the_same_tell_the_same(spec: ClientSpec) -> None:
    """Callbacks lie elsewhere in the memory of each, and aren't settings."""
    told = []
    for _ in range(2):
        with closing(kafka.connect_producer(spec, Told(0))) as producer:
            told.append(producer.configuration())
    assert told[0] == told[1]
    assert not [key for key, value in told[0].items() if value.startswith("0x")]
    assert len(told[0]) > 60


def test_a_consumer_has_what_was_there_before_it(spec: ClientSpec) -> None:
    """From the beginning of every partition: each message that was acknowledged comes, with its partition."""
    told = Told(8)
    with closing(kafka.connect_producer(spec, told)) as producer:
        for sequence in range(8):
            producer.send(sequence, b"%08d" % sequence)
        told.wait()
    assert sorted(told.acknowledgements) == [(sequence, sequence % 4) for sequence in range(8)]
    assert told.failures == []
    with closing(kafka.connect_consumer(spec, "s", "consumer-0")) as consumer:
        received: list[tuple[int, bytes]] = []
        deadline = time.monotonic() + 60
        while len(received) < 8 and time.monotonic() < deadline:
            received += consumer.receive(0.1)
    assert sorted(received) == sorted((sequence % 4, b"%08d" % sequence) for sequence in range(8))
    assert consumer.errors() == {}


def test_a_message_that_was_given_up_is_no_acknowledgement(cluster: MockCluster, spec: ClientSpec) -> None:
    """It is told as failed, once, by the library's name for the reason."""
    told = Told(3)
    with closing(kafka.connect_producer(spec, told)) as producer:
        cluster.end()
        for sequence in range(3):
            producer.send(sequence, b"%08d" % sequence)
        told.wait()
        assert producer.errors()["_TRANSPORT"] >= 1, "and what the client met is told by itself"
    assert told.acknowledgements == []
    assert sorted(told.failures) == [(sequence, "_MSG_TIMED_OUT") for sequence in range(3)]


def test_the_first_message_is_handed_over_before_others_are_taken() -> None:
    """It is timed when `receive` returns: what would still have to be fetched can't make it late."""

    class Library:
        ready: tuple[object, ...] = ()

        def consume(self, most: int, timeout_s: float) -> list[object]:
            assert (most, timeout_s) == (500, 0)
            calls.append("consume")
            return list(self.ready)

        def poll(self, timeout_s: float) -> object:
            calls.append(f"poll {timeout_s}")
            return Message()

    class Message:
        def error(self) -> None:
            return None

        def value(self) -> bytes:
            return b"x"

        def partition(self) -> int:
            return 2

    calls: list[str] = []
    library = Library()
    consumer = kafka.KafkaConsumer(library, Counter(), ())  # type: ignore[arg-type]
    assert consumer.receive(0.5) == [(2, b"x")]
    assert calls == ["consume", "poll 0.5"]
    library.ready = (Message(), Message())
    assert consumer.receive(0.5) == [(2, b"x"), (2, b"x")]
    assert calls[2:] == ["consume"]


def of(client: Producer | Consumer, keys: Iterable[str]) -> dict[str, str]:
    """What the library says it runs with, of these keys."""
    found = client.configuration()
    return {key: found[key] for key in keys}
