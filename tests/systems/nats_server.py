"""A NATS server in this process, scripted and strict: what a client may not say is kept in `problems` and ends its connection.

It has streams of one copy, durable pull consumers and the few requests of JetStream that the client makes, as 2.15 answers them.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

UNAVAILABLE = b"NATS/1.0 503\r\n\r\n"


@dataclass
class Consumer:
    """A durable consumer: its position, and what it was configured with. `deliveries`: how many there were, repeated ones included;
    `again`: messages that it sends once more before it goes on."""

    config: dict[str, Any]
    delivered: int = 0
    acknowledged: int = 0
    deliveries: int = 0
    again: list[int] = field(default_factory=list)


@dataclass
class Stream:
    """A stream's messages, and its consumers. `ids`: id -> number of the message; `losing`: these are lost on their way once."""

    name: str
    messages: list[tuple[str, bytes]] = field(default_factory=list)
    consumers: dict[str, Consumer] = field(default_factory=dict)
    ids: dict[bytes, int] = field(default_factory=dict)
    losing: set[int] = field(default_factory=set)
    began_ns: int = 1  # its messages were stored at this time and after


class ScriptedNats:
    """Serves until closed. `silent`: messages are stored and not acknowledged. `leaderless`: so many messages find nobody.

    One `beside` another has its streams.

    `answer_of` may say something else than an acknowledgement for a payload; `late`: so many requests aren't answered at first.
    `deaf`: it reads nothing any more, and says nothing, as one that is frozen. `held`: acknowledgements that were kept back by `hold`.
    """

    def __init__(self, topic: str, partitions: int, *, beside: ScriptedNats | None = None) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listening.getsockname())
        own = {f"{topic}.{at}": Stream(f"{topic}-{at}") for at in range(partitions)}
        self.streams: dict[str, Stream] = beside.streams if beside is not None else own
        self.problems: list[str] = []
        self.requests: Counter[str] = Counter()
        self.commands: list[str] = []
        self.silent = False
        self.deaf = threading.Event()
        self.hold = False
        self.held: list[tuple[str, bytes]] = []
        self.leaderless = 0
        self.late = 0
        self.answer_of: Callable[[bytes], bytes | None] = lambda _payload: None
        self._connections: list[Connection] = []
        threading.Thread(target=self._accept, name="scripted-nats", daemon=True).start()

    def __enter__(self) -> ScriptedNats:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Takes no connection any more, and ends those that there are."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def say_held(self) -> None:
        """The acknowledgements that were kept back, to whoever listens for them now."""
        for to, content in self.held:
            for connection in self._connections:
                connection.send(to, content)

    def cut(self) -> None:
        """Ends every connection."""
        for connection in self._connections:
            connection.end()

    def ping(self) -> None:
        """Pings every client."""
        for connection in self._connections:
            connection.say(b"PING\r\n")

    def stream(self, partition: int) -> Stream:
        """The stream of a partition."""
        return list(self.streams.values())[partition]

    def wait_until(self, true: Callable[[], bool], within_s: float = 5.0) -> None:
        """Raises AssertionError if it isn't so in time."""
        deadline_s = time.monotonic() + within_s
        while not true():
            assert time.monotonic() < deadline_s, f"not so within {within_s:g} s; problems: {self.problems}"
            time.sleep(0.005)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection = Connection(self, self._listening.accept()[0])
                self._connections.append(connection)
                threading.Thread(target=connection.serve, daemon=True).start()


class Connection:
    """One client."""

    def __init__(self, server: ScriptedNats, connection: socket.socket) -> None:
        self._server, self._connection = server, connection
        self._input = connection.makefile("rb")
        self._guard = threading.Lock()
        self._sids: dict[str, str] = {}

    def say(self, content: bytes) -> None:
        with self._guard, suppress(OSError):
            self._connection.sendall(content)

    def end(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def serve(self) -> None:
        """Reads commands until the client goes, or says what it may not."""
        with self._connection, self._input:
            self.say(b'INFO {"server_id":"scripted","version":"2.15.1","headers":true,"max_payload":1048576}\r\n')
            try:
                while line := self._input.readline():
                    if self._server.deaf.is_set():
                        continue
                    self._obey(line)
            except (OSError, ValueError, KeyError) as error:
                if not isinstance(error, OSError):
                    self._server.problems.append(repr(error))
            self.end()

    def _obey(self, line: bytes) -> None:
        if not line.endswith(b"\r\n"):
            raise ValueError(f"a line that doesn't end: {line!r}")
        words = line.decode().split()
        self._server.commands.append(words[0])
        if words[0] == "CONNECT":
            options = json.loads(line[len("CONNECT ") :])
            if not (options["headers"] and options["no_responders"]) or options["verbose"]:
                raise ValueError(f"other options than a benchmark needs: {options}")
        elif words[0] == "PING":
            self.say(b"PONG\r\n")
        elif words[0] == "PONG":
            pass
        elif words[0] == "SUB" and len(words) == 3:
            self._sids[words[1]] = words[2]
        elif words[0] == "UNSUB" and len(words) == 2:
            self._sids = {subject: sid for subject, sid in self._sids.items() if sid != words[1]}
        elif words[0] == "PUB" and len(words) in (3, 4):
            content = self._content(line, int(words[-1]))
            self._publish(words[1], words[2] if len(words) == 4 else "", content)
        elif words[0] == "HPUB" and len(words) == 5:
            content, size = self._content(line, int(words[-1])), int(words[-2])
            first, key, rest = content[:size].partition(b"Nats-Msg-Id: ")
            if (first, key) != (b"NATS/1.0\r\n", b"Nats-Msg-Id: ") or not rest.endswith(b"\r\n\r\n"):
                raise ValueError(f"other headers than an id: {content[:size]!r}")
            self._publish(words[1], words[2], content[size:], rest.removesuffix(b"\r\n\r\n"))
        else:
            raise ValueError(f"unknown command: {line!r}")

    def _content(self, line: bytes, size: int) -> bytes:
        content = self._input.read(size + 2)
        if content[size:] != b"\r\n":
            raise ValueError(f"a payload that isn't {size} bytes long: {line!r}")
        return content[:size]

    def _publish(self, subject: str, reply: str, payload: bytes, message_id: bytes = b"") -> None:
        server = self._server
        if subject.startswith("$JS.API."):
            self._request(subject.removeprefix("$JS.API.").split("."), reply, payload)
        elif subject.startswith("$JS.ACK."):
            _, _, name, consumer, _times, number, _delivery, _stored, _left = subject.split(".")
            if payload != b"+ACK":
                raise ValueError(f"not an acknowledgement: {payload!r}")
            self._stream(name).consumers[consumer].acknowledged = int(number)
        else:
            stream = server.streams.get(".".join(subject.split(".")[:2]))
            if stream is None or server.leaderless:
                server.leaderless -= stream is not None
                self.send(reply, UNAVAILABLE, headers=len(UNAVAILABLE))
                return
            duplicate = ',"duplicate":true' if message_id in stream.ids else ""
            if not duplicate:
                stream.messages.append((subject, payload))
            place = len(stream.messages)
            if message_id:
                place = stream.ids.setdefault(message_id, place)
            own = f'{{"stream":"{stream.name}","seq":{place}{duplicate}}}'.encode()
            if reply and server.hold:
                server.held.append((reply, own))
            elif reply and not server.silent:
                self.send(reply, server.answer_of(payload) or own)

    def _request(self, words: list[str], reply: str, payload: bytes) -> None:
        server, body = self._server, json.loads(payload)
        server.requests[".".join(words[:2])] += 1
        if server.late:
            server.late -= 1
            self.send(
                reply,
                b'{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}',
            )
        elif words == ["STREAM", "NAMES"]:
            topic = body["subject"].removesuffix(".*")
            names = [each.name for subject, each in server.streams.items() if subject.startswith(f"{topic}.")]
            page = names[body["offset"] :][:2]
            self.send(reply, json.dumps({"total": len(names), "streams": page or None}).encode())
        elif words[:2] == ["CONSUMER", "CREATE"]:
            stream, config = self._stream(words[2]), body["config"]
            if body["stream_name"] != words[2] or config["durable_name"] != words[3]:
                raise ValueError(f"a consumer that isn't called as its request says: {words}, {body}")
            made = stream.consumers.setdefault(words[3], Consumer(config))
            floor = {"consumer_seq": made.acknowledged, "stream_seq": made.acknowledged}
            self.send(reply, json.dumps({"name": words[3], "config": config, "ack_floor": floor}).encode())
        elif words[:3] == ["CONSUMER", "MSG", "NEXT"]:
            self._deliver(self._stream(words[3]), words[4], reply, body["batch"])
        else:
            raise ValueError(f"unknown request: {words}")

    def _deliver(self, stream: Stream, name: str, reply: str, batch: int) -> None:
        """What is there; then the request has ended, as if it had expired."""
        consumer = stream.consumers[name]
        left = batch
        while left and (number := self._next_of(stream, consumer)):
            consumer.deliveries += 1
            left -= 1
            if number in stream.losing:
                stream.losing.remove(number)
                continue
            subject, payload = stream.messages[number - 1]
            answer = f"$JS.ACK.{stream.name}.{name}.1.{number}.{consumer.deliveries}.{stream.began_ns + number}.0"
            self.send(reply, payload, subject=subject, answer=answer)
        if left:
            headers = f"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: {left}\r\nNats-Pending-Bytes: 0\r\n\r\n".encode()
            self.send(reply, headers, headers=len(headers))

    def _next_of(self, stream: Stream, consumer: Consumer) -> int:
        """The number of the next message of a consumer; 0 if there is none."""
        if consumer.again:
            return consumer.again.pop(0)
        if consumer.delivered == len(stream.messages):
            return 0
        consumer.delivered += 1
        return consumer.delivered

    def send(self, to: str, content: bytes, *, subject: str = "", answer: str = "", headers: int = 0) -> None:
        """To whoever has subscribed to `to`, as a message on `subject`."""
        sids = [sid for pattern, sid in self._sids.items() if pattern == to or pattern == to.rpartition(".")[0] + ".*"]
        for sid in sids:
            words = ["HMSG" if headers else "MSG", subject or to, sid, answer, str(headers or ""), str(len(content))]
            self.say(" ".join(filter(None, words)).encode() + b"\r\n" + content + b"\r\n")

    def _stream(self, name: str) -> Stream:
        return next(each for each in self._server.streams.values() if each.name == name)
