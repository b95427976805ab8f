"""What each durability level means for RabbitMQ, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from contract.durability import Variant
from contract.workload import Workload
from systems.deployment import Difference, level_of
from systems.rabbitmq.topic_client import QUORUM, STREAM_TYPE, one_subscription
from systems.settings import Settings

DATASYNC, NO_SYNC = "datasync", "none"

# A stream never syncs, whatever is set: at level 2 it is the vendor's own way, beside queues that are told not to.
STREAM = Variant("stream", "streams in place of quorum queues", in_memory=False, write_amplification=1.0)


@dataclass(frozen=True)
class LevelSettings:
    """What a partition is, how the log of all quorum queues of a node is synced, and whether the client gets confirms."""

    queue_type: str
    wal_sync_method: str
    confirms: bool = True

    @property
    def client(self) -> dict[str, str]:
        """What the client is told."""
        return {"queue_type": self.queue_type, "confirms": str(self.confirms).lower()}


LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings(QUORUM, DATASYNC),
    "2": LevelSettings(QUORUM, NO_SYNC),
    "2-stream": LevelSettings(STREAM_TYPE, DATASYNC),
    "none": LevelSettings(QUORUM, DATASYNC, confirms=False),
}

level_settings = partial(level_of, "rabbitmq", LEVELS)

_RAFT = "queues and streams of several copies confirm when a quorum of them has the message: no setting lets one answer alone"

# The durabilities that it can't give, each with the reason.
CANNOT: dict[str, str] = {
    "2-bypass": "a quorum queue is its log, which can't be left out; level 2 is the counterpart",
    "3": f"{_RAFT} (one copy is replication_factor = 1, not this level)",
    "4": f"{_RAFT} (one copy is replication_factor = 1, not this level)",
    "4-bypass": f"{_RAFT}, and the log of a quorum queue can't be left out",
}

NO_COORDINATOR = (
    "no node decides for the cluster: its metadata (in Mnesia) are changed by all nodes together, and each queue's copies choose their "
    "own leader"
)
# The faults that can't be done to it, each with the reason.
CANNOT_FAULT: dict[str, str] = {"coordinator": f"{NO_COORDINATOR}; aim at the leader of a partition"}

_QUEUES = ("1", "2", "none")
_STREAMS = ("2-stream",)
_ALL = tuple(LEVELS)

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "whose acknowledgements a quorum needs",
        "those of the two fastest of three, the leader of the queue or stream among them",
        "its latency, against systems that wait for every replica that is in sync",
        ("1", "2", "2-stream"),
    ),
    Difference(
        "what one flush covers",
        "one fdatasync of a node's log covers whatever has gathered for all its quorum queues meanwhile, up to 4096 entries",
        "itself with many partitions, increasingly with more of them; with one, systems that sync a larger batch",
        ("1", "none"),
    ),
    Difference(
        "where unflushed messages are",
        "in the page cache: the log of all queues is written and never synced (ra's wal_sync_method none). This setting is **not "
        "documented by the vendor** and can't be recommended; RabbitMQ's own way to this promise is the stream",
        "its safety, against systems that keep them in their own memory; and systems whose vendors mean such a level",
        ("2",),
    ),
    Difference(
        "where unflushed messages are",
        "in the page cache: a stream is never synced by the server, at no setting. They outlive the process, not the machine",
        "its safety, against systems that keep them in their own memory",
        _STREAMS,
    ),
    Difference(
        "what the disks write",
        "each message once on each node to the log that all queues share, and again to the queue's segments unless it was read and "
        "acknowledged by then; a node keeps all of it in one directory: further disks lie idle",
        "itself where consumers keep up; systems that write once, or on several disks, where they lag",
        _QUEUES,
    ),
    Difference(
        "what the disks write",
        "each message once on each replica, to its stream's segments; all streams are in one directory: further disks lie idle",
        "itself, against systems that write twice; systems that use several disks",
        _STREAMS,
    ),
    Difference(
        "how many requests a producer has in flight",
        "each message is a request of its own, as many as the window holds: there are no batches, and nothing waits for the workload's "
        "batch_delay_ms. A producer has a connection to each node, and each partition goes by that of the node on which its leader was "
        "made, also if the leader moves; confirms come for one message or for all up to one",
        "its latency at low rates; at high ones systems that store and acknowledge a batch as one, and whose clients follow a leader",
        _ALL,
    ),
    Difference(
        "how much may be unacknowledged",
        "a window of messages per producer, the same for every system: a rate can't exceed window x producers / latency. What a "
        "lost connection leaves without an answer is sent again, and the queue may have it twice",
        "whichever system answers sooner, in a search for the highest rate; systems that know what they have, where connections break",
        _ALL,
    ),
    Difference(
        "when a message counts as received",
        "when the client has read it from its socket; what is read at once gets the same time. **A queue forgets a message that its "
        "consumer has acknowledged**: each acknowledgement goes through the queue's log as the message did, and a topic has one "
        "subscription",
        "systems whose consumers only move a position; itself, which never has to keep what was read",
        _QUEUES,
    ),
    Difference(
        "when a message counts as received",
        "when the client has read it from its socket; what is read at once gets the same time. A stream keeps what was read, and over "
        "AMQP 0-9-1 no position of a subscription: who connects anew begins with the first message",
        "itself, slightly: consumers write nothing",
        _STREAMS,
    ),
    Difference(
        "what no acknowledgement means",
        "a channel without confirms: the client reports success when it has written the message to its socket; no node has answered. "
        "The queue is the vendor's default all the same: replicated and synced, only nobody waits for it",
        "other systems, which sync nothing at this level; such latencies are the client's own and compare with nothing",
        ("none",),
    ),
)


def cannot_load(durability: str, workload: Workload) -> str | None:
    """Why a workload can't be run at one of the levels; None = it can."""
    return one_subscription(LEVELS[durability].queue_type, workload)


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report. The same for any number of copies: a quorum follows from it."""
    del replication_factor
    return {
        name: {
            "topic": {"x-queue-type": level.queue_type},
            "ra": {"wal_sync_method": level.wal_sync_method},
            "producer": {"confirms": str(level.confirms).lower()},
        }
        for name, level in LEVELS.items()
    }
