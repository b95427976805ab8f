"""A TCP connection as our own clients use it: whole commands out, whatever has come in. What the bytes mean is each protocol's."""

from __future__ import annotations

import select
import socket
from contextlib import suppress

from systems.client import ClientError

READ_BYTES = 1 << 18


class ConnectionLost(ClientError):
    """The connection is gone, and with it the replies that were still to come."""

    def __init__(self, message: str) -> None:
        super().__init__("ConnectionLost", message)


class Connection:
    """A connection to one server. Its reading side and its writing side may be used by a thread each."""

    def __init__(self, connected: socket.socket) -> None:
        # Blocking: a time limit would hold for writing, too, and might cut a command in two.
        connected.settimeout(None)
        self._socket = connected
        self._readable = select.poll()
        self._readable.register(connected, select.POLLIN)

    def write(self, content: bytes) -> None:
        """Writes whole commands; waits as long as the server doesn't read. Raises ConnectionLost."""
        try:
            self._socket.sendall(content)
        except OSError as error:
            raise ConnectionLost(str(error)) from None

    def read(self, timeout_s: float) -> bytes:
        """What comes within the time, as soon as something does; empty if nothing does. Raises ConnectionLost."""
        try:
            if not self._readable.poll(max(0.0, timeout_s) * 1e3):
                return b""
            piece = self._socket.recv(READ_BYTES)
        except OSError as error:
            raise ConnectionLost(str(error)) from None
        if not piece:
            raise ConnectionLost("the server closed the connection")
        return piece

    def close(self) -> None:
        """Ends it, also for a thread that is reading or writing. Never raises."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def connect_to(server: str, timeout_s: float) -> Connection:
    """A connection to "address:port". Raises ConnectionLost."""
    address, _, port = server.rpartition(":")
    try:
        connected = socket.create_connection((address, int(port)), timeout=timeout_s)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise ConnectionLost(f"{server}: {error}") from None
    return Connection(connected)
