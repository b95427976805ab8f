"""The consumer: durable pull consumers, one for each partition that is this member's, read in the thread that receives.

It acknowledges a partition's messages up to its position, before which none is missing: what a broken server had on its way comes
again. What comes again and is here already isn't handed over twice.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from systems.client import ClientSpec
from systems.connection import Backoff, ConnectionLost, Persistence
from systems.nats.order_client import Order
from systems.nats.wire_client import Link, Message, Servers, header

_SECOND_NS = 1_000_000_000
_EXPIRES_S = 30.0
_SILENT_HEARTBEATS = 2.5  # a request of which nothing was heard for so many is lost
_RETRY_S = 0.25
_REMAINING = b"Nats-Pending-Messages"
_HEARTBEAT, _NO_MESSAGES, _REQUEST_TIMEOUT = 100, 404, 408


@dataclass
class Place:
    """A partition of this member's. `asked`: messages requested and not here yet; `came`: messages since `order` was last asked."""

    partition: int
    stream: str
    order: Order = field(default_factory=Order)
    asked: int = 0
    came: int = 0
    last_reply: bytes = b""
    heard_s: float = 0.0
    wait_until_s: float = 0.0

    def goes_on(self) -> bool:
        """Whether what came follows on the position, which is then moved on."""
        came, self.came = self.came, 0
        return not came or self.order.goes_on(self.last_reply, came)


@dataclass(frozen=True)
class Reading:
    """How a consumer reads. `at_once`: how many messages it has asked for and not got, at most, of each partition."""

    subscription: str
    name: str
    at_once: int
    acknowledge_every_s: float
    heartbeat_s: float
    persistence: Persistence


def consumer_config(subscription: str, redeliver_after_s: float) -> dict[str, Any]:
    """A durable consumer of a whole stream, in order, whose position is the last message that was acknowledged.

    What isn't acknowledged `redeliver_after_s` after it was sent is sent again.
    """
    return {
        "durable_name": subscription,
        "name": subscription,
        "deliver_policy": "all",
        "ack_policy": "all",
        "ack_wait": round(redeliver_after_s * _SECOND_NS),
        "replay_policy": "instant",
        "max_ack_pending": -1,
        "num_replicas": 0,  # as many as its stream has
    }


def places_of(spec: ClientSpec, partitions: int) -> list[Place]:
    """Every partition is one member's: dealt out in turn."""
    mine = range(spec.member, partitions, spec.members)
    return [Place(partition, f"{spec.topic}-{partition}") for partition in mine]


def make_consumers(link: Link, places: Sequence[Place], config: Mapping[str, Any], deadline_s: float) -> None:
    """Makes each partition's consumer, unless it is there, and learns its position. Raises ClientError."""
    requests = [
        (
            f"$JS.API.CONSUMER.CREATE.{place.stream}.{config['durable_name']}",
            {"stream_name": place.stream, "config": config},
        )
        for place in places
    ]
    for place, made in zip(places, link.ask(requests, deadline_s) if requests else (), strict=True):
        place.order = Order(made["ack_floor"]["stream_seq"])


class NatsConsumer:
    """See Consumer."""

    def __init__(
        self, link: Link, spec: ClientSpec, places: Sequence[Place], reading: Reading, given: Mapping[str, str]
    ) -> None:
        self._link: Link | None = link
        self._given, self._reading = given, reading
        backoff = Backoff(reading.persistence.reconnect_wait_s, reading.persistence.reconnect_most_s)
        self._servers = Servers(spec, backoff, name=reading.name)
        self._places = {b"%d" % (place.partition + 1): place for place in places}
        self._acknowledged_s = time.monotonic()
        self._errors: Counter[str] = Counter()
        self._held = False
        self._subscribe(link)

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
        while not received and (left_s := deadline_s - time.monotonic()) > 0:
            link = self._link
            try:
                if link is None:
                    self._reconnect(left_s)
                    continue
                if not self._held:
                    self._acknowledge(link, every_s=self._reading.acknowledge_every_s)
                    self._ask_for_more(link)
                self._take_all(link.read(min(left_s, _RETRY_S)), received)
                link.keep_alive(self._reading.persistence.silent_s)
            except ConnectionLost as error:
                self._errors[error.name] += 1
                self._drop()
        return received

    def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with suppress(ConnectionLost):
                self._acknowledge(link, every_s=0.0)
            link.close()

    def _subscribe(self, link: Link) -> None:
        link.write(b"".join(b"SUB %b.c.%b %b\r\n" % (link.inbox, sid, sid) for sid in self._places))

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
            self._servers.lose(link.server)
        for place in self._places.values():
            place.asked = 0

    def _reconnect(self, within_s: float) -> None:
        """Takes longer than it may where a server doesn't answer: what is cut off too soon never succeeds on a busy machine."""
        link = self._servers.another(within_s)
        if link is not None:
            self._link = link
            self._subscribe(link)
            for place in self._places.values():
                place.order.repeat()  # what was acknowledged over the lost connection may not have arrived
            self._acknowledge(link, every_s=0.0)

    def _acknowledge(self, link: Link, *, every_s: float) -> None:
        """The position of each partition; not more often than the positions of consumers elsewhere."""
        now_s = time.monotonic()
        if now_s - self._acknowledged_s < every_s:
            return
        self._acknowledged_s = now_s
        replies = [reply for place in self._places.values() if (reply := place.order.take_reply())]
        if replies:
            link.write(b"".join(b"PUB %b 4\r\n+ACK\r\n" % reply for reply in replies))

    def _ask_for_more(self, link: Link) -> None:
        """Asks when half of what was asked for is here, so that the next messages are on their way meanwhile."""
        now_s, reading = time.monotonic(), self._reading
        wishes = []
        for sid, place in self._places.items():
            if place.asked and now_s - place.heard_s > _SILENT_HEARTBEATS * reading.heartbeat_s:
                self._errors["RequestLost"] += 1
                place.asked = 0
            if place.asked > reading.at_once // 2 or now_s < place.wait_until_s:
                continue
            wish = {
                "batch": reading.at_once - place.asked,
                "expires": round(_EXPIRES_S * _SECOND_NS),
                "idle_heartbeat": round(reading.heartbeat_s * _SECOND_NS),
            }
            body = json.dumps(wish).encode()
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{place.stream}.{reading.subscription}".encode()
            wishes.append(b"PUB %b %b.c.%b %d\r\n%b\r\n" % (subject, link.inbox, sid, len(body), body))
            place.asked, place.heard_s = reading.at_once, now_s
        if wishes:
            link.write(b"".join(wishes))

    def _take_all(self, messages: Sequence[Message], into: list[tuple[int, bytes]]) -> None:
        """Notes what came, and hands over the messages among it: as a rule they are those that follow on the positions."""
        last: Place | None = None
        touched: list[Place] = []
        for message in messages:
            place = self._places.get(message.sid)
            if place is None:
                continue
            place.heard_s = time.monotonic()
            if message.status:
                self._take_status(place, message)
                continue
            place.asked = max(0, place.asked - 1)
            place.came += 1
            place.last_reply = message.reply
            into.append((place.partition, message.payload))
            if place is not last:
                last = place
                touched.append(place)
        astray = {place.partition for place in touched if not place.goes_on()}
        if astray:
            into[:] = self._new_ones(messages, astray)

    def _new_ones(self, messages: Sequence[Message], astray: Collection[int]) -> list[tuple[int, bytes]]:
        """The messages, but for those of the partitions `astray` that have been here before."""
        of_places = [(self._places.get(each.sid), each) for each in messages if not each.status]
        return [
            (place.partition, message.payload)
            for place, message in of_places
            if place is not None and (place.partition not in astray or place.order.is_new(message.reply))
        ]

    def _take_status(self, place: Place, message: Message) -> None:
        if message.status in (_NO_MESSAGES, _REQUEST_TIMEOUT):
            # the end of a request, with what is left of it
            place.asked = max(0, place.asked - int(header(message.headers, _REMAINING) or place.asked))
        elif message.status != _HEARTBEAT:
            first_line = message.headers.partition(b"\r\n")[0].decode(errors="replace")
            self._errors[first_line.removeprefix("NATS/1.0 ")] += 1
            place.asked, place.wait_until_s = 0, time.monotonic() + _RETRY_S
