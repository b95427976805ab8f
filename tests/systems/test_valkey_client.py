"""The Valkey client against a scripted server: what it says, and what becomes of messages; replies are as a real server's."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contract.workload import Workload
from systems.client import Backpressure, ClientError, ClientSpec
from systems.connection import ConnectionLost
from systems.valkey import client
from systems.valkey.consumer_client import ValkeyConsumer, position_in
from systems.valkey.entries_client import Entry, EntryReader
from systems.valkey.resp_client import ErrorReply, Incomplete, all_replies, encoded, reply_at
from tests.systems.told import Told
from tests.systems.valkey_server import ScriptedServer, Stream

SESSION: list[tuple[tuple[str, ...], bytes]] = [
    (tuple(each["command"]), each["reply"].encode())
    for each in json.loads((Path(__file__).with_name("recorded") / "valkey" / "session.json").read_text())
]
WORKLOAD = Workload(
    "w", rate_per_s=1, message_bytes=100, measure_s=1.0, partitions=4, partitioning="round-robin", batch_delay_ms=5
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """One with a topic of four partitions; whatever a client may not say fails the test."""
    made = ScriptedServer("t", 4)
    yield made
    made.close()
    assert not made.problems


def spec_of(server: ScriptedServer, settings: dict[str, str] | None = None, **changes: Any) -> ClientSpec:
    """How to connect; fields of the workload are changed with those of the client."""
    own = {key: changes.pop(key) for key in list(changes) if hasattr(WORKLOAD, key)}
    workload = dataclasses.replace(WORKLOAD, **own)
    made = ClientSpec("m", server.url, "t", settings or {"wait_replicas": "1"}, workload, 5.0, connect_timeout_s=2.0)
    return dataclasses.replace(made, **changes)


def sent(spec: ClientSpec, messages: int) -> Told:
    """What became of so many messages."""
    told = Told(messages)
    with closing(client.connect_producer(spec, told)) as producer:
        for at in range(messages):
            producer.send(at, b"%04d" % at)
        told.wait()
    return told


def received(consumer: ValkeyConsumer, messages: int) -> list[tuple[int, bytes]]:
    """At least so many, within seconds."""
    found: list[tuple[int, bytes]] = []
    deadline = time.monotonic() + 10
    while len(found) < messages and time.monotonic() < deadline:
        found += consumer.receive(0.1)
    return found


def replied(*command: str, nth: int = 0) -> bytes:
    """What a real server replied to a command that began so."""
    return [reply for words, reply in SESSION if words[: len(command)] == command][nth]


def test_every_recorded_reply_is_understood() -> None:
    """All of them at once, and each as far as its last byte."""
    assert len(all_replies(b"".join(reply for _, reply in SESSION))) == len(SESSION)
    for _, reply in SESSION:
        for end in range(len(reply)):
            with pytest.raises(Incomplete):
                reply_at(reply[:end], 0)


def test_replies_are_told_apart() -> None:
    """Numbers, strings, nothing, refusals with their names."""
    assert all_replies(replied("WAIT", "3")) == [2]
    assert all_replies(replied("HGET", "t")) == [b"2"]
    assert all_replies(replied("XADD", "t/9")) == [None]
    [refusal] = all_replies(replied("XADD", "t/0", nth=1))
    assert isinstance(refusal, ErrorReply) and refusal.name == "OOM"


@pytest.mark.parametrize("wrong", [b"hello\r\n", b":1:1\r\n", b"$x\r\n", b"\r\n"])
def test_what_is_no_reply_ends_the_connection(wrong: bytes) -> None:
    """It isn't waited for, and isn't taken for another."""
    with pytest.raises(ConnectionLost, match="not a reply"):
        reply_at(wrong, 0)


def test_a_command_is_written_as_the_server_reads_it() -> None:
    """The number of words, then each with its length in bytes."""
    assert encoded("SET", b"\r\n", 12, "é") == b"*4\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$2\r\n12\r\n$2\r\n\xc3\xa9\r\n"


@pytest.mark.parametrize("piece_bytes", [1, 7, 1000])
def test_entries_are_handed_over_as_they_come(piece_bytes: int) -> None:
    """However the reply is cut into pieces; a message with a key is its last field; short replies come before it."""
    reply = replied("XGROUP", "SETID") + replied("XREAD")
    reader = EntryReader({b"t/0": 0, b"t/1": 1})
    reader.expect(1)
    found: list[Entry] = []
    for at in range(0, len(reply), piece_bytes):
        assert not reader.whole
        found += reader.feed(reply[at : at + piece_bytes])
    number = b"1795573726598-0"
    assert found == [Entry(0, found[0].id, b"one"), Entry(1, found[1].id, b"two")]
    assert len(found[0].id) == len(number)
    assert reader.whole and not reader.refusals


def test_no_entries_in_time_is_a_whole_reply() -> None:
    """And so is a refusal, which is kept."""
    reader = EntryReader({b"t/0": 0})
    reader.expect(0)
    assert reader.feed(replied("XREAD", nth=1)) == [] and reader.whole
    reader.expect(1)
    reader.feed(replied("XGROUP", "SETID", nth=1) + replied("XREAD", nth=1))
    assert reader.whole and [each.name for each in reader.refusals] == ["NOGROUP"]


def test_a_groups_position_is_found() -> None:
    """Of the group that was asked for; one that isn't there is an error."""
    [at_first] = all_replies(replied("XINFO"))
    [moved] = all_replies(replied("XINFO", nth=1))
    assert (position_in(at_first, "s"), position_in(moved, "s")) == (b"0-0", b"5-0")
    with pytest.raises(ClientError, match="NoSuchGroup"):
        position_in(moved, "other")


def test_messages_go_to_their_partitions_in_order(server: ScriptedServer) -> None:
    """Round-robin; each is acknowledged with its partition, after a WAIT for one replica with the delivery timeout."""
    told = sent(spec_of(server), 40)
    assert sorted(told.acknowledgements) == [(at, at % 4) for at in range(40)]
    assert not told.failures
    for partition in range(4):
        assert server.payloads(f"t/{partition}") == [b"%04d" % at for at in range(partition, 40, 4)]
    waits = server.said("WAIT")
    assert {words[1] for words in waits} == {b"1"}
    assert all(4_000 < int(words[2]) <= 5_000 for words in waits)


def test_a_batch_has_one_wait_and_its_bound(server: ScriptedServer) -> None:
    """What came within the delay goes together, at most batch_bytes of it."""
    told = Told(12)
    with closing(client.connect_producer(spec_of(server, batch_delay_ms=200, batch_bytes=1000), told)) as producer:
        for at in range(12):
            producer.send(at, bytes(100))
        told.wait()
    batches = "".join({b"XADD": "m", b"WAIT": " "}.get(each[0], "") for each in server.commands).split()
    assert len(batches) in (3, 4)
    command = encoded("XADD", "t/0", "NOMKSTREAM", "*", "m", bytes(100))
    assert max(map(len, batches)) * len(command) <= 1000


def test_without_batching_every_message_waits_alone(server: ScriptedServer) -> None:
    """One WAIT each."""
    sent(spec_of(server, batching=False), 6)
    assert len(server.said("WAIT")) == 6


def test_where_no_replica_is_waited_for_none_is_asked(server: ScriptedServer) -> None:
    """At levels 3 and 4 the server's reply is the acknowledgement."""
    told = sent(spec_of(server, {"wait_replicas": "0"}), 10)
    assert len(told.acknowledgements) == 10
    assert not server.said("WAIT")


@pytest.mark.parametrize("connections", ["1", "3"])
def test_more_connections_keep_the_order_of_a_partition(server: ScriptedServer, connections: str) -> None:
    """A partition's messages all go by the same one."""
    told = sent(spec_of(server, {"wait_replicas": "1", "connections": connections}, batch_delay_ms=0), 400)
    assert len(told.acknowledgements) == 400
    for partition in range(4):
        assert server.payloads(f"t/{partition}") == [b"%04d" % at for at in range(partition, 400, 4)]
    assert len(server.said("PING")) == int(connections)


def test_sticky_keeps_to_a_partition_for_a_batch(server: ScriptedServer) -> None:
    """Then it moves on; every partition gets some."""
    told = Told(8)
    with closing(client.connect_producer(spec_of(server, partitioning="sticky", batch_delay_ms=1), told)) as producer:
        for at in range(0, 8, 2):
            producer.send(at, b"a")
            producer.send(at + 1, b"b")
            while len(told.acknowledgements) < at + 2:
                time.sleep(0.001)
    partitions = dict(told.acknowledgements)
    assert set(partitions.values()) == {0, 1, 2, 3}


def test_a_key_has_one_partition_and_is_stored(server: ScriptedServer) -> None:
    """Two producers with the same seed put the same keys into the same streams."""
    spec = spec_of(server, keys="random", partitioning="sticky", seed=3)
    for _ in (1, 2):
        sent(spec, 50)
    homes: dict[bytes, set[bytes]] = {}
    for name, stream in server.streams.items():
        for _, fields in stream.entries:
            assert fields[::2] == [b"k", b"m"]
            homes.setdefault(fields[1], set()).add(name)
    assert all(len(home) == 1 for home in homes.values())
    assert len({name for home in homes.values() for name in home}) > 1


def test_a_short_count_fails_the_batch(server: ScriptedServer) -> None:
    """WAIT replies a number when its time is up, not an error: fewer replicas than the level asks for is no acknowledgement."""
    server.replicas = 0
    told = sent(spec_of(server), 5)
    assert told.acknowledgements == []
    assert Counter(error for _, error in told.failures) == {"TooFewReplicas": 5}


def test_a_refused_message_fails_alone(server: ScriptedServer) -> None:
    """With the server's word for it; those of the same batch are acknowledged."""
    server.refusals = [replied("XADD", "t/0", nth=1), replied("XADD", "t/9")]
    told = sent(spec_of(server), 6)
    assert sorted(told.failures) == [(0, "OOM"), (1, "NoSuchStream")]
    assert sorted(at for at, _ in told.acknowledgements) == [2, 3, 4, 5]


def test_without_replies_written_is_acknowledged(server: ScriptedServer) -> None:
    """The server is told to send none, and refusals stay unknown."""
    server.refusals = [replied("XADD", "t/0", nth=1)]
    told = sent(spec_of(server, {"wait_replicas": "0", "replies": "false"}), 20)
    assert len(told.acknowledgements) == 20
    assert server.said("CLIENT", "REPLY", "OFF") and not server.said("WAIT")


def test_a_server_that_does_not_answer_is_given_up(server: ScriptedServer) -> None:
    """Each message is reported failed soon after its time is up, also those that were never written."""
    told = Told(3)
    spec = spec_of(server, {"wait_replicas": "1", "in_flight_batches": "1"}, delivery_timeout_s=0.5, batch_delay_ms=0)
    with closing(client.connect_producer(spec, told)) as producer:
        server.silent = True
        began = time.monotonic()
        for at in range(3):
            producer.send(at, b"x")
            time.sleep(0.05)
        told.wait()
        assert time.monotonic() - began < 5
    assert {error for _, error in told.failures} == {"TimedOut"}
    assert told.acknowledgements == []


def test_closing_reports_what_is_left_once(server: ScriptedServer) -> None:
    """Exactly once each, and no message is taken any more."""
    told = Told(10)
    server_silent = spec_of(server, {"wait_replicas": "1", "in_flight_batches": "1"}, batching=False)
    producer = client.connect_producer(server_silent, told)
    server.silent = True
    for at in range(10):
        producer.send(at, b"x")
    producer.close()
    producer.close()
    assert sorted(told.failures) == [(at, "Closed") for at in range(10)]
    with pytest.raises(ClientError, match="Closed"):
        producer.send(10, b"x")


def test_a_full_queue_is_backpressure(server: ScriptedServer) -> None:
    """When the server is far behind the window, and not before."""
    told = Told(0)
    spec = spec_of(server, {"wait_replicas": "1", "in_flight_batches": "1"}, batching=False, in_flight=10)
    with closing(client.connect_producer(spec, told)) as producer:
        server.silent = True
        with pytest.raises(Backpressure):
            for at in range(2_000):
                producer.send(at, b"x")
        assert at > 1_020


def test_members_share_the_partitions(server: ScriptedServer) -> None:
    """Each reads its own from the beginning, and one beyond the last partition stands by."""
    sent(spec_of(server), 40)
    for member, mine in ((0, {0, 3}), (1, {1}), (2, {2})):
        with closing(client.connect_consumer(spec_of(server, members=3, member=member), "s", f"c-{member}")) as one:
            found = received(one, 10 * len(mine))
            assert {partition for partition, _ in found} == mine
            for partition in mine:
                assert [payload for at, payload in found if at == partition] == server.payloads(f"t/{partition}")
    with closing(client.connect_consumer(spec_of(server, members=5, member=4), "s", "c-4")) as spare:
        assert spare.receive(0.05) == ()


def test_positions_are_taken_down(server: ScriptedServer) -> None:
    """Once in a while, and when the consumer is closed; the next one goes on there, another subscription begins at the beginning."""
    sent(spec_of(server), 8)
    spec = spec_of(server, {"position_every_ms": "50"})
    with closing(client.connect_consumer(spec, "s", "c-0")) as one:
        received(one, 8)
        deadline = time.monotonic() + 5
        while len({words[2] for words in server.said("XGROUP", "SETID")}) < 4 and time.monotonic() < deadline:
            one.receive(0.1)
        assert {words[2] for words in server.said("XGROUP", "SETID")} == {f"t/{at}".encode() for at in range(4)}
        sent(spec_of(server), 4)
        received(one, 4)
    with closing(client.connect_consumer(spec, "s", "c-0")) as again:
        assert again.receive(0.2) == []
    with closing(client.connect_consumer(spec, "other", "c-0")) as other:
        assert len(received(other, 12)) == 12
    assert not one.errors()


def test_a_held_consumer_gets_what_accumulated(server: ScriptedServer) -> None:
    """Nothing until it is released."""
    with closing(client.connect_consumer(spec_of(server), "s", "c-0")) as one:
        one.hold()
        sent(spec_of(server), 12)
        assert not one.receive(0.1)
        one.release()
        assert len(received(one, 12)) == 12


def test_a_consumer_whose_connection_is_lost_goes_on(server: ScriptedServer) -> None:
    """It counts the error, connects again and misses and repeats nothing."""
    with closing(client.connect_consumer(spec_of(server), "s", "c-0")) as one:
        sent(spec_of(server), 4)
        before = received(one, 4)
        server.drop()
        sent(spec_of(server), 4)
        after = received(one, 4)
        assert (len(before), len(after)) == (4, 4)
        assert one.errors() == {"ConnectionLost": 1}


def test_a_topic_that_is_not_there_is_told(server: ScriptedServer) -> None:
    """Both as a whole and a stream of it, before any message."""
    with pytest.raises(ClientError, match="topic other"):
        client.connect_producer(spec_of(server, topic="other"), Told(0))
    del server.streams[b"t/3"]
    with pytest.raises(ClientError, match="3 of 4 streams are there"):
        client.connect_consumer(spec_of(server), "s", "c-0")


def test_a_server_that_loads_is_waited_for(server: ScriptedServer) -> None:
    """For as long as one may take to connect; then the reason is its own."""
    server.greeting = b"-LOADING Valkey is loading the dataset in memory\r\n"
    with pytest.raises(ClientError, match="LOADING"):
        client.connect_producer(spec_of(server, connect_timeout_s=0.5), Told(0))
    assert len(server.said("PING")) > 1


def test_what_the_client_can_not_do_is_refused(server: ScriptedServer) -> None:
    """Compression, and settings without sense."""
    with pytest.raises(ClientError, match="doesn't compress, and lz4 was asked for"):
        client.connect_producer(spec_of(server, compression="lz4"), Told(0))
    with pytest.raises(ClientError, match="connections is 0"):
        client.configuration(spec_of(server, {"connections": "0"}))


def test_the_configuration_is_told_whole(server: ScriptedServer) -> None:
    """What the load and the level say of the client, without connecting and with it."""
    spec = spec_of(server, {"wait_replicas": "1", "replies": "true", "connections": "2"}, batch_bytes=4096)
    told = client.configuration(spec)
    assert told["producer"] == {
        "server": server.url, "protocol": "2", "tcp_nodelay": "true", "connections": "2", "in_flight_batches": "2",
        "wait_replicas": "1", "replies": "true", "delivery_timeout_ms": "5000", "batching": "true", "batch_delay_ms": "5",
        "batch_bytes": "4096", "compression": "none",
        "resend": "true", "reconnect_wait_ms": "100", "reconnect_most_ms": "1000", "silent_ms": "10000",
    }  # fmt: skip
    alone = client.configuration(spec_of(server, {"wait_replicas": "0"}, in_flight=70))
    assert alone["producer"]["in_flight_batches"] == "71", "without WAIT the window alone bounds"
    with closing(client.connect_producer(spec, Told(0))) as producer:
        assert producer.configuration() == told["producer"]
    with closing(client.connect_consumer(spec, "s", "c-0")) as consumer:
        assert consumer.configuration() == told["consumer"]


def test_nobody_there_is_a_client_error_in_time(server: ScriptedServer) -> None:
    """Told with topic and address, of producers and consumers, and not after minutes."""
    spec = spec_of(server, connect_timeout_s=0.5)
    server.close()
    began = time.monotonic()
    with pytest.raises(ClientError, match=f"topic t at {server.url}"):
        client.connect_producer(spec, Told(0))
    with pytest.raises(ClientError, match=f"topic t at {server.url}"):
        client.connect_consumer(spec, "s", "c-0")
    assert time.monotonic() - began < 5


def test_a_setting_that_the_client_has_not_is_refused(server: ScriptedServer) -> None:
    """A misspelt setting must not silently do nothing."""
    with pytest.raises(ClientError, match=r"ackz; this client knows connections, in_flight_batches"):
        client.connect_producer(spec_of(server, {"ackz": "all"}), Told(0))


def test_a_topic_of_the_probe_has_its_own_partitions(server: ScriptedServer) -> None:
    """What the server keeps counts, not how many the workload's topic has."""
    server.hashes[b"probe"] = b"1"
    server.streams[b"probe/0"] = Stream()
    told = sent(spec_of(server, topic="probe"), 8)
    assert {partition for _, partition in told.acknowledgements} == {0}
