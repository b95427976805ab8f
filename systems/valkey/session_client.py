"""One connection of a producer and the batches on it whose replies haven't come."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from systems.client import Acknowledgements
from systems.connection import ConnectionLost
from systems.valkey.resp_client import ErrorReply, Link

NO_STREAM, TOO_FEW, TIMED_OUT = "NoSuchStream", "TooFewReplicas", "TimedOut"
_LOOK_EVERY_S = 0.1
# A server answers WAIT in time, or there is no hope of any answer.
_GRACE_S = 1.0
_BULK, _ERROR, _NUMBER = b"$"[0], b"-"[0], b":"[0]


class Message(NamedTuple):
    """A message on its way: `command` adds it to its stream; `given_s` is when the load generator handed it over (monotonic)."""

    sequence: int
    partition: int
    command: bytes
    given_s: float


@dataclass
class Batch:
    """Messages that are written together. `answered`: how many of them have a reply; `refused`: position -> name of the error."""

    messages: Sequence[Message]
    deadline_s: float
    answered: int = 0
    refused: dict[int, str] = field(default_factory=dict)


class Session:
    """A connection's replies, read by a thread of its own until the connection ends.

    `replicas`: how many must have a batch before any of it counts as acknowledged, told by one WAIT after it; 0 = there is no WAIT,
    and each message counts as soon as the server replies. `settled` is called once for each batch. A server that says nothing for
    `silent_s` although a batch is outstanding, and isn't `alive` then, is given up: WAIT alone may keep one silent that is.
    """

    def __init__(
        self, link: Link, acknowledgements: Acknowledgements, *, replicas: int, settled: Callable[[], None],
        silent_s: float, alive: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.link = link
        self._acknowledgements, self._replicas, self._settled = acknowledgements, replicas, settled
        self._silent_s, self._alive = silent_s, alive
        self._heard_s = time.monotonic()
        self._lock = threading.Lock()
        self._outstanding: deque[Batch] = deque()
        self._ended = False
        self._rest = b""
        self._in_id = False  # the next line is the id of an entry
        self._thread = threading.Thread(target=self._read, name="acknowledgements", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether the connection is gone."""
        return self._ended

    def expect(self, batch: Batch) -> bool:
        """From now on the batch's replies may come, and the session settles it; False if the connection is gone."""
        with self._lock:
            if not self._ended:
                self._outstanding.append(batch)
            return not self._ended

    def join(self, timeout_s: float) -> None:
        """Waits for the end, after `link` was closed."""
        self._thread.join(timeout_s)

    def left(self) -> list[Batch]:
        """What has no reply, or wasn't on its replicas yet, once the connection is gone; to be asked once."""
        # without WAIT those that have a reply are settled; with it none is before the whole batch
        batches = [
            Batch(batch.messages[0 if self._replicas else batch.answered :], batch.deadline_s)
            for batch in self._outstanding
        ]
        self._outstanding.clear()
        return batches

    def _read(self) -> None:
        try:
            while not self._late():
                piece = self.link.read(_LOOK_EVERY_S)
                if piece:
                    self._heard_s = time.monotonic()
                    self._take(piece)
        except ConnectionLost:
            pass  # what is left says it
        self.link.close()
        with self._lock:
            self._ended = True

    def _late(self) -> bool:
        """Whether the oldest batch has had no answer for longer than it may take, or the server none for anything."""
        now_s = time.monotonic()
        try:
            batch = self._outstanding[0]
        except IndexError:
            self._heard_s = now_s  # it wasn't asked for anything
            return False
        if now_s - self._heard_s > self._silent_s:
            if not self._alive():
                return True
            self._heard_s = now_s
        return now_s > batch.deadline_s + _GRACE_S

    def _take(self, piece: bytes) -> None:
        """Entry ids hold no line ends, so all replies are lines: "$15" and an id, "-OOM ...", or WAIT's ":1"."""
        lines = (self._rest + piece).split(b"\r\n")
        self._rest = lines.pop()
        for line in lines:
            if self._in_id:
                self._in_id = False
                self._answered("")
                continue
            kind = line[0] if line else 0
            if kind == _BULK:
                if line == b"$-1":
                    self._answered(NO_STREAM)
                else:
                    self._in_id = True
            elif kind == _ERROR:
                self._answered(ErrorReply(line[1:].decode(errors="replace")).name)
            elif kind == _NUMBER and self._replicas and line[1:].isdigit():
                self._waited(int(line[1:]))
            else:
                raise ConnectionLost(f"not a reply to what was sent: {line[:80]!r}")

    def _answered(self, error: str) -> None:
        """One message of the oldest batch has its reply; empty = it is in its stream."""
        if not self._outstanding:
            raise ConnectionLost("a reply to nothing")
        batch = self._outstanding[0]
        position, waits = batch.answered, self._replicas > 0
        if position == len(batch.messages):
            raise ConnectionLost(f"WAIT was refused: {error or 'an entry'} came instead of a number")
        batch.answered += 1
        if error:
            batch.refused[position] = error
        if waits:
            return
        self._tell(batch.messages[position], error)
        if batch.answered == len(batch.messages):
            self._done()

    def _waited(self, replicas: int) -> None:
        """The reply to WAIT. It is no error when the time was up: it is the number of replicas that had all of it by then."""
        batch = self._outstanding[0] if self._outstanding else None
        if batch is None or batch.answered != len(batch.messages):
            raise ConnectionLost("a number that no WAIT asked for")
        error = TOO_FEW if replicas < self._replicas else ""
        for position, message in enumerate(batch.messages):
            self._tell(message, batch.refused.get(position, error) if batch.refused else error)
        self._done()

    def _tell(self, message: Message, error: str) -> None:
        if error:
            self._acknowledgements.failed(message.sequence, error)
        else:
            self._acknowledgements.acknowledged(message.sequence, message.partition)

    def _done(self) -> None:
        self._outstanding.popleft()
        self._settled()
