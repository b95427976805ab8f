"""The consumer: the queues or streams of its partitions by basic.consume, read in the thread that receives."""

from __future__ import annotations

import struct
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import systems.rabbitmq.frames_client as amqp
from systems.client import ClientError
from systems.connection import Backoff, ConnectionLost, Persistence
from systems.rabbitmq.frames_client import Frame, TableValue
from systems.rabbitmq.link_client import Link
from systems.rabbitmq.topic_client import queue_of

_RETRY_S = 0.25
_RECONNECT_S = 2.0
_CLOSE_S = 2.0
_MULTIPLE = 1


@dataclass(frozen=True)
class Reading:
    """What a consumer reads, and how: the partitions that are member `member`'s of `members`. `streams`: these keep what was read.

    `prefetch`: how many messages of each are on their way or unacknowledged at most; half of them are acknowledged at once, fewer
    after `acknowledge_every_s`.
    """

    topic: str
    member: int
    members: int
    streams: bool
    prefetch: int
    acknowledge_every_s: float
    persistence: Persistence


@dataclass
class _Delivery:
    """The message whose frames are coming."""

    partition: int
    tag: int
    size: int = -1
    content: bytes = b""
    offset: int = -1


class RabbitConsumer:
    """See Consumer. `connect` gives a channel on which what it is handed was called, or raises ClientError at the deadline."""

    def __init__(
        self, connect: Callable[[float, Callable[[Link, float], None]], Link], reading: Reading, deadline_s: float,
        given: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._connect, self._reading, self._given = connect, reading, given
        self._offsets: dict[int, int] = {}  # partition -> the last offset that was received of its stream
        self._errors: Counter[str] = Counter()
        self._held = self._closed = False
        self._early: list[Frame] = []  # what came while the channel was being prepared
        self._delivery: _Delivery | None = None
        self._unacknowledged = self._last_tag = 0
        self._acknowledged_s = 0.0
        self._link: Link | None = None
        self._backoff = Backoff(reading.persistence.reconnect_wait_s, reading.persistence.reconnect_most_s)
        self._begin(deadline_s)

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def hold(self) -> None:
        self._held = True

    def release(self) -> None:
        self._held = False

    def errors(self) -> Mapping[str, int]:
        return self._errors

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        deadline_s = time.monotonic() + timeout_s
        received: list[tuple[int, bytes]] = []
        while not received and not self._closed:
            left_s = deadline_s - time.monotonic()
            try:
                link = self._link or self._reconnected(left_s)
                if link is not None:
                    self._serve(link, left_s, received)
            except ConnectionLost as error:
                self._errors[error.name] += 1
                self._drop()
            if time.monotonic() >= deadline_s:
                break
        return received

    def close(self) -> None:
        self._closed = True
        link, self._link = self._link, None
        if link is None:
            return
        try:
            self._acknowledge(link)
        except ConnectionLost:
            link.close()
        else:
            link.close(within_s=_CLOSE_S)

    def _serve(self, link: Link, left_s: float, into: list[tuple[int, bytes]]) -> None:
        link.keep_alive()
        if self._held or self._reading.member >= link.partitions:
            time.sleep(max(0.0, min(left_s, _RETRY_S)))
            return
        now_s = time.monotonic()
        if self._unacknowledged and now_s - self._acknowledged_s >= self._reading.acknowledge_every_s:
            self._acknowledge(link)
        frames, self._early = self._early, []
        for each in frames or link.read(max(0.0, min(left_s, _RETRY_S))):
            self._take(each, into)
        if self._unacknowledged >= max(1, self._reading.prefetch // 2):
            self._acknowledge(link)

    def _take(self, frame: Frame, into: list[tuple[int, bytes]]) -> None:
        if frame.kind == amqp.METHOD:
            if frame.method == amqp.BASIC_DELIVER:
                consumer, tag = amqp.consumer_and_tag(frame.payload)
                self._delivery = _Delivery(int(consumer), tag)
            elif frame.method == amqp.BASIC_CANCEL:
                raise ConnectionLost(f"the node cancels the consumer of partition {amqp.short_at(frame.payload, 4)}")
            return
        delivery = self._delivery
        if delivery is None:
            raise ConnectionLost("content that belongs to no message")
        if frame.kind == amqp.HEADER:
            delivery.size = amqp.body_bytes(frame.payload)
            if self._reading.streams:
                delivery.offset = amqp.stream_offset(frame.payload)
        else:
            delivery.content = delivery.content + frame.payload if delivery.content else frame.payload
        if len(delivery.content) >= delivery.size:
            self._delivery = None
            self._got(delivery, into)

    def _got(self, delivery: _Delivery, into: list[tuple[int, bytes]]) -> None:
        self._last_tag = delivery.tag
        self._unacknowledged += 1
        if self._reading.streams:
            if delivery.offset <= self._offsets.get(delivery.partition, -1):
                return  # of the part of a stream in which we begin again
            self._offsets[delivery.partition] = delivery.offset
        into.append((delivery.partition, delivery.content))

    def _acknowledge(self, link: Link) -> None:
        self._acknowledged_s = time.monotonic()
        if self._unacknowledged:
            link.write(amqp.method(amqp.BASIC_ACK, struct.pack(">QB", self._last_tag, _MULTIPLE)))
            self._unacknowledged = 0

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _reconnected(self, within_s: float) -> Link | None:
        """Queues send again what wasn't acknowledged; streams go on behind what was received.

        Takes longer than it may where a node doesn't answer: what is cut off too soon never succeeds on a busy machine.
        """
        time.sleep(max(0.0, min(within_s, self._backoff.left_s())))
        if self._backoff.left_s():
            return None
        try:
            self._begin(time.monotonic() + _RECONNECT_S)
        except ClientError:
            self._link = None
        self._backoff.attempted(succeeded=self._link is not None)
        return self._link

    def _begin(self, deadline_s: float) -> None:
        self._unacknowledged = self._last_tag = 0
        self._acknowledged_s = time.monotonic()
        self._delivery, self._early = None, []
        self._link = self._connect(deadline_s, self._consume)

    def _consume(self, link: Link, deadline_s: float) -> None:
        """Has the node send what is in the queues; a consumer is called after its partition."""
        qos = struct.pack(">IHB", 0, self._reading.prefetch, 0)
        link.ask(amqp.method(amqp.BASIC_QOS, qos), amqp.BASIC_QOS_OK, deadline_s)
        for partition in range(self._reading.member, link.partitions, self._reading.members):
            start: dict[str, TableValue] = {}
            if self._reading.streams:
                last = self._offsets.get(partition)
                start = {"x-stream-offset": "first" if last is None else last + 1}
            wish = (
                b"\0\0"
                + amqp.short(queue_of(self._reading.topic, partition))
                + amqp.short(str(partition))
                + b"\0"
                + amqp.table(start)
            )
            _, others = link.ask(amqp.method(amqp.BASIC_CONSUME, wish), amqp.BASIC_CONSUME_OK, deadline_s)
            self._early += others
