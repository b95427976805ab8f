"""What each durability level means for Kafka, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from contract.durability import quorum_of
from systems.deployment import Difference, level_of
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
    Difference(
        "how many requests a producer has in flight",
        "at most five unanswered requests to each broker, and librdkafka puts one partition's batch into each, where the Java client "
        "puts those of all the broker's partitions: five batches for each broker at any time",
        "systems without such a limit, increasingly with more partitions written at once; with few partitions it keeps batches full",
        tuple(LEVELS),
    ),
    Difference(
        "how much may be unacknowledged",
        "a window of messages per producer, the same for every system, beside the five requests: a rate can't exceed "
        "window x producers / latency",
        "whichever system answers sooner, in a search for the highest rate",
        tuple(LEVELS),
    ),
    Difference(
        "when a message counts as received",
        "when librdkafka hands it over; where many are ready, up to 500 at once get the same time",
        "itself, slightly, where consumers lag: none of the 500 waits for those before it",
        tuple(LEVELS),
    ),
    Difference(
        "what no acknowledgement means",
        "acks=0: the client reports success when it has written the message to its socket; no broker has answered",
        "itself: such latencies are the client's own and compare with nothing",
        ("none",),
    ),
)


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report."""
    return {
        name: {"topic": level.topic(replication_factor), "producer": level.client} for name, level in LEVELS.items()
    }
