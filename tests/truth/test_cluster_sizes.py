"""A campaign for another number of brokers and copies than three, as a user runs it: both keys reach every system's cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.checkout import CHECKOUT
from provisioning.vetting.thresholds import DEFAULT_THRESHOLDS
from tests.campaign.command import samebox

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(1800)]
SMOKE = CHECKOUT / "campaigns" / "smoke.toml"
SCHEDULED = 500 * 7  # rate x (warm-up + measurement) of campaigns/smoke.toml


@pytest.mark.parametrize(("brokers", "copies"), [(1, 1), (5, 3)])
def test_both_systems_run_on_so_many_brokers_with_so_many_copies(tmp_path: Path, brokers: int, copies: int) -> None:
    """All trials are valid, every message is stored once by the system's own count, and what runs has the quorum of its copies."""
    file = tmp_path / "sized.toml"
    keys = f"brokers = {brokers}\nreplication_factor = {copies}\n"
    file.write_text(SMOKE.read_text().replace("blocks = 1\n", f"blocks = 1\n{keys}"))
    kit, strict = DEFAULT_THRESHOLDS.read_text(), "reject_variation = 0.15"
    assert strict in kit
    lenient = tmp_path / "lenient.toml"  # these hosts share one disk with whatever else this machine does
    lenient.write_text(kit.replace(strict, "reject_variation = 10.0"))
    up = samebox(tmp_path, "up", "--brokers", str(brokers))
    assert up.returncode == 0, up.stderr
    try:
        vetted = samebox(tmp_path, "vet", "--thresholds", str(lenient))
        assert vetted.returncode == 0, vetted.stdout
        ran = samebox(tmp_path, "run", str(file), "--plain")
    finally:
        down = samebox(tmp_path, "down")
    assert (ran.returncode, down.returncode) == (0, 0), ran.stdout + ran.stderr
    results = tmp_path / "results" / "smoke"
    hosts = json.loads((results / "manifest.json").read_text())["testbed"]["hosts"]
    assert sum(host["role"] == "broker" for host in hosts) == brokers
    pulsar, kafka = (trial(results, name) for name in ("b01-1-pulsar-l2-steady", "b01-2-kafka-l2-steady"))
    for each in (pulsar, kafka):
        assert each["observations"]["messages_stored"] == SCHEDULED
        assert each["settings"]["drift"] == []
        assert len(each["observations"]["leaders"]) <= brokers
    quorum = copies // 2 + 1
    effective = kafka["settings"]["effective"]
    assert effective["topic/layout"]["replication.factor"] == str(copies)
    assert effective["topic"]["min.insync.replicas"] == str(quorum)
    namespace = pulsar["settings"]["effective"]["namespace"]
    assert [namespace[f"bookkeeper{of}"] for of in ("Ensemble", "WriteQuorum", "AckQuorum")] == [
        str(copies),
        str(copies),
        str(quorum),
    ]


def trial(results: Path, name: str) -> dict[str, Any]:
    """A trial's document."""
    document: dict[str, Any] = json.loads((results / "trials" / name / "trial.json").read_text())
    return document
