"""`samebox vet --replace` on a testbed whose disks are rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.hosts.inventory import load_inventory
from provisioning.vetting.thresholds import DEFAULT_THRESHOLDS
from tests.campaign.command import samebox

pytestmark = pytest.mark.integration


def test_rejected_hosts_are_replaced_as_often_as_allowed(home_with_testbed: Path, tmp_path: Path) -> None:
    """No disk here flushes in a microsecond: all four hosts are replaced once, rejected again, and then it stops and says so."""
    kit = DEFAULT_THRESHOLDS.read_text()
    strict = tmp_path / "strict.toml"
    # a busy host is only warned about: this must hold beside other tests, too
    changes = {"reject_p99_ms = 10.0": "reject_p99_ms = 0.001", "warn_busy_share = 0.20": "warn_busy_share = 1.0"}
    for ours, strictest in changes.items():
        assert ours in kit
        kit = kit.replace(ours, strictest)
    strict.write_text(kit)
    before = load_inventory(home_with_testbed / ".samebox" / "testbed" / "inventory.json")
    vet = samebox(home_with_testbed, "vet", "--replace", "--max-replacements", "5", "--thresholds", str(strict))
    assert vet.returncode == 2
    assert "reject" in vet.stdout
    assert "Replaced none of them: 1 of 5 replacements left." in vet.stderr
    after = load_inventory(home_with_testbed / ".samebox" / "testbed" / "inventory.json")
    assert [(host.name, host.generation) for host in after.hosts] == [(h.name, h.generation + 1) for h in before.hosts]
    assert {host.instance_id for host in after.hosts}.isdisjoint({host.instance_id for host in before.hosts})

    run = samebox(home_with_testbed, "run", "campaigns/smoke.toml", "--plain")
    assert run.returncode == 1
    assert "vetting rejected" in run.stderr
    assert not (home_with_testbed / "results").exists()
