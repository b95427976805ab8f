"""A RabbitMQ node in this process, scripted and strict: what a client may not say is kept in `problems` and ends its connection.

It has queues and streams, confirms, consumers with a prefetch and acknowledgements, as 4.0 answers them (`recorded/rabbitmq/*.amqp`).
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

Method = tuple[int, int]
START, TUNE, OPEN_OK = (10, 10), (10, 30), (10, 41)
FRAME_BYTES = 4096


class Content(NamedTuple):
    """A message as it was published: its properties' bytes, and what it says."""

    properties: bytes
    payload: bytes


@dataclass
class Consumer:
    """Who reads a queue: its next message, and how many of those it got aren't acknowledged."""

    queue: str
    tag: str
    next: int
    unacknowledged: int = 0


@dataclass
class Channel:
    """What a connection has told so far."""

    confirms: bool = False
    closed: bool = False
    published: int = 0
    prefetch: int = 0
    delivered: int = 0
    consumers: dict[str, Consumer] = field(default_factory=dict)
    outstanding: dict[int, tuple[Consumer, int]] = field(default_factory=dict)
    said: list[Method] = field(default_factory=list)


class ScriptedNode:
    """Serves until closed. `streams`: the queues keep what was read, and tell offsets.

    `confirm`: "each" message alone, or "multiple" for all up to every tenth; "none" = never. `nack`, `unroutable`: numbers of
    messages on a channel that are refused, or come back. `heartbeat_s` is what it offers.
    """

    def __init__(self, topic: str, partitions: int, *, streams: bool = False, heartbeat_s: int = 60) -> None:
        self.streams, self.heartbeat_s = streams, heartbeat_s
        self.confirm = "each"
        self.nack: set[int] = set()
        self.unroutable: set[int] = set()
        self.queues: dict[str, list[Content]] = {f"{topic}-{at}": [] for at in range(partitions)}
        self.acknowledged: dict[str, set[int]] = {name: set() for name in self.queues}
        self.problems: list[str] = []
        self.channels: list[Channel] = []
        self.heartbeats = 0
        self._connections: list[socket.socket] = []
        self._lock = threading.RLock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = "{}:{}".format(*self._listening.getsockname())
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Ends all connections, and takes no more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.drop()

    def drop(self) -> None:
        """Ends all connections."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def payloads(self, queue: str) -> list[bytes]:
        """The messages of a queue, in order."""
        return [content.payload for content in self.queues[queue]]

    def say(self, content: bytes) -> None:
        """Writes to every connection."""
        for connection in self._connections:
            with suppress(OSError):
                connection.sendall(content)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        channel = Channel()
        self.channels.append(channel)
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            try:
                self._open(connection, stream)
                while True:
                    kind, number, payload = frame_of(stream)
                    if kind == 8:
                        self.heartbeats += 1
                        continue
                    if (kind, number) != (1, 1):
                        raise ValueError(f"frame {kind} on channel {number}")
                    self._answer(connection, stream, channel, payload)
            except (ValueError, KeyError, struct.error) as problem:
                self.problems.append(repr(problem)[:300])
            except EOFError:
                pass

    def _open(self, connection: socket.socket, stream: BinaryIO) -> None:
        if stream.read(8) != b"AMQP\0\0\x09\x01":
            raise EOFError
        server = long(b"") + long(b"PLAIN AMQPLAIN") + long(b"en_US")
        connection.sendall(method(START, b"\0\x09" + server, channel=0))
        _, _, start = frame_of(stream)
        expect(start[:4] == packed((10, 11)) and b"\0guest\0guest" in start, start)
        for ability in (b"publisher_confirmst\x01", b"connection.blockedt\x01", b"consumer_cancel_notifyt\x01"):
            expect(ability in start, start)
        connection.sendall(method(TUNE, struct.pack(">HIH", 2047, FRAME_BYTES, self.heartbeat_s), channel=0))
        _, _, tuned = frame_of(stream)
        expect(tuned[:4] == packed((10, 31)) and struct.unpack(">HI", tuned[4:10]) == (1, FRAME_BYTES), tuned)
        _, _, opened = frame_of(stream)
        expect(opened == packed((10, 40)) + b"\x01/\0\0", opened)
        connection.sendall(method(OPEN_OK, b"\0", channel=0))
        _, _, channel = frame_of(stream)
        expect(channel == packed((20, 10)) + b"\0", channel)
        connection.sendall(method((20, 11), long(b"")))

    def _answer(self, connection: socket.socket, stream: BinaryIO, channel: Channel, payload: bytes) -> None:
        which = struct.unpack(">HH", payload[:4])
        channel.said.append(which)
        rest = payload[4:]
        with self._lock:
            if which == (20, 40):
                connection.sendall(method((20, 41)))
            elif which == (20, 41):
                expect(channel.closed, which)
            elif which == (20, 10):
                expect(channel.closed and rest == b"\0", rest)
                channel.closed = False
                connection.sendall(method((20, 11), long(b"")))
            elif which == (50, 10):
                self._declare(connection, channel, rest)
            elif which == (85, 10):
                expect(rest == b"\0", rest)
                channel.confirms = True
                connection.sendall(method((85, 11)))
            elif which == (60, 40):
                self._publish(connection, stream, channel, rest)
            elif which == (60, 10):
                size, channel.prefetch, whole = struct.unpack(">IHB", rest)
                expect((size, whole) == (0, 0), rest)
                connection.sendall(method((60, 11)))
            elif which == (60, 20):
                self._consume(connection, channel, rest)
            elif which == (60, 80):
                self._acknowledge(connection, channel, *struct.unpack(">QB", rest))
            else:
                raise ValueError(which)

    def _declare(self, connection: socket.socket, channel: Channel, rest: bytes) -> None:
        name, after = short_at(rest, 2)
        expect(rest[after] == 1 and rest[after + 1 :] == long(b""), rest)
        if name in self.queues:
            connection.sendall(method((50, 11), short(name) + bytes(8)))
        else:
            channel.closed = True
            text = short(f"NOT_FOUND - no queue '{name}' in vhost '/'")
            connection.sendall(method((20, 40), struct.pack(">H", 404) + text + bytes(packed((50, 10)))))

    def _publish(self, connection: socket.socket, stream: BinaryIO, channel: Channel, rest: bytes) -> None:
        exchange, after = short_at(rest, 2)
        queue, after = short_at(rest, after)
        expect(exchange == "" and rest[after:] in (b"\0", b"\1"), rest)
        mandatory = rest[after] == 1
        kind, _, header = frame_of(stream)
        expect(kind == 2 and header[:4] == b"\0\x3c\0\0", header)
        size, content = int.from_bytes(header[4:12], "big"), b""
        while len(content) < size:
            kind, _, piece = frame_of(stream)
            expect(kind == 3 and len(piece) <= FRAME_BYTES - 8, piece[:40])
            content += piece
        channel.published += 1
        number = channel.published
        if number in self.unroutable and not mandatory:
            pass  # dropped, and confirmed below
        elif number in self.unroutable:
            reason = struct.pack(">H", 312) + short("NO_ROUTE") + short("") + short(queue)
            connection.sendall(method((60, 50), reason) + frame(2, header) + frame(3, content))
        elif number not in self.nack:
            self.queues[queue].append(Content(header[12:], content))
            self._push()
        if channel.confirms and self.confirm != "none":
            self._confirm(connection, number)

    def _confirm(self, connection: socket.socket, number: int) -> None:
        if number in self.nack:
            connection.sendall(method((60, 120), struct.pack(">QB", number, 0)))
        elif self.confirm == "each":
            connection.sendall(method((60, 80), struct.pack(">QB", number, 0)))
        elif number % 10 == 0:
            connection.sendall(method((60, 80), struct.pack(">QB", number, 1)))

    def _consume(self, connection: socket.socket, channel: Channel, rest: bytes) -> None:
        queue, after = short_at(rest, 2)
        tag, after = short_at(rest, after)
        expect(rest[after] == 0 and channel.prefetch > 0, rest)
        arguments, start = rest[after + 1 :], 0
        if self.streams:
            key = b"\x0fx-stream-offset"
            expect(key in arguments, arguments)
            wish = arguments[arguments.index(key) + len(key) :]
            start = 0 if wish == b"S" + long(b"first") else int.from_bytes(wish[1:9], "big")
            start -= min(start, 2)  # a stream begins with the chunk that the offset is in
        else:
            expect(arguments == long(b""), arguments)
        channel.consumers[tag] = Consumer(queue, tag, start)
        connection.sendall(method((60, 21), short(tag)))
        self._deliver(connection, channel)

    def _push(self) -> None:
        for connection, channel in zip(self._connections, self.channels, strict=False):
            self._deliver(connection, channel)

    def _deliver(self, connection: socket.socket, channel: Channel) -> None:
        for consumer in channel.consumers.values():
            while consumer.unacknowledged < channel.prefetch and consumer.next < len(self.queues[consumer.queue]):
                at, content = consumer.next, self.queues[consumer.queue][consumer.next]
                consumer.next += 1
                if not self.streams and at in self.acknowledged[consumer.queue]:
                    continue
                consumer.unacknowledged += 1
                channel.delivered += 1
                channel.outstanding[channel.delivered] = (consumer, at)
                with suppress(OSError):
                    connection.sendall(delivery(channel.delivered, consumer, content, at if self.streams else None))

    def _acknowledge(self, connection: socket.socket, channel: Channel, tag: int, multiple: int) -> None:
        expect(tag in channel.outstanding, tag)
        for each in [each for each in channel.outstanding if each == tag or (multiple and each < tag)]:
            consumer, at = channel.outstanding.pop(each)
            consumer.unacknowledged -= 1
            self.acknowledged[consumer.queue].add(at)
        self._deliver(connection, channel)


def expect(holds: bool, said: object) -> None:
    """Raises ValueError with what was said."""
    if not holds:
        raise ValueError(said)


def await_that(holds: object, within_s: float = 5.0) -> None:
    """Until a function returns true. Raises AssertionError."""
    assert callable(holds)
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def frame_of(stream: BinaryIO) -> tuple[int, int, bytes]:
    """The next frame. Raises EOFError, or ValueError for what is none."""
    head = stream.read(7)
    if len(head) < 7:
        raise EOFError
    kind, channel, size = struct.unpack(">BHI", head)
    payload, end = stream.read(size), stream.read(1)
    if len(payload) < size or not end:
        raise EOFError
    expect(end == b"\xce", head)
    return kind, channel, payload


def delivery(tag: int, consumer: Consumer, content: Content, offset: int | None) -> bytes:
    """A message on its way to a consumer, its body in as many frames as it takes; in a stream with its offset."""
    say = method((60, 60), short(consumer.tag) + struct.pack(">QB", tag, 0) + short("") + short(consumer.queue))
    properties = content.properties
    if offset is not None:
        properties = (
            struct.pack(">H", 0x3000) + long(short("x-stream-offset") + b"l" + struct.pack(">q", offset)) + b"\2"
        )
    most, payload = FRAME_BYTES - 8, content.payload
    bodies = b"".join(frame(3, payload[at : at + most]) for at in range(0, len(payload), most))
    return say + frame(2, b"\0\x3c\0\0" + struct.pack(">Q", len(payload)) + properties) + bodies


def packed(which: Method) -> bytes:
    return struct.pack(">HH", *which)


def frame(kind: int, payload: bytes, *, channel: int = 1) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def method(which: Method, arguments: bytes = b"", *, channel: int = 1) -> bytes:
    return frame(1, packed(which) + arguments, channel=channel)


def short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def long(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def short_at(payload: bytes, at: int) -> tuple[str, int]:
    """A short text, and what comes after it."""
    end = at + 1 + payload[at]
    return payload[at + 1 : end].decode(), end
