"""What each durability level means for Pulsar, as data. It decides nothing: the table is what the report prints."""

from __future__ import annotations

from dataclasses import dataclass

from provisioning.deployment import Durability
from provisioning.errors import UnsupportedDurability
from provisioning.settings import Settings


@dataclass(frozen=True)
class LevelSettings:
    """A level's settings: bookies that hold an entry, that must acknowledge it, and what their acknowledgement means."""

    ensemble: int
    write_quorum: int
    ack_quorum: int
    journal_sync: bool

    def namespace(self) -> dict[str, str]:
        """The namespace's persistence policy: this, not the broker's default, is what a topic gets."""
        return {
            "bookkeeperEnsemble": str(self.ensemble),
            "bookkeeperWriteQuorum": str(self.write_quorum),
            "bookkeeperAckQuorum": str(self.ack_quorum),
        }


LEVELS: dict[str, LevelSettings] = {
    "1": LevelSettings(ensemble=3, write_quorum=3, ack_quorum=2, journal_sync=True),
    "2": LevelSettings(ensemble=3, write_quorum=3, ack_quorum=2, journal_sync=False),
}

# Durabilities it hasn't, each with the reason.
CANNOT: dict[str, str] = {
    "none": "every message of a Pulsar producer is acknowledged: its protocol has nothing that corresponds to acks=0",
}


def durability_table() -> dict[str, Settings]:
    """Level -> component -> key -> value, for the report."""
    return {
        name: {"namespace": level.namespace(), "bookie": {"journalSyncData": str(level.journal_sync).lower()}}
        for name, level in LEVELS.items()
    }


def level_settings(durability: Durability) -> LevelSettings:
    """The table's row. Raises UnsupportedDurability naming the levels there are."""
    if durability.name not in LEVELS:
        raise UnsupportedDurability(
            f"pulsar can't be deployed at durability level {durability.name}.",
            next_step=f"Levels it has: {', '.join(LEVELS)}.",
        )
    return LEVELS[durability.name]
