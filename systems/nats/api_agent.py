"""Runs on a host, handed to its python3 over standard input: puts requests to a NATS server and returns its answers.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out:
{"address": "10.0.0.1", "port": 4222, "timeout_s": 10, "requests": [["$JS.API.STREAM.INFO.S", "{}"]]} -> {"answers": [...]}, each
an object, or null where none came in time. Requests are sent at once: a server that isn't ready for many answers them later.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
import time
from typing import Any

CONNECT = {
    "verbose": False,
    "pedantic": False,
    "headers": True,
    "no_responders": True,
    "lang": "python",
    "version": "1",
}


def answers(request: dict[str, Any]) -> list[Any]:
    """The answers in order of the requests. Raises OSError if the server can't be reached or cuts the connection."""
    deadline = time.monotonic() + request["timeout_s"]
    inbox = f"_INBOX.{secrets.token_hex(8)}"
    found: dict[int, Any] = {}
    with socket.create_connection((request["address"], request["port"]), timeout=request["timeout_s"]) as server:
        wishes = [f"CONNECT {json.dumps(CONNECT)}\r\nSUB {inbox}.* 1\r\n".encode()]
        for number, (subject, body) in enumerate(request["requests"]):
            content = body.encode()
            wishes.append(f"PUB {subject} {inbox}.{number} {len(content)}\r\n".encode() + content + b"\r\n")
        server.sendall(b"".join(wishes))
        rest = b""
        while len(found) < len(request["requests"]) and (left_s := deadline - time.monotonic()) > 0:
            server.settimeout(left_s)
            try:
                piece = server.recv(1 << 16)
            except OSError as error:
                if isinstance(error, socket.timeout):  # another exception than TimeoutError until Python 3.10
                    break
                raise
            if not piece:
                raise ConnectionError(f"the server ended the connection: {rest[-300:]!r}")
            rest = take(rest + piece, server, inbox, found)
    return [found.get(number) for number in range(len(request["requests"]))]


def take(stream: bytes, server: socket.socket, inbox: str, found: dict[int, Any]) -> bytes:
    """Notes the answers that are whole, and returns what is left."""
    while b"\r\n" in stream:
        line, _, after = stream.partition(b"\r\n")
        words = line.decode().split()
        if words[:1] == ["PING"]:
            server.sendall(b"PONG\r\n")
        elif words[:1] == ["-ERR"]:
            raise ConnectionError(line.decode())
        elif words[:1] in (["MSG"], ["HMSG"]):
            size = int(words[-1])
            if len(after) < size + 2:
                break
            headers = int(words[-2]) if words[0] == "HMSG" else 0
            number = int(words[1][len(inbox) + 1 :])
            found[number] = answer(after[:headers].decode(), after[headers:size].decode())
            after = after[size + 2 :]
        stream = after
    return stream


def answer(headers: str, body: str) -> Any:
    """What an answer says; one without a body has a status, such as 503 where nobody answers such requests yet."""
    return json.loads(body) if body else {"error": {"description": headers.partition("\r\n")[0]}}


def main() -> None:
    """Answers one request."""
    request = json.loads(sys.argv[1])
    try:
        print(json.dumps({"answers": answers(request)}))
    except OSError as error:
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"}))


if __name__ == "__main__":
    main()
