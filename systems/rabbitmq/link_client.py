"""A connection that has been opened, with one channel: what every producer and consumer begins with."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable
from contextlib import suppress

import systems.rabbitmq.frames_client as amqp
from systems.client import ClientError, ClientSpec
from systems.connection import Connection, ConnectionLost, connect_to
from systems.rabbitmq.frames_client import Closed, Frame, FrameReader, TableValue
from systems.rabbitmq.topic_client import queue_of

USER = PASSWORD = "guest"  # the vendor's own; a node listens at its hosts' address alone
_VIRTUAL_HOST = "/"
_TRY_S, _LEAST_TRY_S = 5.0, 0.05
_RETRY_S = 0.2
_MOST_CHANNELS = 1
_NOT_FOUND = 404
_ABILITIES = {
    "publisher_confirms": True,
    "basic.nack": True,
    "connection.blocked": True,
    "consumer_cancel_notify": True,
}
_SILENT_HEARTBEATS = 2  # as the protocol has it: after so many intervals without a byte the other side is gone


class Refused(ConnectionLost):
    """The node has closed the channel or the connection, for this reason."""

    def __init__(self, why: Closed) -> None:
        super().__init__(f"closed by the node: {why.code} {why.text}")
        self.code = why.code


class Link:
    """An open channel to one node. One thread writes, one reads.

    `frame_bytes`: how long a frame may be; `heartbeat_s` 0 = none; `partitions`: how many the topic has that it was opened for.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reader = FrameReader()
        self.frame_bytes, self.heartbeat_s, self.partitions = 4096, 0.0, 0
        self._heard_s = self._said_s = time.monotonic()

    def write(self, content: bytes) -> None:
        """Writes whole frames; waits as long as the node doesn't read. Raises ConnectionLost."""
        self._connection.write(content)
        self._said_s = time.monotonic()

    def read(self, timeout_s: float) -> list[Frame]:
        """The frames that come within the time, as soon as some do, but for heartbeats.

        Raises ConnectionLost, also when the node closes the channel or the connection, with its reason, or has been silent too long.
        """
        piece = self._connection.read(timeout_s)
        now_s = time.monotonic()
        if not piece:
            if self.heartbeat_s and now_s - self._heard_s > _SILENT_HEARTBEATS * self.heartbeat_s:
                raise ConnectionLost(f"the node has been silent for {now_s - self._heard_s:.0f} s")
            return []
        self._heard_s = now_s
        frames = self._reader.feed(piece)
        for each in frames:
            if each.kind == amqp.METHOD and each.method in (amqp.CONNECTION_CLOSE, amqp.CHANNEL_CLOSE):
                raise Refused(amqp.closed(each.payload))
        return [each for each in frames if each.kind != amqp.HEARTBEAT]

    def keep_alive(self) -> None:
        """Says something if it is time to. Call it a few times in each `heartbeat_s`. Raises ConnectionLost."""
        if self.heartbeat_s and time.monotonic() - self._said_s > self.heartbeat_s / 2:
            self.write(amqp.HEARTBEAT_FRAME)

    def ask(self, request: bytes, answer: int, deadline_s: float) -> tuple[Frame, list[Frame]]:
        """The answer of this method, and what else came. Raises ConnectionLost, also at the deadline (monotonic)."""
        self.write(request)
        others: list[Frame] = []
        while (left_s := deadline_s - time.monotonic()) > 0:
            frames = self.read(left_s)
            for at, each in enumerate(frames):
                if each.method == answer:
                    return each, others + frames[at + 1 :]
                others.append(each)
        raise ConnectionLost("no answer in time")

    def close(self, *, within_s: float = 0.0) -> None:
        """Ends it, also for a thread that is reading or writing; with a time the node has taken all that was written. Never raises."""
        if within_s > 0:
            with suppress(ConnectionLost):
                closing = amqp.method(amqp.CHANNEL_CLOSE, amqp.NO_REASON)
                self.ask(closing, amqp.CHANNEL_CLOSE_OK, time.monotonic() + within_s)
        self._connection.close()


def connect(
    spec: ClientSpec, deadline_s: float, *, heartbeat_s: int, name: str, prepare: Callable[[Link, float], None],
    first: str = "",
) -> Link:  # fmt: skip
    """A channel that has found the topic to the `first` node if it answers, else to one in an order that is drawn anew each time.

    `prepare` does more on the channel before it is used. Raises ClientError at the deadline (monotonic), or at once if the topic isn't
    there.
    """
    nodes, problem = spec.service_url.split(","), "no time"
    while True:
        for node in sorted(random.sample(nodes, len(nodes)), key=lambda each: each != first):
            left_s = deadline_s - time.monotonic()
            # no more than half of the time for the first one: a node that is frozen takes connections, and never answers
            try_s = min(_TRY_S, left_s / 2 if node == first else left_s)
            until_s = time.monotonic() + max(_LEAST_TRY_S, try_s)
            where = f"topic {spec.topic} at {spec.service_url}: {node}"
            link = None
            try:
                link = _opened(node, until_s, heartbeat_s, name)
                link.partitions = _found(link, spec.topic, spec.workload.partitions, until_s)
                prepare(link, until_s)
                return link
            except ConnectionLost as error:
                problem = f"{where}: {error}"
                missing = isinstance(error, Refused) and error.code == _NOT_FOUND
            if link is not None:
                link.close()
            if missing:
                raise ClientError("NoSuchTopic", problem)
            if time.monotonic() > deadline_s:
                raise ClientError("TimedOut", problem)
        time.sleep(_RETRY_S)


def _found(link: Link, topic: str, most: int, deadline_s: float) -> int:
    """How many partitions a topic has: as many as the workload says, or a single one, as the probe's has. Raises Refused."""
    for at in range(most):
        try:
            link.ask(_passively(queue_of(topic, at)), amqp.QUEUE_DECLARE_OK, deadline_s)
        except Refused as refusal:
            if refusal.code != _NOT_FOUND or at != 1:
                raise
            link.write(amqp.method(amqp.CHANNEL_CLOSE_OK))
            link.ask(amqp.method(amqp.CHANNEL_OPEN, amqp.short("")), amqp.CHANNEL_OPEN_OK, deadline_s)
            return 1
    return most


def _opened(node: str, deadline_s: float, heartbeat_s: int, name: str) -> Link:
    link = Link(connect_to(node, max(0.05, deadline_s - time.monotonic())))
    try:
        link.ask(amqp.GREETING, amqp.CONNECTION_START, deadline_s)
        properties: dict[str, TableValue] = {"product": "samebox", "connection_name": name, "capabilities": _ABILITIES}
        credentials = amqp.long(f"\0{USER}\0{PASSWORD}".encode())
        start = amqp.table(properties) + amqp.short("PLAIN") + credentials + amqp.short("en_US")
        tune, _ = link.ask(amqp.method(amqp.CONNECTION_START_OK, start, channel=0), amqp.CONNECTION_TUNE, deadline_s)
        _, frame_bytes, offered_s = struct.unpack_from(">HIH", tune.payload, 4)
        agreed_s = min(heartbeat_s, offered_s) if offered_s else 0
        agreed = struct.pack(">HIH", _MOST_CHANNELS, frame_bytes, agreed_s)
        link.write(amqp.method(amqp.CONNECTION_TUNE_OK, agreed, channel=0))
        link.frame_bytes, link.heartbeat_s = frame_bytes, float(agreed_s)
        opening = amqp.short(_VIRTUAL_HOST) + amqp.short("") + b"\0"
        link.ask(amqp.method(amqp.CONNECTION_OPEN, opening, channel=0), amqp.CONNECTION_OPEN_OK, deadline_s)
        link.ask(amqp.method(amqp.CHANNEL_OPEN, amqp.short("")), amqp.CHANNEL_OPEN_OK, deadline_s)
    except ConnectionLost:
        link.close()
        raise
    return link


def _passively(queue: str) -> bytes:
    """Asks whether a queue is there, without making it."""
    passive = 1
    return amqp.method(amqp.QUEUE_DECLARE, b"\0\0" + amqp.short(queue) + bytes([passive]) + amqp.table({}))
