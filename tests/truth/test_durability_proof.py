"""The durability proof on real clusters: every level is what it says, and a level that is claimed wrongly is caught."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.campaign.order import order_of
from bench.campaign.prepared import prepare
from bench.progress import PlainReporter
from bench.proof.prove import levels_to_prove, proof_campaign, prove_level
from bench.run.equipped import equip
from provisioning.cache import user_cache
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.kafka.durability import UNFLUSHED
from systems.nats.durability import IN_BACKGROUND
from systems.rabbitmq.durability import NO_SYNC as UNSYNCED
from systems.registry import SYSTEMS, software
from systems.settings import Settings
from tests.strace import needs_strace

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600), needs_strace]
MESSAGES = 120
Proof = Callable[[str, str, Mapping[str, Settings]], dict[str, Any]]
LEVELS = [
    (system, level)
    for system, own in SYSTEMS.items()
    if own.software
    for level in levels_to_prove()
    if level in own.levels
]
SLOW = ("pulsar", "rabbitmq")  # to start
# settings that take a level's sync away, while the level is claimed all the same
NO_SYNC: dict[str, Settings] = {
    "kafka": {"topic": UNFLUSHED},
    "nats": {"server": {"jetstream.sync_interval": IN_BACKGROUND}},
    "pulsar": {"bookie": {"journalSyncData": "false"}},
    "rabbitmq": {"ra": {"wal_sync_method": UNSYNCED}},
    "valkey": {"server": {"appendfsync": "no"}},
}


@pytest.fixture
def proof(hosts: dict[str, SshHost], tmp_path: Path) -> Proof:
    """Proves a level of a system, with settings over it: the cell of proof.json."""

    def of(system: str, level: str, settings: Mapping[str, Settings]) -> dict[str, Any]:
        campaign = proof_campaign([system], [level], MESSAGES, settings=settings)
        everyone, store, reporter = tuple(hosts.values()), Store(user_cache(), software()), PlainReporter(print)
        equipped = equip(prepare(campaign, tmp_path, "local"), everyone, store, reporter)
        (spec,) = order_of(campaign)
        return prove_level(spec, MESSAGES, equipped, reporter, tmp_path / "evidence")

    return of


@pytest.mark.truth
@pytest.mark.parametrize(("system", "level"), LEVELS)
def test_every_level_is_what_it_says(proof: Proof, tmp_path: Path, system: str, level: str) -> None:
    """Proven by every message, each seen on the nodes that it had to be on."""
    cell = proof(system, level, {})
    assert cell["verdict"] == "proven", cell["sentence"]
    evidence = cell["evidence"]
    assert (evidence["acknowledged"], evidence["unseen"]) == (MESSAGES, 0)
    assert len(evidence["sync_calls"]) == len(evidence["synced"]) - 1 == 3
    messages = json.loads((tmp_path / "evidence" / "messages.json").read_text())
    assert [message["sequence"] for message in messages] == list(range(MESSAGES))


@pytest.mark.parametrize(
    "system", [pytest.param(system, marks=pytest.mark.truth) if system in SLOW else system for system in NO_SYNC]
)
def test_a_level_claimed_wrongly_is_caught(proof: Proof, system: str) -> None:
    """Level 1 with its sync switched off: every message was stored, and none of them synced in time on enough nodes."""
    cell = proof(system, "1", {system: NO_SYNC[system]})
    assert cell["verdict"] == "disproved", cell["sentence"]
    evidence = cell["evidence"]
    assert evidence["unseen"] == 0
    assert sum(evidence["synced"][2:]) < 0.01 * MESSAGES
    assert sum(evidence["written"][2:]) == MESSAGES
