"""A producer's way to the server: what is handed over is gathered into batches and written to one connection, which is made anew when
it is lost."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from systems.client import Acknowledgements, ClientError
from systems.connection import ConnectionLost
from systems.valkey.resp_client import Link, connect_serving, encoded
from systems.valkey.session_client import TIMED_OUT, Batch, Message, Session

_LOOK_EVERY_S = 0.1
_SLICE_S = 0.001
_CLOSE_TIMEOUT_S = 5.0
_RECONNECT_S = 2.0
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


class Lane:
    """One writing thread, one connection. Messages of one lane reach the server in the order in which they were handed over."""

    def __init__(self, link: Link, terms: Terms, acknowledgements: Acknowledgements) -> None:
        self._terms, self._acknowledgements = terms, acknowledgements
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._slots = threading.Semaphore(terms.batches)
        self._closed = False
        self.taken = 0  # batches so far
        self._session = self._begin(link)
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
        self._closed = self._session.closing = True
        self._session.link.close()
        self._queue.put(None)
        self._thread.join(_CLOSE_TIMEOUT_S)
        self._session.join(_CLOSE_TIMEOUT_S)
        while (message := self._next(0.0)) is not None:
            self._acknowledgements.failed(message.sequence, "Closed")

    def _begin(self, link: Link) -> Session:
        if not self._terms.replies:
            link.write(NO_REPLIES)
        return Session(link, self._acknowledgements, replicas=self._terms.replicas, settled=self._slots.release)

    def _write(self) -> None:
        while not self._closed:
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
        session = self._session
        if session.ended and not self._reconnected(batch):
            return
        session = self._session
        left_s = batch.deadline_s - time.monotonic()
        if left_s <= 0:
            self._give_up(batch, TIMED_OUT)
            return
        commands = [message.command for message in batch.messages]
        if not self._terms.replies:
            self._send_blindly(session, batch, b"".join(commands))
            return
        if self._terms.replicas:
            commands.append(encoded("WAIT", self._terms.replicas, max(1, round(left_s * 1e3))))
        if not session.expect(batch):
            self._give_up(batch, "ConnectionLost")
            return
        try:
            session.link.write(b"".join(commands))
        except ConnectionLost:
            session.link.close()  # its reader notices, and settles all that is outstanding, this batch as well

    def _send_blindly(self, session: Session, batch: Batch, content: bytes) -> None:
        try:
            session.link.write(content)
        except ConnectionLost as error:
            session.link.close()
            self._give_up(batch, error.name)
            return
        for message in batch.messages:
            self._acknowledgements.acknowledged(message.sequence, message.partition)
        self._slots.release()

    def _reconnected(self, batch: Batch) -> bool:
        """A new connection before the batch's time is up; else the batch is given up."""
        while not self._closed and time.monotonic() < batch.deadline_s:
            until_s = min(batch.deadline_s, time.monotonic() + _RECONNECT_S)
            try:
                link = connect_serving(self._terms.server, until_s, about="the producer's server")
            except ClientError:
                continue
            try:
                self._session = self._begin(link)
            except ConnectionLost:
                continue
            if self._closed:  # meanwhile: nobody else would end it
                self._session.closing = True
                link.close()
            return True
        self._give_up(batch, "Closed" if self._closed else TIMED_OUT)
        return False

    def _give_up(self, batch: Batch, error: str) -> None:
        for message in batch.messages:
            self._acknowledgements.failed(message.sequence, error)
        self._slots.release()
