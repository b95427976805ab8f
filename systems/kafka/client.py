"""The Kafka client of the load generator: librdkafka through confluent-kafka.

Acknowledgements are served by a thread of their own, so that they are timed when they arrive and not when the sending loop
happens to ask.
"""

from __future__ import annotations

import ctypes
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from systems.client import Acknowledgements, Backpressure, ClientError, ClientSpec, printable, take_settings
from systems.kafka.log_client import quiet_logger
from systems.keys import keys_of

# Five requests in flight, as the Java client has by default: the next batch grows while they are out. librdkafka's own
# default is a million: a request every linger.ms however many are unanswered, which drowned three small brokers at 2,000
# messages a second (response p50 30 s instead of 63 ms).
IN_FLIGHT_REQUESTS = 5
SETTINGS: Mapping[str, str] = {
    # Off is librdkafka's default. On, it has no more than five messages of a partition in flight beyond a batch, and its broker threads
    # spin while these are out and more have come: ten times the client CPU. Off, a retried request may repeat or reorder messages; the
    # checks for order and duplicates would show it.
    "idempotence": "false",
    "in_flight_requests": str(IN_FLIGHT_REQUESTS),
    # What a consumer asks for at once, of each partition. 1 MiB is librdkafka's default, and the Java client's.
    "max_partition_fetch_bytes": "1048576",
    # After how long without an answer to a request a broker's connection is given up. 60000 is librdkafka's default.
    "socket_timeout_ms": "60000",
    # How long it waits before it connects again: at first, and at most. 100 and 10000 are librdkafka's defaults.
    "reconnect_backoff_ms": "100",
    "reconnect_backoff_max_ms": "1000",
}
UNDER_FAULTS: Mapping[str, str] = {"idempotence": "true", "socket_timeout_ms": "10000"}
_KNOWN = {**SETTINGS, "acks": "all"}  # acks is the durability level's
# what the library calls by an older name than its users do
_OLDER_NAMES: dict[tuple[str, str], str] = {("acks", "-1"): "all", ("auto.offset.reset", "smallest"): "earliest"}
_POINTER = re.compile(r"0x[0-9a-f]+")  # a callback, as the library prints it: where it lies in this process's memory
_VALUE_BYTES = 4096
_HANDLE_AT = 2 * ctypes.sizeof(ctypes.c_void_p)
_ANY_PARTITION = -1
# librdkafka's default; shorter than two fills of a batch it would break batches up.
_STICKY_AT_LEAST_MS = 10
_SERVE_EVERY_S = 0.2
_CLOSE_TIMEOUT_S = 5.0
_RECEIVE_AT_ONCE = 500
_ACK_TIMEOUT_MS = 30_000  # librdkafka's default: how long a broker waits for the replicas
_LARGEST_BUFFER_KIBIBYTES = 2_097_151


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> KafkaProducer:
    """A producer that has fetched the topic's metadata. Raises ClientError."""
    errors: Counter[str] = Counter()
    client = _made(confluent_kafka.Producer, _producer(spec), errors)
    partitions = _find_topic(client, spec)
    return KafkaProducer(client, errors, spec, partitions, acknowledgements, configuration(spec)["producer"])


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> KafkaConsumer:
    """A member of the group `subscription` that has its partitions. Raises ClientError."""
    errors: Counter[str] = Counter()
    client = _made(confluent_kafka.Consumer, _consumer(spec) | {"client.id": name, "group.id": subscription}, errors)
    consumer = KafkaConsumer(client, errors, configuration(spec)["consumer"])
    try:
        _find_topic(client, spec)
        consumer.await_partitions(spec)
    except ClientError:
        consumer.close()
        raise
    return consumer


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    return {"producer": printable(_producer(spec)), "consumer": printable(_consumer(spec))}


def _settings(spec: ClientSpec) -> dict[str, str]:
    """Raises ClientError for unknown ones. What isn't acknowledged by all can't be idempotent: the library refuses it."""
    settings = take_settings(spec, _KNOWN, UNDER_FAULTS)
    if settings["acks"] != _KNOWN["acks"] and "idempotence" not in spec.settings:
        settings["idempotence"] = SETTINGS["idempotence"]
    return settings


def _both(spec: ClientSpec) -> dict[str, Any]:
    settings = _settings(spec)
    return {
        "bootstrap.servers": spec.service_url,
        "socket.timeout.ms": int(settings["socket_timeout_ms"]),
        "reconnect.backoff.ms": int(settings["reconnect_backoff_ms"]),
        "reconnect.backoff.max.ms": int(settings["reconnect_backoff_max_ms"]),
    }


def _producer(spec: ClientSpec) -> dict[str, Any]:
    settings = _settings(spec)
    timeout_ms = round(spec.delivery_timeout_s * 1000)
    return {
        **_both(spec),
        "acks": settings["acks"],
        "enable.idempotence": settings["idempotence"],
        "max.in.flight.requests.per.connection": int(settings["in_flight_requests"]),
        "linger.ms": spec.workload.batch_delay_ms if spec.workload.batching else 0,
        "batch.size": spec.workload.batch_bytes,
        "batch.num.messages": max(10_000, spec.workload.batch_bytes // spec.workload.message_bytes)
        if spec.workload.batching
        else 1,
        "sticky.partitioning.linger.ms": max(_STICKY_AT_LEAST_MS, 2 * spec.workload.batch_delay_ms),
        "queue.buffering.max.messages": 2 * spec.workload.in_flight + 1_000,
        "queue.buffering.max.kbytes": _LARGEST_BUFFER_KIBIBYTES,
        "delivery.timeout.ms": timeout_ms,
        "request.timeout.ms": min(_ACK_TIMEOUT_MS, timeout_ms, int(settings["socket_timeout_ms"])),
        "compression.type": spec.workload.compression,
        "partitioner": "murmur2_random",  # the Java client's: a key's partition is the same whoever sends
    }


def _consumer(spec: ClientSpec) -> dict[str, Any]:
    return {
        **_both(spec),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": True,
        "max.partition.fetch.bytes": int(_settings(spec)["max_partition_fetch_bytes"]),
    }


class KafkaProducer:
    """See Producer."""

    def __init__(
        self, client: confluent_kafka.Producer, errors: Mapping[str, int], spec: ClientSpec, partitions: int,
        acknowledgements: Acknowledgements, given: Iterable[str],
    ) -> None:  # fmt: skip
        self._client, self._errors, self._given = client, errors, given
        self._produce = client.produce
        self._topic = spec.topic
        self._acknowledgements = acknowledgements
        self._round_robin = partitions if spec.workload.partitioning == "round-robin" else 0
        self._key_of = keys_of(spec)
        self._closed = False
        self._server = threading.Thread(target=self._serve, name="acknowledgements", daemon=True)
        self._server.start()

    def configuration(self) -> Mapping[str, str]:
        return in_force(self._client, self._given)

    def send(self, sequence: int, payload: bytes) -> None:
        partition = sequence % self._round_robin if self._round_robin else _ANY_PARTITION
        key = self._key_of(sequence) if self._key_of is not None else None
        try:
            # by position: named arguments cost as much again
            self._produce(self._topic, payload, key, partition, partial(self._delivered, sequence))
        except BufferError:
            raise Backpressure("_QUEUE_FULL") from None
        except KafkaException as error:
            raise ClientError(error.args[0].name(), error.args[0].str()) from None

    def errors(self) -> Mapping[str, int]:
        return self._errors

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._client.purge(blocking=False)
        self._server.join(_CLOSE_TIMEOUT_S)
        self._client.flush(1.0)

    def _serve(self) -> None:
        while not self._closed:
            self._client.poll(_SERVE_EVERY_S)

    def _delivered(self, sequence: int, error: KafkaError | None, message: Message) -> None:
        # With acks=0 this is called, too: when the message has been handed to the socket. No broker has said anything then.
        if error is None:
            self._acknowledgements.acknowledged(sequence, message.partition() or 0)
        else:
            self._acknowledgements.failed(sequence, error.name())


class KafkaConsumer:
    """See Consumer."""

    def __init__(self, client: confluent_kafka.Consumer, errors: Counter[str], given: Iterable[str]) -> None:
        self._client, self._given = client, given
        self._errors = errors
        self._early: list[tuple[int, bytes]] = []
        self._closed = False
        self._held = False

    def configuration(self) -> Mapping[str, str]:
        return in_force(self._client, self._given)

    def hold(self) -> None:
        self._held = True
        self._client.pause(self._client.assignment())

    def release(self) -> None:
        self._held = False
        self._client.resume(self._client.assignment())

    def await_partitions(self, spec: ClientSpec) -> None:
        """Joins the group and waits for its partitions. Raises ClientError."""
        assigned = threading.Event()

        def on_assign(client: confluent_kafka.Consumer, partitions: list[Any]) -> None:
            client.assign(partitions)
            if self._held:
                client.pause(partitions)  # a rebalance ends a pause
            if partitions or spec.members > spec.workload.partitions:
                assigned.set()

        self._client.subscribe([spec.topic], on_assign=on_assign)
        deadline = time.monotonic() + spec.connect_timeout_s
        while not assigned.is_set():
            if time.monotonic() > deadline:
                raise ClientError("_TIMED_OUT", f"no partitions assigned within {spec.connect_timeout_s:g} s")
            self._take(self._client.poll(0.1), self._early)

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        if self._early:
            early, self._early = self._early, []
            return early
        received: list[tuple[int, bytes]] = []
        # What lies ready comes at once; then poll returns with the first message, which is timed before any other is taken.
        # consume() with a timeout would wait for a full batch or all of the timeout.
        ready: Sequence[Message | None] = self._client.consume(_RECEIVE_AT_ONCE, 0) or [self._client.poll(timeout_s)]
        for message in ready:
            self._take(message, received)
        return received

    def errors(self) -> Mapping[str, int]:
        return self._errors

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        closing = threading.Thread(target=self._client.close, name="consumer-close", daemon=True)
        closing.start()  # it leaves the group, which a broker that doesn't answer can delay for long
        closing.join(_CLOSE_TIMEOUT_S)

    def _take(self, message: Message | None, into: list[tuple[int, bytes]]) -> None:
        if message is None:
            return
        error = message.error()
        if error is not None:
            self._errors[error.name()] += 1
            return
        value = message.value()
        into.append((message.partition() or 0, value if isinstance(value, bytes) else b""))


def _made(kind: type[Any], config: Mapping[str, Any], errors: Counter[str]) -> Any:
    """A client that counts what it meets in `errors`: it tells while it is polled."""

    def note(error: KafkaError) -> None:
        errors[error.name()] += 1

    try:
        return kind({**config, "error_cb": note, "log_level": 3, "logger": quiet_logger()})
    except KafkaException as error:
        raise ClientError(error.args[0].name(), error.args[0].str()) from None


def _find_topic(client: Any, spec: ClientSpec) -> int:
    """The topic's number of partitions, each with a leader. Raises ClientError when that doesn't come about in time."""
    deadline = time.monotonic() + spec.connect_timeout_s
    problem = "no answer"
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            topic = client.list_topics(spec.topic, timeout=min(left_s, 5.0)).topics[spec.topic]
        except KafkaException as error:
            problem = str(error.args[0].str())
            continue
        leaderless = [number for number, partition in topic.partitions.items() if partition.leader < 0]
        if topic.error is None and topic.partitions and not leaderless:
            return len(topic.partitions)
        problem = str(topic.error) if topic.error is not None else f"no leader for partitions {leaderless}"
        time.sleep(0.1)
    raise ClientError("_TIMED_OUT", f"topic {spec.topic} at {spec.service_url}: {problem}")


def in_force(client: object, names: Iterable[str]) -> dict[str, str]:
    """Every setting of a running client, defaults included, as librdkafka prints it; those of topics and aliases only if in `names`.

    Callbacks, which it prints as pointers, are none: they'd differ between any two clients.

    The binding has no call for it: its object's first field, after Python's own two, is the library's handle.
    """
    library = ctypes.CDLL(confluent_kafka.cimpl.__file__)  # and all that it is linked to
    text, size = ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)
    prototypes: tuple[tuple[Any, Any, list[Any]], ...] = (
        (library.rd_kafka_conf, ctypes.c_void_p, [ctypes.c_void_p]),
        (library.rd_kafka_conf_get, ctypes.c_int, [ctypes.c_void_p, text, text, size]),
        (library.rd_kafka_conf_dump, ctypes.POINTER(text), [ctypes.c_void_p, size]),
        (library.rd_kafka_conf_dump_free, None, [ctypes.POINTER(text), ctypes.c_size_t]),
    )
    for function, result, arguments in prototypes:
        function.restype, function.argtypes = result, arguments
    configuration = library.rd_kafka_conf(ctypes.c_void_p.from_address(id(client) + _HANDLE_AT).value)
    count = ctypes.c_size_t()
    listed = library.rd_kafka_conf_dump(configuration, ctypes.byref(count))
    words = [(listed[at] or b"").decode() for at in range(count.value)]
    library.rd_kafka_conf_dump_free(listed, count)
    found: dict[str, str] = dict(zip(words[::2], words[1::2], strict=True))
    for name in names:
        value, room = ctypes.create_string_buffer(_VALUE_BYTES), ctypes.c_size_t(_VALUE_BYTES)
        if library.rd_kafka_conf_get(configuration, name.encode(), value, ctypes.byref(room)) == 0:
            found[name] = value.value.decode()
    return {key: _OLDER_NAMES.get((key, value), value) for key, value in found.items() if not _POINTER.fullmatch(value)}
