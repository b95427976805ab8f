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

_EMPTY_PRIMARY = (
    "a primary that comes back without its data has its replicas empty themselves, too, and nothing fails over before; replace a "
    "follower"
)
# The faults that can't be done to it, each with the reason.
CANNOT_FAULT: dict[str, str] = {f"replace {role}": _EMPTY_PRIMARY for role in ("leader", "coordinator", "any", "all")}

_ALL = tuple(LEVELS)

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "whose acknowledgements a quorum needs",
        "the primary's and the fastest replica's. WAIT counts the replicas that have everything which the connection had written; "
        "it is no consensus: a replica may be made the primary that lacks acknowledged messages, and nothing keeps an old primary "
        "from taking more. Nothing fails over in a trial: without its primary the system is down",
        "its latency, against systems that wait for every replica in sync, and against those whose acknowledgement outlives a "
        "failover, which isn't measured here",
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
        "appendfsync=always: one fdatasync for what all connections and partitions have sent by the server's turn, of which it "
        "reads 16 KiB from each connection at a time; everything is in one file",
        "itself with many partitions and many producers; with one producer, systems that sync a whole batch of its size",
        ("1", "3"),
    ),
    Difference(
        "where unflushed messages are",
        "in the page cache, until the kernel writes them back (appendfsync=no): they outlive the process, not the machine. The "
        "server's default syncs every second, and acknowledges messages out of its own memory meanwhile, which these levels don't "
        "allow",
        "its safety, against systems that keep them in their own memory; its throughput, against those that sync every second",
        ("2", "4"),
    ),
    Difference(
        "what the disks write",
        "each message once on each node, to one file in the first data directory. All partitions are streams of one primary: they "
        "spread neither over disks nor over hosts nor over cores, one thread of one server runs all commands. Nothing is ever read "
        "from the disks: messages stay in memory, on all nodes, and a server that is full refuses more",
        "systems that spread partitions, wherever one core or one disk is too little; itself, where consumers lag, as long as "
        "memory holds everything",
        _ALL,
    ),
    Difference(
        "how many requests a producer has in flight",
        "with WAIT at most two batches on its connection, each of what it has gathered for all partitions; a batch is acknowledged "
        "as a whole, and the server goes on to the next one when this has its replicas. Without WAIT as many as the window of "
        "messages allows",
        "systems that acknowledge each message or partition by itself, at low rates; itself with many partitions, at high ones",
        _ALL,
    ),
    Difference(
        "how much may be unacknowledged",
        "a window of messages per producer, the same for every system: a rate can't exceed window x producers / latency. What a "
        "lost connection leaves without an answer is sent again, and the primary may have it twice",
        "whichever system answers sooner, in a search for the highest rate; systems that know what they have, where connections break",
        _ALL,
    ),
    Difference(
        "when a message counts as received",
        "when the client has read it from its socket; what is read at once gets the same time. The primary hands a message out as "
        "soon as it has it, before the replicas that its acknowledgement waits for. Each partition is read by one member of a "
        "subscription, by XREAD, and positions are taken down once a second; XREADGROUP, the vendor's way to share a stream, writes "
        "something for every read",
        "its end-to-end latency, against systems that hand out only what a quorum has",
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
