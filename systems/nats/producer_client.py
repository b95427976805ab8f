"""The producer: one thread writes what is there to the socket, another reads the streams' acknowledgements.

What a lost connection leaves without an answer is sent again over the next one, in the order in which it was handed over.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import NamedTuple

from systems.client import Acknowledgements, Backpressure, ClientSpec
from systems.connection import Backoff, ConnectionLost, Persistence
from systems.keys import keys_of, partition_chooser
from systems.nats.answer_client import error_of, is_passing, is_stored, partition_in
from systems.nats.wire_client import Link, Message, Servers

# What is written to the socket at once, at most: about as much as a socket takes.
_MOST_AT_ONCE = 256
_LOOK_EVERY_S = 0.1
_CLOSE_TIMEOUT_S = 5.0
_FLUSH_S = 1.0
_SHORT_S = 0.005
_SUBSCRIPTION = b"1"
_NO_MESSAGE = -1  # in place of a sequence, for what is written and awaits nothing
ID = b"Nats-Msg-Id"


class Pending(NamedTuple):
    """A message on its way. `again_s`: when it was last sent again by itself (monotonic); `refusals`: how often
    nobody was there to take it."""

    partition: int
    command: bytes
    given_s: float
    again_s: float
    refusals: int


@dataclass(frozen=True)
class Terms:
    """How a producer sends. `acknowledged` False: a message counts as acknowledged when it has been written to the socket.

    `ids`: messages have ids, by which a stream knows what it has; then one without an answer for `ack_wait_s` is sent again. `retries`
    and `retry_wait_s`: of a message that nobody was there to take.
    """

    acknowledged: bool
    ids: bool
    ack_wait_s: float
    retries: int
    retry_wait_s: float
    persistence: Persistence


class NatsProducer:
    """See Producer."""

    def __init__(
        self, link: Link, spec: ClientSpec, partitions: int, acknowledgements: Acknowledgements,
        terms: Terms, given: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._spec, self._terms, self._given = spec, terms, given
        self._acknowledged, self._ids = terms.acknowledged, terms.ids
        self._acknowledgements = acknowledgements
        self._errors: Counter[str] = Counter()
        persistence = terms.persistence
        self._servers = Servers(spec, Backoff(persistence.reconnect_wait_s, persistence.reconnect_most_s))
        self._link: Link | None = link  # the reading thread takes it away, the writing one brings another
        self._lost = link.server
        self._all_again_s = -math.inf  # when all that was outstanding was last sent again
        self._inbox = link.inbox + b".p."
        self._numbers = itertools.count()  # of messages with ids: sequences begin anew with each load
        self._partition_of = partition_chooser(spec, partitions)
        self._key_of = keys_of(spec)
        self._subjects = [f"{spec.topic}.{at}".encode() for at in range(partitions)]
        # Room beyond our own window: the window is what bounds, so that a full one never looks like an error.
        self._room = 2 * spec.workload.in_flight + 1_000
        self._most_at_once = _MOST_AT_ONCE if spec.workload.batching else 1
        self._pending: dict[int, Pending] = {}
        self._refused: list[tuple[float, int]] = []  # (when, sequence) of those that are to be sent again
        self._queue: SimpleQueue[tuple[int, int, bytes] | None] = SimpleQueue()
        # a message that was taken back, and may have come into the queue just after that
        self._astray: int | None = None
        self._closed = False
        self._listen(link)
        self._threads = [
            threading.Thread(target=self._write, name="writer", daemon=True),
            threading.Thread(target=self._read, name="acknowledgements", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def send(self, sequence: int, payload: bytes) -> None:
        if len(self._pending) >= self._room:
            raise Backpressure("TooManyPending")
        key = self._key_of(sequence) if self._key_of is not None else None
        partition = self._partition_of(sequence, key)
        subject = self._subjects[partition] if key is None else b"%b.%b" % (self._subjects[partition], key.encode())
        if not self._acknowledged:
            command = b"PUB %b %d\r\n%b\r\n" % (subject, len(payload), payload)
        elif self._ids:
            command = self._with_id(b"%b %b%d" % (subject, self._inbox, sequence), payload)
        else:
            command = b"PUB %b %b%d %d\r\n%b\r\n" % (subject, self._inbox, sequence, len(payload), payload)
        self._pending[sequence] = Pending(partition, command, time.monotonic(), -math.inf, 0)
        self._queue.put((sequence, partition, command))

    def _with_id(self, words: bytes, payload: bytes) -> bytes:
        headers = b"NATS/1.0\r\n%b: %b%d\r\n\r\n" % (ID, self._inbox, next(self._numbers))
        return b"HPUB %b %d %d\r\n%b%b\r\n" % (words, len(headers), len(headers) + len(payload), headers, payload)

    def errors(self) -> Mapping[str, int]:
        return self._errors

    def close(self) -> None:
        if self._closed:
            return
        link = self._link
        if link is not None:
            link.ping()  # its answer tells that the server has read all that was written
            until_s = time.monotonic() + _FLUSH_S
            while link is self._link and not link.answered and time.monotonic() < until_s:
                time.sleep(_SHORT_S)
        self._closed = True
        self._queue.put(None)
        link = self._link
        if link is not None:
            link.close()
        for thread in self._threads:
            thread.join(_CLOSE_TIMEOUT_S)
        made = self._link
        if made is not None:
            made.close()  # also one that was made meanwhile
        self._give_up("Closed")

    def _write(self) -> None:
        while (first := self._queue.get()) is not None:
            given = [first]
            while len(given) < self._most_at_once and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    return
                given.append(following)
            if self._astray is not None:
                given = self._without_astray(given)
            link = self._link
            if link is None:
                self._reconnect()  # these are among what it sends again
                if self._closed:
                    return
                continue
            try:
                self._put_on(link, given)
            except ConnectionLost:
                self._await_loss(link)

    def _put_on(self, link: Link, given: Sequence[tuple[int, int, bytes]]) -> None:
        link.write(b"".join(command for _, _, command in given))
        if not self._acknowledged:
            for sequence, partition, _ in given:
                if self._pending.pop(sequence, None) is not None:
                    self._acknowledgements.acknowledged(sequence, partition)

    def _reconnect(self) -> None:
        """Until there is another connection, and what is outstanding has been sent over it, or the producer is closed."""
        while not self._closed:
            self._servers.lose(self._lost)
            link = self._servers.another(_LOOK_EVERY_S)
            if link is None:
                continue
            try:
                self._listen(link)
                given = self._take_back()
                self._link = link
                for at in range(0, len(given), self._most_at_once):
                    self._put_on(link, given[at : at + self._most_at_once])
            except ConnectionLost:
                self._await_loss(link)
                continue
            return

    def _take_back(self) -> list[tuple[int, int, bytes]]:
        """All that has been given and has no answer, in order; nothing of it is in the queue any more, but perhaps the last one,
        which the thread that sends may be putting there."""
        while not self._queue.empty():
            self._queue.get()
        self._all_again_s = time.monotonic()
        taken = [(sequence, each.partition, each.command) for sequence, each in list(self._pending.items())]
        self._astray = taken[-1][0] if taken else None
        return taken

    def _without_astray(self, given: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
        """The first message that comes into the queue shows whether it is the one that was taken back."""
        for at, (sequence, _, _) in enumerate(given):
            if sequence != _NO_MESSAGE:
                astray, self._astray = self._astray, None
                return given[:at] + given[at + 1 :] if sequence == astray else given
        return given

    def _await_loss(self, link: Link) -> None:
        """The reading thread learns it, too: what it has read until then needn't be sent again."""
        link.close()
        self._lost = link.server
        while self._link is link and not self._closed:
            time.sleep(_SHORT_S)

    def _read(self) -> None:
        looked_s = time.monotonic()
        while not self._closed:
            link = self._link
            if link is None:
                time.sleep(_SHORT_S)
            else:
                self._hear(link)
            if (now_s := time.monotonic()) - looked_s >= _LOOK_EVERY_S:
                looked_s = now_s
                self._look(now_s)

    def _hear(self, link: Link) -> None:
        try:
            for message in link.read(_LOOK_EVERY_S):
                self._settle(message)
            link.keep_alive(self._terms.persistence.silent_s)
        except ConnectionLost as error:
            link.close()
            if self._closed:
                return
            self._errors[error.name] += 1
            self._refused = []
            if not self._terms.persistence.resend:
                self._give_up(error.name)
            self._lost, self._link = link.server, None
            self._queue.put((_NO_MESSAGE, 0, b""))  # so that the writer connects, even if there is nothing to write

    def _listen(self, link: Link) -> None:
        link.write(b"SUB %b* %b\r\n" % (self._inbox, _SUBSCRIPTION))
        link.pong = lambda content: self._queue.put((_NO_MESSAGE, 0, content))

    def _settle(self, message: Message) -> None:
        if message.sid != _SUBSCRIPTION:
            return
        sequence = int(message.subject[len(self._inbox) :])
        pending = self._pending.get(sequence)
        if pending is None:  # given up, or answered, before
            if is_stored(message):
                self._acknowledgements.acknowledged(sequence, partition_in(message.payload))
        elif is_stored(message):
            del self._pending[sequence]
            self._acknowledgements.acknowledged(sequence, pending.partition)
        elif pending.refusals < self._terms.retries and is_passing(message):
            self._pending[sequence] = pending._replace(refusals=pending.refusals + 1)
            self._refused.append((time.monotonic() + self._terms.retry_wait_s, sequence))
        else:
            self._fail(sequence, error_of(message))

    def _look(self, now_s: float) -> None:
        """Sends again what is due, and gives up what was given too long ago."""
        due = [sequence for when_s, sequence in self._refused if when_s <= now_s]
        self._refused = [each for each in self._refused if each[0] > now_s]
        oldest_s, wait_s = now_s - self._spec.delivery_timeout_s, self._terms.ack_wait_s
        for sequence, pending in list(self._pending.items()):
            if pending.given_s <= oldest_s:
                self._fail(sequence, "TimedOut")
            elif not self._terms.ids or pending.given_s > now_s - wait_s:
                break  # the others were given later
            elif max(pending.again_s, self._all_again_s) <= now_s - wait_s and self._link is not None:
                self._errors["NoAcknowledgement"] += 1
                due.append(sequence)
        for sequence in due:
            if (again := self._pending.get(sequence)) is not None:
                self._pending[sequence] = again._replace(again_s=now_s)
                self._queue.put((_NO_MESSAGE, 0, again.command))

    def _give_up(self, reason: str) -> None:
        for sequence in list(self._pending):
            self._fail(sequence, reason)

    def _fail(self, sequence: int, reason: str) -> None:
        if self._pending.pop(sequence, None) is not None:
            self._acknowledgements.failed(sequence, reason)
