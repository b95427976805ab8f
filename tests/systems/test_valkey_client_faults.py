"""The Valkey client when its server breaks: what is sent again, what isn't, and what is told of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from systems.valkey import client
from tests.systems.test_valkey_client import spec_of
from tests.systems.told import Told
from tests.systems.valkey_server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """One with a topic of four partitions; whatever a client may not say fails the test."""
    made = ScriptedServer("t", 4)
    yield made
    made.close()
    assert not made.problems


def wait_until(true: Callable[[], object], within_s: float = 5.0) -> None:
    """Raises AssertionError if it isn't so in time."""
    deadline_s = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def stored(server: ScriptedServer) -> list[bytes]:
    """Every message, partition by partition."""
    return [payload for at in range(4) for payload in server.payloads(f"t/{at}")]


def test_what_a_lost_connection_left_without_replies_is_sent_again(server: ScriptedServer) -> None:
    """The server hadn't read it: it is there once, in order, before what was sent afterwards; and the loss is told."""
    told = Told(40)
    with closing(client.connect_producer(spec_of(server, batch_bytes=1_000), told)) as producer:
        server.deaf = True
        for at in range(30):
            producer.send(at, b"%04d" % at)
        wait_until(lambda: server.said("WAIT"))
        server.deaf = False
        server.drop()
        for at in range(30, 40):
            producer.send(at, b"%04d" % at)
        told.wait()
        assert producer.errors() == {"ConnectionLost": 1}
    assert (sorted(told.acknowledgements), told.failures) == ([(at, at % 4) for at in range(40)], [])
    for partition in range(4):
        assert server.payloads(f"t/{partition}") == [b"%04d" % at for at in range(partition, 40, 4)]


def test_what_the_server_had_taken_already_is_there_twice(server: ScriptedServer) -> None:
    """Nobody knows of it, and the server gives each entry an id of its own: it is acknowledged once, and read twice."""
    told = Told(1)
    with closing(client.connect_producer(spec_of(server), told)) as producer:
        server.silent = True
        producer.send(0, b"x")
        wait_until(lambda: server.said("WAIT"))
        server.silent = False
        server.drop()
        told.wait()
    assert (told.acknowledgements, told.failures) == ([(0, 0)], [])
    assert stored(server) == [b"x", b"x"]


def test_without_wait_what_has_its_reply_is_not_sent_again(server: ScriptedServer) -> None:
    """Of five messages two were answered when the connection ended, and the third was taken: that one alone is there twice."""
    told = Told(5)
    spec = spec_of(server, {"wait_replicas": "0"}, batch_delay_ms=50)
    with closing(client.connect_producer(spec, told)) as producer:
        server.replies_left = 2
        for at in range(5):
            producer.send(at, b"%d" % at)
        told.wait()
    assert (sorted(at for at, _ in told.acknowledgements), told.failures) == ([0, 1, 2, 3, 4], [])
    assert sorted(stored(server)) == [b"0", b"1", b"2", b"2", b"3", b"4"]


def test_nothing_is_sent_again_where_that_is_switched_off(server: ScriptedServer) -> None:
    """What was on its way has failed; what is sent afterwards is acknowledged."""
    told = Told(2)
    with closing(client.connect_producer(spec_of(server, {"wait_replicas": "1", "resend": "false"}), told)) as producer:
        server.silent = True
        producer.send(0, b"lost")
        wait_until(lambda: server.said("WAIT"))
        server.drop()
        wait_until(lambda: told.failures)
        server.silent = False
        producer.send(1, b"after")
        told.wait()
    assert (told.acknowledgements, told.failures) == ([(1, 1)], [(0, "ConnectionLost")])


def test_without_a_server_every_message_waits_until_its_timeout_and_no_longer(server: ScriptedServer) -> None:
    """Also those for which there is no room on the connection, and each once."""
    told = Told(300)
    spec = spec_of(server, delivery_timeout_s=0.5, batch_bytes=1_000, batch_delay_ms=0)
    with closing(client.connect_producer(spec, told)) as producer:
        server.close()
        began_s = time.monotonic()
        for at in range(300):
            producer.send(at, b"x")
        told.wait_for(1)
        assert time.monotonic() - began_s >= 0.5
        told.wait()
        assert time.monotonic() - began_s < 4
    assert sorted(told.failures) == [(at, "TimedOut") for at in range(300)]


def test_a_server_that_is_silent_and_answers_nobody_is_given_up(server: ScriptedServer) -> None:
    """As one that is frozen: its connection stays open. What was on it is sent again when the server goes on."""
    told = Told(1)
    spec = spec_of(server, {"wait_replicas": "1", "silent_ms": "200"}, delivery_timeout_s=20.0)
    with closing(client.connect_producer(spec, told)) as producer:
        server.deaf = True
        producer.send(0, b"x")
        wait_until(lambda: producer.errors() == {"ConnectionLost": 1})
        server.deaf = False
        told.wait()
    assert (told.acknowledgements, stored(server)) == ([(0, 0)], [b"x"])


def test_a_server_that_waits_for_its_replicas_is_not_given_up(server: ScriptedServer) -> None:
    """It says nothing on the connection that waits, but answers on another one."""
    told = Told(1)
    with closing(
        client.connect_producer(spec_of(server, {"wait_replicas": "1", "silent_ms": "100"}), told)
    ) as producer:
        server.waiting = True
        producer.send(0, b"x")
        pings = len(server.said("PING"))
        wait_until(lambda: len(server.said("PING")) > pings + 2)
        assert producer.errors() == {}
    assert stored(server) == [b"x"]


def test_without_replies_what_was_not_written_follows(server: ScriptedServer) -> None:
    """A message counts when it has been written, also if that takes another connection."""
    told = Told(10)
    spec = spec_of(server, {"wait_replicas": "0", "replies": "false"})
    with closing(client.connect_producer(spec, told)) as producer:
        server.drop()
        wait_until(lambda: producer.errors() == {"ConnectionLost": 1})
        for at in range(10):
            producer.send(at, b"x")
        told.wait()
    assert (len(told.acknowledgements), told.failures) == (10, [])
