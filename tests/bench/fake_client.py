"""A broker in memory with a client: it can delay, stall, fall silent, lose, repeat, refuse.

Strict: an unknown topic, a payload of another size, a sequence out of order or a send after close is an error of the test.
It lives in one process: `FakeBroker` registers itself under its `service_url`.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from systems.client import Acknowledgements, Backpressure, ClientError, ClientSpec

_POLL_S = 0.0005
SETTINGS: Mapping[str, str] = {}
UNDER_FAULTS: Mapping[str, str] = {}


class Misuse(AssertionError):
    """The load generator used its client in a way that no contract allows."""


def _never(_sequence: int) -> bool:
    return False


@dataclass(frozen=True)
class Behaviour:
    """What the broker does wrong; predicates are asked with the sequence number. `stall_s`: (from, to) after the first message.

    `lose`: acknowledged and gone. `repeat`: delivered twice. `refuse`: `send` raises. `fail`: reported as failed.
    `silent_from`: this message and all later ones are never acknowledged. `disconnect`: each producer tells of a lost connection.
    """

    ack_delay_s: float = 0.0
    stall_s: tuple[float, float] | None = None
    silent_from: int | None = None
    buffer: int | None = None
    disconnect: bool = False
    lose: Callable[[int], bool] = _never
    repeat: Callable[[int], bool] = _never
    refuse: Callable[[int], bool] = _never
    fail: Callable[[int], bool] = _never


_BROKERS: dict[str, FakeBroker] = {}


class FakeBroker:
    """A context manager; within it, `service_url` can be connected to."""

    def __init__(self, topics: Sequence[str], partitions: int = 3, behaviour: Behaviour | None = None) -> None:
        self.service_url = f"fake:{id(self)}"
        self.partitions = partitions
        self.behaviour = behaviour or Behaviour()
        self.stored: dict[str, int] = dict.fromkeys(topics, 0)
        self.subscriptions: dict[tuple[str, str], deque[tuple[int, bytes]]] = defaultdict(deque)  # by topic and name
        self.pending: deque[tuple[float, FakeProducer, int, bytes]] = deque()
        self.connections = 0
        self._first_s: float | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._serve, name="fake-broker", daemon=True)

    def __enter__(self) -> FakeBroker:
        _BROKERS[self.service_url] = self
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        del _BROKERS[self.service_url]
        self._ended = True
        self._thread.join()

    def accept(self, producer: FakeProducer, sequence: int, payload: bytes) -> None:
        """Takes a message from a producer. Raises Backpressure, ClientError."""
        behaviour, now = self.behaviour, time.monotonic()
        self._first_s = self._first_s or now
        if behaviour.refuse(sequence):
            raise ClientError("REFUSED", f"sequence {sequence}")
        if behaviour.buffer is not None and len(self.pending) >= behaviour.buffer:
            raise Backpressure("BUFFER_FULL")
        self.pending.append((now + behaviour.ack_delay_s, producer, sequence, payload))

    def owes(self, producer: FakeProducer) -> bool:
        """Whether it has still to answer a message of that producer's, or has chosen not to."""
        return self.behaviour.silent_from is not None or any(each is producer for _, each, _, _ in list(self.pending))

    def _serve(self) -> None:
        while not self._ended:
            now = time.monotonic()
            if not self.pending or self.pending[0][0] > now or self._stalled(now):
                time.sleep(_POLL_S)
                continue
            _, producer, sequence, payload = self.pending.popleft()
            self._settle(producer, sequence, payload)

    def _stalled(self, now: float) -> bool:
        stall = self.behaviour.stall_s
        return stall is not None and self._first_s is not None and stall[0] <= now - self._first_s < stall[1]

    def _settle(self, producer: FakeProducer, sequence: int, payload: bytes) -> None:
        behaviour = self.behaviour
        if behaviour.silent_from is not None and sequence >= behaviour.silent_from:
            return
        if behaviour.fail(sequence):
            producer.acknowledgements.failed(sequence, "FAILED")
            return
        partition = sequence % self.partitions
        self.stored[producer.topic] += 1
        if not behaviour.lose(sequence):
            for (topic, _), queue in self.subscriptions.items():
                if topic == producer.topic:
                    queue.extend([(partition, payload)] * (2 if behaviour.repeat(sequence) else 1))
        producer.acknowledgements.acknowledged(sequence, partition)


class FakeProducer:
    """See Producer."""

    def __init__(self, broker: FakeBroker, spec: ClientSpec, acknowledgements: Acknowledgements) -> None:
        self.topic = spec.topic
        self.acknowledgements = acknowledgements
        self._broker = broker
        self._message_bytes = spec.workload.message_bytes
        self._last = -1
        self._closed = False
        self._given = configuration(spec)["producer"]

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def send(self, sequence: int, payload: bytes) -> None:
        if sequence == 0 and not self._broker.owes(self):
            self._last = -1  # another count of messages begins
        if self._closed or len(payload) != self._message_bytes or sequence != self._last + 1:
            raise Misuse(f"sequence {sequence} of {len(payload)} bytes after {self._last}, closed: {self._closed}")
        try:
            self._broker.accept(self, sequence, payload)
        except Backpressure:
            raise
        except ClientError:
            self._last = sequence
            raise
        self._last = sequence

    def errors(self) -> Mapping[str, int]:
        return {"Disconnected": 1} if self._broker.behaviour.disconnect and self._last >= 0 else {}

    def close(self) -> None:
        self._closed = True


class FakeConsumer:
    """See Consumer."""

    def __init__(self, spec: ClientSpec, queue: deque[tuple[int, bytes]]) -> None:
        self._given = configuration(spec)["consumer"]
        self._queue = queue
        self._held = False

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        if not self._held:
            raise Misuse("released without being held")
        self._held = False

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        if self._held:
            time.sleep(timeout_s)
            return []
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                return [self._queue.popleft()]
            except IndexError:
                time.sleep(_POLL_S)
        return []

    def errors(self) -> Mapping[str, int]:
        return {}

    def close(self) -> None:
        return None


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    own = {"service_url": spec.service_url}
    return {"producer": own, "consumer": own}


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> FakeProducer:
    """See ClientModule."""
    return FakeProducer(_broker(spec), spec, acknowledgements)


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> FakeConsumer:
    """See ClientModule. Consumers of one subscription compete for its messages."""
    del name
    return FakeConsumer(spec, _broker(spec).subscriptions[spec.topic, subscription])


def _broker(spec: ClientSpec) -> FakeBroker:
    broker = _BROKERS.get(spec.service_url)
    if broker is None:
        raise ClientError("NO_BROKER", spec.service_url)
    if spec.topic not in broker.stored:
        raise ClientError("NO_TOPIC", spec.topic)
    broker.connections += 1
    return broker
