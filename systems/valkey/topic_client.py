"""How a topic is kept: a stream for each partition, and a hash under the topic's own name that says how many there are."""

from __future__ import annotations

from systems.client import ClientError
from systems.valkey.resp_client import Link, encoded

PARTITIONS = "partitions"  # the hash's one field
PAYLOAD, KEY = "m", "k"  # the fields of an entry


def stream_of(topic: str, partition: int) -> str:
    """The key of a partition's stream."""
    return f"{topic}/{partition}"


def find_partitions(link: Link, topic: str, deadline_s: float) -> int:
    """How many partitions a topic has. Raises ClientError if there is no such topic, or not all of its streams."""
    [count] = link.ask([encoded("HGET", topic, PARTITIONS)], deadline_s)
    if not isinstance(count, bytes) or not count.isdigit() or int(count) == 0:
        raise ClientError(
            "NoSuchTopic", f"topic {topic}: the server says {count!r} where it keeps how many partitions it has"
        )
    partitions = int(count)
    [there] = link.ask([encoded("EXISTS", *(stream_of(topic, at) for at in range(partitions)))], deadline_s)
    if there != partitions:
        raise ClientError("NoSuchTopic", f"topic {topic}: {there!r} of {partitions} streams are there")
    return partitions
