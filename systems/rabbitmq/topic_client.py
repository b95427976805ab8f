"""How a topic is kept: a queue, or a stream, for each partition."""

from __future__ import annotations

from contract.workload import Workload

QUORUM, STREAM_TYPE = "quorum", "stream"


def pattern_of(topic: str) -> str:
    """The names of a topic's queues or streams: its number stands for %d."""
    return f"{topic}-%d"


def queue_of(topic: str, partition: int) -> str:
    """The name of a partition's queue or stream."""
    return pattern_of(topic) % partition


def one_subscription(queue_type: str, workload: Workload) -> str | None:
    """Why what partitions are can't serve a workload's subscriptions; None = it can."""
    if queue_type != QUORUM or (workload.subscriptions == 1 and workload.backlog is None):
        return None
    return "a queue forgets what was read, so it has one subscription and keeps no backlog for another; streams (2-stream) do"
