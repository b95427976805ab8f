"""The NATS client when a server breaks: what is sent again, what isn't, where it is read on, and what is told of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

import pytest

from contract.fault import Fault
from contract.workload import Workload
from systems.client import ClientError, ClientSpec
from systems.connection import Backoff
from systems.nats import client
from systems.nats.order_client import Order, numbers_in
from systems.nats.wire_client import Servers
from tests.systems.nats_server import ScriptedNats
from tests.systems.test_nats_client import PARTITIONS, PAYLOAD, fill, receive, spec_of, with_settings
from tests.systems.told import Told

FAULTS = (Fault(1.0, "kill"),)


@pytest.fixture
def server() -> Iterator[ScriptedNats]:
    """A server with the streams of topic t; a client that said what it may not fails the test."""
    with ScriptedNats("t", PARTITIONS) as scripted:
        yield scripted
        assert scripted.problems == []


@pytest.fixture
def other(server: ScriptedNats) -> Iterator[ScriptedNats]:
    """Another server with the same streams."""
    with ScriptedNats("t", PARTITIONS, beside=server) as scripted:
        yield scripted
        assert scripted.problems == []


def with_ids(server: ScriptedNats, **settings: str) -> ClientSpec:
    """How to connect where messages have ids."""
    return with_settings(spec_of(server), message_ids="true", **settings)


def both(server: ScriptedNats, other: ScriptedNats, spec: ClientSpec) -> ClientSpec:
    """Either of the servers."""
    return dataclasses.replace(spec, service_url=f"{server.address},{other.address}")


def stored(server: ScriptedNats) -> list[bytes]:
    """Every message of every stream, stream by stream."""
    return [payload for stream in server.streams.values() for _, payload in stream.messages]


def test_what_a_lost_connection_left_without_an_answer_is_sent_again(server: ScriptedNats) -> None:
    """The server hadn't read it: it is stored once, in order, and acknowledged; and the loss is told."""
    told = Told()
    producer = client.connect_producer(spec_of(server, partitions=PARTITIONS), told)
    server.deaf.set()
    for sequence in range(30):
        producer.send(sequence, b"%d" % sequence)
    server.cut()
    server.deaf.clear()
    told.wait_for(30)
    assert producer.errors() == {"ConnectionLost": 1}
    producer.close()
    assert (sorted(told.acknowledgements), told.failures) == ([(at, at % PARTITIONS) for at in range(30)], [])
    for partition in range(PARTITIONS):
        expected = [b"%d" % sequence for sequence in range(partition, 30, PARTITIONS)]
        assert [payload for _, payload in server.stream(partition).messages] == expected


@pytest.mark.parametrize(("ids", "copies"), [("true", 1), ("false", 2)])
def test_what_was_stored_and_not_acknowledged_is_stored_twice_without_ids_alone(
    server: ScriptedNats, ids: str, copies: int
) -> None:
    """The connection broke between the message and its answer: with an id the stream knows the message, without it can't."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(with_settings(spec_of(server), message_ids=ids), told)
    for sequence in range(5):
        producer.send(sequence, b"%d" % sequence)
    server.wait_until(lambda: len(stored(server)) == 5)
    server.silent = False
    server.cut()
    told.wait_for(5)
    producer.close()
    assert (sorted(told.acknowledgements), told.failures) == ([(at, at % PARTITIONS) for at in range(5)], [])
    assert sorted(stored(server)) == sorted([b"%d" % sequence for sequence in range(5)] * copies)


def test_a_message_is_not_sent_again_where_that_is_switched_off(server: ScriptedNats) -> None:
    """As the vendor's client for Go: what was on its way has failed, and the next message goes on."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(with_settings(spec_of(server), resend="false"), told)
    for sequence in range(5):
        producer.send(sequence, PAYLOAD)
    server.wait_until(lambda: len(stored(server)) == 5)
    server.silent = False
    server.cut()
    told.wait_for(5)
    assert dict(told.failures) == dict.fromkeys(range(5), "ConnectionLost")
    producer.send(5, PAYLOAD)
    told.wait_for(6)
    producer.close()
    assert told.acknowledgements == [(5, 5 % PARTITIONS)]


def test_messages_that_are_handed_over_without_a_server_wait_for_one_until_their_timeout(server: ScriptedNats) -> None:
    """No longer: then they have failed, once."""
    told = Told()
    producer = client.connect_producer(spec_of(server, delivery_timeout_s=0.5), told)
    server.close()
    began_s = time.monotonic()
    for sequence in range(3):
        producer.send(sequence, PAYLOAD)
    told.wait_for(3)
    assert 0.4 <= time.monotonic() - began_s < 2.0
    producer.close()
    assert (dict(told.failures), told.acknowledgements) == (dict.fromkeys(range(3), "TimedOut"), [])


def test_messages_that_wait_for_a_connection_are_written_once(server: ScriptedNats) -> None:
    """Without ids a second copy would be stored: what is still in the queue is no other message than what is outstanding."""
    told = Told()
    producer = client.connect_producer(spec_of(server), told)
    server.deaf.set()
    server.cut()
    server.wait_until(lambda: producer.errors() == {"ConnectionLost": 1})
    for sequence in range(20):
        producer.send(sequence, b"%d" % sequence)
    server.deaf.clear()
    told.wait_for(20)
    producer.close()
    assert sorted(stored(server)) == sorted(b"%d" % sequence for sequence in range(20))


def test_the_server_that_was_lost_is_tried_last(server: ScriptedNats, other: ScriptedNats) -> None:
    """Each of them, when it was lost."""
    servers = Servers(both(server, other, spec_of(server)), Backoff(0.01, 0.01))
    for lost, next_one in ((server, other), (other, server)):
        servers.lose(lost.address)
        link = servers.another(1.0)
        assert link is not None and link.server == next_one.address
        link.close()


def test_the_next_server_is_taken_when_one_is_lost(server: ScriptedNats, other: ScriptedNats) -> None:
    """Whichever was the first: the lost one would refuse."""
    told = Told()
    producer = client.connect_producer(both(server, other, spec_of(server)), told)
    taken = server if server.commands else other
    taken.close()
    producer.send(0, b"0")
    told.wait_for(1)
    producer.close()
    assert told.acknowledgements == [(0, 0)]
    assert "CONNECT" in (server if taken is other else other).commands


def test_a_server_that_falls_silent_is_left_for_another(server: ScriptedNats, other: ScriptedNats) -> None:
    """Its connection stays open, as that of a frozen one: that nothing comes although it was asked is what tells."""
    told = Told()
    spec = with_settings(both(server, other, spec_of(server)), silent_ms="400", message_ids="true")
    producer = client.connect_producer(spec, told)
    taken = server if server.commands else other
    taken.deaf.set()
    producer.send(0, b"0")
    told.wait_for(1)
    assert producer.errors() == {"ConnectionLost": 1}
    producer.close()
    assert (told.acknowledgements, stored(server)) == ([(0, 0)], [b"0"])


def test_a_server_that_answers_pings_is_kept_however_little_it_says(server: ScriptedNats) -> None:
    """Half of the time of silence after the last word it is asked, and what it answers counts."""
    producer = client.connect_producer(with_settings(spec_of(server), silent_ms="100"), Told())
    server.wait_until(lambda: server.commands.count("PING") > 4)
    assert producer.errors() == {}
    producer.close()


def test_a_message_with_an_id_is_sent_again_when_no_answer_comes(server: ScriptedNats) -> None:
    """As what is lost behind the server that took it: nothing tells but the time. It is stored once."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(with_ids(server, ack_wait_ms="200"), told)
    producer.send(0, b"0")
    server.wait_until(lambda: len(stored(server)) == 1)
    server.silent = False
    told.wait_for(1)
    assert producer.errors() == {"NoAcknowledgement": 1}
    producer.close()
    assert (told.acknowledgements, stored(server)) == ([(0, 0)], [b"0"])


def test_a_message_without_an_id_is_not_sent_again_while_its_connection_holds(server: ScriptedNats) -> None:
    """It may only be slow, and would be stored twice."""
    server.silent = True
    told = Told()
    producer = client.connect_producer(with_settings(spec_of(server), ack_wait_ms="1", silent_ms="100"), told)
    producer.send(0, b"0")
    server.wait_until(lambda: server.commands.count("PING") > 5)
    producer.close()
    assert stored(server) == [b"0"]


def test_an_answer_to_a_message_that_was_given_up_is_reported(server: ScriptedNats) -> None:
    """The stream has it all the same: whoever counts learns of it."""
    server.hold = True
    told = Told()
    producer = client.connect_producer(spec_of(server, delivery_timeout_s=0.2), told)
    producer.send(1, b"1")
    told.wait_for(1)
    server.say_held()
    told.wait_for(2)
    producer.close()
    assert (told.failures, told.acknowledgements) == ([(1, "TimedOut")], [(1, 1 % PARTITIONS)])


def test_messages_of_another_load_over_the_same_connection_have_other_ids(server: ScriptedNats) -> None:
    """Sequences begin anew: a stream that took them for the same messages would acknowledge what it doesn't store."""
    told = Told()
    producer = client.connect_producer(with_ids(server), told)
    for load in range(2):
        producer.send(0, b"%d" % load)
        told.wait_for(load + 1)
    producer.close()
    assert stored(server) == [b"0", b"1"]


@pytest.mark.parametrize("error", [503, 10158, 10009])
def test_an_error_that_passes_is_waited_out(server: ScriptedNats, error: int) -> None:
    """The stream is electing, or still busy with the same message: it has said nothing yet of what becomes of it."""
    answers = [b'{"error":{"code":503,"err_code":%d}}' % error if error > 503 else b'{"error":{"code":503}}']
    server.answer_of = lambda _payload: answers.pop() if answers else None
    told = Told()
    producer = client.connect_producer(with_ids(server), told)
    producer.send(0, b"0")
    told.wait_for(1)
    producer.close()
    assert (told.acknowledgements, told.failures) == ([(0, 0)], [])


def test_without_acknowledgements_what_was_not_written_follows(server: ScriptedNats) -> None:
    """A message counts when it has been written, also if that takes another connection."""
    told = Told()
    producer = client.connect_producer(spec_of(server, acks="none"), told)
    server.cut()
    server.wait_until(lambda: producer.errors() == {"ConnectionLost": 1})
    for sequence in range(10):
        producer.send(sequence, PAYLOAD)
    told.wait_for(10)
    producer.close()
    assert (len(told.acknowledgements), told.failures) == (10, [])


def test_ids_are_on_where_the_workload_has_faults(server: ScriptedNats) -> None:
    """Elsewhere off: streams would keep every id of two minutes in memory for what doesn't happen. A setting of one's own stands."""
    spec = spec_of(server)
    disturbed = dataclasses.replace(spec, workload=Workload("w", 1_000, 40, 10.0, faults=FAULTS))
    own = with_settings(disturbed, message_ids="false")
    ids = [client.configuration(each)["producer"]["message_ids"] for each in (spec, disturbed, own)]
    assert ids == ["false", "true", "false"]


def test_impossible_waits_are_refused(server: ScriptedNats) -> None:
    """The first wait mustn't be longer than the longest."""
    with pytest.raises(ClientError, match="reconnect_wait_ms 5000, reconnect_most_ms 1000"):
        client.connect_producer(with_settings(spec_of(server), reconnect_wait_ms="5000"), Told())


def test_a_delivery_that_was_lost_comes_again_and_its_place_is_kept_until_then(server: ScriptedNats) -> None:
    """What came behind it is handed over and not acknowledged: the stream would take all before it for received."""
    fill(server, 0, 5)
    server.stream(0).losing = {3}
    consumer = client.connect_consumer(with_settings(spec_of(server), acknowledge_every_ms="1"), "s", "c")
    assert [payload for _, payload in receive(consumer, 4)] == [b"0", b"1", b"3", b"4"]
    server.wait_until(lambda: consumer.receive(0.05) == [] and server.stream(0).consumers["s"].acknowledged == 2)
    server.stream(0).consumers["s"].again = [3, 4, 5]
    assert receive(consumer, 1) == [(0, b"2")], "and the others not once more"
    consumer.receive(0.05)
    server.wait_until(lambda: consumer.receive(0.05) == [] and server.stream(0).consumers["s"].acknowledged == 5)
    consumer.close()


def test_an_acknowledgement_that_got_lost_is_said_again(server: ScriptedNats) -> None:
    """What comes once more shows that it never arrived; it isn't handed over, and the position is told anew."""
    fill(server, 1, 2)
    consumer = client.connect_consumer(with_settings(spec_of(server), acknowledge_every_ms="1"), "s", "c")
    receive(consumer, 2)
    position = server.stream(1).consumers["s"]
    server.wait_until(lambda: consumer.receive(0.05) == [] and position.acknowledged == 2)
    position.acknowledged, position.again = 0, [1, 2]
    server.wait_until(lambda: consumer.receive(0.05) == [] and position.acknowledged == 2)
    consumer.close()


def test_a_consumer_begins_behind_its_subscriptions_position(server: ScriptedNats) -> None:
    """It knows it from the stream: a first message further on shows that some are missing."""
    fill(server, 0, 4)
    first = client.connect_consumer(spec_of(server), "s", "c")
    receive(first, 4)
    first.close()
    server.wait_until(lambda: server.stream(0).consumers["s"].acknowledged == 4)
    fill(server, 0, 2)
    server.stream(0).losing = {5}
    second = client.connect_consumer(with_settings(spec_of(server), acknowledge_every_ms="1"), "s", "c")
    receive(second, 1)
    second.receive(0.1)
    second.close()
    assert server.stream(0).consumers["s"].acknowledged == 4


def test_messages_of_a_stream_that_lost_some_are_handed_over_under_their_old_numbers() -> None:
    """They were stored later than those that had the numbers before: they are others."""
    order = Order()
    assert order.goes_on(b"$JS.ACK.s.c.1.3.3.1000.0", 3)
    assert not order.goes_on(b"$JS.ACK.s.c.1.2.4.2000.0", 1)
    assert order.is_new(b"$JS.ACK.s.c.1.2.4.2000.0")
    assert not order.is_new(b"$JS.ACK.s.c.1.2.5.2000.0")
    assert order.goes_on(b"$JS.ACK.s.c.1.3.6.2001.0", 1)


def test_a_repeat_does_not_stand_for_one_that_is_missing() -> None:
    """Of three messages the second came twice and the third is missing: as many as there should be, and yet not those."""
    order = Order()
    assert order.goes_on(b"$JS.ACK.s.c.1.1.1.1000.0", 1)
    assert not order.goes_on(b"$JS.ACK.s.c.1.4.6.1003.0", 3)


@pytest.mark.parametrize(
    "reply", [b"$JS.ACK.t-0.s.1.7.8.1795573010657564560.3", b"$JS.ACK.hub.ACCT.t-0.s.1.7.8.1795573010657564560.3.x"]
)
def test_the_numbers_of_a_message_are_found_with_and_without_a_domain(reply: bytes) -> None:
    """As servers write them, of one version and another."""
    assert numbers_in(reply) == (7, 8, 1795573010657564560)


def test_a_consumer_leaves_a_server_that_falls_silent(server: ScriptedNats, other: ScriptedNats) -> None:
    """And goes on at the other one, behind what it had received."""
    fill(server, 0, 3)
    spec = with_settings(both(server, other, spec_of(server)), silent_ms="300")
    consumer = client.connect_consumer(spec, "s", "c")
    assert len(receive(consumer, 3)) == 3
    (server if "SUB" in server.commands else other).deaf.set()
    fill(server, 0, 2)
    assert len(receive(consumer, 2)) == 2
    assert consumer.errors() == {"ConnectionLost": 1}
    consumer.close()
