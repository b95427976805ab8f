"""Runs on a host, handed to its python3 over standard input: says something to a port there, and tells what it answers.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out; what is said
and answered is in base64. The last of it has the server close the connection, so the protocol need not be known here.
"""

from __future__ import annotations

import base64
import json
import socket
import sys
from typing import Any


def said(address: str, port: int, words: bytes, timeout_s: float) -> bytes:
    """What a port answers before it closes."""
    with socket.create_connection((address, port), timeout=timeout_s) as connection:
        connection.sendall(words)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def main() -> None:
    """Answers one request: `answer`, or `error`."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    words = base64.b64decode(request["words"])
    try:
        answer = said(request["address"], request["port"], words, request["timeout_s"])
    except OSError as error:
        print(json.dumps({"error": str(error)}))
        return
    print(json.dumps({"answer": base64.b64encode(answer).decode()}))


if __name__ == "__main__":
    main()
