"""The consumer: durable pull consumers, one for each partition that is this member's, read in the thread that receives."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from systems.client import ClientError, ClientSpec
from systems.connection import ConnectionLost
from systems.nats.wire_client import Link, Message, connect, header

_SECOND_NS = 1_000_000_000
_EXPIRES_S = 30.0
_HEARTBEAT_S = 5.0
_SILENT_S = 2.5 * _HEARTBEAT_S  # a request of which nothing was heard for so long is lost
_RETRY_S = 0.25
_REMAINING = b"Nats-Pending-Messages"
_HEARTBEAT, _NO_MESSAGES, _REQUEST_TIMEOUT = 100, 404, 408


@dataclass
class Place:
    """A partition of this member's. `asked`: messages requested and not here yet; `reply`: where the last one is acknowledged."""

    partition: int
    stream: str
    asked: int = 0
    heard_s: float = 0.0
    wait_until_s: float = 0.0
    reply: bytes = b""


def consumer_config(subscription: str) -> dict[str, Any]:
    """A durable consumer of a whole stream, in order, whose position is the last message that was acknowledged."""
    return {
        "durable_name": subscription,
        "name": subscription,
        "deliver_policy": "all",
        "ack_policy": "all",
        "replay_policy": "instant",
        "max_ack_pending": -1,
        "num_replicas": 0,  # as many as its stream has
    }


def places_of(spec: ClientSpec, partitions: int) -> list[Place]:
    """Every partition is one member's: dealt out in turn."""
    mine = range(spec.member, partitions, spec.members)
    return [Place(partition, f"{spec.topic}-{partition}") for partition in mine]


def make_consumers(link: Link, places: Sequence[Place], subscription: str, deadline_s: float) -> None:
    """Makes each partition's consumer, unless it is there. Raises ClientError."""
    requests = [
        (
            f"$JS.API.CONSUMER.CREATE.{place.stream}.{subscription}",
            {"stream_name": place.stream, "config": consumer_config(subscription)},
        )
        for place in places
    ]
    if requests:
        link.ask(requests, deadline_s)


class NatsConsumer:
    """See Consumer. `at_once`: how many messages it has asked for and not got, at most, of each partition."""

    def __init__(
        self, link: Link, spec: ClientSpec, subscription: str, name: str, places: Sequence[Place],
        *, at_once: int, acknowledge_every_s: float, given: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._link: Link | None = link
        self._spec, self._subscription, self._name, self._given = spec, subscription, name, given
        self._places = {b"%d" % (place.partition + 1): place for place in places}
        self._at_once, self._acknowledge_every_s = at_once, acknowledge_every_s
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
            try:
                link = self._link or self._reconnected(left_s)
                if link is None:
                    continue
                if not self._held:
                    self._acknowledge(link, every_s=self._acknowledge_every_s)
                    self._ask_for_more(link)
                for message in link.read(min(left_s, _RETRY_S)):
                    self._take(message, received)
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
        for place in self._places.values():
            place.asked = 0

    def _reconnected(self, within_s: float) -> Link | None:
        try:
            link = connect(self._spec, time.monotonic() + within_s, name=self._name)
        except ClientError:
            return None
        self._subscribe(link)
        self._acknowledge(link, every_s=0.0)  # else what was received comes again
        self._link = link
        return link

    def _acknowledge(self, link: Link, *, every_s: float) -> None:
        """The last message of each partition, and with it those before it; not more often than the positions of consumers elsewhere."""
        now_s = time.monotonic()
        if now_s - self._acknowledged_s < every_s:
            return
        self._acknowledged_s = now_s
        told = [place for place in self._places.values() if place.reply]
        if told:
            link.write(b"".join(b"PUB %b 4\r\n+ACK\r\n" % place.reply for place in told))
            for place in told:
                place.reply = b""

    def _ask_for_more(self, link: Link) -> None:
        """Asks when half of what was asked for is here, so that the next messages are on their way meanwhile."""
        now_s = time.monotonic()
        wishes = []
        for sid, place in self._places.items():
            if place.asked and now_s - place.heard_s > _SILENT_S:
                self._errors["RequestLost"] += 1
                place.asked = 0
            if place.asked > self._at_once // 2 or now_s < place.wait_until_s:
                continue
            wish = {
                "batch": self._at_once - place.asked,
                "expires": round(_EXPIRES_S * _SECOND_NS),
                "idle_heartbeat": round(_HEARTBEAT_S * _SECOND_NS),
            }
            body = json.dumps(wish).encode()
            subject = f"$JS.API.CONSUMER.MSG.NEXT.{place.stream}.{self._subscription}".encode()
            wishes.append(b"PUB %b %b.c.%b %d\r\n%b\r\n" % (subject, link.inbox, sid, len(body), body))
            place.asked, place.heard_s = self._at_once, now_s
        if wishes:
            link.write(b"".join(wishes))

    def _take(self, message: Message, into: list[tuple[int, bytes]]) -> None:
        place = self._places.get(message.sid)
        if place is None:
            return
        place.heard_s = time.monotonic()
        if not message.status:
            place.asked = max(0, place.asked - 1)
            place.reply = message.reply
            into.append((place.partition, message.payload))
        elif message.status in (_NO_MESSAGES, _REQUEST_TIMEOUT):
            # the end of a request, with what is left of it
            place.asked = max(0, place.asked - int(header(message.headers, _REMAINING) or place.asked))
        elif message.status != _HEARTBEAT:
            first_line = message.headers.partition(b"\r\n")[0].decode(errors="replace")
            self._errors[first_line.removeprefix("NATS/1.0 ")] += 1
            place.asked, place.wait_until_s = 0, time.monotonic() + _RETRY_S
