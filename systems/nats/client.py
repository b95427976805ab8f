"""The NATS client of the load generator: its own, over a socket (`wire_client.py` says why)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from systems.client import Acknowledgements, ClientError, ClientSpec, printable, take_settings
from systems.nats.consumer_client import NatsConsumer, consumer_config, make_consumers, places_of
from systems.nats.producer_client import NatsProducer
from systems.nats.wire_client import CONNECT, Link, connect, find_partitions

# The defaults are those of the vendor's client for Go.
SETTINGS: Mapping[str, str] = {
    # How often a message is sent again whose stream has no leader at the moment, and after how long.
    "retry_attempts": "2",
    "retry_wait_ms": "250",
    # How many messages a consumer asks for at once, of each partition; it asks again when half of them are here.
    "pull_messages": "500",
    # How often a consumer acknowledges what it has received: as seldom as others keep their positions.
    "acknowledge_every_ms": "1000",
}
_KNOWN = {**SETTINGS, "acks": "stream"}  # acks is the durability level's
_ACKS = ("stream", "none")


def connect_producer(spec: ClientSpec, acknowledgements: Acknowledgements) -> NatsProducer:
    """A producer that has found the topic's streams. Raises ClientError."""
    settings = _settings(spec)
    link, partitions = _found(spec, time.monotonic() + spec.connect_timeout_s)
    return NatsProducer(
        link,
        spec,
        partitions,
        acknowledgements,
        acknowledged=settings["acks"] == "stream",
        retries=int(settings["retry_attempts"]),
        retry_wait_s=int(settings["retry_wait_ms"]) / 1e3,
        given=configuration(spec)["producer"],
    )


def connect_consumer(spec: ClientSpec, subscription: str, name: str) -> NatsConsumer:
    """A member of `subscription` that has its partitions; one beyond the last partition stands by. Raises ClientError."""
    settings = _settings(spec)
    deadline_s = time.monotonic() + spec.connect_timeout_s
    link, partitions = _found(spec, deadline_s, name=name)
    places = places_of(spec, partitions)
    try:
        make_consumers(link, places, subscription, deadline_s)
    except ClientError:
        link.close()
        raise
    return NatsConsumer(
        link,
        spec,
        subscription,
        name,
        places,
        at_once=int(settings["pull_messages"]),
        acknowledge_every_s=int(settings["acknowledge_every_ms"]) / 1e3,
        given=configuration(spec)["consumer"],
    )


def configuration(spec: ClientSpec) -> dict[str, dict[str, str]]:
    """See ClientModule."""
    settings = _settings(spec)
    shared: dict[str, Any] = {"servers": spec.service_url, **CONNECT}
    producer: dict[str, Any] = {key: settings[key] for key in ("acks", "retry_attempts", "retry_wait_ms")}
    producer |= {"delivery_timeout_ms": round(spec.delivery_timeout_s * 1000), "batched": False, "compression": "none"}
    of_consumer = {key: value for key, value in consumer_config("").items() if key not in ("name", "durable_name")}
    consumer = {key: settings[key] for key in ("pull_messages", "acknowledge_every_ms")} | of_consumer
    return {"producer": printable(shared | producer), "consumer": printable(shared | consumer)}


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
    settings = take_settings(spec, _KNOWN)
    if settings["acks"] not in _ACKS:
        raise ClientError("unknown setting", f"acks is {settings['acks']!r}; this client knows {', '.join(_ACKS)}")
    if spec.workload.compression != "none":
        raise ClientError("unsupported", f"NATS' clients don't compress, and {spec.workload.compression} was asked for")
    return settings
