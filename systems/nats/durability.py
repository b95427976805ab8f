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
        "those of the two fastest of three, the stream's leader among them (Raft)",
        "its latency, against systems that wait for every replica that is in sync",
        ("1", "2"),
    ),
    Difference(
        "what one flush covers",
        "sync_interval=always: one fsync for whatever has gathered in the log of one stream's replicas; nothing is shared between "
        "partitions. From 2.15 on the stream's own file isn't synced for each write, only its log is (nats-server #8447); in "
        "earlier versions both were, and level 1 costs many times as much there",
        "itself, against systems that sync each append by itself; systems with one journal for all partitions, increasingly with "
        "more partitions",
        ("1",),
    ),
    Difference(
        "where unflushed messages are",
        "in the page cache, written there by the log of each replica before it answers; the server syncs every two minutes by itself: "
        "they outlive the process, not the machine",
        "its safety, against systems that keep them in their own memory",
        ("2",),
    ),
    Difference(
        "what the disks write",
        "each message twice on each replica: to the log of the stream's replicas and to the stream; a server keeps all of it in one "
        "directory, so further data disks lie idle",
        "systems that write a message once, or on several disks",
        ("1", "2", "none"),
    ),
    Difference(
        "what a partition is",
        "a topic of P partitions is P streams, each with a Raft group, a leader and a log of its own, and for each subscription a "
        "consumer with a Raft group again",
        "systems to which a partition is cheap, increasingly with more partitions",
        ("1", "2", "none"),
    ),
    Difference(
        "where a client's messages go first",
        "to any one server, which the client draws as the vendor's own clients do; that server passes them on to the leaders of their "
        "streams, and passes the answers back",
        "systems whose clients connect to each leader: one hop less for two of three messages",
        ("1", "2", "none"),
    ),
    Difference(
        "how messages are batched",
        "not at all: each is a message of its own to server and stream, whatever the workload's batch_delay_ms; what is ready at the "
        "same time is written to the socket together, and nothing waits for it",
        "its latency at low rates; the throughput of systems that handle, store and acknowledge a batch as one",
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
        "what survives a change of members",
        "an acknowledged message may be lost when members of a stream change while servers fail, also with sync_interval=always "
        "(nats-server #7545, open); no member changes in a trial",
        "systems whose acknowledgement holds then, too: this isn't measured here",
        ("1", "2"),
    ),
    Difference(
        "what no acknowledgement means",
        "a publish without a reply: the client reports success when it has written the message to its socket; no server has answered, "
        "and a stream that lags drops messages silently",
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
