"""The producer: chooses each message's partition, and so the connection that it goes by."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from systems.client import Acknowledgements, Backpressure, ClientError, ClientSpec
from systems.keys import keys_of
from systems.valkey.lane_client import Lane, Terms
from systems.valkey.resp_client import Link, encoded
from systems.valkey.session_client import Message
from systems.valkey.topic_client import KEY, PAYLOAD, stream_of


class ValkeyProducer:
    """See Producer. A partition's messages all go by the same connection, so their order is kept."""

    def __init__(
        self, links: Sequence[Link], terms: Terms, spec: ClientSpec, partitions: int, acknowledgements: Acknowledgements,
        given: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._given = given
        self._key_of = keys_of(spec)
        self._heads = [head_of(spec.topic, at, keyed=self._key_of is not None) for at in range(partitions)]
        # Room beyond our own window: the window is what bounds, so that a full one never looks like an error.
        self._room = 2 * spec.workload.in_flight + 1_000
        self._lanes = [Lane(link, terms, acknowledgements) for link in links]
        lane_of = [self._lanes[at % len(self._lanes)] for at in range(partitions)]
        self._lane_of = lane_of
        self._partition_of = partition_chooser(spec, partitions, lambda partition: lane_of[partition].taken)
        self._closed = False

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def send(self, sequence: int, payload: bytes) -> None:
        if self._closed:
            raise ClientError("Closed")
        key = self._key_of(sequence).encode() if self._key_of is not None else None
        partition = self._partition_of(sequence, key)
        lane = self._lane_of[partition]
        if lane.waiting > self._room:
            raise Backpressure("QueueFull")
        head = self._heads[partition]
        if key is None:
            command = b"%b$%d\r\n%b\r\n" % (head, len(payload), payload)
        else:
            command = b"%b$%d\r\n%b\r\n$1\r\nm\r\n$%d\r\n%b\r\n" % (head, len(key), key, len(payload), payload)
        lane.put(Message(sequence, partition, command, time.monotonic()))

    def errors(self) -> Mapping[str, int]:
        return sum((lane.errors for lane in self._lanes), Counter())

    def close(self) -> None:
        self._closed = True
        for lane in self._lanes:
            lane.close()


def head_of(topic: str, partition: int, *, keyed: bool) -> bytes:
    """The constant beginning of the command that adds a message. It makes no stream: a topic that isn't there is an error.

    The fields of an entry are the key, where messages have keys, and the payload; the id is the server's own.
    """
    words = ["XADD", stream_of(topic, partition), "NOMKSTREAM", "*", KEY if keyed else PAYLOAD]
    more = 3 if keyed else 1
    return b"*%d\r\n" % (len(words) + more) + encoded(*words).partition(b"\r\n")[2]


def partition_chooser(
    spec: ClientSpec, partitions: int, batches_of: Callable[[int], int]
) -> Callable[[int, bytes | None], int]:
    """A function (sequence, key) -> partition. `batches_of`: how many batches have been taken from where a partition's messages wait.

    A key's partition is that of its CRC-32, whoever sends. Sticky: the same partition until a batch has been taken, then the next.
    """
    if spec.workload.keys != "none":
        return lambda _sequence, key: zlib.crc32(key or b"") % partitions
    if spec.workload.partitioning == "round-robin":
        return lambda sequence, _key: sequence % partitions
    current, seen = 0, batches_of(0)

    def sticky(_sequence: int, _key: bytes | None) -> int:
        nonlocal current, seen
        if batches_of(current) != seen:
            current = (current + 1) % partitions
            seen = batches_of(current)
        return current

    return sticky
