"""A producer's way to one node: one thread writes what is there to a channel, the session reads its confirms."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import systems.rabbitmq.frames_client as amqp
from systems.client import Acknowledgements, ClientError, ClientSpec
from systems.connection import ConnectionLost
from systems.rabbitmq.link_client import Link
from systems.rabbitmq.session_client import Message, Session

# What is written to the socket at once, at most: about as much as a socket takes.
_MOST_AT_ONCE = 256
_LOOK_EVERY_S = 0.1
_RECONNECT_S = 2.0
_CLOSE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Terms:
    """How a producer sends. `confirms` False: a message counts as acknowledged when it has been written to the socket."""

    confirms: bool
    at_once: int
    delivery_timeout_s: float


def terms_of(spec: ClientSpec, *, confirms: bool) -> Terms:
    """Without batching every message is written by itself."""
    return Terms(confirms, _MOST_AT_ONCE if spec.workload.batching else 1, spec.delivery_timeout_s)


class Lane:
    """One connection, made anew when it is lost. Messages of one lane reach the node in the order in which they were handed over.

    `reconnect` gives another channel, or raises ClientError at the deadline (monotonic). `publish`: the frame before a message, by
    partition.
    """

    def __init__(
        self, link: Link, reconnect: Callable[[float], Link], terms: Terms, publish: Sequence[bytes],
        acknowledgements: Acknowledgements,
    ) -> None:  # fmt: skip
        self._reconnect, self._terms, self._publish = reconnect, terms, publish
        self._acknowledgements = acknowledgements
        self._headers: dict[int, bytes] = {}  # by length of the message
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._closed = self._ending = False
        self._session = self._begin(link)
        self._thread = threading.Thread(target=self._write, name="writer", daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        """Takes a message. It is told what became of it exactly once."""
        self._queue.put(message)

    @property
    def blocked(self) -> str:
        """Why the node makes publishers wait; empty if it doesn't."""
        return self._session.blocked

    @property
    def pending(self) -> int:
        """How many messages haven't been written, or wait for their confirms."""
        return self._session.outstanding + self._queue.qsize()

    def finish(self) -> None:
        """Without confirms nobody tells that all was read, and what was written is lost where a connection is cut: so the channel is
        closed behind it. Call it before `close`."""
        self._ending = not self._terms.confirms

    def close(self) -> None:
        """Gives up on what isn't acknowledged. Idempotent, bounded in time, never raises."""
        if self._closed:
            return
        if self._ending:
            self._thread.join(_CLOSE_TIMEOUT_S)
            self._session.join(_CLOSE_TIMEOUT_S)
        self._closed = self._session.closing = True
        self._queue.put(None)
        self._session.link.close()
        self._thread.join(_CLOSE_TIMEOUT_S)
        self._session.join(_CLOSE_TIMEOUT_S)
        while (message := self._next(0.0)) is not None:
            self._acknowledgements.failed(message.sequence, "Closed")

    def _begin(self, link: Link) -> Session:
        return Session(link, self._acknowledgements, delivery_timeout_s=self._terms.delivery_timeout_s)

    def _write(self) -> None:
        while not self._closed:
            messages = self._gather()
            if not messages and self._ending:
                self._say(amqp.method(amqp.CHANNEL_CLOSE, amqp.NO_REASON))
                return
            if not messages:
                self._keep_alive()
            elif self._ready(messages[0]):
                self._send(messages)
            else:
                self._fail(messages, "Closed" if self._closed else "ConnectionLost")

    def _gather(self) -> list[Message]:
        """What is there, at once; nothing if nothing comes."""
        first = self._next(_LOOK_EVERY_S)
        if first is None:
            return []
        messages = [first]
        while len(messages) < self._terms.at_once and (following := self._next(0.0)) is not None:
            messages.append(following)
        return messages

    def _next(self, timeout_s: float) -> Message | None:
        try:
            return self._queue.get(timeout=timeout_s) if timeout_s else self._queue.get_nowait()
        except Empty:
            return None

    def _keep_alive(self) -> None:
        try:
            if not self._session.ended:
                self._session.link.keep_alive()
        except ConnectionLost:
            self._session.link.close()  # its reader notices

    def _say(self, content: bytes) -> None:
        with suppress(ConnectionLost):
            self._session.link.write(content)

    def _ready(self, first: Message) -> bool:
        """Whether there is a connection, made anew if need be before the message's time is up."""
        while self._session.ended and not self._closed:
            left_s = first.given_s + self._terms.delivery_timeout_s - time.monotonic()
            if left_s <= 0:
                return False
            try:
                link = self._reconnect(time.monotonic() + min(left_s, _RECONNECT_S))
            except ClientError:
                continue
            self._session = self._begin(link)
        if self._closed:  # meanwhile: nobody else would end a new one
            self._session.closing = True
            self._session.link.close()
        return not self._closed

    def _send(self, messages: list[Message]) -> None:
        session = self._session
        content = b"".join(part for message in messages for part in self._frames(message, session.link.frame_bytes))
        if self._terms.confirms and not session.expect(messages):
            self._fail(messages, "ConnectionLost")
            return
        try:
            session.link.write(content)
        except ConnectionLost as error:
            session.link.close()  # its reader notices, and settles all that is outstanding, these as well
            if not self._terms.confirms:
                self._fail(messages, error.name)
            return
        if not self._terms.confirms:
            for message in messages:
                self._acknowledgements.acknowledged(message.sequence, message.partition)

    def _frames(self, message: Message, frame_bytes: int) -> tuple[bytes, bytes, bytes]:
        size = len(message.payload)
        if message.key is not None:
            header = amqp.header(size, message.key)
        elif (known := self._headers.get(size)) is not None:
            header = known
        else:
            header = self._headers[size] = amqp.header(size)
        return self._publish[message.partition], header, amqp.body(message.payload, frame_bytes)

    def _fail(self, messages: list[Message], error: str) -> None:
        for message in messages:
            self._acknowledgements.failed(message.sequence, error)
