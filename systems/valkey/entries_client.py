"""The replies to a consumer, read as they come: entries are handed over before the reply they are in is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from systems.connection import ConnectionLost
from systems.valkey.resp_client import ErrorReply, Incomplete, line_at

_ENTRY = b"*2\r\n$"


class Entry(NamedTuple):
    """A message with its place: `id` is that of the entry in the partition's stream."""

    partition: int
    id: bytes
    payload: bytes


@dataclass
class EntryReader:
    """Reads the reply to XREAD, and before it as many short ones as `expect` was told. `partitions`: stream -> partition.

    Of an entry's fields the last is the payload. `whole` is True when no reply is outstanding; `refusals` are the errors.
    """

    partitions: Mapping[bytes, int]
    refusals: list[ErrorReply] = field(default_factory=list)
    _rest: bytes = b""
    _short: int = 0
    _reading: bool = False  # XREAD's reply is to come, or has begun
    _begun: bool = False
    _streams: int = 0
    _entries: int = 0
    _partition: int = 0

    @property
    def whole(self) -> bool:
        """Whether everything that was expected has come."""
        return not self._reading and not self._short

    def expect(self, short: int) -> None:
        """From now on so many short replies come, and then XREAD's."""
        self._short, self._reading, self._begun = short, True, False

    def feed(self, piece: bytes) -> list[Entry]:
        """The entries that are complete now. Raises ConnectionLost for what is no such reply."""
        buffer, at = self._rest + piece, 0
        found: list[Entry] = []
        try:
            while not self.whole:
                if self._short:
                    at = self._take_short(buffer, at)
                elif not self._begun:
                    at = self._take_beginning(buffer, at)
                elif self._entries:
                    entry, at = entry_at(buffer, at, self._partition)
                    found.append(entry)
                    self._entries -= 1
                    self._end_if_done()
                else:
                    at = self._take_stream(buffer, at)
        except Incomplete:
            pass
        self._rest = buffer[at:]
        return found

    def _take_short(self, buffer: bytes, at: int) -> int:
        line, after = line_at(buffer, at)
        if line[:1] not in (b"+", b"-", b":"):
            raise ConnectionLost(f"not a short reply: {line[:80]!r}")
        self._note(line)
        self._short -= 1
        return after

    def _take_beginning(self, buffer: bytes, at: int) -> int:
        """How many streams have entries; none when the time was up."""
        line, after = line_at(buffer, at)
        self._note(line)
        self._begun, self._streams = True, int(line[1:]) if line[:1] == b"*" else 0
        if self._streams <= 0:
            self._reading = False
        return after

    def _take_stream(self, buffer: bytes, at: int) -> int:
        """A stream's name, and how many entries of it follow."""
        pair, after = line_at(buffer, at)
        size, after = line_at(buffer, after)
        name, after = line_at(buffer, after)
        count, after = line_at(buffer, after)
        if (pair, size[:1], count[:1]) != (b"*2", b"$", b"*") or name not in self.partitions:
            raise ConnectionLost(f"not one of the streams that were asked for: {name[:80]!r}")
        self._partition, self._entries = self.partitions[name], int(count[1:])
        self._streams -= 1
        self._end_if_done()
        return after

    def _end_if_done(self) -> None:
        if not self._entries and not self._streams:
            self._reading = False

    def _note(self, line: bytes) -> None:
        if line[:1] == b"-":
            self.refusals.append(ErrorReply(line[1:].decode(errors="replace")))


def entry_at(buffer: bytes, at: int, partition: int) -> tuple[Entry, int]:
    """The entry that begins there, and where the next one begins. Raises Incomplete, or ConnectionLost."""
    if not buffer.startswith(_ENTRY, at):
        if len(buffer) - at < len(_ENTRY):
            raise Incomplete
        raise ConnectionLost(f"not an entry: {buffer[at : at + 80]!r}")
    size, at = line_at(buffer, at + len(_ENTRY))
    after = at + int(size) + 2
    number, fields = buffer[at : after - 2], b""
    count, at = line_at(buffer, after)
    start = at
    for _ in range(int(count[1:])):
        size, start = line_at(buffer, at)
        at = start + int(size[1:]) + 2
    if len(buffer) < at:
        raise Incomplete
    fields = buffer[start : at - 2]
    return Entry(partition, number, fields), at
