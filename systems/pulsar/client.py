"""The Pulsar client of the load generator: the C++ client through pulsar-client."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pulsar  # type: ignore[import-untyped]

from systems.client import Acknowledgements, ClientError, ClientSpec, printable, take_settings
from systems.keys import keys_of

_CLOSE_TIMEOUT_S = 5.0
_RETRY_S = 0.2
# For all of a topic's partitions to be connected: what times out begins again with the first one. 100 took 5 to 15 s on a
# cluster just started on two cores.
_OPERATION_TIMEOUT_S = 30
# The vendor's defaults. What a partition's queue really holds is the smaller of `receiver_queue` and the total over the partitions.
SETTINGS: Mapping[str, str] = {"io_threads": "1", "receiver_queue": "1000", "total_receiver_queue": "50000"}
# What this client does about a broken broker can't be set: the binding hands none of it on. What is outstanding is sent again, in
# order, for as long as a message may take; that a broker knows what it has is the broker's setting (brokerDeduplicationEnabled).
UNDER_FAULTS: Mapping[str, str] = {}
_KNOWN = {**SETTINGS, "topic_prefix": ""}
_MOST_IN_BATCH = 100_000

_OK = pulsar.Result.Ok.value
_COMPRESSION = {
    "none": pulsar.CompressionType.NONE,
    "gzip": pulsar.CompressionType.ZLib,  # the same DEFLATE in another envelope: Pulsar has no gzip
    "snappy": pulsar.CompressionType.SNAPPY,
    "lz4": pulsar.CompressionType.LZ4,
    "zstd": pulsar.CompressionType.ZSTD,
}

_of_thread = threading.local()


def keep_thread_state() -> None:
    """Keeps the Python thread state of the calling thread for as long as the thread lives. Call it in every callback.

    Why: callbacks run on the client's I/O thread, which Python doesn't know. The binding makes a thread state for each
    callback and throws it away after it, and CPython 3.11 maps and unmaps a frame stack every time: half of the client's
    CPU at 20,000 messages a second. One reference more than are given back keeps the state; it costs nothing to keep.
    `threading.local` lives in that very state: were it thrown away, the mark would be gone and the next call would renew it.
    """
    if not hasattr(_of_thread, "kept"):
        _of_thread.kept = True
        ctypes.pythonapi.PyGILState_Ensure()


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> PulsarProducer:
    """A producer connected to every partition of the topic. Raises ClientError."""
    options, client = _producer(spec), _client(spec)
    if spec.workload.partitioning == "round-robin":
        options["message_router"] = _RoundRobin()
    producer = _patiently(spec, client, lambda: client.create_producer(_topic(spec), **options))
    return PulsarProducer(client, producer, acknowledgements, keys_of(spec), configuration(spec)["producer"])


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> PulsarConsumer:
    """A consumer of a failover subscription: each partition has one active consumer, order is kept. Raises ClientError."""
    options, client = _consumer(spec) | {"consumer_name": name}, _client(spec)
    subscribed = _patiently(spec, client, lambda: client.subscribe(_topic(spec), subscription, **options))
    return PulsarConsumer(client, subscribed, configuration(spec)["consumer"])


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    client = {"service_url": spec.service_url, **_client_options(spec)}
    return {"producer": printable(client | _producer(spec)), "consumer": printable(client | _consumer(spec))}


def _producer(spec: ClientSpec) -> dict[str, Any]:
    # Room beyond our own window: the window is what bounds, so that a full one never looks like an error.
    room = 2 * spec.workload.in_flight + 1_000
    # With batching the first of these routers keeps to a partition for a batch: the sticky way.
    routing = pulsar.PartitionsRoutingMode.RoundRobinDistribution
    if spec.workload.partitioning == "round-robin":
        routing = pulsar.PartitionsRoutingMode.CustomPartition
    return {
        "send_timeout_millis": round(spec.delivery_timeout_s * 1000),
        "max_pending_messages": room,
        "max_pending_messages_across_partitions": room * max(1, spec.workload.partitions),
        "block_if_queue_full": False,
        "batching_enabled": spec.workload.batching,
        "batching_max_messages": _MOST_IN_BATCH,
        "batching_max_allowed_size_in_bytes": spec.workload.batch_bytes,
        # 0: a batch is what has come by the time that the client's own thread looks
        "batching_max_publish_delay_ms": spec.workload.batch_delay_ms,
        "compression_type": _COMPRESSION[spec.workload.compression],
        "message_routing_mode": routing,
    }


def _consumer(spec: ClientSpec) -> dict[str, Any]:
    settings = take_settings(spec, _KNOWN)
    return {
        "consumer_type": pulsar.ConsumerType.Failover,
        "initial_position": pulsar.InitialPosition.Earliest,
        "receiver_queue_size": int(settings["receiver_queue"]),
        "max_total_receiver_queue_size_across_partitions": int(settings["total_receiver_queue"]),
    }


def _client_options(spec: ClientSpec) -> dict[str, int]:
    return {
        "operation_timeout_seconds": max(1, min(_OPERATION_TIMEOUT_S, round(spec.connect_timeout_s))),
        "io_threads": int(take_settings(spec, _KNOWN)["io_threads"]),
    }


def _topic(spec: ClientSpec) -> str:
    return take_settings(spec, _KNOWN)["topic_prefix"] + spec.topic


class PulsarProducer:
    """See Producer."""

    def __init__(
        self, client: pulsar.Client, producer: pulsar.Producer, acknowledgements: Acknowledgements,
        key_of: Callable[[int], str] | None, given: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._client, self._given = client, given
        self._producer = producer
        self._key_of = key_of
        self._acknowledgements = acknowledgements
        self._watch = ConnectionWatch(producer.is_connected)

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def send(self, sequence: int, payload: bytes) -> None:
        try:
            # send_async builds a message of its own every time: one built message must never be sent twice
            if self._key_of is None:
                self._producer.send_async(payload, partial(self._settled, sequence))
            else:
                key = self._key_of(sequence)
                self._producer.send_async(payload, partial(self._settled, sequence), partition_key=key)
        except pulsar.PulsarException as error:
            raise ClientError(type(error).__name__, str(error)) from None

    def errors(self) -> Mapping[str, int]:
        return self._watch.errors

    def close(self) -> None:
        # never by `shutdown`: it keeps the interpreter locked and waits ten seconds per connection for a callback of ours that
        # has begun and needs the interpreter to end
        self._watch.end()
        _end(self._client.close)

    def _settled(self, sequence: int, result: pulsar.Result, message_id: Any) -> None:
        keep_thread_state()
        # by value: comparing the binding's enums themselves costs four times as much, for every message
        if result.value == _OK:
            partition = message_id.partition()  # -1 where a topic has none
            self._acknowledgements.acknowledged(sequence, partition if partition > 0 else 0)
        else:
            self._acknowledgements.failed(sequence, result.name)


class PulsarConsumer:
    """See Consumer."""

    def __init__(self, client: pulsar.Client, consumer: pulsar.Consumer, given: Mapping[str, str]) -> None:
        self._client, self._given = client, given
        self._consumer = consumer
        self._watch = ConnectionWatch(consumer.is_connected)
        self._errors: Counter[str] = Counter()
        self._received: Any = None  # and not acknowledged yet
        self._held = False

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        if self._held:
            time.sleep(timeout_s)  # the client's own threads keep the connection
            return ()
        try:
            self._acknowledge()
            self._received = message = self._consumer.receive(max(1, round(timeout_s * 1000)))
        except pulsar.Timeout:
            return ()
        except pulsar.PulsarException as error:
            self._errors[type(error).__name__] += 1
            time.sleep(_RETRY_S)
            return ()
        return ((max(0, message.message_id().partition()), message.data()),)

    def _acknowledge(self) -> None:
        """Before the next message and not with the last: that one is timed when the library hands it over."""
        if self._received is not None:
            message, self._received = self._received, None
            self._consumer.acknowledge(message)

    def errors(self) -> Mapping[str, int]:
        return self._errors + self._watch.errors

    def close(self) -> None:
        self._watch.end()
        _end(self._client.shutdown)  # without farewells; it calls nothing of ours back


class ConnectionWatch:
    """Counts how often a client stops being connected to all its brokers: the library calls nobody then, but can be asked.

    What is mended within LOOK_EVERY_S may be missed.
    """

    LOOK_EVERY_S = 0.1

    def __init__(self, connected: Callable[[], bool]) -> None:
        self.errors: Counter[str] = Counter()
        self._connected = connected
        self._ended = threading.Event()
        threading.Thread(target=self._look, name="connection-watch", daemon=True).start()

    def end(self) -> None:
        """Looks no more: what is closed isn't lost."""
        self._ended.set()

    def _look(self) -> None:
        before = True
        while not self._ended.wait(self.LOOK_EVERY_S):
            now = self._connected()
            if before and not now and not self._ended.is_set():
                self.errors["Disconnected"] += 1
            before = now


class _RoundRobin:
    """A message router: the next partition with every message."""

    def __init__(self) -> None:
        self._next = -1

    def __call__(self, _message: Any, partitions: int) -> int:
        self._next = (self._next + 1) % partitions
        return self._next


def _client(spec: ClientSpec) -> pulsar.Client:
    # It prints what it likes to standard output, in a loop when a connection loops: errors only; the worker keeps their
    # beginning and drops the rest.
    logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    return pulsar.Client(spec.service_url, logger=logger, **_client_options(spec))


def _patiently(spec: ClientSpec, client: pulsar.Client, connect: Callable[[], Any]) -> Any:
    """Connects, trying again for `connect_timeout_s`: a fresh cluster may still be electing who owns a topic."""
    deadline = time.monotonic() + spec.connect_timeout_s
    while True:
        try:
            return connect()
        except pulsar.PulsarException as error:
            if time.monotonic() > deadline:
                _end(client.close)
                problem = f"topic {spec.topic} at {spec.service_url}: {error}"
                raise ClientError(type(error).__name__, problem) from None
        time.sleep(_RETRY_S)


def _end(close: Callable[[], None]) -> None:
    """Ends a client, in a thread: brokers that don't answer can delay it for long."""

    def end() -> None:
        with contextlib.suppress(pulsar.PulsarException):  # what couldn't be closed in order is gone all the same
            close()

    closing = threading.Thread(target=end, name="client-close", daemon=True)
    closing.start()
    closing.join(_CLOSE_TIMEOUT_S)
