"""What checks make of single hosts, by their instance types, and how the manifest has it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.campaign.choice import WHOLE
from bench.campaign.prepared import Prepared
from bench.campaign.testbed_profile import Check, HostRule, checks_for, checks_on, load_profile
from bench.run.equipped import equip
from provisioning.hosts.facts import Facts
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, Role, SshAddress


def record(role: Role, instance_type: str) -> HostRecord:
    """A host of that type."""
    ssh = SshAddress("192.0.2.1", 22, "bench", "ssh-ed25519 AAAA")
    return HostRecord(f"{role}-1", role, ssh, "192.0.2.1", "/srv", (), "i-1", instance_type, 1)


def on(kind: str, *hosts: HostRecord) -> dict[str, Check]:
    """The checks of that kind of testbed on these hosts, by name."""
    return {check.check: check for check in checks_on(load_profile(kind).checks, hosts)}


def test_a_burstable_metadata_host_is_not_judged_for_steal() -> None:
    """The smoke preset's: it has a fifth of its processors. A burstable client of somebody's own testbed is judged."""
    smoke = on("aws", record("broker", "i3en.large"), record("client", "m5n.large"), record("metadata", "t3.medium"))
    why = "t3.medium is burstable, and a metadata host carries neither messages nor load"
    assert smoke["steal"].hosts == {"metadata-1": HostRule(False, why)}
    assert on("inventory", record("client", "t3.medium"))["steal"].hosts == {}
    assert on("aws", record("metadata", "m5.large"))["steal"].hosts == {}


def test_network_allowances_come_with_what_the_types_have() -> None:
    """A reader sees whether a card was at its type's full bandwidth or out of credits."""
    hosts = on("aws", record("broker", "i3en.large"), record("client", "m5n.8xlarge"))["network-allowance"].hosts
    assert {name: rule.why for name, rule in hosts.items()} == {
        "broker-1": "i3en.large has up to 25 Gbit/s, of which 2.1 are there at all times",
        "client-1": "m5n.8xlarge has 25 Gbit/s at all times",
    }
    assert all(rule.judged for rule in hosts.values())


def test_nothing_is_peculiar_to_a_type_that_nobody_has_described() -> None:
    """Hosts of the local testbed, and own hosts of any name."""
    assert list(on("local", record("broker", "local")).values()) == list(load_profile("local").checks)


def test_a_campaign_that_is_equipped_has_the_checks_of_its_hosts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the manifest lists: a campaign's own bounds, and what is peculiar to the hosts that it got."""
    hosts = [ScriptedHost(record("metadata", "t3.medium"))]
    facts = Facts(None, None, 2**33, "6.18", None, None, "b", (), None, None)
    monkeypatch.setattr("bench.run.equipped.read_facts", lambda hosts: {host.name: facts for host in hosts})
    monkeypatch.setattr("bench.run.equipped.check_space", lambda *_: None)
    monkeypatch.setattr("bench.run.equipped.deploy_client", lambda *_: {})
    campaign: Any = SimpleNamespace(all_systems=(), compared=(), brokers=None, checks={"steal": {"share": 0.5}})
    profile = load_profile("aws")
    checks = checks_for(profile, campaign.checks, where="c.toml")
    prepared = Prepared(campaign, WHOLE, tmp_path / "c.toml", profile, checks, (), {})
    nobody: Any = SimpleNamespace(step=lambda _title: None, detail=lambda _text: None, way=None)
    equipped = equip(prepared, hosts, nobody, nobody)
    (steal,) = (check for check in equipped.prepared.checks if check.check == "steal")
    assert (steal.bounds, list(steal.hosts)) == ({"share": 0.5}, ["metadata-1"])


def test_the_manifest_says_reasons_and_hosts_where_there_are_any() -> None:
    """Every check that is as it was in earlier versions is written as it was."""
    checks = on("aws", record("metadata", "t3.medium"))
    assert set(checks["settings"].to_json()) == {"check", "axis", "on_failure", "bounds"}
    assert checks["steal"].to_json()["hosts"]["metadata-1"]["judged"] is False
    assert checks["clock"].to_json()["why_warn"].startswith("No bound is known")
