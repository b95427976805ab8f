"""A broker that stores nothing, behind a TCP socket, with its client: the load generator's own floor. It is no registered system.

It acknowledges every message as soon as it has read it and passes it on to each subscription that has a consumer.
One broker serves one run: it doesn't notice that a consumer has left before the next messages for it are gone.
`python -m systems.null_client` serves until its input ends and prints its address first.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue

from systems.client import Acknowledgements, ClientError, ClientSpec

_FRAME = struct.Struct("<Iqi")  # payload bytes, sequence, partition
_ACK = struct.Struct("<qi")
_READ_BYTES = 1 << 16
SETTINGS: Mapping[str, str] = {}
UNDER_FAULTS: Mapping[str, str] = {}


class NullBroker:
    """Serves until closed; `service_url` is its "address:port"."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._listening = socket.create_server((address, 0))
        self.service_url = "{}:{}".format(*self._listening.getsockname())
        self._subscriptions: dict[str, SimpleQueue[bytes | None]] = {}
        threading.Thread(target=self._accept, name="null-broker", daemon=True).start()

    def close(self) -> None:
        """Ends all connections. Idempotent."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread, closing alone doesn't
        self._listening.close()
        for queue in self._subscriptions.values():
            queue.put(None)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            subscription = stream.readline().decode().strip()
            if subscription:
                queue = self._subscriptions.setdefault(subscription, SimpleQueue())
                connection.sendall(b"\n")
                while (frame := queue.get()) is not None:
                    connection.sendall(frame)
            else:
                connection.sendall(b"\n")
                while header := stream.read(_FRAME.size):
                    size, sequence, partition = _FRAME.unpack(header)
                    frame = header + stream.read(size)
                    for queue in list(self._subscriptions.values()):
                        queue.put(frame)
                    connection.sendall(_ACK.pack(sequence, partition))


class NullProducer:
    """See Producer."""

    def __init__(self, spec: ClientSpec, acknowledgements: Acknowledgements) -> None:
        self._given = configuration(spec)["producer"]
        self._connection = _connect(spec, "")
        self._partitions = spec.workload.partitions
        self._acknowledgements = acknowledgements
        threading.Thread(target=self._serve, name="acknowledgements", daemon=True).start()

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def send(self, sequence: int, payload: bytes) -> None:
        try:
            self._connection.sendall(_FRAME.pack(len(payload), sequence, sequence % self._partitions) + payload)
        except OSError as error:
            raise ClientError(type(error).__name__, str(error)) from None

    def errors(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        _close(self._connection)

    def _serve(self) -> None:
        rest = b""
        with suppress(OSError):
            while piece := self._connection.recv(_READ_BYTES):
                rest += piece
                whole = len(rest) - len(rest) % _ACK.size
                for sequence, partition in _ACK.iter_unpack(rest[:whole]):
                    self._acknowledgements.acknowledged(sequence, partition)
                rest = rest[whole:]


class NullConsumer:
    """See Consumer."""

    def __init__(self, spec: ClientSpec, subscription: str) -> None:
        self._given = configuration(spec)["consumer"]
        self._connection = _connect(spec, subscription)
        self._rest = b""
        self._held = False

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        if self._held:
            time.sleep(timeout_s)
            return ()
        self._connection.settimeout(timeout_s)
        try:
            self._rest += self._connection.recv(_READ_BYTES)
        except OSError:  # also when the time is up
            return ()
        received, at = [], 0
        while len(self._rest) - at >= _FRAME.size:
            size, _, partition = _FRAME.unpack_from(self._rest, at)
            if len(self._rest) - at < _FRAME.size + size:
                break
            received.append((partition, self._rest[at + _FRAME.size : at + _FRAME.size + size]))
            at += _FRAME.size + size
        self._rest = self._rest[at:]
        return received

    def errors(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        _close(self._connection)


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    own = {"service_url": spec.service_url}
    return {"producer": own, "consumer": own}


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> NullProducer:
    """See ClientModule."""
    return NullProducer(spec, acknowledgements)


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> NullConsumer:
    """See ClientModule. Consumers of one subscription compete for its messages."""
    del name
    return NullConsumer(spec, subscription)


def _connect(spec: ClientSpec, subscription: str) -> socket.socket:
    address, _, port = spec.service_url.rpartition(":")
    try:
        connection = socket.create_connection((address, int(port)), timeout=spec.connect_timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(f"{subscription}\n".encode())
        if connection.recv(1) != b"\n":
            raise ClientError("ConnectionError", f"{spec.service_url} closed the connection")
        connection.settimeout(None)
    except OSError as error:
        raise ClientError(type(error).__name__, f"{spec.service_url}: {error}") from None
    return connection


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


if __name__ == "__main__":
    print(NullBroker().service_url, flush=True)
    sys.stdin.read()
