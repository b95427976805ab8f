"""A producer's way to the server: what is handed over is gathered into batches and written to one connection, which is made anew when
it is lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from systems.client import Acknowledgements, ClientError
from systems.connection import Backoff, ConnectionLost, Persistence
from systems.valkey.resp_client import Link, encoded, serving
from systems.valkey.session_client import TIMED_OUT, Batch, Message, Session

_LOOK_EVERY_S = 0.1
_SLICE_S = 0.001
_CLOSE_TIMEOUT_S = 5.0
_TRY_S = 1.0
NO_REPLIES = encoded("CLIENT", "REPLY", "OFF")


@dataclass(frozen=True)
class Terms:
    """How a lane sends. `replicas`: as a session's; `replies` False: the server sends none, and a message counts as acknowledged when
    it has been written to the socket. `batches`: how many may be without their replies; `message_bytes`: how long a command is at most.
    """

    server: str
    replicas: int
    replies: bool
    batching: bool
    batch_delay_s: float
    batch_bytes: int
    message_bytes: int
    batches: int
    delivery_timeout_s: float
    persistence: Persistence


class Lane:
    """One writing thread, one connection. Messages of one lane reach the server in the order in which they were handed over.

    What a lost connection leaves without its replies is sent again over the next one, before what follows. The server may have it
    already: entries have the server's ids, so it can't tell.
    """

    def __init__(self, link: Link, terms: Terms, acknowledgements: Acknowledgements) -> None:
        self._terms, self._acknowledgements = terms, acknowledgements
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._slots = threading.Semaphore(terms.batches)
        self._closed = False
        self.taken = 0  # batches so far
        self.errors: Counter[str] = Counter()
        self._backoff = Backoff(terms.persistence.reconnect_wait_s, terms.persistence.reconnect_most_s)
        self._left: list[Batch] = []  # to be sent again, in order; each has its slot
        self._session = self._begin(link)
        self._lost: Session | None = None  # the last one that is over
        self._thread = threading.Thread(target=self._write, name="writer", daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        """Takes a message. It is told what became of it exactly once."""
        self._queue.put(message)

    @property
    def waiting(self) -> int:
        """How many messages haven't been written yet."""
        return self._queue.qsize()

    def close(self) -> None:
        """Gives up on what isn't acknowledged. Idempotent, bounded in time, never raises."""
        if self._closed:
            return
        self._closed = True
        self._session.link.close()
        self._queue.put(None)
        self._thread.join(_CLOSE_TIMEOUT_S)
        self._session.link.close()  # it may have been made meanwhile
        self._session.join(_CLOSE_TIMEOUT_S)
        for batch in self._session.left() + self._left:
            self._give_up(batch, "Closed")
        while (message := self._next(0.0)) is not None:
            self._acknowledgements.failed(message.sequence, "Closed")

    def _begin(self, link: Link) -> Session:
        if not self._terms.replies:
            link.write(NO_REPLIES)
        return Session(
            link, self._acknowledgements,
            replicas=self._terms.replicas, settled=self._slots.release,
            silent_s=self._terms.persistence.silent_s, alive=self._alive,
        )  # fmt: skip

    def _write(self) -> None:
        while not self._closed:
            if self._session.ended and not self._recover():
                continue
            # the slot first: while there is none, the batch grows
            if not self._slots.acquire(timeout=_LOOK_EVERY_S):
                continue
            batch = self._gather()
            if batch is None:
                self._slots.release()
            elif self._closed:
                self._give_up(batch, "Closed")
            else:
                self._send(batch)

    def _gather(self) -> Batch | None:
        """The next batch; None if there is nothing to be sent."""
        first = self._next(_LOOK_EVERY_S)
        if first is None:
            return None
        messages, size_bytes, terms = [first], len(first.command), self._terms
        if terms.batching:
            until_s = first.given_s + terms.batch_delay_s
            while (left_s := until_s - time.monotonic()) > 0 and not self._closed:
                if size_bytes + self._queue.qsize() * terms.message_bytes >= terms.batch_bytes:
                    break
                time.sleep(min(left_s, _SLICE_S))
            while size_bytes + terms.message_bytes <= terms.batch_bytes and (message := self._next(0.0)) is not None:
                messages.append(message)
                size_bytes += len(message.command)
        self.taken += 1
        return Batch(messages, first.given_s + terms.delivery_timeout_s)

    def _next(self, timeout_s: float) -> Message | None:
        try:
            return self._queue.get(timeout=timeout_s) if timeout_s else self._queue.get_nowait()
        except Empty:
            return None

    def _send(self, batch: Batch) -> None:
        """Writes a batch, or notes it as left where the connection is gone."""
        session, left_s = self._session, batch.deadline_s - time.monotonic()
        if left_s <= 0:
            self._give_up(batch, TIMED_OUT)
            return
        commands = [message.command for message in batch.messages]
        if self._terms.replies and self._terms.replicas:
            commands.append(encoded("WAIT", self._terms.replicas, max(1, round(left_s * 1e3))))
        if self._terms.replies and not session.expect(batch):
            self._left.append(batch)
            return
        try:
            session.link.write(b"".join(commands))
        except ConnectionLost:
            session.link.close()  # its reader notices, and leaves all that is outstanding, this batch as well
            if not self._terms.replies:
                self._left.append(batch)
            return
        if not self._terms.replies:
            for message in batch.messages:
                self._acknowledgements.acknowledged(message.sequence, message.partition)
            self._slots.release()

    def _recover(self) -> bool:
        """Connects again, once, when it is time to, and sends what was left. False if there is no connection yet."""
        if self._session is not self._lost:
            self._session.join(_CLOSE_TIMEOUT_S)
            self._lost = self._session
            self._left[:0] = self._session.left()
            self._note_loss()
        self._give_up_late()
        link = self._connected()
        if link is None:
            return False
        try:
            self._session = self._begin(link)
        except ConnectionLost:
            return False
        left, self._left = self._left, []
        for batch in left:
            self._send(batch)
        return True

    def _note_loss(self) -> None:
        if self._closed:
            return
        self.errors["ConnectionLost"] += 1
        if not self._terms.persistence.resend:
            left, self._left = self._left, []
            for batch in left:
                self._give_up(batch, "ConnectionLost")

    def _give_up_late(self) -> None:
        """All that may not wait any longer, also of what has been handed over meanwhile."""
        now_s = time.monotonic()
        left, self._left = self._left, []
        for batch in left:
            if batch.deadline_s <= now_s:
                self._give_up(batch, TIMED_OUT)
            else:
                self._left.append(batch)
        while self._slots.acquire(blocking=False):
            following = self._gather() if self._queue.qsize() else None
            if following is None:
                self._slots.release()
                return
            if following.deadline_s > now_s:
                self._left.append(following)
            else:
                self._give_up(following, TIMED_OUT)

    def _connected(self) -> Link | None:
        time.sleep(min(_LOOK_EVERY_S, self._backoff.left_s()))
        if self._closed or self._backoff.left_s():
            return None
        try:
            link = serving(self._terms.server, _TRY_S)
        except ClientError:
            link = None
        self._backoff.attempted(succeeded=link is not None)
        return link

    def _alive(self) -> bool:
        """Whether the server answers at all: asked over another connection."""
        try:
            serving(self._terms.server, _TRY_S).close()
        except ClientError:
            return False
        return True

    def _give_up(self, batch: Batch, error: str) -> None:
        for message in batch.messages:
            self._acknowledgements.failed(message.sequence, error)
        self._slots.release()
