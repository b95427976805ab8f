"""NATS' protocol over a socket, as far as the load generator needs it: connecting, publishing, subscribing, requests to JetStream.

Why not the vendor's client for Python: at the highest rates it needs several times the CPU for each message, and holds less than half
of what the servers take.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from systems.client import ClientError, ClientSpec
from systems.connection import Backoff, Connection, ConnectionLost, connect_to

UNAVAILABLE = 503  # the status of a request that nobody answers (yet)
_RETRY_S = 0.2
_TRY_S = 2.0  # for one server to accept a connection
_TRY_AGAIN_S = 1.0  # the same, where there are others to be tried meanwhile
_ASK_S = 5.0  # for JetStream to answer, before it is asked again
_API = b"0"  # the subscription to answers of JetStream; those of a topic are called otherwise
CONNECT: Mapping[str, object] = {
    "verbose": False,
    "pedantic": False,
    "headers": True,
    "no_responders": True,
    "protocol": 1,
}


class Message(NamedTuple):
    """What came for subscription `sid`. `status` and `description` are of a message from the server itself, else 0 and empty."""

    sid: bytes
    subject: bytes
    reply: bytes
    status: int
    headers: bytes
    payload: bytes


class Parser:
    """Makes messages of pieces of a stream, however it was cut. `pings` counts those that are to be answered, `pongs` answers."""

    def __init__(self) -> None:
        self._rest = b""
        self.pings = 0
        self.pongs = 0

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that are whole now. Raises ConnectionLost for an error that the server tells."""
        stream = self._rest + piece if self._rest else piece
        messages = []
        at = 0
        while (end := stream.find(b"\r\n", at)) >= 0:
            if stream.startswith(b"MSG ", at):
                words = stream[at:end].split(b" ")
                begin = end + 2
                last = begin + int(words[-1])
                if len(stream) < last + 2:
                    break
                reply = words[3] if len(words) == 5 else b""
                messages.append(Message(words[2], words[1], reply, 0, b"", stream[begin:last]))
                at = last + 2
            elif stream.startswith(b"HMSG ", at):
                words = stream[at:end].split(b" ")
                body, last = end + 2 + int(words[-2]), end + 2 + int(words[-1])
                if len(stream) < last + 2:
                    break
                headers = stream[end + 2 : body]
                reply = words[3] if len(words) == 6 else b""
                messages.append(Message(words[2], words[1], reply, status_of(headers), headers, stream[body:last]))
                at = last + 2
            else:
                self._take_line(stream[at:end])
                at = end + 2
        self._rest = stream[at:]
        return messages

    def _take_line(self, line: bytes) -> None:
        if line == b"PING":
            self.pings += 1
        elif line == b"PONG":
            self.pongs += 1
        elif line.startswith(b"-ERR"):
            raise ConnectionLost(line.decode(errors="replace"))


def status_of(headers: bytes) -> int:
    """The status in the first line of headers ("NATS/1.0 503"); 0 where it has none."""
    words = headers.partition(b"\r\n")[0].split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def header(headers: bytes, name: bytes) -> bytes:
    """The value of a header; empty without one."""
    for line in headers.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key == name:
            return value.strip()
    return b""


class Link:
    """A connection to one server. One thread writes, one reads; where they differ, `pong` hands over what the reader has to write."""

    def __init__(self, connection: Connection, server: str) -> None:
        self.server = server
        self._connection = connection
        self.write, self.close = connection.write, connection.close
        self._parser = Parser()
        self.inbox = b"_INBOX." + secrets.token_hex(8).encode()
        self.pong: Callable[[bytes], None] = self.write
        self._pings = 0
        self._heard_s = self._pinged_s = time.monotonic()

    def read(self, timeout_s: float) -> list[Message]:
        """What comes within the time, as soon as something does. Raises ConnectionLost."""
        piece = self._connection.read(timeout_s)
        if not piece:
            return []
        self._heard_s = time.monotonic()
        messages = self._parser.feed(piece)
        while self._parser.pings:
            self._parser.pings -= 1
            self.pong(b"PONG\r\n")
        return messages

    def ping(self) -> None:
        """Has the server say that it has read all that was written. Raises ConnectionLost."""
        self._pings += 1
        self._pinged_s = time.monotonic()
        self.pong(b"PING\r\n")

    @property
    def answered(self) -> bool:
        """Whether the server has answered every ping."""
        return self._parser.pongs >= self._pings

    def keep_alive(self, silent_s: float) -> None:
        """Pings a server that has said nothing for half of the time. Raises ConnectionLost if it says nothing for the other half."""
        now_s = time.monotonic()
        if now_s - self._heard_s < silent_s / 2:
            return
        if self._pinged_s <= self._heard_s:
            self.ping()
        elif now_s - self._pinged_s >= silent_s / 2:
            raise ConnectionLost(f"{self.server} has been silent for {now_s - self._heard_s:.1f} s")

    def ask(self, requests: Sequence[tuple[str, Mapping[str, Any]]], deadline_s: float) -> list[dict[str, Any]]:
        """JetStream's answers to requests (subject, body), each put again until it can be answered.

        Nothing else may be read from the connection yet. Raises ClientError at an answer that no waiting changes, or at the deadline.
        """
        answers: dict[int, dict[str, Any]] = {}
        self.write(b"SUB %b.api.* %b\r\n" % (self.inbox, _API))
        problem = "no answer"
        while len(answers) < len(requests):
            wait_s = min(_ASK_S, deadline_s - time.monotonic())
            if wait_s <= 0:
                raise ClientError("TimedOut", f"{requests[0][0]}: {problem}")
            left = [number for number in range(len(requests)) if number not in answers]
            self.write(b"".join(self._request(number, *requests[number]) for number in left))
            problem = self._take_answers(answers, len(requests), time.monotonic() + wait_s) or problem
            if len(answers) < len(requests):
                time.sleep(min(_RETRY_S, wait_s))
        self.write(b"UNSUB %b\r\n" % _API)
        return [answers[number] for number in range(len(requests))]

    def _request(self, number: int, subject: str, body: Mapping[str, Any]) -> bytes:
        content = json.dumps(body).encode()
        return b"PUB %b %b.api.%d %d\r\n%b\r\n" % (subject.encode(), self.inbox, number, len(content), content)

    def _take_answers(self, answers: dict[int, dict[str, Any]], wanted: int, until_s: float) -> str:
        """Returns why some can't be answered yet, as the last of them says."""
        problem, came = "", 0
        while came < wanted - len(answers) and (left_s := until_s - time.monotonic()) > 0:
            for message in self.read(left_s):
                if message.sid != _API:
                    continue
                answer = json.loads(message.payload) if message.payload else {}
                error = answer.get("error") or ({"code": message.status} if message.status else None)
                if error is None:
                    answers[int(message.subject.rpartition(b".")[2])] = answer
                elif error.get("code") == UNAVAILABLE:
                    problem, came = f"not available: {error.get('description', 'nobody answers')}", came + 1
                else:
                    raise ClientError(str(error.get("err_code", "error")), str(error.get("description")))
        return problem


def connect(spec: ClientSpec, deadline_s: float, *, name: str = "") -> Link:
    """A connection to one of the servers, in an order that is drawn anew each time. Raises ClientError at the deadline (monotonic)."""
    servers = spec.service_url.split(",")
    while True:
        for server in random.sample(servers, len(servers)):
            try:
                return connected(server, max(0.05, min(_TRY_S, deadline_s - time.monotonic())), name)
            except ConnectionLost as error:
                problem = f"{server}: {error}"
            if time.monotonic() > deadline_s:
                raise ClientError("TimedOut", f"topic {spec.topic} at {spec.service_url}: {problem}")
        time.sleep(_RETRY_S)


class Servers:
    """The servers, of which a client that has lost one takes the next, and the lost one last. One thread's."""

    def __init__(self, spec: ClientSpec, backoff: Backoff, *, name: str = "") -> None:
        self._left = deque(spec.service_url.split(","))
        self._backoff, self._name = backoff, name

    def lose(self, server: str) -> None:
        """This one has been lost."""
        self._left.remove(server)
        self._left.append(server)

    def another(self, within_s: float) -> Link | None:
        """A connection to the next one. None if it can't be had, or mayn't be tried yet within the time."""
        wait_s = self._backoff.left_s()
        time.sleep(min(wait_s, max(0.0, within_s)))
        if wait_s > within_s:
            return None
        link = None
        with suppress(ConnectionLost):
            link = connected(self._left[0], _TRY_AGAIN_S, self._name)
        self._backoff.attempted(succeeded=link is not None)
        if link is None:
            self._left.rotate(-1)
        return link


def connected(server: str, timeout_s: float, name: str) -> Link:
    """A connection to this server. Raises ConnectionLost."""
    link = Link(connect_to(server, timeout_s), server)
    try:
        options = {**CONNECT, "lang": "samebox", "version": "1", "name": name}
        link.write(f"CONNECT {json.dumps(options)}\r\n".encode())
        link.ping()
        until_s = time.monotonic() + timeout_s
        while not link.answered:
            if time.monotonic() > until_s:
                raise ConnectionLost("no answer to a ping")
            link.read(timeout_s)
    except ConnectionLost:
        link.close()
        raise
    return link


def find_partitions(link: Link, topic: str, deadline_s: float) -> int:
    """How many streams a topic has; they are numbered from 0. Raises ClientError if it has none, or one of them is missing."""
    names: list[str] = []
    while True:
        [page] = link.ask([("$JS.API.STREAM.NAMES", {"subject": f"{topic}.*", "offset": len(names)})], deadline_s)
        names += page.get("streams") or ()
        if len(names) >= page["total"] or not page.get("streams"):
            break
    numbers = sorted(int(name.rpartition("-")[2]) for name in names)
    if not numbers or numbers != list(range(len(numbers))):
        raise ClientError("NoSuchTopic", f"{topic}: its streams are {', '.join(sorted(names)) or 'none'}")
    return len(numbers)
