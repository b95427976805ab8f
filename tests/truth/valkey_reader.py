"""Reads all messages of a topic's streams out of Valkey, by ranges of their ids; the standard library alone.

    python3 valkey_reader.py SERVER TOPIC OUTPUT

A line of OUTPUT is partition, id in its stream, SHA-256 of the payload, its first bytes in hex.
"""

from __future__ import annotations

import hashlib
import socket
import sys
from pathlib import Path
from typing import Any, BinaryIO

HEAD_BYTES = 32
AT_ONCE = 100


def reply(answers: BinaryIO) -> Any:
    """The next reply: a number, a string, or a list."""
    line = answers.readline().strip()
    kind, value = chr(line[0]), line[1:]
    if kind == "*":
        return [reply(answers) for _ in range(int(value))]
    if kind == "$":
        content = answers.read(int(value))
        answers.read(2)
        return content
    if kind == ":":
        return int(value)
    raise SystemExit(f"unexpected: {line!r}")


def main(server: str, topic: str, output: str) -> None:
    """Writes every stream's messages, from its first to its last id."""
    address, _, port = server.rpartition(":")
    lines = []
    with socket.create_connection((address, int(port)), timeout=60) as connection, connection.makefile("rb") as answers:

        def ask(command: str) -> Any:
            connection.sendall(command.encode() + b"\r\n")
            return reply(answers)

        names = sorted(name.decode() for name in ask(f"KEYS {topic}/*"))
        for name in names:
            begin = "-"
            while entries := ask(f"XRANGE {name} {begin} + COUNT {AT_ONCE}"):
                for number, fields in entries:
                    payload = dict(zip(fields[::2], fields[1::2], strict=True))[b"m"]
                    digest, head = hashlib.sha256(payload).hexdigest(), payload[:HEAD_BYTES].hex()
                    partition, position = name.rpartition("/")[2], number.decode().replace("-", ":")
                    lines.append(f"{partition}\t{position}\t{digest}\t{head}\n")
                begin = f"({entries[-1][0].decode()}"
    Path(output).write_text("".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
