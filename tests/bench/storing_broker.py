"""A broker for tests of the durability proof: one file, and a chosen truth about it. Run by path: FOLDER MODE; prints its address.

Modes: `sync` (acknowledges after the sync), `sync-late` (syncs after it has acknowledged), `elsewhere` (syncs another file before it
acknowledges), `page-cache` (writes only), `memory` (not even that).
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

from systems.null_client import _ACK, _FRAME

NOT_YET_S = 0.02


def serve(connection: socket.socket, log: int, other: int, mode: str) -> None:
    """One producer."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection.makefile("rb") as stream:
        stream.readline()
        connection.sendall(b"\n")
        while header := stream.read(_FRAME.size):
            size, sequence, partition = _FRAME.unpack(header)
            message = stream.read(size)
            if mode != "memory":
                os.write(log, message)
            if mode in ("sync", "elsewhere"):
                os.fsync(log if mode == "sync" else other)
            connection.sendall(_ACK.pack(sequence, partition))
            if mode == "sync-late":
                time.sleep(NOT_YET_S)
                os.fsync(log)


def main() -> None:
    """Serves one producer after another until its input ends."""
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    log, other = (os.open(folder / name, os.O_CREAT | os.O_WRONLY | os.O_APPEND) for name in ("log", "other"))
    listening = socket.create_server(("127.0.0.1", 0))
    print(os.getpid(), "{}:{}".format(*listening.getsockname()), flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    while True:
        connection, _ = listening.accept()
        with connection:
            serve(connection, log, other, mode)


if __name__ == "__main__":
    main()
