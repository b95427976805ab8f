"""The campaigns of a watch: several versions of one system in blocks, the anchor first among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.campaign.campaign_file import CAMPAIGN_SCHEMA
from bench.campaign.contestant import contestant_name
from contract.watch_history import History


def campaign_of_versions(
    history: History, versions: Sequence[str], *, name: str, question: str, blocks: int, seed: int
) -> dict[str, Any]:
    """The document of its campaign file. Order is random: with three or more, reversing it would always leave one in the middle."""
    contestants = [
        {"name": contestant_name(history.system, version), "system": history.system, "version": version}
        for version in (history.anchor, *versions)
    ]
    return {
        "schema": CAMPAIGN_SCHEMA,
        "name": name,
        "question": question,
        "seed": seed,
        "order": "random",
        "durability": [history.durability],
        "blocks": blocks,
        "contestants": contestants,
        "workloads": [dict(history.workload)],
    }
