"""What the documentation of Valkey says of acknowledged messages under faults."""

from __future__ import annotations

from systems.survival import OUTAGES, MakersWord

_WAIT, _AOF = "https://valkey.io/commands/wait/", "https://valkey.io/topics/persistence/"

SURVIVAL: tuple[MakersWord, ...] = (
    MakersWord(
        OUTAGES,
        "fewer than a quorum",
        ("1", "2"),
        False,
        "WAIT makes no strongly consistent store: where a replica is made the primary, acknowledged writes may be lost. Here none is "
        "made one: a primary comes back with the file that it appended to",
        _WAIT,
    ),
    MakersWord(
        ("kill",),
        "a quorum or more",
        ("1", "3"),
        True,
        "appendfsync=always: written and synced to the file before the replies are sent",
        _AOF,
    ),
)
