"""A scripted Pulsar broker for tests of the client: it speaks as much of the binary protocol as a producer and a consumer need.

Frames, commands and field numbers are those of Pulsar's protocol description (PulsarApi.proto). Strict: what it wasn't made for
ends the connection and is kept in `misunderstood`.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType

CONNECTED, SUBSCRIBE, PRODUCER, SEND, RECEIPT, MESSAGE, ACK, FLOW = 3, 4, 5, 6, 7, 9, 10, 11
CONNECT, SUCCESS, CLOSE_PRODUCER, CLOSE_CONSUMER, PRODUCER_SUCCESS, PING, PONG = 2, 13, 15, 16, 17, 18, 19
METADATA, METADATA_RESPONSE, LOOKUP, LOOKUP_RESPONSE = 21, 22, 23, 24
NEEDS_ANSWER = (SUBSCRIBE, CLOSE_PRODUCER, CLOSE_CONSUMER)
REQUEST_ID = {SUBSCRIBE: 5, PRODUCER: 3, CLOSE_PRODUCER: 2, CLOSE_CONSUMER: 2, METADATA: 2, LOOKUP: 2}
CHECKED = b"\x0e\x01"  # before a checksum

Fields = dict[int, list["int | bytes"]]


@dataclass(frozen=True)
class Batch:
    """One entry as a producer sent it; `compression` by its number: NONE 0, LZ4 1, ZLIB 2, ZSTD 3, SNAPPY 4."""

    messages: int
    compression: int


@dataclass
class ScriptedBroker:
    """A context manager that serves any number of connections; `silent`: no message is answered.

    `stored`: messages (payloads) that every subscription is given, from the beginning or from the latest, as it asks. `refusing`: new
    connections are closed at once. `numbers`: that of each entry, as its
    producer counts.
    """

    partitions: int = 0  # 0 = the topic has none
    silent: bool = False
    stored: tuple[bytes, ...] = ()
    refusing: bool = False
    batches: list[Batch] = field(default_factory=list)
    producers: list[Fields] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    subscriptions: list[Fields] = field(default_factory=list)
    acknowledged: list[Fields] = field(default_factory=list)
    misunderstood: list[int] = field(default_factory=list)

    def __enter__(self) -> ScriptedBroker:
        self._open = contextlib.ExitStack()
        self._connections: list[socket.socket] = []
        self._server = self._open.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.service_url = "pulsar://{}:{}".format(*self._server.getsockname())
        threading.Thread(target=self._accept, name="scripted-broker", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._open.close()

    def cut(self) -> None:
        """Ends every connection."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._open.enter_context(self._server.accept()[0])
                if self.refusing:
                    connection.close()
                    continue
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        with contextlib.suppress(OSError, ValueError):
            while head := stream.read(4):
                frame = stream.read(int.from_bytes(head))
                size = int.from_bytes(frame[:4])
                command = fields(frame[4 : 4 + size])
                kind = number(command, 1)
                # a command's own fields are the base command's field of the command's number
                asked = fields(bytes_of(command, kind)) if kind in command else {}
                for answer in self._answers(kind, asked, frame[4 + size :]):
                    connection.sendall(answer)

    def _answers(self, kind: int, asked: Fields, rest: bytes) -> Iterator[bytes]:
        request = number(asked, REQUEST_ID[kind]) if kind in REQUEST_ID else 0
        if kind == CONNECT:
            yield frame_of(CONNECTED, text(1, b"scripted") + whole(2, 20))
        elif kind == PING:
            yield frame_of(PONG, b"")
        elif kind == METADATA:
            yield frame_of(METADATA_RESPONSE, whole(1, self.partitions) + whole(2, request) + whole(3, 0))
        elif kind == LOOKUP:
            url = text(1, self.service_url.encode())
            yield frame_of(LOOKUP_RESPONSE, url + whole(3, 1) + whole(4, request) + whole(5, 1))
        elif kind == PRODUCER:
            self.producers.append(asked)
            yield frame_of(PRODUCER_SUCCESS, whole(1, request) + text(2, b"producer"))
        elif kind == SEND:
            yield from self._receipt(asked, rest)
        elif kind == ACK:
            self.acknowledged.append(asked)
        elif kind == FLOW:
            yield from self._delivery(asked)
        elif kind in NEEDS_ANSWER:
            if kind == SUBSCRIBE:
                self.subscriptions.append(asked)
            yield frame_of(SUCCESS, whole(1, request))
        else:
            self.misunderstood.append(kind)
            raise ValueError(kind)

    def _receipt(self, asked: Fields, rest: bytes) -> Iterator[bytes]:
        start = 6 if rest.startswith(CHECKED) else 0
        metadata = fields(rest[start + 4 : start + 4 + int.from_bytes(rest[start : start + 4])])
        self.numbers.append(number(asked, 2))
        self.batches.append(Batch(number(asked, 3, 1), number(metadata, 8)))
        if not self.silent:
            whose = whole(1, number(asked, 1)) + whole(2, number(asked, 2))
            yield frame_of(RECEIPT, whose + text(3, whole(1, 7) + whole(2, len(self.batches))))

    def _delivery(self, asked: Fields) -> Iterator[bytes]:
        """What is stored, once, unless the subscription asked for the latest."""
        from_the_beginning = number(self.subscriptions[-1], 13) == 1
        stored, self.stored = self.stored if from_the_beginning else (), ()
        for at, payload in enumerate(stored):
            metadata = text(1, b"producer") + whole(2, at) + whole(3, 1)
            command = base(MESSAGE, whole(1, number(asked, 1)) + text(2, whole(1, 7) + whole(2, at)))
            body = struct.pack(">I", len(metadata)) + metadata + payload
            yield struct.pack(">II", 4 + len(command) + len(body), len(command)) + command + body


def frame_of(kind: int, content: bytes) -> bytes:
    """A frame of one command without a payload."""
    command = base(kind, content)
    return struct.pack(">II", 4 + len(command), len(command)) + command


def base(kind: int, content: bytes) -> bytes:
    return whole(1, kind) + text(kind, content)


def whole(key: int, value: int) -> bytes:
    """A number as a field of protobuf."""
    return varint(key << 3) + varint(value)


def text(key: int, value: bytes) -> bytes:
    """Bytes, or a message, as a field of protobuf."""
    return varint(key << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def number(found: Fields, key: int, otherwise: int = 0) -> int:
    """A number's last value."""
    value = found.get(key, [otherwise])[-1]
    assert isinstance(value, int)
    return value


def bytes_of(found: Fields, key: int) -> bytes:
    """The last value of bytes, of a string or of a message."""
    value = found[key][-1]
    assert isinstance(value, bytes)
    return value


def fields(message: bytes) -> Fields:
    """A protobuf message's fields by number, undecoded."""
    found: Fields = {}
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        wire = tag & 7
        value: int | bytes
        if wire == 0:
            value, at = read_varint(message, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(wire) or read_varint(message, at)
            value, at = message[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def read_varint(message: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
