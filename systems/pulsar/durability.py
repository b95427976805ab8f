"""What each durability level means for Pulsar, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from contract.durability import Variant, quorum_of
from systems.deployment import Difference, level_of
from systems.settings import Settings

# How long an unsynced journal's pages may stay dirty. 1000 is the bookie's own default; the 2020 report sets it for its
# unsynced runs, as the counterpart of the kernel's write-back that Kafka relies on (SN20, 1.2 and 1.3).
PAGE_CACHE_FLUSH_MS = 1000
# How often a second a subscription's position is written down, replicated and synced as entries are. 1 is the vendor's default
# and what the published campaigns had; 0 would be no limit: as many writes again as there are acknowledgements of consumers.
CURSOR_WRITES_PER_S = "1.0"

BYPASS = Variant("bypass", "the journal bypassed", in_memory=True, write_amplification=1.0)


@dataclass(frozen=True)
class LevelSettings:
    """A level's settings: whether a quorum of the bookies that hold an entry must acknowledge it, or one, and what that means.

    `journal_write` False = the journal is bypassed: an entry is acknowledged from the bookie's memory.
    """

    by_quorum: bool
    journal_sync: bool
    journal_write: bool = True

    def ack_quorum(self, replication_factor: int) -> int:
        """How many bookies must have acknowledged."""
        return quorum_of(replication_factor) if self.by_quorum else 1

    def namespace(self, replication_factor: int) -> dict[str, str]:
        """The namespace's persistence policy: this, not the broker's default, is what a topic gets."""
        return {
            "bookkeeperEnsemble": str(replication_factor),
            "bookkeeperWriteQuorum": str(replication_factor),
            "bookkeeperAckQuorum": str(self.ack_quorum(replication_factor)),
            "managedLedgerMaxMarkDeleteRate": CURSOR_WRITES_PER_S,
        }

    def bookie(self) -> dict[str, str]:
        """The bookie's settings that make the difference."""
        return {
            "journalWriteData": str(self.journal_write).lower(),
            "journalSyncData": str(self.journal_sync).lower(),
            "journalPageCacheFlushIntervalMSec": str(PAGE_CACHE_FLUSH_MS),
        }


LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings(by_quorum=True, journal_sync=True),
    "2": LevelSettings(by_quorum=True, journal_sync=False),
    "2-bypass": LevelSettings(by_quorum=True, journal_sync=False, journal_write=False),
    "3": LevelSettings(by_quorum=False, journal_sync=True),
    "4": LevelSettings(by_quorum=False, journal_sync=False),
    "4-bypass": LevelSettings(by_quorum=False, journal_sync=False, journal_write=False),
}

level_settings = partial(level_of, "pulsar", LEVELS)

# The durabilities that it can't give, each with the reason.
CANNOT: dict[str, str] = {
    "none": "Pulsar acknowledges every message: its protocol has no counterpart of acks=0",
}

# The faults that can't be done to it, each with the reason.
CANNOT_FAULT: dict[str, str] = {
    "replace leader": "the leader of a partition is a broker, which keeps no data: kill it, or replace a follower, which is a bookie",
}

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "whose acknowledgements a quorum needs",
        "ack quorum 2 of write quorum 3: the fastest two of three bookies, which need not be the same two each time",
        "its latency: one slow disk or host doesn't show",
        ("1", "2", "2-bypass"),
    ),
    Difference(
        "whose acknowledgement alone is enough",
        "ack quorum 1 of write quorum 3: the fastest of three bookies",
        "its latency: two slow disks or hosts don't show",
        ("3", "4", "4-bypass"),
    ),
    Difference(
        "what one flush covers",
        "one fsync of the bookie's journal covers whatever all partitions sent within about 1 ms (journalMaxGroupWaitMSec)",
        "itself with many partitions; waiting for more messages costs it up to 1 ms where none come",
        ("1", "3"),
    ),
    Difference(
        "where unflushed messages are",
        "in the journal's pages, synced every 1000 ms, and in the bookie's memory: they outlive the process, not the machine",
        "systems that leave flushing to the kernel, which waits longer; here at most a second of messages is unflushed",
        ("2", "4"),
    ),
    Difference(
        "where unflushed messages are",
        "only in the bookie's own memory: a bookie that dies loses what it acknowledged even if the machine keeps running",
        "its latency and throughput, for a weaker promise than the page cache keeps",
        ("2-bypass", "4-bypass"),
    ),
    Difference(
        "what the disks write",
        "each message twice on each replica: the journal on the first data disk, ledgers on the last",
        "systems that write once; and its own reads, which don't disturb the journal",
        ("1", "2", "3", "4"),
    ),
    Difference(
        "what the disks write",
        "each message once on each replica; ledgers are spread over all data disks",
        "nobody",
        ("2-bypass", "4-bypass"),
    ),
    Difference(
        "how many requests a producer has in flight",
        "as many requests as the window of messages allows, each with one partition's batch",
        "itself with many partitions written at once; its brokers get more and smaller requests when they fall behind",
        tuple(LEVELS),
    ),
    Difference(
        "how much may be unacknowledged",
        "a window of messages per producer, the same for every system: a rate can't exceed window x producers / latency",
        "whichever system answers sooner, in a search for the highest rate",
        tuple(LEVELS),
    ),
    Difference(
        "when a message counts as received",
        "when its client library hands it over, one at a time; it is acknowledged after that",
        "systems whose clients hand over several at once, where consumers lag",
        tuple(LEVELS),
    ),
)


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report."""
    return {
        name: {"namespace": level.namespace(replication_factor), "bookie": level.bookie()}
        for name, level in LEVELS.items()
    }
