"""What each durability level means for Kafka, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from contract.durability import quorum_of
from systems.deployment import Difference, level_of
from systems.kafka.client_differences import client_differences
from systems.settings import Settings

# Long.MAX_VALUE, the broker's own default: it never asks for a flush. Written out so that the read-back proves it.
NEVER = "9223372036854775807"

# fsync before a record is acknowledged, on the leader and on each in-sync follower. flush.ms=0 is as published (SN20, 1.2);
# what would act on it is switched off by default (log.flush.scheduler.interval.ms), so flush.messages alone does the work.
FLUSHED = {"flush.messages": "1", "flush.ms": "0"}
UNFLUSHED = {"flush.messages": NEVER, "flush.ms": NEVER}


@dataclass(frozen=True)
class LevelSettings:
    """A level's settings: when a topic flushes, and the producer's in the neutral words of the load generator."""

    flushing: dict[str, str]
    client: dict[str, str]

    def topic(self, replication_factor: int) -> dict[str, str]:
        """The topic's settings. A quorum of replicas also where acks isn't "all", as published: it then only stops writes that
        lack one, and there are none to stop.
        """
        return {"min.insync.replicas": str(quorum_of(replication_factor))} | self.flushing


LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings(FLUSHED, {"acks": "all"}),
    "2": LevelSettings(UNFLUSHED, {"acks": "all"}),
    "3": LevelSettings(FLUSHED, {"acks": "1"}),
    "4": LevelSettings(UNFLUSHED, {"acks": "1"}),
    "none": LevelSettings(UNFLUSHED, {"acks": "0"}),
}

level_settings = partial(level_of, "kafka", LEVELS)

# The durabilities that it can't give, each with the reason.
CANNOT: dict[str, str] = {
    "2-bypass": "Kafka has no journal beside its log to bypass; its level 2 is the counterpart",
    "4-bypass": "Kafka has no journal beside its log to bypass; its level 4 is the counterpart",
}

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "whose acknowledgements a quorum needs",
        "acks=all: every replica that is in sync, so the slowest of three",
        "its safety (three copies where two were asked); the latency of systems that wait for fewer",
        ("1", "2"),
    ),
    Difference(
        "whose acknowledgement alone is enough",
        "acks=1: always the partition's leader, however slow it is at the moment",
        "the latency of systems in which the fastest replica may answer",
        ("3", "4"),
    ),
    Difference(
        "what one flush covers",
        "flush.messages=1: one fsync of the partition's own log per append; nothing is shared between partitions",
        "systems with one journal for all partitions, increasingly with more partitions",
        ("1", "3"),
    ),
    Difference(
        "where unflushed messages are",
        "in the page cache, until the kernel writes them back: they outlive the process, not the machine",
        "its safety, against systems that keep them in their own memory",
        ("2", "4"),
    ),
    Difference(
        "what the disks write",
        "each message once on each replica; partitions are spread over all data disks",
        "its throughput, against systems that also write a journal",
        ("1", "2", "3", "4", "none"),
    ),
    *client_differences(LEVELS),
)


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report."""
    return {
        name: {"topic": level.topic(replication_factor), "producer": level.client} for name, level in LEVELS.items()
    }
