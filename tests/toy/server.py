"""The toy's server: a file of messages for each topic, which every subscription reads from its beginning. Standard library only.
Started again, it knows nothing of the messages that it had.

    python3 server.py CONFIG

CONFIG is JSON: `address`, `port`, `log` (a folder), `sync` (before a message is acknowledged), and more that only its settings tell.
A client's first line says what it wants: `produce TOPIC`, `consume TOPIC`, `count TOPIC`, or `settings` (as it runs with them).
"""

from __future__ import annotations

import json
import os
import socketserver
import struct
import sys
import threading
from pathlib import Path
from typing import Any

FRAME = struct.Struct("<Iq")  # payload bytes, sequence
ACKNOWLEDGED = struct.Struct("<q")


class Log:
    """Messages in the order in which they came."""

    def __init__(self, file: Path, sync: bool) -> None:
        self._sync = sync
        self._file = file.open("ab")
        self._messages: list[bytes] = []
        self._more = threading.Condition()

    def append(self, payload: bytes) -> None:
        """Keeps a message; returns when it may be acknowledged."""
        with self._more:
            self._file.write(payload)
            self._file.flush()
            if self._sync:
                os.fsync(self._file.fileno())
            self._messages.append(payload)
            self._more.notify_all()

    def at(self, position: int) -> bytes:
        """The message at a position, once it is there."""
        with self._more:
            self._more.wait_for(lambda: len(self._messages) > position)
            return self._messages[position]

    def count(self) -> int:
        """How many messages there are."""
        return len(self._messages)


class Handler(socketserver.StreamRequestHandler):
    """One client."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        server: Server = self.server  # type: ignore[assignment]
        wish, _, topic = self.rfile.readline().decode().strip().partition(" ")
        if wish == "settings":
            self.wfile.write(json.dumps(server.config).encode())
            return
        log = server.log(topic)
        if wish == "count":
            self.wfile.write(str(log.count()).encode())
        elif wish == "produce":
            while len(header := self.rfile.read(FRAME.size)) == FRAME.size:
                size, sequence = FRAME.unpack(header)
                log.append(self.rfile.read(size))
                self.wfile.write(ACKNOWLEDGED.pack(sequence))
        elif wish == "consume":
            position = 0
            while True:
                payload = log.at(position)
                self.wfile.write(FRAME.pack(len(payload), position) + payload)
                position += 1


class Server(socketserver.ThreadingTCPServer):
    """Serves until it is ended."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self._logs: dict[str, Log] = {}
        self._guard = threading.Lock()
        super().__init__((config["address"], config["port"]), Handler)

    def log(self, topic: str) -> Log:
        """The topic's, made when it is first asked for."""
        with self._guard:
            if topic not in self._logs:
                self._logs[topic] = Log(Path(self.config["log"]) / topic, self.config["sync"])
            return self._logs[topic]


if __name__ == "__main__":
    with Server(json.loads(Path(sys.argv[1]).read_text())) as server:
        print("ready", flush=True)
        server.serve_forever()
