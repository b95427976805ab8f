"""The NATS client: its protocol against a recorded session, and what it tells of messages, against a scripted server."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract.workload import Workload
from systems.client import Backpressure, ClientError, ClientSpec
from systems.connection import ConnectionLost
from systems.keys import keys_of, partition_chooser
from systems.nats import client
from systems.nats.consumer_client import places_of
from systems.nats.wire_client import Message, Parser, header
from tests.systems.nats_server import ScriptedNats
from tests.systems.told import Told

# What a server of version 2.15.1 said to acknowledgements, requests and mistakes, byte for byte.
WIRE = (Path(__file__).parent / "recorded" / "nats" / "wire.txt").read_bytes()
END = WIRE.index(b"-ERR")
PARTITIONS = 3
PAYLOAD = bytes(40)


@pytest.fixture
def server() -> Iterator[ScriptedNats]:
    """A server with the streams of topic t; a client that said what it may not fails the test."""
    with ScriptedNats("t", PARTITIONS) as scripted:
        yield scripted
        assert scripted.problems == []


def spec_of(
    server: ScriptedNats, *, delivery_timeout_s: float = 20.0, acks: str = "stream", **workload: object
) -> ClientSpec:
    """How to connect; each message goes to another partition than the one before, unless asked otherwise."""
    told = {"partitions": PARTITIONS, "in_flight": 100, "partitioning": "round-robin", **workload}
    load = Workload("w", 1_000, len(PAYLOAD), 1.0, **told)  # type: ignore[arg-type]
    settings = {"acks": acks, "retry_wait_ms": "1", "reconnect_wait_ms": "10"}
    return ClientSpec("", server.address, "t", settings, load, delivery_timeout_s, 5.0)


def messages_of(pieces: Callable[[bytes], list[bytes]]) -> tuple[list[Message], Parser]:
    parser = Parser()
    return [message for piece in pieces(WIRE[:END]) for message in parser.feed(piece)], parser


@pytest.mark.parametrize("size", [1, 7, 1000, len(WIRE)])
def test_a_recorded_session_is_read_alike_however_it_is_cut(size: int) -> None:
    """Bytes come as the network likes: every message is found, and once."""
    messages, parser = messages_of(lambda wire: [wire[at : at + size] for at in range(0, len(wire), size)])
    assert (parser.pings, parser.pongs) == (1, 1)
    statuses = [0, 0, 0, 503, *[0] * 7, 408, 404, 100, 100, 408, 0]
    assert [message.status for message in messages] == statuses


def test_a_recorded_message_of_a_stream_is_read_with_where_it_is_acknowledged() -> None:
    """Subject, payload and reply are those that the server wrote."""
    messages, _ = messages_of(lambda wire: [wire])
    [keyed] = [message for message in messages if message.payload == b"two"]
    assert (keyed.sid, keyed.subject) == (b"1", b"t.0.key")
    assert keyed.reply == b"$JS.ACK.t-0.s.1.2.2.1795573010657564560.0"


def test_a_recorded_end_of_a_request_tells_what_is_left_of_it() -> None:
    """Of five messages asked for two came, so three are left."""
    messages, _ = messages_of(lambda wire: [wire])
    ended = [header(message.headers, b"Nats-Pending-Messages") for message in messages if message.status == 408]
    assert ended == [b"3", b"5"]


def test_an_error_that_the_server_tells_ends_the_connection() -> None:
    """As recorded: it closes the connection after it."""
    with pytest.raises(ConnectionLost, match="Unknown Protocol Operation"):
        Parser().feed(WIRE)


def test_every_message_is_acknowledged_once_with_its_partition(server: ScriptedNats) -> None:
    """And stored once, in the stream of that partition, in the order in which they were sent."""
    told = Told()
    producer = client.connect_producer(spec_of(server), told)
    for sequence in range(300):
        producer.send(sequence, b"%d" % sequence)
    told.wait_for(300)
    producer.close()
    assert sorted(told.acknowledgements) == [(sequence, sequence % PARTITIONS) for sequence in range(300)]
    assert dict(told.failures) == {}
    for partition in range(PARTITIONS):
        expected = [(f"t.{partition}", b"%d" % sequence) for sequence in range(partition, 300, PARTITIONS)]
        assert server.stream(partition).messages == expected


def test_what_no_stream_answers_fails_after_the_delivery_timeout(server: ScriptedNats) -> None:
    """The message may be stored: it counts as failed, as nobody has said so; and it stays failed if an answer comes later."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(spec_of(server, delivery_timeout_s=0.3), told)
    began_s = time.monotonic()
    producer.send(0, PAYLOAD)
    told.wait_for(1)
    assert 0.3 <= time.monotonic() - began_s < 2.0
    assert (dict(told.failures), told.acknowledgements) == ({0: "TimedOut"}, [])
    producer.close()
    assert dict(told.failures) == {0: "TimedOut"}


@pytest.mark.parametrize(("leaderless", "stored"), [(2, True), (3, False)])
def test_a_stream_without_a_leader_is_tried_as_often_as_is_set(
    server: ScriptedNats, leaderless: int, stored: bool
) -> None:
    """Twice more, as the vendor's clients do; then the message has failed."""
    server.leaderless = leaderless
    told = Told()
    producer = client.connect_producer(with_settings(spec_of(server), retry_attempts="2"), told)
    producer.send(0, PAYLOAD)
    told.wait_for(1)
    producer.close()
    assert (told.acknowledgements, dict(told.failures)) == (([(0, 0)], {}) if stored else ([], {0: "NoResponders"}))
    assert len(server.stream(0).messages) == stored


def with_settings(spec: ClientSpec, **settings: str) -> ClientSpec:
    """With these settings of the client, too."""
    return dataclasses.replace(spec, settings={**spec.settings, **settings})


def test_an_error_instead_of_an_acknowledgement_fails_the_message(server: ScriptedNats) -> None:
    """As recorded; its number is the reason, and the other messages are acknowledged."""
    begin = WIRE.index(b'{"error":{"code":400,"err_code":10071')
    recorded = WIRE[begin : WIRE.index(b"\r\n", begin)]
    server.answer_of = lambda payload: recorded if payload == b"1" else None
    told = Told()
    producer = client.connect_producer(spec_of(server), told)
    for sequence in range(3):
        producer.send(sequence, b"%d" % sequence)
    told.wait_for(3)
    producer.close()
    assert dict(told.failures) == {1: "JetStream10071"}
    assert sorted(told.acknowledgements) == [(0, 0), (2, 2)]


def test_a_full_buffer_is_backpressure(server: ScriptedNats) -> None:
    """Beyond the window's own room nothing more is taken, and nothing of it is lost."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(spec_of(server, in_flight=1), told)
    taken = 0
    with pytest.raises(Backpressure):
        for sequence in range(5_000):
            producer.send(sequence, PAYLOAD)
            taken += 1
    assert taken == 1_002
    producer.close()
    assert len(dict(told.failures)) == taken


def test_closing_gives_up_what_is_not_acknowledged(server: ScriptedNats) -> None:
    """Each is told, once, and soon; closing again does nothing."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(spec_of(server), told)
    producer.send(0, PAYLOAD)
    began_s = time.monotonic()
    producer.close()
    producer.close()
    assert time.monotonic() - began_s < 3
    assert list(dict(told.failures)) == [0]


def test_without_acknowledgements_a_message_counts_when_it_is_written(server: ScriptedNats) -> None:
    """No reply is asked for, and all that was written has arrived when the producer is closed."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(spec_of(server, acks="none"), told)
    for sequence in range(50):
        producer.send(sequence, PAYLOAD)
    told.wait_for(50)
    producer.close()
    assert sorted(told.acknowledgements) == [(sequence, sequence % PARTITIONS) for sequence in range(50)]
    assert sum(len(each.messages) for each in server.streams.values()) == 50


def test_pings_are_answered_while_nothing_else_happens(server: ScriptedNats) -> None:
    """A server cuts connections that don't answer."""
    producer = client.connect_producer(spec_of(server), Told())
    consumer = client.connect_consumer(spec_of(server), "s", "c")
    consumer.hold()
    server.ping()
    assert consumer.receive(0.2) == []
    server.wait_until(lambda: server.commands.count("PONG") == 2)
    producer.close()
    consumer.close()


def test_a_keyed_message_goes_to_its_keys_partition_with_the_key_in_its_subject(server: ScriptedNats) -> None:
    """The same key's messages are in one stream, whichever producer sends them."""
    spec = spec_of(server, keys="round-robin", partitioning="sticky")
    key_of = keys_of(spec)
    assert key_of is not None
    told = Told()
    for first in (0, 10):
        producer = client.connect_producer(spec, told)
        for sequence in range(first, first + 10):
            producer.send(sequence, PAYLOAD)
        told.wait_for(first + 10)
        producer.close()
    stored = {subject for stream in server.streams.values() for subject, _ in stream.messages}
    partition_of = dict(told.acknowledgements)
    assert stored == {f"t.{partition_of[sequence]}.{key_of(sequence)}" for sequence in range(20)}
    assert len(set(partition_of.values())) > 1


def test_sticky_stays_with_a_partition_for_as_many_messages_as_a_batch_holds(server: ScriptedNats) -> None:
    """Then it goes on with the next one; producers begin anywhere."""
    choose = partition_chooser(spec_of(server, partitioning="sticky", batch_bytes=10 * len(PAYLOAD)), PARTITIONS)
    first = choose(0, None)
    assert [choose(sequence, None) for sequence in range(40)] == [(first + at // 10) % PARTITIONS for at in range(40)]


@pytest.mark.parametrize(("members", "partitions"), [(1, 6), (2, 6), (3, 7), (4, 2)])
def test_members_share_all_partitions_and_none_twice(server: ScriptedNats, members: int, partitions: int) -> None:
    """Each has as many as the others, or one more; those beyond the last partition stand by."""
    spec = dataclasses.replace(spec_of(server), members=members)
    shares = [
        [each.partition for each in places_of(dataclasses.replace(spec, member=at), partitions)]
        for at in range(members)
    ]
    assert Counter(partition for share in shares for partition in share) == Counter(range(partitions))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def fill(server: ScriptedNats, partition: int, count: int) -> None:
    """Puts messages into a stream."""
    server.stream(partition).messages += [(f"t.{partition}", b"%d" % number) for number in range(count)]


def receive(consumer: object, count: int) -> list[tuple[int, bytes]]:
    """So many messages."""
    received: list[tuple[int, bytes]] = []
    deadline_s = time.monotonic() + 5
    while len(received) < count:
        received += consumer.receive(0.1)  # type: ignore[attr-defined]
        assert time.monotonic() < deadline_s, f"only {len(received)} of {count}"
    return received


def test_a_consumer_reads_its_partitions_from_the_beginning_in_order(server: ScriptedNats) -> None:
    """More than it asks for at once; and of the other member's partitions nothing."""
    for partition in range(PARTITIONS):
        fill(server, partition, 1_300)
    consumer = client.connect_consumer(dataclasses.replace(spec_of(server), members=2, member=0), "s", "c")
    received = receive(consumer, 2_600)
    consumer.close()
    for partition in (0, 2):
        assert [payload for at, payload in received if at == partition] == [b"%d" % number for number in range(1_300)]
    assert server.stream(1).consumers == {}
    assert consumer.errors() == {}


def test_a_consumer_begins_with_the_first_message(server: ScriptedNats) -> None:
    """Of the stream, however long before the consumer it was sent; as its configuration asks the server."""
    consumer = client.connect_consumer(spec_of(server), "s", "c")
    consumer.close()
    configs = [stream.consumers["s"].config for stream in server.streams.values()]
    assert [config["deliver_policy"] for config in configs] == ["all"] * PARTITIONS
    assert [config["num_replicas"] for config in configs] == [0] * PARTITIONS, "as many as its stream has"


def test_closing_keeps_the_position(server: ScriptedNats) -> None:
    """The last message is acknowledged, and with it those before: the subscription's next consumer gets what follows."""
    fill(server, 0, 10)
    consumer = client.connect_consumer(spec_of(server), "s", "c")
    assert len(receive(consumer, 10)) == 10
    consumer.close()
    server.wait_until(lambda: server.stream(0).consumers["s"].acknowledged == 10)
    assert server.stream(0).consumers["s"].config["ack_policy"] == "all"


def test_a_held_consumer_asks_for_nothing_until_it_is_released(server: ScriptedNats) -> None:
    """What has accumulated follows then."""
    fill(server, 1, 5)
    consumer = client.connect_consumer(spec_of(server), "s", "c")
    consumer.hold()
    assert consumer.receive(0.2) == []
    assert server.requests["CONSUMER.MSG"] == 0
    consumer.release()
    assert receive(consumer, 5) == [(1, b"%d" % number) for number in range(5)]
    consumer.close()


def test_a_consumer_goes_on_after_a_lost_connection_and_tells_it(server: ScriptedNats) -> None:
    """It subscribes anew, keeps its place, and the loss is among its errors."""
    fill(server, 0, 3)
    consumer = client.connect_consumer(spec_of(server), "s", "c")
    assert len(receive(consumer, 3)) == 3
    server.cut()
    fill(server, 0, 2)
    assert len(receive(consumer, 2)) == 2
    assert consumer.errors() == {"ConnectionLost": 1}
    assert server.stream(0).consumers["s"].acknowledged == 3, "what was received must not come again"
    consumer.close()


def test_requests_wait_for_jetstream_to_be_available(server: ScriptedNats) -> None:
    """A cluster that is electing says so, and is asked again."""
    server.late = 3
    consumer = client.connect_consumer(spec_of(server), "s", "c")
    consumer.close()
    assert set(server.stream(0).consumers) == {"s"}


def test_a_topic_without_streams_is_an_error(server: ScriptedNats) -> None:
    """With the topic's name."""
    with pytest.raises(ClientError, match="NoSuchTopic: other: its streams are none"):
        client.connect_producer(dataclasses.replace(spec_of(server), topic="other"), Told())


def test_compression_is_refused(server: ScriptedNats) -> None:
    """The protocol has none: a load that asks for it can't be made, and must not be made without."""
    with pytest.raises(ClientError, match="unsupported: NATS' clients don't compress, and lz4 was asked for"):
        client.connect_producer(spec_of(server, compression="lz4"), Told())


def test_the_configuration_says_what_the_client_runs_with(server: ScriptedNats) -> None:
    """As recorded with a trial, and the same when connected."""
    spec = spec_of(server)
    producer, consumer = client.connect_producer(spec, Told()), client.connect_consumer(spec, "s", "c")
    assert client.configuration(spec) == {"producer": producer.configuration(), "consumer": consumer.configuration()}
    assert producer.configuration()["acks"] == "stream"
    assert consumer.configuration()["ack_policy"] == "all"
    producer.close()
    consumer.close()
