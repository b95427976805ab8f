"""Reads all messages of a topic's streams out of NATS, one by one, by their numbers; the standard library alone.

    python3 nats_reader.py SERVERS TOPIC OUTPUT

A line of OUTPUT is partition, number in its stream, SHA-256 of the payload, its first bytes in hex.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import sys
from pathlib import Path
from typing import Any, BinaryIO

HEAD_BYTES = 32
AT_ONCE = 200


def request(server: socket.socket, answers: BinaryIO, wishes: list[tuple[str, object]]) -> list[Any]:
    """What JetStream answers to each, in order."""
    for number, (subject, body) in enumerate(wishes):
        content = json.dumps(body).encode()
        server.sendall(b"PUB $JS.API.%b reader.%d %d\r\n%b\r\n" % (subject.encode(), number, len(content), content))
    found: dict[int, Any] = {}
    while len(found) < len(wishes):
        words = answers.readline().split()
        if words[:1] == [b"PING"]:
            server.sendall(b"PONG\r\n")
        elif words[:1] == [b"MSG"]:
            payload = answers.read(int(words[-1]) + 2)[:-2]
            found[int(words[1].partition(b".")[2])] = json.loads(payload)
        elif words[:1] not in ([b"INFO"], [b"PONG"]):
            raise SystemExit(f"unexpected: {words!r}")
    return [found[number] for number in range(len(wishes))]


def main(servers: str, topic: str, output: str) -> None:
    """Writes every stream's messages, from its first to its last number."""
    address, _, port = servers.split(",")[-1].rpartition(":")
    lines = []
    with socket.create_connection((address, int(port)), timeout=60) as server, server.makefile("rb") as answers:
        server.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB reader.* 1\r\n')
        [listed] = request(server, answers, [("STREAM.LIST", {"subject": f"{topic}.*"})])
        for stream in listed["streams"]:
            name, state = stream["config"]["name"], stream["state"]
            numbers = range(state["first_seq"], state["last_seq"] + 1)
            for begin in range(0, len(numbers), AT_ONCE):
                some = numbers[begin : begin + AT_ONCE]
                told = request(server, answers, [(f"STREAM.MSG.GET.{name}", {"seq": number}) for number in some])
                for number, answer in zip(some, told, strict=True):
                    payload = base64.b64decode(answer["message"]["data"])
                    partition = answer["message"]["subject"].split(".")[1]
                    digest, head = hashlib.sha256(payload).hexdigest(), payload[:HEAD_BYTES].hex()
                    lines.append(f"{partition}\t{number}\t{digest}\t{head}\n")
    Path(output).write_text("".join(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
