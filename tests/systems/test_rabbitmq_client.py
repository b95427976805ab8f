"""The RabbitMQ client against a scripted node: what it says, and what becomes of messages; a real node's words are recorded."""

from __future__ import annotations

import dataclasses
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contract.workload import Backlog, Workload
from systems.client import Backpressure, ClientError, ClientSpec
from systems.connection import ConnectionLost
from systems.rabbitmq import client
from systems.rabbitmq import frames_client as amqp
from systems.rabbitmq.consumer_client import RabbitConsumer
from systems.rabbitmq.frames_client import Frame, FrameReader
from tests.systems.amqp_server import ScriptedNode, await_that, long, method, short
from tests.systems.told import Told

RECORDED = Path(__file__).with_name("recorded") / "rabbitmq"
WORKLOAD = Workload("w", rate_per_s=1, message_bytes=100, measure_s=1.0, partitions=4, partitioning="round-robin")


@pytest.fixture
def node() -> Iterator[ScriptedNode]:
    """One with a topic of four queues; whatever a client may not say fails the test."""
    made = ScriptedNode("t", 4)
    yield made
    made.close()
    assert not made.problems


@pytest.fixture
def streams() -> Iterator[ScriptedNode]:
    """The same with streams."""
    made = ScriptedNode("t", 4, streams=True)
    yield made
    made.close()
    assert not made.problems


@pytest.fixture
def other() -> Iterator[ScriptedNode]:
    """A second node; what reaches it stays with it, so that a test sees which way a message went."""
    made = ScriptedNode("t", 4)
    yield made
    made.close()
    assert not made.problems


def spec_of(node: ScriptedNode, settings: dict[str, str] | None = None, **changes: Any) -> ClientSpec:
    """How to connect; fields of the workload are changed with those of the client."""
    own = {key: changes.pop(key) for key in list(changes) if hasattr(WORKLOAD, key)}
    workload = dataclasses.replace(WORKLOAD, **own)
    kind = {"queue_type": "stream" if node.streams else "quorum"}
    made = ClientSpec("m", node.url, "t", kind | (settings or {}), workload, 5.0, connect_timeout_s=2.0)
    return dataclasses.replace(made, **changes)


def sent(spec: ClientSpec, messages: int, *, size: int = 4) -> Told:
    """What became of so many messages, each of which says its number."""
    told = Told(messages)
    with closing(client.connect_producer(spec, told)) as producer:
        for at in range(messages):
            producer.send(at, b"%0*d" % (size, at))
        told.wait()
    return told


def received(consumer: RabbitConsumer, messages: int) -> list[tuple[int, bytes]]:
    """At least so many, within seconds."""
    found: list[tuple[int, bytes]] = []
    deadline_s = time.monotonic() + 10
    while len(found) < messages and time.monotonic() < deadline_s:
        found += consumer.receive(0.1)
    return found


@pytest.mark.parametrize("name", ["produced", "consumed", "streamed", "refused"])
def test_a_recorded_session_is_read_alike_however_it_is_cut(name: str) -> None:
    """A real node's bytes: whole, byte by byte, and in pieces of seven."""
    said = (RECORDED / f"{name}.amqp").read_bytes()
    whole = FrameReader().feed(said)
    assert whole and sum(len(each.payload) + 8 for each in whole) == len(said)
    for piece_bytes in (1, 7):
        reader = FrameReader()
        cut = [each for at in range(0, len(said), piece_bytes) for each in reader.feed(said[at : at + piece_bytes])]
        assert cut == whole


def recorded(name: str, number: int) -> list[Frame]:
    """The frames of one method in a real node's session."""
    return [each for each in FrameReader().feed((RECORDED / f"{name}.amqp").read_bytes()) if each.method == number]


def test_a_real_nodes_confirms_are_understood() -> None:
    """Of ten messages, each confirmed exactly once by the tags that they have or by one for all up to it."""
    confirmed: set[int] = set()
    for each in recorded("produced", amqp.BASIC_ACK):
        tag, multiple = amqp.tag_and_flag(each.payload)
        confirmed |= set(range(1, tag + 1)) if multiple else {tag}
    assert confirmed == set(range(1, 11))


def test_a_real_nodes_messages_are_understood() -> None:
    """Whose they are, how long they are, and in a stream their offsets."""
    for name in ("consumed", "streamed"):
        deliveries = recorded(name, amqp.BASIC_DELIVER)
        assert [amqp.consumer_and_tag(each.payload) for each in deliveries] == [(b"0", at) for at in range(1, 11)]
        frames = FrameReader().feed((RECORDED / f"{name}.amqp").read_bytes())
        headers = [each.payload for each in frames if each.kind == amqp.HEADER]
        assert [amqp.body_bytes(each) for each in headers] == [4] * 10
    assert [amqp.stream_offset(each) for each in headers] == list(range(10))


def test_a_real_nodes_refusal_is_understood() -> None:
    """The code, and the node's own words."""
    [refusal] = recorded("refused", amqp.CHANNEL_CLOSE)
    why = amqp.closed(refusal.payload)
    assert why.code == 404
    assert why.text.startswith("NOT_FOUND - no queue")


@pytest.mark.parametrize("wrong", [b"AMQP\0\0\x09\1", b"\1\0\1\0\0\0\0\0\0", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_is_no_frame_ends_the_connection(wrong: bytes) -> None:
    """Another protocol, or a frame whose end isn't where it should be: it isn't waited for."""
    with pytest.raises(ConnectionLost, match="not a frame"):
        FrameReader().feed(wrong)


def test_messages_go_to_their_partitions_in_order(node: ScriptedNode) -> None:
    """Round-robin; each is acknowledged with its partition when it is confirmed."""
    told = sent(spec_of(node), 40)
    assert sorted(told.acknowledgements) == [(at, at % 4) for at in range(40)]
    assert not told.failures
    for partition in range(4):
        assert node.payloads(f"t-{partition}") == [b"%04d" % at for at in range(partition, 40, 4)]


def test_partitions_go_by_the_nodes_in_turn(node: ScriptedNode, other: ScriptedNode) -> None:
    """A producer is connected to each, and a partition's messages all go to the same one, in order."""
    told = sent(spec_of(node, service_url=f"{node.url},{other.url}"), 40)
    assert sorted(told.acknowledgements) == [(at, at % 4) for at in range(40)]
    for partition in range(4):
        here, elsewhere = (node, other) if partition % 2 == 0 else (other, node)
        assert here.payloads(f"t-{partition}") == [b"%04d" % at for at in range(partition, 40, 4)]
        assert elsewhere.payloads(f"t-{partition}") == []


@pytest.mark.parametrize(("per_node", "partitions", "connections"), [(1, 4, 2), (2, 4, 4), (3, 4, 4), (1, 1, 1)])
def test_a_producer_has_no_more_connections_than_partitions(
    node: ScriptedNode, other: ScriptedNode, per_node: int, partitions: int, connections: int
) -> None:
    """As many to each node as it was told otherwise."""
    settings = {"connections_per_node": str(per_node)}
    spec = spec_of(node, settings, service_url=f"{node.url},{other.url}", partitions=partitions)
    with closing(client.connect_producer(spec, Told())):
        assert len(node.channels) + len(other.channels) == connections


def test_a_node_that_is_gone_is_left_for_another(node: ScriptedNode, other: ScriptedNode) -> None:
    """What was on its way to it, and its partitions' next messages, go by a node that is there."""
    other.confirm = "none"
    told = Told(3)
    with closing(client.connect_producer(spec_of(node, service_url=f"{node.url},{other.url}"), told)) as producer:
        producer.send(0, b"zero")
        producer.send(1, b"one")
        await_that(lambda: other.payloads("t-1"))
        other.close()
        told.wait_for(2)
        producer.send(5, b"five")
        told.wait()
        assert producer.errors() == {"ConnectionLost": 1}
    assert (sorted(told.acknowledgements), told.failures) == ([(0, 0), (1, 1), (5, 1)], [])
    assert node.payloads("t-1") == [b"one", b"five"]


def test_a_node_that_is_frozen_is_left_for_another(node: ScriptedNode) -> None:
    """It takes connections and says nothing: there is time left for one that answers."""
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        urls = "{}:{},{}".format(*frozen.getsockname(), node.url)
        told = sent(spec_of(node, service_url=urls, connect_timeout_s=1.0), 8)
    assert sorted(told.acknowledgements) == [(at, at % 4) for at in range(8)]


def test_a_confirm_for_all_up_to_a_message_is_one_for_each(node: ScriptedNode) -> None:
    """Once for each of them, whatever came alone before."""
    node.confirm = "multiple"
    told = sent(spec_of(node), 500)
    assert [sequence for sequence, _ in told.acknowledgements] == list(range(500))


def test_a_long_message_goes_in_frames_that_the_node_takes(node: ScriptedNode) -> None:
    """None is longer than was agreed, and what arrives is the message, for the consumer as well."""
    told = sent(spec_of(node, message_bytes=20_000), 4, size=20_000)
    assert len(told.acknowledgements) == 4
    with closing(client.connect_consumer(spec_of(node), "s", "c")) as consumer:
        assert sorted(received(consumer, 4)) == [(at, b"%020000d" % at) for at in range(4)]


def test_a_refused_message_fails_alone(node: ScriptedNode) -> None:
    """A node that says no to one has the others; with sending again switched off, or it would be tried once more."""
    node.nack = {3}
    told = sent(spec_of(node, {"resend": "false"}), 6)
    assert told.failures == [(2, "Nacked")]
    assert len(told.acknowledgements) == 5


def test_a_message_that_the_node_could_not_handle_is_sent_again(node: ScriptedNode) -> None:
    """After a while, behind the others; and it is told."""
    node.nack = {3}
    told = Told(6)
    with closing(client.connect_producer(spec_of(node), told)) as producer:
        for at in range(6):
            producer.send(at, b"%d" % at)
        told.wait()
        assert producer.errors() == {"Nacked": 1}
    assert ([sequence for sequence, _ in told.acknowledgements][-1], told.failures) == (2, [])


def test_a_message_that_reaches_no_queue_fails(node: ScriptedNode) -> None:
    """The node confirms it all the same: what comes back before that counts."""
    node.unroutable = {2, 5}
    told = sent(spec_of(node), 6)
    assert sorted(told.failures) == [(1, "NO_ROUTE"), (4, "NO_ROUTE")]
    assert sorted(sequence for sequence, _ in told.acknowledgements) == [0, 2, 3, 5]


def test_a_message_that_is_never_confirmed_is_given_up(node: ScriptedNode) -> None:
    """After the delivery timeout; the connection goes on."""
    node.confirm = "none"
    told = Told(2)
    with closing(client.connect_producer(spec_of(node, delivery_timeout_s=0.5), told)) as producer:
        producer.send(0, b"first")
        told.wait_for(1)
        node.confirm = "each"
        producer.send(1, b"second")
        told.wait()
    assert (told.failures, [sequence for sequence, _ in told.acknowledgements]) == ([(0, "TimedOut")], [1])


def test_a_node_that_makes_publishers_wait_is_told(node: ScriptedNode) -> None:
    """As its reason, and not as a full buffer; what is on its way fails by that name, and sending goes on when it is over."""
    node.confirm = "none"
    told = Told(1)
    with closing(client.connect_producer(spec_of(node, delivery_timeout_s=0.5), told)) as producer:
        producer.send(0, b"on its way")
        await_that(lambda: node.payloads("t-0"))
        node.say(method((10, 60), short("low on memory"), channel=0))
        await_that(lambda: told.failures)
        with pytest.raises(Backpressure, match="Blocked: low on memory"):
            producer.send(1, b"more")
        node.say(method((10, 61), channel=0))
        node.confirm = "each"
        time.sleep(0.2)
        producer.send(1, b"more")
        told.wait_for(2)
    assert told.failures == [(0, "Blocked")]


def test_what_a_lost_connection_left_without_confirms_is_sent_again(node: ScriptedNode) -> None:
    """On a new channel, which is made as the first one was, before what follows. The queue has it twice: it can't know."""
    node.confirm = "none"
    told = Told(3)
    with closing(client.connect_producer(spec_of(node), told)) as producer:
        producer.send(0, b"one")
        producer.send(4, b"two")
        await_that(lambda: len(node.payloads("t-0")) == 2)
        node.confirm = "each"
        node.drop()
        producer.send(8, b"three")
        told.wait()
        assert producer.errors() == {"ConnectionLost": 1}
    assert (sorted(told.acknowledgements), told.failures) == ([(0, 0), (4, 0), (8, 0)], [])
    assert (85, 10) in node.channels[-1].said
    assert node.payloads("t-0") == [b"one", b"two", b"one", b"two", b"three"]


def test_nothing_is_sent_again_where_that_is_switched_off(node: ScriptedNode) -> None:
    """What was on its way has failed, and the next message goes on."""
    node.confirm = "none"
    told = Told(3)
    with closing(client.connect_producer(spec_of(node, {"resend": "false"}), told)) as producer:
        producer.send(0, b"one")
        producer.send(1, b"two")
        await_that(lambda: node.payloads("t-1"))
        node.drop()
        told.wait_for(2)
        node.confirm = "each"
        producer.send(2, b"three")
        told.wait()
    assert sorted(told.failures) == [(0, "ConnectionLost"), (1, "ConnectionLost")]
    assert told.acknowledgements == [(2, 2)]
    assert sum(map(len, node.queues.values())) == 3


def test_without_a_node_every_message_waits_until_its_timeout_and_no_longer(node: ScriptedNode) -> None:
    """Each fails once; nothing is left over when the producer is closed."""
    told = Told(300)
    with closing(client.connect_producer(spec_of(node, delivery_timeout_s=0.5), told)) as producer:
        node.close()
        began_s = time.monotonic()
        for at in range(300):
            producer.send(at, b"x")
        told.wait_for(1)
        assert time.monotonic() - began_s >= 0.5
        told.wait()
    assert sorted(told.failures) == [(at, "TimedOut") for at in range(300)]


def test_a_channel_that_the_node_closes_is_a_lost_connection(node: ScriptedNode) -> None:
    """With what was on its way."""
    node.confirm = "none"
    told = Told(1)
    with closing(client.connect_producer(spec_of(node, {"resend": "false"}), told)) as producer:
        producer.send(0, b"one")
        await_that(lambda: node.payloads("t-0"))
        node.say(method((20, 40), struct.pack(">H", 406) + short("PRECONDITION_FAILED") + bytes(4)))
        told.wait()
    assert told.failures == [(0, "ConnectionLost")]


def test_a_confirm_of_nothing_ends_the_connection(node: ScriptedNode) -> None:
    """It is taken for no other message's."""
    node.confirm = "none"
    told = Told(1)
    with closing(client.connect_producer(spec_of(node, {"resend": "false"}), told)) as producer:
        producer.send(0, b"one")
        await_that(lambda: node.payloads("t-0"))
        node.say(method((60, 80), struct.pack(">QB", 7, 1)))
        told.wait()
    assert (told.acknowledgements, told.failures) == ([], [(0, "ConnectionLost")])


def test_closing_gives_up_what_is_not_confirmed(node: ScriptedNode) -> None:
    """Each exactly once, and closing twice is closing once."""
    node.confirm = "none"
    told = Told()
    producer = client.connect_producer(spec_of(node), told)
    for at in range(20):
        producer.send(at, b"x")
    await_that(lambda: sum(map(len, node.queues.values())) == 20)
    producer.close()
    producer.close()
    assert sorted(told.failures) == [(at, "Closed") for at in range(20)]
    with pytest.raises(ClientError, match="Closed"):
        producer.send(20, b"x")


def test_without_confirms_a_message_counts_when_it_is_written(node: ScriptedNode) -> None:
    """No confirm is asked for, and closing waits until the node has taken everything."""
    told = Told()
    with closing(client.connect_producer(spec_of(node, {"confirms": "false"}), told)) as producer:
        for at in range(300):
            producer.send(at, b"%04d" % at)
    assert sorted(sequence for sequence, _ in told.acknowledgements) == list(range(300))
    assert sum(map(len, node.queues.values())) == 300
    assert (85, 10) not in node.channels[0].said


def test_a_full_window_of_our_own_is_backpressure(node: ScriptedNode) -> None:
    """Beyond the load generator's window, so that it never looks like an error of the node's."""
    node.confirm = "none"
    producer = client.connect_producer(spec_of(node, in_flight=1), Told())
    with pytest.raises(Backpressure, match="TooManyPending"):
        for at in range(5_000):
            producer.send(at, b"x")
    producer.close()


def test_a_key_has_one_partition_and_is_sent(node: ScriptedNode) -> None:
    """Two producers with the same seed put the same keys into the same queues."""
    spec = spec_of(node, keys="random", partitioning="sticky", seed=3)
    for _ in (1, 2):
        sent(spec, 50)
    homes: dict[bytes, set[str]] = {}
    for name, contents in node.queues.items():
        for content in contents:
            assert content.properties.startswith(struct.pack(">H", 0x3000)) and content.properties.endswith(b"\2")
            at = content.properties.index(b"\3keyS") + 5
            homes.setdefault(content.properties[at + 4 : -1], set()).add(name)
    assert all(len(home) == 1 for home in homes.values())
    assert len({name for home in homes.values() for name in home}) > 1


def test_messages_are_to_be_kept_on_disk(node: ScriptedNode) -> None:
    """Each says so itself."""
    sent(spec_of(node), 4)
    assert {content.properties for contents in node.queues.values() for content in contents} == {
        struct.pack(">H", 0x1000) + b"\2"
    }


@pytest.mark.parametrize("kind", ["node", "streams"])
def test_members_share_the_partitions(kind: str, request: pytest.FixtureRequest) -> None:
    """In turn, and each gets its partitions' messages in order; one beyond the last stands by."""
    served: ScriptedNode = request.getfixturevalue(kind)
    sent(spec_of(served), 40)
    for member in (0, 1):
        with closing(client.connect_consumer(spec_of(served, members=2, member=member), "s", "c")) as consumer:
            found = received(consumer, 20)
        assert {partition for partition, _ in found} == {member, member + 2}
        for partition in (member, member + 2):
            assert [payload for at, payload in found if at == partition] == served.payloads(f"t-{partition}")
    idle = client.connect_consumer(spec_of(served, members=5, member=4), "s", "c")
    assert idle.receive(0.05) == []
    idle.close()


def test_what_was_received_is_acknowledged_when_a_consumer_is_closed(node: ScriptedNode) -> None:
    """All of it, so that a queue gives it to nobody else."""
    sent(spec_of(node), 8)
    with closing(client.connect_consumer(spec_of(node), "s", "c")) as consumer:
        assert len(received(consumer, 8)) == 8
    assert {len(done) for done in node.acknowledged.values()} == {2}
    again = client.connect_consumer(spec_of(node), "s", "c")
    assert again.receive(0.2) == []
    again.close()


def test_acknowledgements_keep_up_with_the_prefetch(node: ScriptedNode) -> None:
    """Half of what may be outstanding is acknowledged at once: the node never waits for us."""
    sent(spec_of(node, partitions=1), 200)
    spec = spec_of(node, {"prefetch": "10", "acknowledge_every_ms": "60000"}, partitions=1)
    with closing(client.connect_consumer(spec, "s", "c")) as consumer:
        assert len(received(consumer, 200)) == 200
    assert node.channels[-1].prefetch == 10


def test_few_messages_are_acknowledged_after_a_while(node: ScriptedNode) -> None:
    """Though no more of them come."""
    sent(spec_of(node), 4)
    consumer = client.connect_consumer(spec_of(node, {"acknowledge_every_ms": "100"}), "s", "c")
    received(consumer, 4)
    assert not any(node.acknowledged.values())
    time.sleep(0.15)
    consumer.receive(0.05)
    await_that(lambda: all(node.acknowledged.values()))
    consumer.close()


def test_a_held_consumer_keeps_its_place(node: ScriptedNode) -> None:
    """And gets everything afterwards."""
    consumer = client.connect_consumer(spec_of(node), "s", "c")
    consumer.hold()
    sent(spec_of(node), 8)
    assert consumer.receive(0.1) == []
    consumer.release()
    assert len(received(consumer, 8)) == 8
    consumer.close()


def test_a_queues_consumer_goes_on_after_a_lost_connection_and_tells_it(node: ScriptedNode) -> None:
    """What it hadn't acknowledged comes again, as the node has it; the error is counted."""
    sent(spec_of(node), 4)
    consumer = client.connect_consumer(spec_of(node), "s", "c")
    first = received(consumer, 4)
    node.drop()
    assert sorted(received(consumer, 4)) == sorted(first)
    assert consumer.errors() == {"ConnectionLost": 1}
    consumer.close()


def test_a_streams_consumer_goes_on_behind_what_it_has(streams: ScriptedNode) -> None:
    """Also where the node begins again a little before: nothing comes twice."""
    sent(spec_of(streams), 40)
    consumer = client.connect_consumer(spec_of(streams), "s", "c")
    assert len(received(consumer, 40)) == 40
    streams.drop()
    came: list[tuple[int, bytes]] = []

    def noticed() -> bool:
        came.extend(consumer.receive(0.05))
        return bool(consumer.errors())

    await_that(noticed)
    sent(spec_of(streams), 4)
    assert sorted([*came, *received(consumer, 4)]) == [(at, b"%04d" % at) for at in range(4)]
    assert consumer.receive(0.1) == []
    consumer.close()


def test_a_stream_is_read_from_its_beginning_by_whoever_comes(streams: ScriptedNode) -> None:
    """Nothing that was read is gone."""
    sent(spec_of(streams), 8)
    for _ in (1, 2):
        with closing(client.connect_consumer(spec_of(streams), "s", "c")) as consumer:
            assert len(received(consumer, 8)) == 8


def test_a_consumer_that_the_node_cancels_is_an_error(node: ScriptedNode) -> None:
    """As when its queue is deleted: it isn't waited for in silence."""
    consumer = client.connect_consumer(spec_of(node), "s", "c")
    node.say(method((60, 30), short("2") + b"\1"))
    await_that(lambda: consumer.receive(0.05) == [] and consumer.errors())
    consumer.close()


@pytest.mark.parametrize("held", [False, True])
def test_an_idle_connection_is_kept_alive(held: bool) -> None:
    """By heartbeats, a held consumer's as well, as often as the node wants them."""
    node = ScriptedNode("t", 4, heartbeat_s=1)
    told = Told(1)
    producer = client.connect_producer(spec_of(node), told)
    consumer = client.connect_consumer(spec_of(node), "s", "c")
    if held:
        consumer.hold()
    until_s = time.monotonic() + 1.6
    while time.monotonic() < until_s:
        node.say(b"\x08\0\0\0\0\0\0\xce")
        consumer.receive(0.1)
    assert node.heartbeats >= 4
    producer.send(0, b"still there")
    told.wait()
    assert told.acknowledgements and not consumer.errors()
    producer.close()
    consumer.close()
    node.close()
    assert not node.problems


def test_a_node_that_falls_silent_is_given_up() -> None:
    """After two intervals of its heartbeat without a byte, though the connection stands."""
    node = ScriptedNode("t", 4, heartbeat_s=1)
    node.confirm = "none"
    told = Told(1)
    with closing(
        client.connect_producer(spec_of(node, {"resend": "false"}, delivery_timeout_s=60.0), told)
    ) as producer:
        producer.send(0, b"into the void")
        told.wait_for(1, 6.0)
        assert told.failures == [(0, "ConnectionLost")]
    node.close()


def test_a_topic_that_is_not_there_is_told_at_once(node: ScriptedNode) -> None:
    """With the node's own words; also when only some of its partitions are there."""
    for changes in ({"topic": "other"}, {"partitions": 5}):
        began_s = time.monotonic()
        with pytest.raises(ClientError, match=r"NoSuchTopic.*404 NOT_FOUND - no queue"):
            client.connect_producer(spec_of(node, connect_timeout_s=30.0, **changes), Told())
        assert time.monotonic() - began_s < 5


def test_a_topic_of_one_partition_serves_any_workload() -> None:
    """As the probe's does, on the channel that the node closed at the question for a second one; a topic that lacks others doesn't."""
    node = ScriptedNode("t", 1)
    told = sent(spec_of(node, partitions=6), 10)
    assert told.acknowledgements == [(at, 0) for at in range(10)]
    with closing(client.connect_consumer(spec_of(node, partitions=6), "s", "c")) as consumer:
        assert len(received(consumer, 10)) == 10
    node.close()
    assert not node.problems


@pytest.mark.parametrize(
    ("settings", "changes", "problem"),
    [
        ({"prefetch": "0"}, {}, "prefetch is 0"),
        ({"prefetch": "70000"}, {}, "prefetch is 70000"),
        ({"connections_per_node": "0"}, {}, "connections_per_node must be at least 1"),
        ({"queue_type": "classic"}, {}, "queue_type is 'classic'"),
        ({"acks": "all"}, {}, "acks; this client knows"),
        ({}, {"compression": "lz4"}, "doesn't compress"),
        ({}, {"subscriptions": 2}, "has one subscription"),
        ({}, {"backlog": Backlog(1)}, "keeps no backlog"),
    ],
)
def test_what_the_client_cannot_do_is_refused(
    node: ScriptedNode, settings: dict[str, str], changes: dict[str, Any], problem: str
) -> None:
    """Before it connects, and when it is only asked for its configuration."""
    spec = spec_of(node, settings, **changes)
    for ask in (
        lambda: client.configuration(spec),
        lambda: client.connect_producer(spec, Told()),
        lambda: client.connect_consumer(spec, "s", "c"),
    ):
        with pytest.raises(ClientError, match=problem):
            ask()
    assert not node.channels


def test_streams_have_several_subscriptions(streams: ScriptedNode) -> None:
    """They keep what was read."""
    assert (
        client.configuration(spec_of(streams, subscriptions=2, backlog=Backlog(1)))["consumer"]["x-stream-offset"]
        == "first"
    )


def test_the_whole_configuration_is_told(node: ScriptedNode) -> None:
    """What a connection was given, the defaults included."""
    spec = spec_of(node, {"prefetch": "50"})
    told = client.configuration(spec)
    assert told["producer"] == {
        "servers": node.url, "protocol": "AMQP 0-9-1", "tcp_nodelay": "true", "heartbeat_s": "60", "queue_type": "quorum",
        "confirms": "true", "mandatory": "true", "delivery_mode": "2", "delivery_timeout_ms": "5000", "batched": "false",
        "connections_per_node": "1", "written_at_once": "256", "compression": "none",
        "resend": "true", "reconnect_wait_ms": "100", "reconnect_most_ms": "1000",
    }  # fmt: skip
    assert (told["consumer"]["prefetch"], told["consumer"]["acknowledge_every_ms"]) == ("50", "1000")
    with (
        closing(client.connect_producer(spec, Told())) as producer,
        closing(client.connect_consumer(spec, "s", "c")) as consumer,
    ):
        assert (producer.configuration(), consumer.configuration()) == (told["producer"], told["consumer"])


def test_tables_are_written_as_a_node_reads_them() -> None:
    """Texts, numbers, true and false, and tables inside."""
    assert amqp.table({"a": "b", "n": 3, "t": True, "c": {"d": False}}) == long(
        b"\1aS" + long(b"b") + b"\1nl" + struct.pack(">q", 3) + b"\1tt\1" + b"\1cF" + long(b"\1dt\0")
    )
