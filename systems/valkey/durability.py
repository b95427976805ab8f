"""What each durability level means for Valkey, as data; the report prints the tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from contract.durability import quorum_of
from systems.deployment import Difference, level_of
from systems.settings import Settings

ALWAYS = "always"
EVERYSEC = "everysec"


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
    "2": LevelSettings(EVERYSEC, by_quorum=True),
    "3": LevelSettings(ALWAYS, by_quorum=False),
    "4": LevelSettings(EVERYSEC, by_quorum=False),
    "none": LevelSettings(EVERYSEC, by_quorum=False, replies=False),
}

level_settings = partial(level_of, "valkey", LEVELS)
DIFFERENCES: tuple[Difference, ...] = ()
CANNOT: dict[str, str] = {}


def durability_table(replication_factor: int) -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report."""
    return {
        name: {"server": {"appendfsync": level.appendfsync}, "producer": level.client(replication_factor)}
        for name, level in LEVELS.items()
    }
