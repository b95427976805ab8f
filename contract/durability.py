"""What an acknowledgement promises, by level. Each system declares the levels that it can give, and its variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Replication = Literal["sync", "async", "none"]
Local = Literal["sync", "async"]


@dataclass(frozen=True)
class Variant:
    """Another way in which one system keeps a level's promise. `words` describes it, as the end of a sentence.

    `in_memory`: what is acknowledged may be in the memory of the system's own processes alone. `write_amplification`: how often a
    host then writes each stored byte.
    """

    name: str
    words: str
    in_memory: bool
    write_amplification: float


@dataclass(frozen=True)
class Durability:
    """What an acknowledgement promises. `replication` sync = a quorum has it; `local` sync = it is on disk there.

    `level` is the promise's number, that of the 2020 report; 5 = nothing is acknowledged at all. A level and its variants
    promise the same.
    """

    name: str
    level: int
    replication: Replication
    local: Local
    variant: Variant | None = None


DEFAULT_REPLICATION_FACTOR = 3

LEVELS = (
    Durability("1", 1, "sync", "sync"),
    Durability("2", 2, "sync", "async"),
    Durability("3", 3, "async", "sync"),
    Durability("4", 4, "async", "async"),
    Durability("none", 5, "none", "async"),
)


def quorum_of(replication_factor: int) -> int:
    """How many copies a quorum has: more than half of them."""
    return replication_factor // 2 + 1


def variant_of(durability: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The variant in a trial.json's `durability`; None = the level as such. Results of samebox 0.1 knew one, as a flag."""
    if durability.get("bypass"):
        return {"name": "bypass", "words": "the journal bypassed", "in_memory": True}
    variant: Mapping[str, Any] | None = durability.get("variant")
    return variant


def contestant_of(system: str, durability: Mapping[str, Any]) -> str:
    """What is compared inside a cell: a system, or a system in one of its variants."""
    variant = variant_of(durability)
    return system if variant is None else f"{system}-{variant['name']}"
