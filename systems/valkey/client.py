"""The Valkey client of the load generator: its own, over sockets (`resp_client.py` says why)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from systems.client import Acknowledgements, ClientError, ClientSpec, printable, take_settings
from systems.connection import PERSISTENCE, ConnectionLost, persistence_of
from systems.valkey.consumer_client import ValkeyConsumer, join_groups
from systems.valkey.lane_client import Terms
from systems.valkey.producer_client import ValkeyProducer
from systems.valkey.resp_client import Link, connect_serving, encoded
from systems.valkey.topic_client import find_partitions

_OVERHEAD_BYTES = 128  # of a command that adds a message, beside its payload

SETTINGS: Mapping[str, str] = {
    # A server reads 16 KiB of a connection at a time and syncs its file after each turn: more connections share a sync.
    "connections": "1",
    # How many batches of a connection may wait for their replicas; the next one grows meanwhile. The server takes them one by one: with
    # five of them small ones queued up, at 2,000 messages a second and level 1 (p50 26 ms instead of 7).
    "in_flight_batches": "2",
    # How many messages a consumer asks for at once, over its partitions, and how often its positions are taken down.
    "read_messages": "500",
    "position_every_ms": "1000",
    **PERSISTENCE,
}
# A server doesn't know what it has: nothing protects what is sent again.
UNDER_FAULTS: Mapping[str, str] = {}
# how many replicas WAIT waits for, and whether there are replies at all, are the durability level's
_KNOWN = {**SETTINGS, "wait_replicas": "0", "replies": "true"}


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> ValkeyProducer:
    """A producer that has found the topic's streams. Raises ClientError."""
    settings, terms = _settings(spec), _terms(spec)
    deadline_s = time.monotonic() + spec.connect_timeout_s
    links: list[Link] = []
    try:
        link, partitions = _found(spec, deadline_s, f"producer of {spec.topic}")
        links.append(link)
        for _ in range(min(int(settings["connections"]), partitions) - 1):
            links.append(connect_serving(spec.service_url, deadline_s, about=f"topic {spec.topic}"))
        return ValkeyProducer(links, terms, spec, partitions, acknowledgements, configuration(spec)["producer"])
    except ClientError:
        for link in links:
            link.close()
        raise


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> ValkeyConsumer:
    """A reader of every partition that is this member's; one beyond the last partition stands by. Raises ClientError."""
    settings = _settings(spec)
    deadline_s = time.monotonic() + spec.connect_timeout_s
    link, partitions = _found(spec, deadline_s, name)
    try:
        mine = range(spec.member, partitions, spec.members)
        positions = join_groups(link, spec.topic, mine, subscription, deadline_s)
    except ClientError:
        link.close()
        raise
    return ValkeyConsumer(
        link,
        spec,
        subscription,
        positions,
        at_once=int(settings["read_messages"]),
        position_every_s=int(settings["position_every_ms"]) / 1e3,
        persistence=persistence_of(settings),
        given=configuration(spec)["consumer"],
    )


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    settings, terms = _settings(spec), _terms(spec)
    of_both = {key: settings[key] for key in PERSISTENCE if key != "resend"}
    shared: dict[str, Any] = {"server": spec.service_url, "protocol": 2, "tcp_nodelay": True, **of_both}
    producer = {
        "resend": settings["resend"],
        "connections": settings["connections"],
        "in_flight_batches": terms.batches,
        "wait_replicas": terms.replicas,
        "replies": terms.replies,
        "delivery_timeout_ms": round(terms.delivery_timeout_s * 1e3),
        "batching": terms.batching,
        "batch_delay_ms": round(terms.batch_delay_s * 1e3),
        "batch_bytes": terms.batch_bytes,
        "compression": "none",
    }
    consumer = {key: settings[key] for key in ("read_messages", "position_every_ms")}
    return {"producer": printable(shared | producer), "consumer": printable(shared | consumer)}


def _terms(spec: ClientSpec) -> Terms:
    settings, workload = _settings(spec), spec.workload
    return Terms(
        server=spec.service_url,
        replicas=int(settings["wait_replicas"]),
        replies=settings["replies"] == "true",
        batching=workload.batching,
        batch_delay_s=workload.batch_delay_ms / 1e3,
        batch_bytes=workload.batch_bytes,
        message_bytes=workload.message_bytes + _OVERHEAD_BYTES,
        # without WAIT nothing is gained by holding batches back: the window alone bounds
        batches=int(settings["in_flight_batches"]) if settings["wait_replicas"] != "0" else workload.in_flight + 1,
        delivery_timeout_s=spec.delivery_timeout_s,
        persistence=persistence_of(settings),
    )


def _found(spec: ClientSpec, deadline_s: float, name: str) -> tuple[Link, int]:
    """A connection, and how many partitions the topic has."""
    link = connect_serving(spec.service_url, deadline_s, about=f"topic {spec.topic}")
    try:
        with suppress(ConnectionLost):
            link.ask([encoded("CLIENT", "SETNAME", name.replace(" ", "-"))], deadline_s)
        return link, find_partitions(link, spec.topic, deadline_s)
    except ClientError:
        link.close()
        raise


def _settings(spec: ClientSpec) -> dict[str, str]:
    """Raises ClientError for what this client can't do."""
    settings = take_settings(spec, _KNOWN)
    for key in ("connections", "in_flight_batches", "read_messages"):
        if int(settings[key]) < 1:
            raise ClientError("impossible setting", f"{key} is {settings[key]}; it must be 1 or more")
    if spec.workload.compression != "none":
        problem = f"this client doesn't compress, and {spec.workload.compression} was asked for"
        raise ClientError("unsupported", problem)
    return settings
