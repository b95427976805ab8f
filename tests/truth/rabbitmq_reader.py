"""Reads all messages of a topic's streams or queues out of RabbitMQ, over AMQP 0-9-1; the standard library alone.

    python3 rabbitmq_reader.py SERVERS TOPIC OUTPUT

A line of OUTPUT is partition, offset in its stream (of a queue: how many came before), SHA-256 of the payload, its first bytes in hex.
Each is read until nothing has come for a while. Each message is acknowledged by itself, for no more than 2,000 would come otherwise: a
queue forgets what was read.
"""

from __future__ import annotations

import hashlib
import socket
import struct
import sys
from pathlib import Path

HEAD_BYTES = 32
QUIET_S = 2.0
PREFETCH = 200
OFFSET = b"\x0fx-stream-offsetl"


class Node:
    """A channel to a node, one frame at a time."""

    def __init__(self, server: str) -> None:
        address, _, port = server.rpartition(":")
        self.socket = socket.create_connection((address, int(port)), timeout=60)
        self.stream = self.socket.makefile("rb")
        self.socket.sendall(b"AMQP\0\0\x09\x01")
        self.await_method(10, 10)
        plain = b"\0guest\0guest"
        self.say(0, 10, 11, struct.pack(">I", 0) + b"\x05PLAIN" + struct.pack(">I", len(plain)) + plain + b"\x05en_US")
        self.await_method(10, 30)
        self.say(0, 10, 31, struct.pack(">HIH", 1, 131072, 0))
        self.say(0, 10, 40, b"\x01/\0\0")
        self.await_method(10, 41)
        self.say(1, 20, 10, b"\0")
        self.await_method(20, 11)

    def say(self, channel: int, kind: int, number: int, arguments: bytes) -> None:
        """One method."""
        payload = struct.pack(">HH", kind, number) + arguments
        self.socket.sendall(struct.pack(">BHI", 1, channel, len(payload)) + payload + b"\xce")

    def frame(self) -> tuple[int, bytes]:
        """Kind and payload of the next frame."""
        head = self.stream.read(7)
        if len(head) < 7:
            raise SystemExit("the node closed the connection")
        kind, _, size = struct.unpack(">BHI", head)
        payload = self.stream.read(size)
        if self.stream.read(1) != b"\xce":
            raise SystemExit("not a frame")
        return kind, payload

    def await_method(self, kind: int, number: int) -> bytes:
        """The arguments of a method that must come next."""
        came, payload = self.frame()
        if came != 1 or struct.unpack(">HH", payload[:4]) != (kind, number):
            raise SystemExit(f"unexpected: {payload[:200]!r}")
        return payload[4:]

    def message(self) -> tuple[int, int | None, bytes]:
        """Tag, offset (None = no stream's) and payload of the next message."""
        delivery = self.await_method(60, 60)
        name_bytes = delivery[0]
        [tag] = struct.unpack_from(">Q", delivery, 1 + name_bytes)
        kind, header = self.frame()
        if kind != 2:
            raise SystemExit(f"no header: {header[:200]!r}")
        [size] = struct.unpack_from(">Q", header, 4)
        at = header.find(OFFSET)
        offset = None if at < 0 else int(struct.unpack_from(">q", header, at + len(OFFSET))[0])
        payload = b""
        while len(payload) < size:
            kind, piece = self.frame()
            if kind != 3:
                raise SystemExit(f"no body: {piece[:200]!r}")
            payload += piece
        return tag, offset, payload

    def kind_of(self, name: str) -> str:
        """Whether a name is a "stream" or a "queue"; empty if there is none. The channel is gone if so."""
        self.say(1, 50, 10, b"\0\0" + short(name) + b"\x01" + struct.pack(">I", 0))
        _, payload = self.frame()
        if struct.unpack(">HH", payload[:4]) != (50, 11):
            return ""
        self.say(1, 60, 10, struct.pack(">IHB", 0, PREFETCH, 0))
        self.await_method(60, 11)
        first = short("x-stream-offset") + b"S" + struct.pack(">I", 5) + b"first"
        self.consume(name, first)
        kind, payload = self.frame()
        return "stream" if kind == 1 and struct.unpack(">HH", payload[:4]) == (60, 21) else "queue"

    def consume(self, name: str, arguments: bytes) -> None:
        """Asks for what is in a queue or stream."""
        wish = b"\0\0" + short(name) + short("reader") + b"\0" + struct.pack(">I", len(arguments)) + arguments
        self.say(1, 60, 20, wish)


def short(text: str) -> bytes:
    """A text with its length before it."""
    return bytes([len(text)]) + text.encode()


def read(server: str, name: str) -> list[tuple[int, bytes]] | None:
    """Place and payload of each message; None if there is no such stream or queue."""
    node = Node(server)
    kind = node.kind_of(name)
    if not kind:
        return None
    if kind == "queue":  # it refuses to begin at an offset
        node = Node(server)
        node.consume(name, b"")
        node.await_method(60, 21)
    node.socket.settimeout(QUIET_S)
    found: list[tuple[int, bytes]] = []
    try:
        while True:
            tag, offset, payload = node.message()
            found.append((len(found) if offset is None else offset, payload))
            node.say(1, 60, 80, struct.pack(">QB", tag, 0))
    except TimeoutError:
        node.socket.close()
        return found


def main(servers: str, topic: str, output: str) -> None:
    """Writes every stream's messages, one partition after the other."""
    lines, partition = [], 0
    while (found := read(servers.split(",")[0], f"{topic}-{partition}")) is not None:
        for offset, payload in found:
            digest, head = hashlib.sha256(payload).hexdigest(), payload[:HEAD_BYTES].hex()
            lines.append(f"{partition}\t{offset}\t{digest}\t{head}\n")
        partition += 1
    Path(output).write_text("".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
