"""How the client differs from other systems' clients, for every system that is driven by it."""

from __future__ import annotations

from collections.abc import Iterable

from systems.deployment import Difference


def client_differences(levels: Iterable[str]) -> tuple[Difference, ...]:
    """Those of a system with these durability levels."""
    every = tuple(levels)
    return (
        Difference(
            "how many requests a producer has in flight",
            "at most five unanswered requests to each broker, and librdkafka puts one partition's batch into each, where the Java "
            "client puts those of all the broker's partitions: five batches for each broker at any time",
            "systems without such a limit, increasingly with more partitions written at once; with few partitions it keeps batches "
            "full",
            every,
        ),
        Difference(
            "how much may be unacknowledged",
            "a window of messages per producer, the same for every system, beside the five requests: a rate can't exceed "
            "window x producers / latency",
            "whichever system answers sooner, in a search for the highest rate",
            every,
        ),
        Difference(
            "when a message counts as received",
            "when librdkafka hands it over; where many are ready, up to 500 at once get the same time",
            "itself, slightly, where consumers lag: none of the 500 waits for those before it",
            every,
        ),
        Difference(
            "what no acknowledgement means",
            "acks=0: the client reports success when it has written the message to its socket; no broker has answered",
            "itself: such latencies are the client's own and compare with nothing",
            tuple(name for name in every if name == "none"),
        ),
    )
