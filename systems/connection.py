"""A TCP connection as our own clients use it: whole commands out, whatever has come in. What the bytes mean is each protocol's."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from systems.client import ClientError

READ_BYTES = 1 << 18
# What our own clients do when a server breaks, the same for every system: what a careful user would have them do.
PERSISTENCE: Mapping[str, str] = {
    # Whether a message that the lost connection has left without an answer is sent again, until its delivery timeout.
    "resend": "true",
    # How long a client waits between attempts to connect again: the first wait, and what its doubling ends at. The first attempt is
    # made at once.
    "reconnect_wait_ms": "100",
    "reconnect_most_ms": "1000",
    # A server that says nothing for so long, though it was asked to, is given up like one that has closed the connection. Longer than a
    # pause that it outlives, and short enough for several attempts within the delivery timeout.
    "silent_ms": "10000",
}


class ConnectionLost(ClientError):
    """The connection is gone, and with it the replies that were still to come."""

    def __init__(self, message: str) -> None:
        super().__init__("ConnectionLost", message)


@dataclass(frozen=True)
class Persistence:
    """See PERSISTENCE."""

    resend: bool
    reconnect_wait_s: float
    reconnect_most_s: float
    silent_s: float


def persistence_of(settings: Mapping[str, str]) -> Persistence:
    """Out of a client's settings, which may lack some. Raises ClientError for what can't be."""
    own = {key: settings.get(key, default) for key, default in PERSISTENCE.items()}
    wait_ms, most_ms, silent_ms = (int(own[key]) for key in ("reconnect_wait_ms", "reconnect_most_ms", "silent_ms"))
    if not 0 < wait_ms <= most_ms or silent_ms <= 0:
        problem = f"reconnect_wait_ms {wait_ms}, reconnect_most_ms {most_ms}, silent_ms {silent_ms}"
        raise ClientError(
            "impossible setting", f"{problem}: all must be above 0, and the first no more than the second"
        )
    return Persistence(own["resend"] == "true", wait_ms / 1e3, most_ms / 1e3, silent_ms / 1e3)


class Backoff:
    """When the next attempt may be made: the first one at once, then after waits that double with each that fails, up to a bound."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_s, self._most_s = first_s, most_s
        self._wait_s = first_s
        self._not_before_s = 0.0

    def left_s(self) -> float:
        """How long to wait before the next attempt."""
        return max(0.0, self._not_before_s - time.monotonic())

    def attempted(self, *, succeeded: bool) -> None:
        """An attempt has ended. After one that succeeded the next isn't made at once either: the connection may be lost again."""
        wait_s = self._first_s if succeeded else self._wait_s
        self._not_before_s = time.monotonic() + wait_s
        self._wait_s = self._first_s if succeeded else min(self._most_s, 2 * self._wait_s)


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
