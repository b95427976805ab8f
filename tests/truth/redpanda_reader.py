"""Reads all messages of a topic out of brokers that speak Kafka's protocol, batch by batch; the standard library alone.

    python3 redpanda_reader.py BROKERS TOPIC OUTPUT

A line of OUTPUT is partition, offset, SHA-256 of the payload, its first bytes in hex. Batches must not be compressed.
"""

from __future__ import annotations

import hashlib
import io
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEAD_BYTES = 32
FETCH, METADATA = 1, 3
FETCH_VERSION, METADATA_VERSION = 4, 1
AT_ONCE_BYTES = 4 * 2**20
MAGIC = 2
CODEC_BITS, CONTROL_BIT = 0x07, 0x20
# of a batch: offset of its first record, length, leader's epoch, magic, checksum, attributes, last record's delta, two times,
# producer's id, epoch and sequence, count of records
BATCH = struct.Struct(">qiibIhiqqqhii")


def unpack(stream: io.BytesIO, kinds: str) -> tuple[Any, ...]:
    layout = struct.Struct(f">{kinds}")
    return layout.unpack(stream.read(layout.size))


def text(stream: io.BytesIO) -> str:
    (size,) = unpack(stream, "h")
    return "" if size < 0 else stream.read(size).decode()


def varint(stream: io.BytesIO) -> int:
    """A zigzag number of variable length."""
    value = shift = 0
    while True:
        (byte,) = stream.read(1)
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)


def ask(broker: socket.socket, key: int, version: int, body: bytes) -> io.BytesIO:
    """The response without its header."""
    header = struct.pack(">hhih", key, version, 1, 6) + b"reader"
    broker.sendall(struct.pack(">i", len(header + body)) + header + body)
    stream = broker.makefile("rb")
    (size,) = struct.unpack(">i", stream.read(4))
    return io.BytesIO(stream.read(size)[4:])


def leaders(broker: socket.socket, topic: str) -> dict[int, tuple[str, int]]:
    """Partition -> address of its leader."""
    name = topic.encode()
    said = ask(broker, METADATA, METADATA_VERSION, struct.pack(">ih", 1, len(name)) + name)
    brokers = {}
    for _ in range(*unpack(said, "i")):
        (number,) = unpack(said, "i")
        brokers[number] = (text(said), *unpack(said, "i"))
        text(said)  # its rack
    unpack(said, "i")  # the controller
    found = {}
    for _ in range(*unpack(said, "i")):
        unpack(said, "h")
        text(said)
        unpack(said, "b")
        for _ in range(*unpack(said, "i")):
            error, partition, leader = unpack(said, "hii")
            if error:
                raise SystemExit(f"partition {partition}: error {error}")
            found[partition] = brokers[leader]
            for _ in ("replicas", "in sync"):
                (count,) = unpack(said, "i")
                said.read(4 * count)
    return found


def records(batches: bytes) -> Iterator[tuple[int, bytes]]:
    """Offset and payload of each record; a batch that was cut off at the end is left for the next request."""
    at = 0
    while at + BATCH.size <= len(batches):
        first, length, _epoch, magic, _sum, attributes, *_rest, count = BATCH.unpack_from(batches, at)
        end = at + 12 + length
        if end > len(batches):
            return
        if magic != MAGIC or attributes & CODEC_BITS:
            raise SystemExit(f"a batch of magic {magic} with attributes {attributes:#x} at offset {first}")
        stream = io.BytesIO(batches[at + BATCH.size : end])
        for _ in range(count):
            size = varint(stream)
            record = io.BytesIO(stream.read(size))
            record.read(1)
            varint(record)  # its time
            offset = first + varint(record)
            key = varint(record)
            record.read(max(0, key))
            payload = record.read(varint(record))
            if not attributes & CONTROL_BIT:
                yield offset, payload
        at = end


def read(address: tuple[str, int], topic: str, partition: int) -> Iterator[tuple[int, bytes]]:
    """All records of a partition, up to the end that it had last."""
    name, offset = topic.encode(), 0
    with socket.create_connection(address, timeout=60) as broker:
        while True:
            wanted = struct.pack(">iiiib", -1, 100, 1, AT_ONCE_BYTES, 0) + struct.pack(">ih", 1, len(name)) + name
            said = ask(broker, FETCH, FETCH_VERSION, wanted + struct.pack(">iiqi", 1, partition, offset, AT_ONCE_BYTES))
            unpack(said, "ii")  # throttled, and one topic
            text(said)
            _count, _partition, error, end, _stable, aborted = unpack(said, "iihqqi")
            if error:
                raise SystemExit(f"partition {partition} from {offset}: error {error}")
            said.read(16 * max(0, aborted))
            (size,) = unpack(said, "i")
            for at, payload in records(said.read(max(0, size))):
                if at >= offset:
                    yield at, payload
                    offset = at + 1
            if offset >= end:
                return


def main(brokers: str, topic: str, output: str) -> None:
    """Writes every partition's messages, from its first to its last offset."""
    address, _, port = brokers.split(",")[-1].rpartition(":")
    with socket.create_connection((address, int(port)), timeout=60) as broker:
        found = leaders(broker, topic)
    with Path(output).open("w") as lines:
        for partition, leader in sorted(found.items()):
            for offset, payload in read(leader, topic, partition):
                digest, head = hashlib.sha256(payload).hexdigest(), payload[:HEAD_BYTES].hex()
                lines.write(f"{partition}\t{offset}\t{digest}\t{head}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
