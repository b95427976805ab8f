"""The wire protocol (RESP 2) and a connection that speaks it.

Why no client library: the usual one for Python (redis.asyncio) reached half of this writer's rate at six times its processor time, and
none tells each message's acknowledgement in a pipeline as it comes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from systems.client import ClientError
from systems.connection import Connection, ConnectionLost, connect_to

_END = b"\r\n"
_TRY_S = 2.0
_RETRY_S = 0.1
# what a server says that will serve in a moment
_NOT_YET = ("LOADING", "MASTERDOWN", "BUSY")


@dataclass(frozen=True)
class ErrorReply:
    """A server's refusal: "OOM command not allowed when used memory > 'maxmemory'."."""

    message: str

    @property
    def name(self) -> str:
        """Its first word, which says what kind of refusal it is: "OOM", "READONLY", "ERR"."""
        return self.message.partition(" ")[0]


# A number, a string, nothing, a refusal, or several of these.
Reply: TypeAlias = "int | bytes | ErrorReply | list[Reply] | None"


class Incomplete(Exception):
    """More bytes are needed."""


def encoded(*words: str | bytes | int) -> bytes:
    """One command as a server reads it."""
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)


def line_at(buffer: bytes, at: int) -> tuple[bytes, int]:
    """The line that begins there, and where the next one begins. Raises Incomplete."""
    end = buffer.find(_END, at)
    if end < 0:
        raise Incomplete
    return buffer[at:end], end + 2


def reply_at(buffer: bytes, at: int) -> tuple[Reply, int]:
    """The reply that begins there, and where the next one begins. Raises Incomplete, or ConnectionLost for what is no RESP 2."""
    line, at = line_at(buffer, at)
    kind, value = line[:1], line[1:]
    if kind in b":$*" and not value.removeprefix(b"-").isdigit():
        raise ConnectionLost(f"not a reply: {line[:80]!r}")
    if kind == b":":
        return int(value), at
    if kind == b"+":
        return value, at
    if kind == b"-":
        return ErrorReply(value.decode(errors="replace")), at
    if kind == b"$":
        size = int(value)
        if size < 0:
            return None, at
        if len(buffer) < at + size + 2:
            raise Incomplete
        return buffer[at : at + size], at + size + 2
    if kind == b"*":
        if int(value) < 0:
            return None, at
        several: list[Reply] = []
        for _ in range(int(value)):
            one, at = reply_at(buffer, at)
            several.append(one)
        return several, at
    raise ConnectionLost(f"not a reply: {line[:80]!r}")


def all_replies(buffer: bytes) -> list[Reply]:
    """The whole replies in a buffer that ends with one. Raises Incomplete if it doesn't."""
    found: list[Reply] = []
    at = 0
    while at < len(buffer):
        reply, at = reply_at(buffer, at)
        found.append(reply)
    return found


class Link:
    """A connection to one server; see Connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.write, self.read, self.close = connection.write, connection.read, connection.close

    def ask(self, commands: Sequence[bytes], deadline_s: float) -> list[Reply]:
        """The replies to encoded commands, in order; no other may be outstanding. Raises ConnectionLost, also at the deadline."""
        self.write(b"".join(commands))
        buffer, at, replies = b"", 0, list[Reply]()
        while len(replies) < len(commands):
            try:
                reply, at = reply_at(buffer, at)
                replies.append(reply)
                continue
            except Incomplete:
                left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise ConnectionLost(f"{len(replies)} of {len(commands)} replies in time")
            buffer, at = buffer[at:] + self.read(left_s), 0
        return replies


def connect(server: str, timeout_s: float) -> Link:
    """A connection to "address:port". Raises ConnectionLost."""
    return Link(connect_to(server, timeout_s))


class NotServing(ClientError):
    """The server doesn't serve; `lasting`: and won't in a moment."""

    def __init__(self, problem: str, *, lasting: bool) -> None:
        super().__init__("NotServing", problem)
        self.problem, self.lasting = problem, lasting


def serving(server: str, timeout_s: float) -> Link:
    """A connection to a server that serves now. Raises NotServing."""
    link = None
    try:
        link = connect(server, timeout_s)
        [pong] = link.ask([encoded("PING")], time.monotonic() + timeout_s)
        if pong == b"PONG":
            return link
        problem = pong.message if isinstance(pong, ErrorReply) else repr(pong)
        lasting = not problem.startswith(_NOT_YET)
    except ConnectionLost as error:
        problem, lasting = str(error), False
    if link is not None:
        link.close()
    raise NotServing(problem, lasting=lasting)


def connect_serving(server: str, deadline_s: float, *, about: str) -> Link:
    """A connection to a server that serves, tried again until the deadline (monotonic). Raises ClientError, with what it is `about`."""
    while True:
        try:
            return serving(server, max(0.05, min(_TRY_S, deadline_s - time.monotonic())))
        except NotServing as error:
            if error.lasting or time.monotonic() + _RETRY_S > deadline_s:
                raise ClientError("NotServing", f"{about} at {server}: {error.problem}") from None
        time.sleep(_RETRY_S)
