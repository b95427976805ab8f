"""A Valkey server in this process, scripted and strict: what a client may not say is kept in `problems` and ends its connection.

It has streams, consumer groups without pending entries, and the few commands that the client sends, as 9.1 answers them
(`recorded/valkey/session.json`).
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

OK = b"+OK\r\n"
Words = list[bytes]


@dataclass
class Stream:
    """Entries (id, fields with their values in turn), and the groups' last ids."""

    entries: list[tuple[bytes, Words]] = field(default_factory=list)
    groups: dict[bytes, bytes] = field(default_factory=dict)


class ScriptedServer:
    """Serves until closed. `replicas`: what WAIT replies. `refusals`: replies to the next messages, in place of taking them.

    `silent`: it answers nothing. `deaf`: and does nothing, as one that is frozen. `waiting`: WAIT alone isn't answered.
    `replies_left`: after so many replies the connection ends before the next. `commands` is all that was said to it, but for payloads
    of messages.
    """

    def __init__(self, topic: str, partitions: int, *, replicas: int = 2) -> None:
        self.replicas, self.silent = replicas, False
        self.deaf = self.waiting = False
        self.replies_left: int | None = None
        self.refusals: list[bytes] = []
        self.greeting = b"+PONG\r\n"
        self.hashes = {topic.encode(): str(partitions).encode()}
        self.streams = {f"{topic}/{at}".encode(): Stream() for at in range(partitions)}
        self.commands: list[Words] = []
        self.problems: list[str] = []
        self._added = threading.Condition()
        self._connections: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = "{}:{}".format(*self._listening.getsockname())
        self._number = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Ends all connections, and takes no more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.drop()

    def drop(self) -> None:
        """Ends all connections."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def payloads(self, stream: str) -> list[bytes]:
        """The messages of a stream, in order."""
        return [fields[-1] for _, fields in self.streams[stream.encode()].entries]

    def said(self, *first: str) -> list[Words]:
        """The commands that began so."""
        begin = [word.encode() for word in first]
        return [words for words in self.commands if words[: len(begin)] == begin]

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        replies = True
        with connection, connection.makefile("rb") as stream, suppress(OSError, ValueError):
            for words in commands_of(stream.read, stream.readline):
                self.commands.append([word if len(word) < 200 else b"..." for word in words])
                if words == [b"CLIENT", b"REPLY", b"OFF"]:
                    replies = False
                    continue
                if self.deaf:
                    continue
                reply = self._reply(words)
                if not reply:
                    self.problems.append(repr(words)[:200])
                    return
                if self.replies_left == 0:
                    self.replies_left = None
                    return
                if replies and not self.silent and not (self.waiting and words[0] == b"WAIT"):
                    connection.sendall(reply)
                    self.replies_left = None if self.replies_left is None else self.replies_left - 1

    def _reply(self, words: Words) -> bytes:
        """Empty = no such command may be said."""
        known: dict[bytes, Callable[[Words], bytes]] = {
            b"PING": lambda rest: b"" if rest else self.greeting,
            b"CLIENT": lambda rest: OK if rest[0] == b"SETNAME" and len(rest) == 2 else b"",
            b"HGET": lambda rest: bulk(self.hashes.get(rest[0])) if rest[1:] == [b"partitions"] else b"",
            b"EXISTS": lambda rest: b":%d\r\n" % sum(each in self.streams for each in rest),
            b"XADD": self._xadd,
            b"WAIT": lambda rest: b":%d\r\n" % self.replicas if int(rest[0]) > 0 < int(rest[1]) else b"",
            b"XGROUP": self._xgroup,
            b"XINFO": lambda rest: self._groups(rest[1]) if rest[0] == b"GROUPS" else b"",
            b"XREAD": self._xread,
        }
        return known[words[0]](words[1:]) if words[0] in known else b""

    def _xadd(self, rest: Words) -> bytes:
        if rest[1:3] != [b"NOMKSTREAM", b"*"] or len(rest) not in (5, 7):
            return b""
        if self.refusals:
            return self.refusals.pop(0)
        if rest[0] not in self.streams:
            return b"$-1\r\n"
        with self._added:
            self._number += 1
            number = b"%d-0" % (1_795_573_726_000 + self._number)
            self.streams[rest[0]].entries.append((number, rest[3:]))
            self._added.notify_all()
        return bulk(number)

    def _xgroup(self, rest: Words) -> bytes:
        verb, name, group, at = rest
        groups = self.streams[name].groups
        if verb == b"CREATE" and group in groups:
            return b"-BUSYGROUP Consumer Group name already exists\r\n"
        if verb == b"SETID" and group not in groups:
            return b"-NOGROUP No such consumer group for key name\r\n"
        groups[group] = b"0-0" if at == b"0" else at
        return OK

    def _groups(self, name: bytes) -> bytes:
        groups = self.streams[name].groups
        told = (
            array([b"name", group, b"consumers", b"0", b"last-delivered-id", last]) for group, last in groups.items()
        )
        return b"*%d\r\n" % len(groups) + b"".join(told)

    def _xread(self, rest: Words) -> bytes:
        if (rest[0], rest[2], rest[4], len(rest) % 2) != (b"COUNT", b"BLOCK", b"STREAMS", 1):
            return b""
        count, block_s, half = int(rest[1]), int(rest[3]) / 1e3, (len(rest) - 5) // 2
        asked = list(zip(rest[5 : 5 + half], rest[5 + half :], strict=True))
        deadline = time.monotonic() + min(block_s, 0.3)
        with self._added:
            while not (found := self._after(asked, count)) and (left_s := deadline - time.monotonic()) > 0:
                self._added.wait(left_s)
        return b"*%d\r\n" % len(found) + b"".join(found) if found else b"*-1\r\n"

    def _after(self, asked: list[tuple[bytes, bytes]], count: int) -> list[bytes]:
        found = []
        for name, last in asked:
            newer = [entry for entry in self.streams[name].entries if order(entry[0]) > order(last)][:count]
            if newer:
                body = b"".join(b"*2\r\n" + bulk(number) + array(fields) for number, fields in newer)
                found.append(b"*2\r\n" + bulk(name) + b"*%d\r\n" % len(newer) + body)
        return found


def commands_of(read: Callable[[int], bytes], readline: Callable[[], bytes]) -> Iterator[Words]:
    """Commands from a stream of bytes. Raises ValueError for what is none."""
    while line := readline():
        if line[:1] != b"*":
            raise ValueError(line)
        words = []
        for _ in range(int(line[1:])):
            size = readline()
            if size[:1] != b"$":
                raise ValueError(size)
            words.append(read(int(size[1:])))
            if read(2) != b"\r\n":
                raise ValueError("a word's size is wrong")
        yield words


def bulk(word: bytes | None) -> bytes:
    return b"$-1\r\n" if word is None else b"$%d\r\n%b\r\n" % (len(word), word)


def array(words: Words) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(map(bulk, words))


def order(number: bytes) -> tuple[int, int]:
    """An entry's id as a number."""
    first, _, second = number.partition(b"-")
    return int(first), int(second or 0)
