"""What the documentation of Pulsar and BookKeeper says of acknowledged messages under faults."""

from __future__ import annotations

from systems.survival import OUTAGES, MakersWord

_PROTOCOL = "https://bookkeeper.apache.org/docs/development/protocol/"
_CONF = "conf/bookkeeper.conf of Pulsar 4.2.4"

SURVIVAL: tuple[MakersWord, ...] = (
    MakersWord(
        (*OUTAGES, "replace"),
        "fewer than a quorum",
        ("1", "2", "2-bypass"),
        True,
        "an entry is on as many bookies as the ack quorum has, its least replication: on 2, so that it outlives one of them",
        _PROTOCOL,
    ),
    MakersWord(
        (*OUTAGES, "replace"),
        "fewer than a quorum",
        ("3", "4", "4-bypass"),
        False,
        "an ack quorum of 1 is a least replication of one bookie",
        _PROTOCOL,
    ),
    MakersWord(
        ("kill",),
        "a quorum or more",
        ("2",),
        True,
        "without syncs the journal's entries are in the page cache, and at risk in a power failure",
        f"{_CONF}, journalSyncData",
    ),
)
