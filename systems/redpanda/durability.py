"""What each durability level means for Redpanda, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from systems.deployment import Difference, level_of
from systems.kafka.client_differences import client_differences
from systems.settings import Settings

# The vendor's own defaults of what is flushed in the background, written out so that they are read back.
IN_BACKGROUND = {"flush.ms": "100", "flush.bytes": "262144"}
KEPT = {"retention.ms": "-1"}  # nothing is deleted while a trial runs


@dataclass(frozen=True)
class LevelSettings:
    """Whether a topic's writes are acknowledged out of memory (`write.caching`), and whose acknowledgement the producer waits for."""

    write_caching: str
    client: dict[str, str]

    @property
    def topic(self) -> dict[str, str]:
        """The topic's settings."""
        return {"write.caching": self.write_caching} | IN_BACKGROUND | KEPT


LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings("false", {"acks": "all"}),
    "2": LevelSettings("true", {"acks": "all"}),
    "4": LevelSettings("false", {"acks": "1"}),
    "none": LevelSettings("false", {"acks": "0"}),
}

level_settings = partial(level_of, "redpanda", LEVELS)

# The durabilities that it can't give, each with the reason.
CANNOT: dict[str, str] = {
    "2-bypass": "a partition's log can't be left out: it is the Raft log that keeps the copies alike, and level 2 is the counterpart",
    "3": "with acks=1 the leader answers before it has synced, and no setting makes it wait for its own disk alone",
    "4-bypass": "a partition's log can't be left out, and level 4 is the counterpart",
}

# The faults that can't be done to it, each with the reason.
CANNOT_FAULT: dict[str, str] = {
    "replace": "a broker whose disk is empty can't come back under its old node id: the vendor has it decommissioned, and another one "
    "added under a new id",
}

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "whose acknowledgements a quorum needs",
        "acks=all: those of the two fastest of three, the partition's leader among them (Raft)",
        "its latency, against systems that wait for every replica that is in sync",
        ("1", "2"),
    ),
    Difference(
        "whose acknowledgement alone is enough",
        "acks=1: always the partition's leader, however slow it is at the moment",
        "the latency of systems in which the fastest replica may answer",
        ("4",),
    ),
    Difference(
        "what one flush covers",
        "one flush of a partition's own log for all batches that have gathered meanwhile; nothing is shared between partitions",
        "itself, against systems that sync each append; systems with one journal for all partitions, increasingly with more partitions",
        ("1",),
    ),
    Difference(
        "where unflushed messages are",
        "in the broker's own memory, until it writes them after at most 100 ms or 256 KiB; it writes past the page cache. They don't "
        "outlive the process, let alone the machine",
        "its throughput and latency, against systems that have written what they acknowledge to the page cache",
        ("2", "4", "none"),
    ),
    Difference(
        "what the disks write",
        "each message once on each replica, in one directory: further disks of a host lie idle. Space is set aside ahead of the data, "
        "32 MiB for each partition",
        "systems that spread partitions over several disks; itself, against systems that also write a journal",
        tuple(LEVELS),
    ),
    *client_differences(LEVELS),
)


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report. The same for any number of copies: a quorum follows from it."""
    del replication_factor
    return {
        name: {"topic": {"write.caching": level.write_caching} | IN_BACKGROUND, "producer": level.client}
        for name, level in LEVELS.items()
    }
