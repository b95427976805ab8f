"""Pulsar's client library against a scripted broker: what it puts on the wire, and what becomes of messages."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from contract.workload import Workload
from systems.client import ClientSpec, printable
from systems.pulsar import client as pulsar
from tests.systems.pulsar_broker import Batch, ScriptedBroker
from tests.systems.told import Told

MESSAGES = 20
WORKLOAD = Workload("w", 1, 8, 1.0, partitions=1, batch_delay_ms=3, batch_bytes=100_000, in_flight=1000)
SPEC = ClientSpec("", "", "t", {}, WORKLOAD, delivery_timeout_s=10.0, connect_timeout_s=20.0)
LZ4, ZLIB, ZSTD, SNAPPY = 1, 2, 3, 4


def sent(
    broker: ScriptedBroker, told: Told, *, pause_s: float = 0.0, delivery_timeout_s: float = 10.0, **changes: Any
) -> None:
    """Sends so many messages, with a pause in their middle, and waits until each is settled."""
    spec = dataclasses.replace(
        SPEC,
        service_url=broker.service_url,
        workload=dataclasses.replace(WORKLOAD, **changes),
        delivery_timeout_s=delivery_timeout_s,
    )
    with closing(pulsar.connect_producer(spec, told)) as producer:
        for sequence in range(MESSAGES):
            if sequence == MESSAGES // 2:
                time.sleep(pause_s)
            producer.send(sequence, b"%08d" % sequence)
        told.wait()
    assert broker.misunderstood == []


def test_a_batch_waits_for_its_delay() -> None:
    """What is sent within it goes as one, and every message of it is acknowledged."""
    with ScriptedBroker() as broker:
        told = Told(MESSAGES)
        sent(broker, told, pause_s=0.1, batch_delay_ms=2000)
    assert broker.batches == [Batch(MESSAGES, 0)]
    assert told.acknowledgements == [(sequence, 0) for sequence in range(MESSAGES)]
    assert told.failures == []


def test_without_batching_every_message_goes_by_itself() -> None:
    """Whatever the delay of batches is."""
    with ScriptedBroker() as broker:
        sent(broker, Told(MESSAGES), batching=False)
    assert broker.batches == [Batch(1, 0)] * MESSAGES


def test_a_delay_of_none_still_batches() -> None:
    """What has come by the time that the library looks goes together, as Kafka's client has it: it waits for no more."""
    spec = dataclasses.replace(SPEC, workload=dataclasses.replace(WORKLOAD, batch_delay_ms=0))
    options = pulsar.configuration(spec)["producer"]
    assert (options["batching_enabled"], options["batching_max_publish_delay_ms"]) == ("true", "0")
    with ScriptedBroker() as broker:
        told = Told(MESSAGES)
        sent(broker, told, batch_delay_ms=0)
    assert sum(batch.messages for batch in broker.batches) == len(told.acknowledgements) == MESSAGES


@pytest.mark.parametrize(("compression", "number"), [("lz4", LZ4), ("gzip", ZLIB), ("zstd", ZSTD), ("snappy", SNAPPY)])
def test_what_is_sent_is_compressed_as_asked(compression: str, number: int) -> None:
    """The batch's own metadata say so."""
    with ScriptedBroker() as broker:
        sent(broker, Told(MESSAGES), compression=compression)
    assert {batch.compression for batch in broker.batches} == {number}


def test_a_message_that_was_given_up_is_no_acknowledgement() -> None:
    """It is told as failed, once, by the library's name for the reason."""
    with ScriptedBroker(silent=True) as broker:
        told = Told(MESSAGES)
        sent(broker, told, delivery_timeout_s=0.5)
    assert told.acknowledgements == []
    assert told.failures == [(sequence, "Timeout") for sequence in range(MESSAGES)]


def test_what_a_lost_connection_left_without_an_answer_is_sent_again_under_its_own_number() -> None:
    """In order, by a producer of the same name: a broker that numbers messages knows what it has. The loss is told."""
    told = Told(3)
    with ScriptedBroker(silent=True) as broker:
        spec = dataclasses.replace(
            SPEC, service_url=broker.service_url, workload=dataclasses.replace(WORKLOAD, batching=False)
        )
        with closing(pulsar.connect_producer(spec, told)) as producer:
            for sequence in range(3):
                producer.send(sequence, b"%08d" % sequence)
            wait_until(lambda: len(broker.numbers) == 3)
            broker.silent, broker.refusing = False, True
            broker.cut()
            wait_until(lambda: producer.errors() == {"Disconnected": 1})
            broker.refusing = False
            told.wait()
    assert (told.acknowledgements, told.failures) == ([(sequence, 0) for sequence in range(3)], [])
    assert broker.numbers == [0, 1, 2] * 2
    assert [each[4] for each in broker.producers[1:]] == [[b"producer"]] * (len(broker.producers) - 1)


def wait_until(true: Callable[[], bool], within_s: float = 20.0) -> None:
    """Raises AssertionError if it isn't so in time."""
    deadline_s = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_a_consumer_has_what_was_there_before_it() -> None:
    """It asks for the subscription's earliest message, shares by partition, and acknowledges what it has received."""
    with ScriptedBroker(stored=(b"one", b"two")) as broker:
        spec = dataclasses.replace(SPEC, service_url=broker.service_url)
        with closing(pulsar.connect_consumer(spec, "s", "consumer-0")) as consumer:
            received = [message for _ in range(2) for message in consumer.receive(20.0)]
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and sum(len(each[3]) for each in broker.acknowledged) < 2:
                consumer.receive(0.05)
        [subscription] = broker.subscriptions
    assert received == [(0, b"one"), (0, b"two")]
    earliest, failover = 1, 2
    assert (subscription[13], subscription[3]) == ([earliest], [failover])
    assert sum(len(each[3]) for each in broker.acknowledged) == 2
    assert consumer.errors() == {}
    assert broker.misunderstood == []


def test_a_message_is_handed_over_before_it_is_acknowledged() -> None:
    """It is timed when `receive` returns: an acknowledgement of it comes with the next call."""

    class Library:
        def receive(self, timeout_ms: int) -> Message:
            calls.append(f"receive {timeout_ms}")
            return Message(len(calls))

        def acknowledge(self, message: Message) -> None:
            calls.append(f"acknowledge {message.at}")

        def is_connected(self) -> bool:
            return True

    @dataclasses.dataclass(frozen=True)
    class Message:
        at: int

        def message_id(self) -> Message:
            return self

        def partition(self) -> int:
            return -1

        def data(self) -> bytes:
            return b"x"

    calls: list[str] = []
    consumer = pulsar.PulsarConsumer(None, Library(), {})
    assert consumer.receive(0.1) == ((0, b"x"),)
    assert calls == ["receive 100"]
    assert consumer.receive(0.1) == ((0, b"x"),)
    assert calls == ["receive 100", "acknowledge 1", "receive 100"]


def test_what_is_recorded_is_what_the_library_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Key by key, of producer and consumer; the connection's name and its router beside it."""
    given: dict[str, dict[str, Any]] = {}

    class Library:
        def __init__(self, service_url: str, *, logger: object, **options: Any) -> None:
            del logger
            given["client"] = {"service_url": service_url, **options}

        def create_producer(self, topic: str, **options: Any) -> Library:
            given["producer"] = {"topic": topic, **options}
            return self

        def subscribe(self, topic: str, subscription: str, **options: Any) -> Library:
            given["consumer"] = {"topic": topic, "subscription": subscription, **options}
            return self

        def is_connected(self) -> bool:
            return True

    monkeypatch.setattr("systems.pulsar.client.pulsar.Client", Library)
    settings = {"io_threads": "3", "receiver_queue": "7", "total_receiver_queue": "8", "topic_prefix": "ns/"}
    spec = dataclasses.replace(
        SPEC, service_url="pulsar://a:1", settings=settings, workload=dataclasses.replace(WORKLOAD, compression="zstd")
    )
    pulsar.connect_producer(spec, Told(0))
    pulsar.connect_consumer(spec, "s", "consumer-0")
    assert given["producer"].pop("topic") == given["consumer"].pop("topic") == "ns/t"
    assert (given["consumer"].pop("subscription"), given["consumer"].pop("consumer_name")) == ("s", "consumer-0")
    recorded = pulsar.configuration(spec)
    for role in ("producer", "consumer"):
        assert printable(given["client"] | given[role]) == recorded[role]
    assert recorded["producer"]["batching_max_publish_delay_ms"] == "3"
    assert recorded["consumer"]["initial_position"].endswith("Earliest")
