"""What the documentation of Redpanda says of acknowledged messages under faults."""

from __future__ import annotations

from systems.survival import OUTAGES, MakersWord

_PRODUCERS = "https://docs.redpanda.com/current/develop/produce-data/configure-producers/"
_CACHING = "https://docs.redpanda.com/current/develop/config-topics/#configure-write-caching"

SURVIVAL: tuple[MakersWord, ...] = (
    MakersWord(
        (*OUTAGES, "replace"),
        "fewer than a quorum",
        ("1", "2"),
        True,
        "acks=all: acknowledged when a majority of the replicas has it, synced unless write caching is on",
        _PRODUCERS,
    ),
    MakersWord(
        (*OUTAGES, "replace"),
        "fewer than a quorum",
        ("4",),
        False,
        "acks=1: the leader answers before any follower has it",
        _PRODUCERS,
    ),
    MakersWord(
        ("kill",),
        "a quorum or more",
        ("2",),
        False,
        "write caching acknowledges what a majority has in memory, before it is synced",
        _CACHING,
    ),
)
