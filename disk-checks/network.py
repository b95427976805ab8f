"""One TCP stream and many small round trips between two hosts: `serve` on one, `measure` on the other.

The server answers one client after another and ends when its standard input does, so a lost SSH connection ends it too.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from typing import Any

from probe_file import ProbeError

ECHO_BYTES = 64
STREAM_CHUNK_BYTES = 256 * 1024
_ECHO, _STREAM = b"e", b"s"


def serve(address: str, port: int) -> None:
    """Prints {"port": N} once it listens (0 = any free one) and serves until standard input ends."""
    with socket.create_server((address, port)) as listener:
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        while sys.stdin.buffer.read(4096):
            pass


def measure(address: str, port: int, duration_s: float, round_trips: int) -> dict[str, Any]:
    """Every round-trip time in ns, and the throughput of one stream over `duration_s` as the receiver confirmed it."""
    try:
        with _connect(address, port, _ECHO) as link:
            samples_ns = [_round_trip(link) for _ in range(round_trips)]
        with _connect(address, port, _STREAM) as link:
            received, seconds = _stream(link, duration_s)
    except OSError as error:
        raise ProbeError("no-connection", f"{address} port {port}: {error}") from None
    return {
        "address": address,
        "round_trips_ns": samples_ns,
        "bytes": received,
        "seconds": seconds,
        "bytes_per_s": received / seconds,
    }


def _connect(address: str, port: int, mode: bytes) -> socket.socket:
    link = socket.create_connection((address, port), timeout=10)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(mode)
    return link


def _round_trip(link: socket.socket) -> int:
    started_ns = time.monotonic_ns()
    link.sendall(b"\0" * ECHO_BYTES)
    _receive(link, ECHO_BYTES)
    return time.monotonic_ns() - started_ns


def _stream(link: socket.socket, duration_s: float) -> tuple[int, float]:
    chunk = b"\0" * STREAM_CHUNK_BYTES
    started_ns = time.monotonic_ns()
    while time.monotonic_ns() - started_ns < duration_s * 1e9:
        link.sendall(chunk)
    link.shutdown(socket.SHUT_WR)
    received = int.from_bytes(_receive(link, 8), "big")  # the far side has taken everything: only then is it sent
    return received, (time.monotonic_ns() - started_ns) / 1e9


def _receive(link: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = link.recv(size - len(parts))
        if not part:
            raise ConnectionError("closed by the far side")
        parts += part
    return parts


def _accept(listener: socket.socket) -> None:
    while True:
        try:
            link, _ = listener.accept()
        except OSError:
            return  # closed: the process is ending
        with link:
            try:
                link.settimeout(60)
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _answer(link)
            except OSError:
                continue  # the client reports its own side of a broken link


def _answer(link: socket.socket) -> None:
    if _receive(link, 1) == _STREAM:
        received, buffer = 0, bytearray(STREAM_CHUNK_BYTES)
        while True:
            size = link.recv_into(buffer)
            if not size:
                break
            received += size
        link.sendall(received.to_bytes(8, "big"))
        return
    while True:
        request = link.recv(ECHO_BYTES)
        if not request:
            return
        link.sendall(request)
