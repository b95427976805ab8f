"""A producer's way to one node: one thread writes what is there to a channel, the session reads its confirms."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import systems.rabbitmq.frames_client as amqp
from systems.client import Acknowledgements, ClientError, ClientSpec
from systems.connection import Backoff, ConnectionLost, Persistence
from systems.rabbitmq.link_client import Link
from systems.rabbitmq.session_client import Message, Session

# What is written to the socket at once, at most: about as much as a socket takes.
_MOST_AT_ONCE = 256
_LOOK_EVERY_S = 0.1
_RECONNECT_S = 2.0
_NACKED_WAIT_S = 0.25
_CLOSE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Terms:
    """How a producer sends. `confirms` False: a message counts as acknowledged when it has been written to the socket."""

    confirms: bool
    at_once: int
    delivery_timeout_s: float
    persistence: Persistence


def terms_of(spec: ClientSpec, persistence: Persistence, *, confirms: bool) -> Terms:
    """Without batching every message is written by itself."""
    return Terms(confirms, _MOST_AT_ONCE if spec.workload.batching else 1, spec.delivery_timeout_s, persistence)


class Lane:
    """One connection, made anew when it is lost. Messages of one lane reach the node in the order in which they were handed over.

    What a lost connection leaves without confirms is sent again over the next one, before what follows; the queue may have it already.
    What the node couldn't handle is sent again after a while, behind what was sent meanwhile.

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
        self.errors: Counter[str] = Counter()
        self._backoff = Backoff(terms.persistence.reconnect_wait_s, terms.persistence.reconnect_most_s)
        self._left: deque[Message] = deque()  # to be sent again, before what is in the queue
        self._nacked: deque[tuple[float, Message]] = deque()  # and from when on
        self._session = self._begin(link)
        self._lost: Session | None = None  # the last one that is over
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
        return self._session.outstanding + len(self._left) + len(self._nacked) + self._queue.qsize()

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
        self._closed = True
        self._queue.put(None)
        self._session.link.close()
        self._thread.join(_CLOSE_TIMEOUT_S)
        self._session.link.close()  # it may have been made meanwhile
        self._session.join(_CLOSE_TIMEOUT_S)
        self._fail([*self._session.left(), *self._left, *(message for _, message in self._nacked)], "Closed")
        while (message := self._next(0.0)) is not None:
            self._fail([message], "Closed")

    def _begin(self, link: Link) -> Session:
        timeout_s = self._terms.delivery_timeout_s
        return Session(link, self._acknowledgements, delivery_timeout_s=timeout_s, nacked=self._take_nacked)

    def _take_nacked(self, message: Message) -> None:
        self.errors["Nacked"] += 1
        if self._terms.persistence.resend:
            self._nacked.append((time.monotonic() + _NACKED_WAIT_S, message))
        else:
            self._fail([message], "Nacked")

    def _write(self) -> None:
        while not self._closed:
            if self._session.ended and not self._recover():
                if self._ending and not self._left:
                    return
                continue
            messages = self._gather()
            if not messages and self._ending:
                self._say(amqp.method(amqp.CHANNEL_CLOSE, amqp.NO_REASON))
                return
            if not messages:
                self._keep_alive()
            elif self._closed:
                self._fail(messages, "Closed")
            else:
                self._send(messages)

    def _gather(self) -> list[Message]:
        """What is there, at once; nothing if nothing comes."""
        now_s = time.monotonic()
        while self._nacked and self._nacked[0][0] <= now_s:
            self._left.append(self._nacked.popleft()[1])
        if self._left:
            return [self._left.popleft() for _ in range(min(len(self._left), self._terms.at_once))]
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

    def _recover(self) -> bool:
        """Connects again, once, when it is time to; what was left is sent next. False if there is no connection yet."""
        if self._session is not self._lost:
            self._session.join(_CLOSE_TIMEOUT_S)
            self._lost = self._session
            self._note_loss(self._session.left())
        self._give_up_late()
        time.sleep(min(_LOOK_EVERY_S, self._backoff.left_s()))
        if self._closed or self._backoff.left_s() or (self._ending and not self._left):
            return False
        try:
            self._session = self._begin(self._reconnect(time.monotonic() + _RECONNECT_S))
        except ClientError:
            self._backoff.attempted(succeeded=False)
            return False
        self._backoff.attempted(succeeded=True)
        return True

    def _note_loss(self, left: Sequence[Message]) -> None:
        if self._ending or self._closed:
            self._left.extendleft(reversed(left))
            return
        self.errors["ConnectionLost"] += 1
        if self._terms.persistence.resend:
            self._left.extendleft(reversed(left))
        else:
            self._fail([*left, *self._left], "ConnectionLost")
            self._left.clear()

    def _give_up_late(self) -> None:
        """All that may not wait for a connection any longer, also of what has been handed over meanwhile."""
        oldest_s = time.monotonic() - self._terms.delivery_timeout_s
        while (message := self._next(0.0)) is not None:
            self._left.append(message)
        self._fail([message for message in self._left if message.given_s <= oldest_s], "TimedOut")
        self._left = deque(message for message in self._left if message.given_s > oldest_s)

    def _send(self, messages: Sequence[Message]) -> None:
        session = self._session
        content = b"".join(part for message in messages for part in self._frames(message, session.link.frame_bytes))
        if self._terms.confirms and not session.expect(messages):
            self._left.extendleft(reversed(messages))
            return
        try:
            session.link.write(content)
        except ConnectionLost:
            session.link.close()  # its reader notices, and leaves all that is outstanding, these as well
            if not self._terms.confirms:
                self._left.extendleft(reversed(messages))
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

    def _fail(self, messages: Sequence[Message], error: str) -> None:
        for message in messages:
            self._acknowledgements.failed(message.sequence, error)
