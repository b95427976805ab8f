"""What each durability level means for JetStream, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from systems.deployment import Difference, level_of
from systems.settings import Settings

ALWAYS = "always"
IN_BACKGROUND = "2m"  # the server's own default


@dataclass(frozen=True)
class LevelSettings:
    """When servers sync what they write, and what the client counts as an acknowledgement."""

    sync_interval: str
    client: dict[str, str]


LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings(ALWAYS, {"acks": "stream"}),
    "2": LevelSettings(IN_BACKGROUND, {"acks": "stream"}),
    "none": LevelSettings(IN_BACKGROUND, {"acks": "none"}),
}

level_settings = partial(level_of, "nats", LEVELS)

_RAFT = "a stream of several copies is acknowledged when a quorum of them has the message: no setting lets its leader answer alone"

# The durabilities that it can't give, each with the reason.
CANNOT: dict[str, str] = {
    "2-bypass": "a stream's log can't be left out: its copies are kept alike by it, and level 2 is the counterpart",
    "3": f"{_RAFT} (a stream of one copy is replication_factor = 1, not this level)",
    "4": f"{_RAFT} (a stream of one copy is replication_factor = 1, not this level)",
    "4-bypass": f"{_RAFT}, and its log can't be left out",
}

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "whose acknowledgements a quorum needs",
        "those of the two fastest of three, the stream's leader among them (Raft). They may not hold when a stream's members change "
        "while servers fail, also with sync_interval=always (nats-server #7545, open): no member changes in a trial",
        "its latency, against systems that wait for every replica that is in sync",
        ("1", "2"),
    ),
    Difference(
        "what one flush covers",
        "sync_interval=always: one fsync for whatever has gathered in the log of one stream's replicas; nothing is shared between "
        "partitions. Since 2.15 that log alone is synced for each write, and the stream's own file isn't (nats-server #8447)",
        "itself, against systems that sync each append; systems with one journal for all partitions, increasingly with more partitions",
        ("1",),
    ),
    Difference(
        "where unflushed messages are",
        "in the page cache, where each replica's log writes them before it answers; the server syncs them every two minutes: they "
        "outlive the process, not the machine",
        "its safety, against systems that keep them in their own memory",
        ("2",),
    ),
    Difference(
        "what the disks write",
        "each message twice on each replica: to the log of the stream's replicas, and to the stream. A partition is a stream, with a "
        "Raft group of its own and one for each subscription; a server keeps all of them in one directory: further disks lie idle",
        "systems that write a message once, or on several disks, or to which a partition is cheap, increasingly with more partitions",
        ("1", "2", "none"),
    ),
    Difference(
        "how many requests a producer has in flight",
        "each message is a request of its own, as many as the window holds: there are no batches, and nothing waits for the workload's "
        "batch_delay_ms. They go to one server, drawn as the vendor's clients draw it, which passes them on to the streams' leaders",
        "its latency at low rates; at high ones systems that store and acknowledge a batch as one, and whose clients know the leaders",
        ("1", "2", "none"),
    ),
    Difference(
        "how much may be unacknowledged",
        "a window of messages per producer, the same for every system: a rate can't exceed window x producers / latency",
        "whichever system answers sooner, in a search for the highest rate",
        ("1", "2", "none"),
    ),
    Difference(
        "when a message counts as received",
        "when the client has read it from its socket; what is read at once gets the same time",
        "itself, slightly, where consumers lag: none waits for those before it",
        ("1", "2", "none"),
    ),
    Difference(
        "what no acknowledgement means",
        "a publish without a reply: the client reports success when it has written the message to its socket; no server has answered, "
        "and a stream that can't keep up drops messages silently",
        "itself: such latencies are the client's own and compare with nothing",
        ("none",),
    ),
)


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report. The same for any number of copies: a quorum follows from it."""
    del replication_factor
    return {
        name: {"server": {"jetstream.sync_interval": level.sync_interval}, "producer": level.client}
        for name, level in LEVELS.items()
    }
