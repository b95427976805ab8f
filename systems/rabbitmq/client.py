"""The RabbitMQ client of the load generator: its own, over sockets (`frames_client.py` says why)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import systems.rabbitmq.frames_client as amqp
from systems.client import Acknowledgements, ClientError, ClientSpec, printable, take_settings
from systems.connection import PERSISTENCE, persistence_of
from systems.rabbitmq.consumer_client import RabbitConsumer, Reading
from systems.rabbitmq.lane_client import Lane, terms_of
from systems.rabbitmq.link_client import Link, connect
from systems.rabbitmq.producer_client import RabbitProducer
from systems.rabbitmq.topic_client import QUORUM, STREAM_TYPE, one_subscription, queue_of

SETTINGS: Mapping[str, str] = {
    # How many messages of each partition are on their way to a consumer or not acknowledged yet, at most; half of them are acknowledged
    # at once, fewer after a while, as seldom as others keep their positions.
    "prefetch": "500",
    "acknowledge_every_ms": "1000",
    "heartbeat_s": "60",
    # Of a producer. Partitions go by them in turn; the node of a partition's turn has its leader, as queues are made.
    "connections_per_node": "1",
    # A node is given up that says nothing for two heartbeats: there is no other time for its silence.
    **{key: value for key, value in PERSISTENCE.items() if key != "silent_ms"},
}
# A queue doesn't know what it has: nothing protects what is sent again. Ids of messages are the stream protocol's alone.
UNDER_FAULTS: Mapping[str, str] = {"heartbeat_s": "5"}
# what a partition is, and whether anything is confirmed, are the durability level's
_KNOWN = {**SETTINGS, "queue_type": QUORUM, "confirms": "true"}
_TYPES = (QUORUM, STREAM_TYPE)


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> RabbitProducer:
    """A producer that has found the topic's queues, connected to every node. Raises ClientError."""
    settings, nodes = _settings(spec), spec.service_url.split(",")
    terms = terms_of(spec, persistence_of(settings), confirms=settings["confirms"] == "true")
    deadline_s = time.monotonic() + spec.connect_timeout_s
    links: list[Link] = []
    try:
        links.append(_publishing(spec, settings, nodes[0], deadline_s))
        partitions = links[0].partitions
        lanes = min(partitions, len(nodes) * int(settings["connections_per_node"]))
        while len(links) < lanes:
            links.append(_publishing(spec, settings, nodes[len(links) % len(nodes)], deadline_s))
    except ClientError:
        for link in links:
            link.close()
        raise
    publish = [amqp.publish(queue_of(spec.topic, at)) for at in range(partitions)]
    made = []
    for at, link in enumerate(links):
        again = partial(_publishing, spec, settings, nodes[at % len(nodes)])
        made.append(Lane(link, again, terms, publish, acknowledgements))
    return RabbitProducer(made, spec, partitions, configuration(spec)["producer"])


def _publishing(spec: ClientSpec, settings: Mapping[str, str], node: str, deadline_s: float) -> Link:
    """A channel to publish on: to the node, or to another one if it doesn't answer. Raises ClientError at the deadline (monotonic)."""

    def prepare(link: Link, until_s: float) -> None:
        if settings["confirms"] == "true":
            link.ask(amqp.method(amqp.CONFIRM_SELECT, b"\0"), amqp.CONFIRM_SELECT_OK, until_s)

    return connect(
        spec, deadline_s,
        heartbeat_s=int(settings["heartbeat_s"]), name=f"producer of {spec.topic}", prepare=prepare, first=node,
    )  # fmt: skip


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> RabbitConsumer:
    """A reader of every partition that is this member's; one beyond the last partition stands by. Raises ClientError."""
    settings = _settings(spec)
    reading = Reading(
        topic=spec.topic,
        member=spec.member,
        members=spec.members,
        streams=settings["queue_type"] == STREAM_TYPE,
        prefetch=int(settings["prefetch"]),
        acknowledge_every_s=int(settings["acknowledge_every_ms"]) / 1e3,
        persistence=persistence_of(settings),
    )

    def again(deadline_s: float, prepare: Callable[[Link, float], None]) -> Link:
        return connect(
            spec, deadline_s,
            heartbeat_s=int(settings["heartbeat_s"]), name=f"{name} of {subscription}", prepare=prepare,
        )  # fmt: skip

    return RabbitConsumer(again, reading, time.monotonic() + spec.connect_timeout_s, configuration(spec)["consumer"])


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    settings, workload = _settings(spec), spec.workload
    shared: dict[str, Any] = {
        "servers": spec.service_url,
        "protocol": "AMQP 0-9-1",
        "tcp_nodelay": True,
        "heartbeat_s": settings["heartbeat_s"],
        "queue_type": settings["queue_type"],
        "reconnect_wait_ms": settings["reconnect_wait_ms"],
        "reconnect_most_ms": settings["reconnect_most_ms"],
    }
    producer = {
        "resend": settings["resend"],
        "confirms": settings["confirms"],
        "mandatory": True,
        "delivery_mode": 2,
        "delivery_timeout_ms": round(spec.delivery_timeout_s * 1e3),
        "batched": False,
        "connections_per_node": settings["connections_per_node"],
        "written_at_once": terms_of(spec, persistence_of(settings), confirms=True).at_once,
        "compression": workload.compression,
    }
    consumer = {"prefetch": settings["prefetch"], "acknowledge_every_ms": settings["acknowledge_every_ms"]}
    if settings["queue_type"] == STREAM_TYPE:
        consumer["x-stream-offset"] = "first"
    return {"producer": printable(shared | producer), "consumer": printable(shared | consumer)}


def _settings(spec: ClientSpec) -> dict[str, str]:
    """Raises ClientError for what this client can't do."""
    settings, workload = take_settings(spec, _KNOWN, UNDER_FAULTS), spec.workload
    if settings["queue_type"] not in _TYPES:
        raise ClientError("unknown setting", f"queue_type is {settings['queue_type']!r}; known: {', '.join(_TYPES)}")
    if not 1 <= int(settings["prefetch"]) <= 65_535:
        raise ClientError("impossible setting", f"prefetch is {settings['prefetch']}; it must be 1 to 65535")
    if int(settings["connections_per_node"]) < 1:
        raise ClientError("impossible setting", "connections_per_node must be at least 1")
    if workload.compression != "none":
        raise ClientError("unsupported", f"this client doesn't compress, and {workload.compression} was asked for")
    if reason := one_subscription(settings["queue_type"], workload):
        raise ClientError("unsupported", reason)
    return settings
