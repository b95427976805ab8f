"""What Kafka's documentation says of acknowledged messages under faults."""

from __future__ import annotations

from systems.survival import OUTAGES, MakersWord

_ACKS = "https://kafka.apache.org/documentation/#producerconfigs_acks"
_FLUSH = "https://kafka.apache.org/documentation/#appvsosflush"

SURVIVAL: tuple[MakersWord, ...] = (
    MakersWord(
        (*OUTAGES, "replace"),
        "fewer than a quorum",
        ("1", "2"),
        True,
        "acks=all: not lost as long as one replica that was in sync stays alive",
        _ACKS,
    ),
    MakersWord(
        (*OUTAGES, "replace"),
        "fewer than a quorum",
        ("3", "4"),
        False,
        "acks=1: lost if the leader fails before its followers have copied it",
        _ACKS,
    ),
    MakersWord(
        ("kill",),
        "a quorum or more",
        ("2",),
        False,
        "durability comes from replication and not from syncing: a failed node recovers from its replicas",
        _FLUSH,
    ),
)
