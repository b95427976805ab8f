"""What is promised of Redpanda at every level, on real clusters, for whoever has the archive: make test-redpanda REDPANDA=FILE.

samebox's makers never ran these tests to their end: they had no archive.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from bench.campaign.order import order_of
from bench.campaign.prepared import prepare
from bench.progress import PlainReporter
from bench.proof.prove import proof_campaign, prove_level
from bench.run.equipped import equip
from provisioning.cache import user_cache
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.profile import profile_names
from systems.redpanda.system import REDPANDA
from systems.registry import software
from systems.settings import Settings
from tests.given import archives_of
from tests.strace import needs_strace
from tests.truth.test_every_level import start_and_compare

pytestmark = [pytest.mark.integration, pytest.mark.redpanda, pytest.mark.timeout(600)]
MESSAGES = 120


@pytest.mark.parametrize(
    ("durability", "profile"), [*zip(REDPANDA.levels, cycle(reversed(profile_names(REDPANDA.profiles))), strict=False)]
)
def test_what_the_level_and_the_profile_ask_for_is_what_runs(
    durability: str, profile: str, hosts: dict[str, SshHost]
) -> None:
    """Nothing differs from what was rendered: what a topic does with its writes, and no development mode, least of all."""
    start_and_compare("redpanda", durability, profile, hosts)


@pytest.fixture
def proof(hosts: dict[str, SshHost], tmp_path: Path) -> Callable[[str, Settings], dict[str, Any]]:
    """Proves a level, with settings over it: the cell of proof.json."""
    archives = archives_of("redpanda")

    def of(level: str, settings: Settings) -> dict[str, Any]:
        campaign = proof_campaign(["redpanda"], [level], MESSAGES, settings={"redpanda": settings})
        everyone, store, reporter = tuple(hosts.values()), Store(user_cache(), software(archives)), PlainReporter(print)
        equipped = equip(prepare(campaign, tmp_path, "local", given=archives), everyone, store, reporter)
        (spec,) = order_of(campaign)
        return prove_level(spec, MESSAGES, equipped, reporter, tmp_path / "evidence")

    return of


@needs_strace
def test_what_a_quorum_acknowledged_is_on_disk(proof: Callable[[str, Settings], dict[str, Any]]) -> None:
    """Level 1 is proven by every message, written and synced by asynchronous I/O on two nodes."""
    cell = proof("1", {})
    assert cell["verdict"] == "proven", cell["sentence"]
    assert (cell["evidence"]["acknowledged"], cell["evidence"]["unseen"]) == (MESSAGES, 0)


@needs_strace
def test_a_level_claimed_wrongly_is_caught(proof: Callable[[str, Settings], dict[str, Any]]) -> None:
    """Level 1 with its topic told to acknowledge out of memory."""
    cell = proof("1", {"topic": {"write.caching": "true"}})
    assert cell["verdict"] == "disproved", cell["sentence"]
    assert cell["evidence"]["unseen"] == 0


@needs_strace
@pytest.mark.parametrize("level", ["2", "4"])
def test_what_is_synced_anyway_is_not_claimed(proof: Callable[[str, Settings], dict[str, Any]], level: str) -> None:
    """Every message is acknowledged and arrives on enough nodes; that it waited for no disk isn't shown."""
    cell = proof(level, {})
    assert (cell["verdict"], cell["evidence"]["acknowledged"]) == ("not shown", MESSAGES)
    assert cell["sentence"].startswith(REDPANDA.untraced[level])
    assert sum(cell["evidence"]["arrived"][2 if level == "2" else 1 :]) == MESSAGES
