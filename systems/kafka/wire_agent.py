"""Runs on a host, handed to its python3 over standard input: puts requests of Kafka's protocol to brokers and returns their answers.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out. Versions of
requests are such as Redpanda 22.2 and later and Apache Kafka 2.0 to 4.x all take (field by field: kafka.apache.org/protocol), but
for `quorum`, which Apache Kafka has since 3.0, and the settings of a node that is a controller alone, which tells them since 3.7.

{"brokers": [[address, port], ...], "timeout_s", "verb", ...}: the first broker that answers in time is asked. The verbs:
    topics       {"names" or null} -> {"controller", "brokers": {id: [host, port]}, "topics": {name: {"error", "partitions": [...]}}}
    create       {"topics": [{"name", "partitions", "replicas", "settings"}]} -> {name: [error, message]}; asked of the controller
    settings     {"kind": "topic" or "node", "names"} -> {name: {key: [value, whether it is the default]}}, without passwords and keys
                 that it doesn't know; a node tells its own alone
    end_offsets  {"names"} -> {name: {partition: offset}}; asked of each partition's leader
    coordinator  {"group"} -> error: 0 once the group has one, which takes the topic of the groups' offsets
    quorum       {} -> the id of the active controller; -1 = there is none
A `failed` in place of the answer says why there is none.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

LIST_OFFSETS, METADATA, FIND_COORDINATOR, CREATE_TOPICS, DESCRIBE_CONFIGS, DESCRIBE_QUORUM = 2, 3, 10, 19, 32, 55
VERSIONS = {
    LIST_OFFSETS: 1, METADATA: 4, FIND_COORDINATOR: 1, CREATE_TOPICS: 2, DESCRIBE_CONFIGS: 1, DESCRIBE_QUORUM: 0,
}  # fmt: skip
COMPACT = (
    DESCRIBE_QUORUM,
)  # their headers end with tagged fields, of which there are none, and their lengths are in few bytes
NO_TAGS = b"\0"
QUORUM_TOPIC = "__cluster_metadata"
CLIENT = "samebox"
LATEST = -1
ANY_REPLICA = -1
RESOURCES = {"topic": 2, "node": 4}
DEFAULT = 5  # where a setting's value comes from
GROUP = 0


class Reader:
    """Takes values off the front of a response. Raises ValueError where it ends too early."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def number(self, kind: str) -> int:
        """A big-endian number of struct's `kind`: b, h, i, q."""
        size = struct.calcsize(kind)
        (value,) = struct.unpack(f">{kind}", self._bytes(size))
        return int(value)

    def text(self) -> str | None:
        """A string; null is None."""
        size = self.number("h")
        return None if size < 0 else self._bytes(size).decode()

    def length(self) -> int:
        """That of a compact string or array, which is written with one added, and seven bits in a byte: here in one."""
        if (written := self.number("B")) > 0x7F:
            raise ValueError("a response is longer than it can be")
        return written - 1

    def skip(self, size: int) -> None:
        """Passes over so many bytes."""
        self._bytes(size)

    def list(self, one: Callable[[Reader], Any]) -> list[Any]:
        """An array; null is empty."""
        return [one(self) for _ in range(max(0, self.number("i")))]

    def _bytes(self, size: int) -> bytes:
        found = self._content[self._at : self._at + size]
        if len(found) != size:
            raise ValueError(f"a response of {len(self._content)} bytes ends too early")
        self._at += size
        return found


def number(kind: str, value: int) -> bytes:
    return struct.pack(f">{kind}", value)


def text(value: str) -> bytes:
    encoded = value.encode()
    return number("h", len(encoded)) + encoded


def array(items: list[bytes]) -> bytes:
    return number("i", len(items)) + b"".join(items)


class Broker:
    """A connection to one broker."""

    def __init__(self, address: str, port: int, timeout_s: float) -> None:
        self._socket = socket.create_connection((address, port), timeout=timeout_s)
        self._asked = 0

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_error: object) -> None:
        self._socket.close()

    def ask(self, key: int, body: bytes) -> Reader:
        """The body of the response. Raises OSError or ValueError."""
        self._asked += 1
        header = number("h", key) + number("h", VERSIONS[key]) + number("i", self._asked) + text(CLIENT)
        header += NO_TAGS if key in COMPACT else b""
        self._socket.sendall(number("i", len(header + body)) + header + body)
        size = Reader(self._exactly(4)).number("i")
        response = Reader(self._exactly(size))
        if (answered := response.number("i")) != self._asked:
            raise ValueError(f"request {self._asked} was answered by response {answered}")
        response.skip(len(NO_TAGS) if key in COMPACT else 0)
        return response

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            piece = self._socket.recv(size - len(found))
            if not piece:
                raise ConnectionError(f"the broker ended the connection after {len(found)} of {size} bytes")
            found += piece
        return found


def metadata_request(names: list[str] | None) -> bytes:
    wanted = number("i", -1) if names is None else array([text(name) for name in names])
    return wanted + number("b", 0)  # and makes no topic


def metadata(response: Reader) -> dict[str, Any]:
    """See `topics` in the module's docstring."""

    def broker(found: Reader) -> tuple[int, list[Any]]:
        number_of, host, port = found.number("i"), found.text(), found.number("i")
        found.text()  # its rack
        return number_of, [host, port]

    def partition(found: Reader) -> dict[str, Any]:
        error, index, leader = found.number("h"), found.number("i"), found.number("i")
        replicas, in_sync = (found.list(lambda each: each.number("i")) for _ in range(2))
        return {"error": error, "number": index, "leader": leader, "replicas": replicas, "in_sync": in_sync}

    def topic(found: Reader) -> tuple[str, dict[str, Any]]:
        error, name = found.number("h"), found.text() or ""
        found.number("b")  # whether it is internal
        return name, {"error": error, "partitions": found.list(partition)}

    response.number("i")  # throttled for so many ms
    brokers = dict(response.list(broker))
    response.text()  # the cluster's id
    controller = response.number("i")
    return {"controller": controller, "brokers": brokers, "topics": dict(response.list(topic))}


def create_request(topic: dict[str, Any], timeout_s: float) -> bytes:
    settings = [text(key) + text(value) for key, value in topic["settings"].items()]
    sizes = number("i", topic["partitions"]) + number("h", topic["replicas"])
    topics = array([text(topic["name"]) + sizes + array([]) + array(settings)])
    return topics + number("i", round(timeout_s * 1000)) + number("b", 0)


def created(response: Reader) -> dict[str, list[Any]]:
    """Topic -> its error (0 = made) and what the broker says of it."""
    response.number("i")
    return {
        name or "": [error, message or ""]
        for name, error, message in response.list(lambda each: (each.text(), each.number("h"), each.text()))
    }


def settings_request(kind: str, names: list[str]) -> bytes:
    resources = [number("b", RESOURCES[kind]) + text(name) + number("i", -1) for name in names]  # -1: all their keys
    return array(resources) + number("b", 0)


def settings(response: Reader) -> dict[str, dict[str, list[Any]]]:
    """See `settings` in the module's docstring. Raises ValueError for what can't be described."""

    def synonym(found: Reader) -> tuple[str | None, str | None, int]:
        return found.text(), found.text(), found.number("b")

    def setting(found: Reader) -> tuple[str, str | None, int, int]:
        key, value = found.text() or "", found.text()
        found.number("b")  # read-only
        source, sensitive = found.number("b"), found.number("b")
        found.list(synonym)
        return key, value, source, sensitive

    def resource(found: Reader) -> tuple[str, dict[str, list[Any]]]:
        error, message = found.number("h"), found.text()
        found.number("b")  # its kind
        name, described = found.text() or "", found.list(setting)
        if error:
            raise ValueError(f"{name} can't be described: error {error}, {message}")
        return name, {key: [value, source == DEFAULT] for key, value, source, sensitive in described if not sensitive}

    response.number("i")
    return dict(response.list(resource))


def offsets_request(partitions: dict[str, list[int]]) -> bytes:
    def one(name: str) -> bytes:
        return text(name) + array([number("i", each) + number("q", LATEST) for each in partitions[name]])

    return number("i", ANY_REPLICA) + array([one(name) for name in partitions])


def offsets(response: Reader) -> dict[str, dict[int, int]]:
    """Topic -> partition -> end offset. Raises ValueError for a partition that has none."""

    def partition(found: Reader) -> tuple[int, int, int]:
        index, error = found.number("i"), found.number("h")
        found.number("q")  # a time
        return index, error, found.number("q")

    found: dict[str, dict[int, int]] = {}
    for name, listed in response.list(lambda each: (each.text() or "", each.list(partition))):
        for index, error, offset in listed:
            if error:
                raise ValueError(f"{name}-{index} has no end offset: error {error}")
            found.setdefault(name, {})[index] = offset
    return found


def coordinator_request(group: str) -> bytes:
    return text(group) + number("b", GROUP)


def coordinator(response: Reader) -> int:
    """The error; 0 = there is one."""
    response.number("i")
    return response.number("h")


def quorum_request() -> bytes:
    """Of the one partition of the one topic that the controllers keep."""
    name = QUORUM_TOPIC.encode()
    return b"\2" + number("b", len(name) + 1) + name + b"\2" + number("i", 0) + 3 * NO_TAGS


def quorum(response: Reader) -> int:
    """The leader's id. Raises ValueError where the broker is told of none."""
    error, topics = response.number("h"), response.length()
    if topics > 0:
        response.skip(response.length())  # the topic's name
        response.length()  # as many partitions as were asked for: one
        response.number("i")
        error, leader = response.number("h"), response.number("i")
        if not error:
            return leader
    raise ValueError(f"the controllers' quorum can't be described: error {error}")


def end_offsets(found: dict[str, Any], timeout_s: float) -> dict[str, dict[int, int]]:
    """Asks each leader for its partitions. Raises ValueError for one without a leader."""
    by_leader: dict[int, dict[str, list[int]]] = {}
    for name, topic in found["topics"].items():
        if topic["error"]:
            raise ValueError(f"topic {name}: error {topic['error']}")
        for each in topic["partitions"]:
            if each["leader"] not in found["brokers"]:
                raise ValueError(f"{name}-{each['number']} has no leader: error {each['error']}")
            by_leader.setdefault(each["leader"], {}).setdefault(name, []).append(each["number"])
    ends: dict[str, dict[int, int]] = {name: {} for name in found["topics"]}
    for leader, partitions in by_leader.items():
        host, port = found["brokers"][leader]
        with Broker(host, port, timeout_s) as broker:
            for name, own in offsets(broker.ask(LIST_OFFSETS, offsets_request(partitions))).items():
                ends[name].update(own)
    return ends


def answer(request: dict[str, Any]) -> Any:
    """The answer of the first broker that gives one in time. Raises OSError with what each of them said, or ValueError."""
    refusals = []
    for address, port in request["brokers"]:
        try:
            with Broker(address, port, request["timeout_s"]) as broker:
                return answer_of(broker, request)
        except OSError as error:
            refusals.append(f"{address}:{port}: {error}")
    raise ConnectionError("; ".join(refusals))


def answer_of(broker: Broker, request: dict[str, Any]) -> Any:
    """A broker's answer. Raises OSError or ValueError."""
    timeout_s, verb = request["timeout_s"], request["verb"]
    if verb == "topics":
        return metadata(broker.ask(METADATA, metadata_request(request["names"])))
    if verb == "settings":
        return settings(broker.ask(DESCRIBE_CONFIGS, settings_request(request["kind"], request["names"])))
    if verb == "coordinator":
        return coordinator(broker.ask(FIND_COORDINATOR, coordinator_request(request["group"])))
    if verb == "quorum":
        return quorum(broker.ask(DESCRIBE_QUORUM, quorum_request()))
    if verb == "end_offsets":
        return end_offsets(metadata(broker.ask(METADATA, metadata_request(request["names"]))), timeout_s)
    if verb == "create":
        found = metadata(broker.ask(METADATA, metadata_request([])))
        if found["controller"] not in found["brokers"]:
            raise ValueError("no broker is the controller yet")
        host, port = found["brokers"][found["controller"]]
        with Broker(host, port, timeout_s) as controller:
            made: dict[str, list[Any]] = {}
            # one after the other, so that brokers spread each one's partitions evenly over their disks
            for topic in request["topics"]:
                made.update(created(controller.ask(CREATE_TOPICS, create_request(topic, timeout_s))))
            return made
    raise ValueError(f"unknown verb {verb!r}")


def main() -> None:
    """Answers one request."""
    request = json.loads(sys.argv[1])
    try:
        print(json.dumps({"answer": answer(request)}))
    except (OSError, ValueError) as error:
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"}))


if __name__ == "__main__":
    main()
