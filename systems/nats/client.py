"""The NATS client of the load generator: its own, over a socket (`wire_client.py` says why)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from systems.client import Acknowledgements, ClientError, ClientSpec, printable, take_settings
from systems.connection import PERSISTENCE, persistence_of
from systems.nats.consumer_client import NatsConsumer, Reading, consumer_config, make_consumers, places_of
from systems.nats.producer_client import NatsProducer, Terms
from systems.nats.wire_client import CONNECT, Link, connect, find_partitions

SETTINGS: Mapping[str, str] = {
    # How often a message is sent again that nobody was there to take, as a stream has no leader at the moment, and after how long. More
    # often than the delivery timeout has room for; the vendor's client for Go gives up after 2.
    "retry_attempts": "1000",
    "retry_wait_ms": "250",
    # Whether each message has an id, by which its stream knows what it has: for two minutes it keeps every id in memory.
    "message_ids": "false",
    # Of messages with ids: after how long without an answer one is sent again. As long as the client for Go waits for one message.
    "ack_wait_ms": "5000",
    # How many messages a consumer asks for at once, of each partition; it asks again when half of them are here.
    "pull_messages": "500",
    # How often a consumer acknowledges what it has received: as seldom as others keep their positions.
    "acknowledge_every_ms": "1000",
    # How often a stream that has nothing to send says so: without it a consumer asks again, after 2.5 times as long.
    "idle_heartbeat_ms": "1000",
    # After how long a stream sends again what wasn't acknowledged, such as what was on its way through a server that broke.
    "redeliver_after_ms": "5000",
    **PERSISTENCE,
}
UNDER_FAULTS: Mapping[str, str] = {"message_ids": "true"}
_KNOWN = {**SETTINGS, "acks": "stream"}  # acks is the durability level's
_ACKS = ("stream", "none")
_OF_PRODUCERS = ("acks", "retry_attempts", "retry_wait_ms", "message_ids", "ack_wait_ms", "resend")
_OF_CONSUMERS = ("pull_messages", "acknowledge_every_ms", "idle_heartbeat_ms")
_OF_BOTH = ("reconnect_wait_ms", "reconnect_most_ms", "silent_ms")


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> NatsProducer:
    """A producer that has found the topic's streams. Raises ClientError."""
    settings = _settings(spec)
    terms = Terms(
        acknowledged=settings["acks"] == "stream",
        ids=settings["message_ids"] == "true",
        ack_wait_s=int(settings["ack_wait_ms"]) / 1e3,
        retries=int(settings["retry_attempts"]),
        retry_wait_s=int(settings["retry_wait_ms"]) / 1e3,
        persistence=persistence_of(settings),
    )
    link, partitions = _found(spec, time.monotonic() + spec.connect_timeout_s)
    return NatsProducer(link, spec, partitions, acknowledgements, terms, configuration(spec)["producer"])


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> NatsConsumer:
    """A member of `subscription` that has its partitions; one beyond the last partition stands by. Raises ClientError."""
    settings = _settings(spec)
    reading = Reading(
        subscription,
        name,
        at_once=int(settings["pull_messages"]),
        acknowledge_every_s=int(settings["acknowledge_every_ms"]) / 1e3,
        heartbeat_s=int(settings["idle_heartbeat_ms"]) / 1e3,
        persistence=persistence_of(settings),
    )
    deadline_s = time.monotonic() + spec.connect_timeout_s
    link, partitions = _found(spec, deadline_s, name=name)
    places = places_of(spec, partitions)
    try:
        make_consumers(link, places, _consumer_config(subscription, settings), deadline_s)
    except ClientError:
        link.close()
        raise
    return NatsConsumer(link, spec, places, reading, configuration(spec)["consumer"])


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    settings = _settings(spec)
    shared: dict[str, Any] = {"servers": spec.service_url, **CONNECT, **{key: settings[key] for key in _OF_BOTH}}
    producer: dict[str, Any] = {key: settings[key] for key in _OF_PRODUCERS}
    producer |= {"delivery_timeout_ms": round(spec.delivery_timeout_s * 1000), "batched": False, "compression": "none"}
    config = _consumer_config("", settings)
    of_consumer = {key: value for key, value in config.items() if key not in ("name", "durable_name")}
    consumer = {key: settings[key] for key in _OF_CONSUMERS} | of_consumer
    return {"producer": printable(shared | producer), "consumer": printable(shared | consumer)}


def _consumer_config(subscription: str, settings: Mapping[str, str]) -> dict[str, Any]:
    return consumer_config(subscription, redeliver_after_s=int(settings["redeliver_after_ms"]) / 1e3)


def _found(spec: ClientSpec, deadline_s: float, *, name: str = "") -> tuple[Link, int]:
    """A connection, and how many partitions the topic has."""
    link = connect(spec, deadline_s, name=name)
    try:
        return link, find_partitions(link, spec.topic, deadline_s)
    except ClientError:
        link.close()
        raise


def _settings(spec: ClientSpec) -> dict[str, str]:
    """Raises ClientError for what this client can't do."""
    settings = take_settings(spec, _KNOWN, UNDER_FAULTS)
    if settings["acks"] not in _ACKS:
        raise ClientError("unknown setting", f"acks is {settings['acks']!r}; this client knows {', '.join(_ACKS)}")
    if spec.workload.compression != "none":
        raise ClientError("unsupported", f"NATS' clients don't compress, and {spec.workload.compression} was asked for")
    return settings
