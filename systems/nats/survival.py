"""What the documentation of NATS says of acknowledged messages under faults."""

from __future__ import annotations

from systems.survival import OUTAGES, MakersWord

_SYNC = "https://docs.nats.io/nats-concepts/jetstream#syncing-data-to-disk"

SURVIVAL: tuple[MakersWord, ...] = (
    MakersWord(
        OUTAGES,
        "fewer than a quorum",
        ("1", "2"),
        True,
        "of three replicas one may be lost without any loss of data",
        "https://docs.nats.io/learn/jetstream/surviving-node-loss",
    ),
    MakersWord(
        ("replace",),
        "fewer than a quorum",
        ("1", "2"),
        False,
        "a server that lost its data may form a majority with one that never had a message. Acknowledged records were lost when "
        "members change while servers fail, also with sync_interval=always: an open issue",
        f"{_SYNC}; nats-server #7545",
    ),
    MakersWord(
        ("kill",),
        "a quorum or more",
        ("2",),
        True,
        "writes are flushed to the operating system before they are acknowledged; several servers that fail at once may lose them if "
        "it is their operating systems that fail",
        _SYNC,
    ),
)
