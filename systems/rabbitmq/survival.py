"""What the documentation of RabbitMQ says of acknowledged messages under faults."""

from __future__ import annotations

from systems.survival import OUTAGES, MakersWord

_QUEUES, _STREAMS = "https://www.rabbitmq.com/docs/quorum-queues", "https://www.rabbitmq.com/docs/streams#data-safety"

SURVIVAL: tuple[MakersWord, ...] = (
    MakersWord(
        OUTAGES,
        "fewer than a quorum",
        ("1",),
        True,
        "a quorum queue confirms what a quorum of nodes has written and flushed, and goes on while a majority of them is there",
        _QUEUES,
    ),
    MakersWord(
        OUTAGES,
        "fewer than a quorum",
        ("2-stream",),
        True,
        "confirmed once a quorum of the stream's replicas has it; what a single node loses is copied from the others",
        _STREAMS,
    ),
    MakersWord(
        ("kill",),
        "a quorum or more",
        ("2-stream",),
        False,
        "an uncontrolled shutdown may lose data that wasn't flushed: in theory also confirmed data",
        _STREAMS,
    ),
)
