"""What `samebox run --detach` refuses before it connects to anything."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.cli.main import samebox
from bench.run.equipped import SOFTWARE_STEP
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Inventory, TestbedRecord
from tests.orchestrator.folder_host import record
from tests.orchestrator.traces import write_campaign


def test_a_plan_longer_than_the_hosts_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would be there to notice that the hosts end in the middle."""
    monkeypatch.chdir(tmp_path)
    expires = (datetime.now(UTC) + timedelta(seconds=SOFTWARE_STEP.estimate_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    hosts = (record("broker-1", "broker", "/box"), record("client-1", "client", "/box"))
    inventory = Inventory(1, TestbedRecord("aws", "tiny"), "then", None, "no such key", hosts)
    file = tmp_path / "inventory.json"
    command = ["run", str(write_campaign(tmp_path, "kafka")), "--detach", "--inventory", str(file)]
    file.write_text(dataclasses.replace(inventory, expires=expires).to_json())
    with pytest.raises(InvalidInput, match="the hosts end at") as caught:
        samebox.main(command, standalone_mode=False)
    assert "samebox extend" in caught.value.next_step
    file.write_text(inventory.to_json())
    with pytest.raises(InvalidInput, match="no such key"):  # without a time to live it goes on, and looks at the hosts
        samebox.main(command, standalone_mode=False)
