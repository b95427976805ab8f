"""The producer: one thread writes what is there to the socket, another reads the streams' acknowledgements."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import NamedTuple

from systems.client import Acknowledgements, Backpressure, ClientError, ClientSpec
from systems.connection import ConnectionLost
from systems.keys import keys_of, partition_chooser
from systems.nats.wire_client import UNAVAILABLE, Link, Message, connect

# What is written to the socket at once, at most: about as much as a socket takes.
_MOST_AT_ONCE = 256
_LOOK_EVERY_S = 0.1
_CLOSE_TIMEOUT_S = 5.0
_SUBSCRIPTION = b"1"


class Pending(NamedTuple):
    """A message on its way. `retries`: how often it was sent again because its stream had no leader."""

    partition: int
    command: bytes
    given_s: float
    retries: int


class NatsProducer:
    """See Producer. `acknowledged` False: a message counts as acknowledged when it has been written to the socket."""

    def __init__(
        self, link: Link, spec: ClientSpec, partitions: int, acknowledgements: Acknowledgements,
        *, acknowledged: bool, retries: int, retry_wait_s: float, given: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._spec, self._given, self._acknowledgements = spec, given, acknowledgements
        self._acknowledged, self._retries, self._retry_wait_s = acknowledged, retries, retry_wait_s
        self._link: Link | None = link
        self._inbox = link.inbox + b".p."
        self._partition_of = partition_chooser(spec, partitions)
        self._key_of = keys_of(spec)
        self._heads = [f"PUB {spec.topic}.{at}".encode() for at in range(partitions)]
        # Room beyond our own window: the window is what bounds, so that a full one never looks like an error.
        self._room = 2 * spec.workload.in_flight + 1_000
        self._most_at_once = _MOST_AT_ONCE if spec.workload.batching else 1
        self._pending: dict[int, Pending] = {}
        self._again: list[tuple[float, int]] = []  # (when, sequence) of those that are to be sent again
        self._queue: SimpleQueue[tuple[int, int, bytes] | None] = SimpleQueue()
        self._closed = False
        self._flushed = threading.Event()
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
        if self._link is None:
            raise Backpressure("Reconnecting")
        if len(self._pending) >= self._room:
            raise Backpressure("TooManyPending")
        key = self._key_of(sequence) if self._key_of is not None else None
        partition = self._partition_of(sequence, key)
        head = self._heads[partition] if key is None else b"%b.%b" % (self._heads[partition], key.encode())
        if self._acknowledged:
            command = b"%b %b%d %d\r\n%b\r\n" % (head, self._inbox, sequence, len(payload), payload)
        else:
            command = b"%b %d\r\n%b\r\n" % (head, len(payload), payload)
        self._pending[sequence] = Pending(partition, command, time.monotonic(), 0)
        self._queue.put((sequence, partition, command))

    def close(self) -> None:
        if self._closed:
            return
        link = self._link
        if link is not None:
            self._queue.put((-1, -1, b"PING\r\n"))  # its answer tells that the server has read all that was written
            self._flushed.wait(1.0)
        self._closed = True
        self._queue.put(None)
        if link is not None:
            link.close()
        for thread in self._threads:
            thread.join(_CLOSE_TIMEOUT_S)
        self._give_up("Closed")

    def _write(self) -> None:
        while (first := self._queue.get()) is not None:
            given = [first]
            while len(given) < self._most_at_once and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    return
                given.append(following)
            link = self._link
            if link is None:
                continue  # given up already, or soon
            try:
                link.write(b"".join(command for _, _, command in given))
            except ConnectionLost:
                continue  # the reading thread learns it, too
            if not self._acknowledged:
                for sequence, partition, _ in given:
                    if self._pending.pop(sequence, None) is not None:
                        self._acknowledgements.acknowledged(sequence, partition)

    def _read(self) -> None:
        looked_s = time.monotonic()
        while not self._closed:
            link = self._link
            if link is None:
                self._reconnect()
            else:
                self._hear(link)
            if (now_s := time.monotonic()) - looked_s >= _LOOK_EVERY_S:
                looked_s = now_s
                self._look(now_s)

    def _hear(self, link: Link) -> None:
        try:
            for message in link.read(_LOOK_EVERY_S):
                self._settle(message)
        except ConnectionLost:
            self._link = None
            link.close()
            self._give_up("ConnectionLost")
        if link.pongs > 1:  # the first one was the answer to connecting
            self._flushed.set()

    def _reconnect(self) -> None:
        with suppress(ClientError):
            link = connect(self._spec, time.monotonic() + _LOOK_EVERY_S)
            self._listen(link)
            self._link = link

    def _listen(self, link: Link) -> None:
        link.write(b"SUB %b* %b\r\n" % (self._inbox, _SUBSCRIPTION))
        link.pong = lambda content: self._queue.put((-1, -1, content))

    def _settle(self, message: Message) -> None:
        if message.sid != _SUBSCRIPTION:
            return
        sequence = int(message.subject[len(self._inbox) :])
        pending = self._pending.get(sequence)
        if pending is None:
            return  # given up before
        if message.status == UNAVAILABLE and pending.retries < self._retries:
            self._pending[sequence] = pending._replace(retries=pending.retries + 1)
            self._again.append((time.monotonic() + self._retry_wait_s, sequence))
            return
        del self._pending[sequence]
        if message.payload.startswith(b'{"stream":') and b'"error"' not in message.payload:
            self._acknowledgements.acknowledged(sequence, pending.partition)
        else:
            self._acknowledgements.failed(sequence, error_of(message))

    def _look(self, now_s: float) -> None:
        """Sends again what is due, and gives up what was given too long ago."""
        due = [sequence for when_s, sequence in self._again if when_s <= now_s]
        self._again = [each for each in self._again if each[0] > now_s]
        for sequence in due:
            if (pending := self._pending.get(sequence)) is not None:
                self._queue.put((sequence, pending.partition, pending.command))
        oldest_s = now_s - self._spec.delivery_timeout_s
        for sequence, pending in list(self._pending.items()):
            if pending.given_s > oldest_s:
                break  # the others were given later
            self._fail(sequence, "TimedOut")

    def _give_up(self, reason: str) -> None:
        for sequence in list(self._pending):
            self._fail(sequence, reason)

    def _fail(self, sequence: int, reason: str) -> None:
        if self._pending.pop(sequence, None) is not None:
            self._acknowledgements.failed(sequence, reason)


def error_of(message: Message) -> str:
    """The name of what a stream, or its server, says instead of an acknowledgement."""
    if message.status:
        return "NoResponders" if message.status == UNAVAILABLE else f"Status{message.status}"
    try:
        error = json.loads(message.payload)["error"]
    except (ValueError, KeyError):
        return "NotAnAcknowledgement"
    return f"JetStream{error.get('err_code', error.get('code'))}"
