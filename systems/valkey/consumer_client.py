"""The consumer: it reads the streams of its partitions by XREAD, and notes its positions in the subscription's consumer groups.

Why not XREADGROUP: it writes something to the log and to the replicas for every read. Here a partition has one reader, and its position
is written once in a while, as other systems' clients do.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from systems.client import ClientError, ClientSpec
from systems.connection import Backoff, ConnectionLost, Persistence
from systems.valkey.entries_client import EntryReader
from systems.valkey.resp_client import ErrorReply, Link, Reply, connect, encoded, serving
from systems.valkey.topic_client import stream_of

_BLOCK_S = 5.0
_TRY_S = 1.0
_CLOSE_S = 2.0


def join_groups(
    link: Link, topic: str, partitions: Sequence[int], subscription: str, deadline_s: float
) -> dict[int, bytes]:
    """Makes the subscription's group of each partition, unless it is there: partition -> the id after which to read.

    Raises ClientError.
    """
    positions = {}
    for partition in partitions:
        stream = stream_of(topic, partition)
        commands = [encoded("XGROUP", "CREATE", stream, subscription, "0"), encoded("XINFO", "GROUPS", stream)]
        made, groups = link.ask(commands, deadline_s)
        if isinstance(made, ErrorReply) and made.name != "BUSYGROUP":
            raise ClientError(made.name, f"subscription {subscription} of {stream}: {made.message}")
        positions[partition] = position_in(groups, subscription)
    return positions


def position_in(groups: Reply, subscription: str) -> bytes:
    """The last id that a group has of what XINFO GROUPS replies. Raises ClientError."""
    for group in groups if isinstance(groups, list) else ():
        told = dict(zip(group[::2], group[1::2], strict=True)) if isinstance(group, list) else {}
        last = told.get(b"last-delivered-id")
        if told.get(b"name") == subscription.encode() and isinstance(last, bytes):
            return last
    raise ClientError("NoSuchGroup", f"subscription {subscription} is not among {groups!r}")


class ValkeyConsumer:
    """See Consumer. `at_once`: how many entries it asks for at most, over all its partitions."""

    def __init__(
        self, link: Link, spec: ClientSpec, subscription: str, positions: Mapping[int, bytes],
        *, at_once: int, position_every_s: float, persistence: Persistence, given: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._link: Link | None = link
        self._spec, self._subscription, self._given = spec, subscription, given
        self._positions = dict(positions)
        self._noted = dict(positions)
        self._names = {at: stream_of(spec.topic, at) for at in positions}
        self._reader = self._new_reader()
        self._count = max(1, at_once // max(1, len(positions)))
        self._every_s, self._noted_s = position_every_s, time.monotonic()
        self._asked_s = 0.0
        self._silent_s = (
            _BLOCK_S + persistence.silent_s
        )  # a read that is neither answered nor timed out for so long is lost
        self._backoff = Backoff(persistence.reconnect_wait_s, persistence.reconnect_most_s)
        self._errors: Counter[str] = Counter()
        self._held = self._closed = False

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False

    def errors(self) -> Mapping[str, int]:
        return self._errors

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        if self._held or not self._positions:
            time.sleep(timeout_s)
            return ()
        deadline_s = time.monotonic() + timeout_s
        received: list[tuple[int, bytes]] = []
        while not received and not self._closed:
            left_s = deadline_s - time.monotonic()
            try:
                link = self._link or self._reconnected(left_s)
                if link is not None:
                    self._read(link, left_s, received)
            except ConnectionLost as error:
                self._errors[error.name] += 1
                self._drop()
            if time.monotonic() >= deadline_s:
                break
        return received

    def close(self) -> None:
        self._closed = True
        self._drop()
        # all of them: what was written just before may be lost with the connection
        positions = [self._taken_down(at) for at in self._positions]
        if positions:
            with suppress(ConnectionLost):  # else whoever comes next reads some messages again
                link = connect(self._spec.service_url, _CLOSE_S)
                with suppress(ConnectionLost):
                    link.ask(positions, time.monotonic() + _CLOSE_S)
                link.close()

    def _read(self, link: Link, timeout_s: float, into: list[tuple[int, bytes]]) -> None:
        if self._reader.whole:
            self._ask(link)
        piece = link.read(timeout_s)
        if not piece and time.monotonic() - self._asked_s > self._silent_s:
            raise ConnectionLost(f"no reply to a read within {self._silent_s:g} s")
        for partition, number, payload in self._reader.feed(piece):
            self._positions[partition] = number
            into.append((partition, payload))
        for refusal in self._reader.refusals:
            self._errors[refusal.name] += 1
        if self._reader.refusals:
            self._reader.refusals.clear()
            time.sleep(min(0.1, timeout_s))  # what is refused once is refused again
        elif self._reader.whole and piece:
            self._ask(link)  # the next messages are on their way while these are handed over

    def _ask(self, link: Link) -> None:
        """Has the server send what comes after the positions, and before that take them down if it is time to."""
        self._asked_s = time.monotonic()
        notes: list[bytes] = []
        if self._asked_s - self._noted_s >= self._every_s:
            notes, self._noted_s = self._new_positions(), self._asked_s
            self._noted = dict(self._positions)
        streams: list[str | bytes] = [*self._names.values(), *(self._positions[at] for at in self._names)]
        read = encoded("XREAD", "COUNT", self._count, "BLOCK", round(_BLOCK_S * 1e3), "STREAMS", *streams)
        self._reader.expect(len(notes))
        link.write(b"".join(notes) + read)

    def _new_positions(self) -> list[bytes]:
        """Commands that take down the positions which have changed."""
        return [self._taken_down(at) for at, number in self._positions.items() if number != self._noted[at]]

    def _taken_down(self, at: int) -> bytes:
        return encoded("XGROUP", "SETID", self._names[at], self._subscription, self._positions[at])

    def _new_reader(self) -> EntryReader:
        return EntryReader({name.encode(): at for at, name in self._names.items()})

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _reconnected(self, within_s: float) -> Link | None:
        """It goes on where it was: what came of the lost reply is kept, the rest comes again."""
        time.sleep(max(0.0, min(within_s, self._backoff.left_s())))
        if self._backoff.left_s():
            return None
        try:
            self._link = serving(self._spec.service_url, _TRY_S)
        except ClientError:
            self._link = None
        self._backoff.attempted(succeeded=self._link is not None)
        self._reader = self._new_reader()
        return self._link
