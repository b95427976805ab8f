"""What each durability level means for Kafka, as data. It decides nothing: the table is what the report prints."""

from __future__ import annotations

from dataclasses import dataclass

from provisioning.deployment import Durability
from provisioning.errors import UnsupportedDurability
from provisioning.settings import Settings

# Long.MAX_VALUE, the broker's own default: it never asks for a flush. Written out so that the read-back proves it.
NEVER_FLUSH = "9223372036854775807"


@dataclass(frozen=True)
class LevelSettings:
    """A level's settings: of the topic, and of the producer in the neutral words of the load generator."""

    topic: dict[str, str]
    client: dict[str, str]


# flush.messages=1: fsync before a record is acknowledged, on the leader and on each in-sync follower.
LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings({"min.insync.replicas": "2", "flush.messages": "1"}, {"acks": "all"}),
    "2": LevelSettings({"min.insync.replicas": "2", "flush.messages": NEVER_FLUSH}, {"acks": "all"}),
}

# Durabilities it hasn't, each with the reason.
CANNOT: dict[str, str] = {
    "2-bypass": "Kafka has no journal beside its log that could be bypassed; its level 2 is the counterpart",
    "4-bypass": "Kafka has no journal beside its log that could be bypassed; its level 4 is the counterpart",
}


def durability_table() -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report."""
    return {name: {"topic": level.topic, "producer": level.client} for name, level in LEVELS.items()}


def level_settings(durability: Durability) -> LevelSettings:
    """The table's row. Raises UnsupportedDurability naming the levels there are."""
    if durability.name not in LEVELS:
        raise UnsupportedDurability(
            f"kafka can't be deployed at durability level {durability.name}.",
            next_step=f"Levels it has: {', '.join(LEVELS)}.",
        )
    return LEVELS[durability.name]
