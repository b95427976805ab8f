"""One connection of a producer: its confirms, read by a thread of its own until the connection ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import systems.rabbitmq.frames_client as amqp
from systems.client import Acknowledgements
from systems.connection import ConnectionLost
from systems.rabbitmq.frames_client import Frame
from systems.rabbitmq.link_client import Link

_LOOK_EVERY_S = 0.1


class Message(NamedTuple):
    """A message on its way. `given_s`: when the load generator handed it over (monotonic)."""

    sequence: int
    partition: int
    payload: bytes
    key: str | None
    given_s: float


class Session:
    """A channel's outstanding messages, by delivery tag: the number of a message on its channel, from 1.

    A message that isn't confirmed within `delivery_timeout_s` is reported failed. `nacked` takes those that the node says it couldn't
    handle. `blocked` is the node's reason for making publishers wait, empty if it doesn't.
    """

    def __init__(
        self, link: Link, acknowledgements: Acknowledgements, *, delivery_timeout_s: float, nacked: Callable[[Message], None]
    ) -> None:  # fmt: skip
        self.link = link
        self._acknowledgements, self._timeout_s, self._nacked = acknowledgements, delivery_timeout_s, nacked
        self._lock = threading.Lock()
        self._outstanding: dict[int, Message] = {}
        self._next, self._oldest = 1, 1
        self._returned: tuple[str, int, bytes] | None = None  # why, how long, what of it is here
        self._returning = ""
        self.blocked = ""
        self.ended = False
        self._thread = threading.Thread(target=self._read, name="acknowledgements", daemon=True)
        self._thread.start()

    @property
    def outstanding(self) -> int:
        """How many messages wait for a confirm."""
        return len(self._outstanding)

    def expect(self, messages: Sequence[Message]) -> bool:
        """The next messages on the channel, before they are written; False if the connection is gone."""
        with self._lock:
            if not self.ended:
                for message in messages:
                    self._outstanding[self._next] = message
                    self._next += 1
            return not self.ended

    def left(self) -> list[Message]:
        """What has no confirm, in order, once the connection is gone; to be asked once."""
        left = list(self._outstanding.values())
        self._outstanding.clear()
        return left

    def join(self, timeout_s: float) -> None:
        """Waits for the end, after `link` was closed."""
        self._thread.join(timeout_s)

    def _read(self) -> None:
        looked_s = time.monotonic()
        try:
            while True:
                for each in self.link.read(_LOOK_EVERY_S):
                    self._take(each)
                if (now_s := time.monotonic()) - looked_s >= _LOOK_EVERY_S:
                    looked_s = now_s
                    self._give_up_late(now_s)
        except ConnectionLost:
            pass  # what is left says it
        self.link.close()
        with self._lock:
            self.ended = True

    def _take(self, frame: Frame) -> None:
        number = frame.method
        if number in (amqp.BASIC_ACK, amqp.BASIC_NACK):
            tag, multiple = amqp.tag_and_flag(frame.payload)
            self._settle(tag, multiple=multiple, nacked=number == amqp.BASIC_NACK)
        elif number == amqp.CONNECTION_BLOCKED:
            self.blocked = amqp.short_at(frame.payload, 4) or "unknown reason"
        elif number == amqp.CONNECTION_UNBLOCKED:
            self.blocked = ""
        elif number == amqp.CHANNEL_CLOSE_OK:
            raise ConnectionLost("the channel was closed, as it was to be")
        elif number == amqp.BASIC_RETURN:
            self._returning = amqp.closed(frame.payload).text
        elif frame.kind == amqp.HEADER:
            self._returned = (self._returning, amqp.body_bytes(frame.payload), b"")
        elif frame.kind == amqp.BODY and self._returned is not None:
            reason, size, before = self._returned
            self._returned = (reason, size, before + frame.payload)
            if len(before) + len(frame.payload) >= size:
                self._give_back(reason, before + frame.payload)
                self._returned = None

    def _settle(self, tag: int, *, multiple: bool, nacked: bool) -> None:
        """A confirm of one message, or of all up to it."""
        if not 0 < tag < self._next:
            raise ConnectionLost(f"a confirm of message {tag}; {self._next - 1} were sent")
        for at in range(self._oldest, tag + 1) if multiple else (tag,):
            if (message := self._outstanding.pop(at, None)) is None:
                continue
            if nacked:
                self._nacked(message)
            else:
                self._acknowledgements.acknowledged(message.sequence, message.partition)
        while self._oldest < self._next and self._oldest not in self._outstanding:
            self._oldest += 1

    def _give_back(self, reason: str, payload: bytes) -> None:
        """A message that reached no queue. It has no tag, and is confirmed after this: what it says tells which one it is."""
        for tag, message in list(self._outstanding.items()):
            if message.payload == payload:
                del self._outstanding[tag]
                self._acknowledgements.failed(message.sequence, reason or "Returned")
                return

    def _give_up_late(self, now_s: float) -> None:
        for tag in range(self._oldest, self._next):
            message = self._outstanding.get(tag)
            if message is None:
                continue  # confirmed before those that were sent before it
            if now_s - message.given_s < self._timeout_s:
                break  # the others were given later
            del self._outstanding[tag]
            self._acknowledgements.failed(message.sequence, "Blocked" if self.blocked else "TimedOut")
