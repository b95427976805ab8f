"""The toy's client, as `systems/client.py` wants one."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from systems.client import Acknowledgements, ClientError, ClientSpec, printable

SETTINGS: Mapping[str, str] = {}
UNDER_FAULTS: Mapping[str, str] = {}
_FRAME = struct.Struct("<Iq")
_ACKNOWLEDGED = struct.Struct("<q")


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> ToyProducer:
    """See ClientModule."""
    return ToyProducer(_connect(spec, "produce"), spec, acknowledgements)


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> ToyConsumer:
    """See ClientModule. A subscription of one consumer."""
    del subscription, name
    return ToyConsumer(_connect(spec, "consume"), spec)


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    given = printable({"service_url": spec.service_url, "no_delay": True})
    return {"producer": given, "consumer": given}


def _connect(spec: ClientSpec, wish: str) -> socket.socket:
    address, _, port = spec.service_url.rpartition(":")
    try:
        connection = socket.create_connection((address, int(port)), timeout=spec.connect_timeout_s)
    except OSError as error:
        raise ClientError(type(error).__name__, str(error)) from None
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(f"{wish} {spec.topic}\n".encode())
    return connection


class ToyProducer:
    """See Producer."""

    def __init__(self, connection: socket.socket, spec: ClientSpec, acknowledgements: Acknowledgements) -> None:
        self._connection, self._spec, self._acknowledgements = connection, spec, acknowledgements
        threading.Thread(target=self._hear, name="acknowledgements", daemon=True).start()

    def configuration(self) -> Mapping[str, str]:
        return configuration(self._spec)["producer"]

    def send(self, sequence: int, payload: bytes) -> None:
        try:
            self._connection.sendall(_FRAME.pack(len(payload), sequence) + payload)
        except OSError as error:
            raise ClientError(type(error).__name__, str(error)) from None

    def errors(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        self._connection.close()

    def _hear(self) -> None:
        with suppress(OSError), self._connection.makefile("rb") as stream:
            while len(answer := stream.read(_ACKNOWLEDGED.size)) == _ACKNOWLEDGED.size:
                self._acknowledgements.acknowledged(_ACKNOWLEDGED.unpack(answer)[0], 0)


class ToyConsumer:
    """See Consumer."""

    def __init__(self, connection: socket.socket, spec: ClientSpec) -> None:
        self._connection, self._spec = connection, spec
        self._rest = b""
        self._held = False

    def configuration(self) -> Mapping[str, str]:
        return configuration(self._spec)["consumer"]

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        if self._held:
            time.sleep(timeout_s)
            return ()
        self._connection.settimeout(timeout_s)
        with suppress(TimeoutError):
            self._rest += self._connection.recv(1 << 16)
        received = []
        while len(self._rest) >= _FRAME.size:
            size, _ = _FRAME.unpack_from(self._rest)
            if len(self._rest) < _FRAME.size + size:
                break
            received.append((0, self._rest[_FRAME.size : _FRAME.size + size]))
            self._rest = self._rest[_FRAME.size + size :]
        return received

    def errors(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        self._connection.close()
