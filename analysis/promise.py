"""What an acknowledgement promises at a durability, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contract.durability import variant_of

_HOLDERS = {"sync": "a quorum of brokers has it", "async": "one broker has it"}
_WHERE = {"sync": "on disk", "async": "in memory or page cache"}


def promise(durability: Mapping[str, Any]) -> str:
    """One sentence about a trial.json's `durability`."""
    if not is_acknowledged(durability):
        return "nothing is acknowledged: a message counts when it has left the client, and no broker has answered"
    holders, where = _HOLDERS[durability["replication"]], _WHERE[durability["local"]]
    return f"acknowledged when {holders}, {where}{variant_words(durability)}"


def variant_words(durability: Mapping[str, Any]) -> str:
    """The end of a sentence about a durability: what its variant is; empty where it has none."""
    variant = variant_of(durability)
    return "" if variant is None else f", {variant['words']}"


def is_acknowledged(durability: Mapping[str, Any]) -> bool:
    """Whether a broker answers at all; if not, `acked_ns` is when the message left the client."""
    return bool(durability["replication"] != "none")
