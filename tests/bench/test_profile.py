"""Profiles: the checks a campaign is judged by, declared before it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.campaign import testbed_profile
from bench.campaign.testbed_profile import checks_for, load_profile
from bench.run.equipped import memory_per_broker
from provisioning.errors import InvalidInput
from provisioning.hosts.facts import Facts
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from systems.jvm.rendering import size_bytes
from systems.registry import SYSTEMS


def test_a_campaign_overrides_a_bound() -> None:
    """The campaign's bound replaces the profile's, the other checks stay."""
    profile = load_profile("local")
    checks = {check.check: check for check in checks_for(profile, {"send-delay": {"p99_ms": 5}}, where="c.toml")}
    assert checks["send-delay"].bounds == {"p99_ms": 5}
    assert len(checks) == len(profile.checks)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"send-dealy": {"p99_ms": 5}}, "unknown check. Valid choices: backlog-read, brokers-kept"),
        ({"send-delay": {"p99_s": 5}}, "unknown bound. Valid choices: p99_ms"),
        ({"settings": {"p99_ms": 5}}, "none, this check has no bound"),
    ],
)
def test_unknown_checks_and_bounds_are_refused(overrides: dict[str, dict[str, float]], words: str) -> None:
    """A misspelt check would never be evaluated; it is refused with the valid ones."""
    with pytest.raises(InvalidInput) as caught:
        checks_for(load_profile("local"), overrides, where="c.toml")
    assert words in str(caught.value)


def test_a_check_of_another_kind_of_testbed_is_called_so() -> None:
    """It isn't misspelt: the sentence says which testbeds have it, and how such a one is named."""
    with pytest.raises(InvalidInput, match="only testbeds of kind aws and rehearsal have this check") as caught:
        checks_for(load_profile("local"), {"network-allowance": {"packets": 5}}, where="c.toml")
    assert "--stack NAME" in caught.value.next_step


def test_unknown_testbed_kind_names_the_kinds() -> None:
    """A testbed without a profile is refused before anything starts."""
    with pytest.raises(InvalidInput, match="Valid kinds: aws, inventory, local, rehearsal"):
        load_profile("moon")


def test_a_profile_cannot_misspell_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bounds would hold for nothing."""
    monkeypatch.setattr(testbed_profile, "PROFILES", tmp_path)
    (tmp_path / "moon.toml").write_text(
        "schema = 1\nfull_disk_bytes = 1\n[checks]\nsteel = { bounds = { share = 0.1 } }\n"
    )
    with pytest.raises(InvalidInput, match=r"moon\.toml: unknown checks: steel\. Valid choices: send-delay, settings"):
        load_profile("moon")


ONLY_WARN = ["steady-disks", "steady-state"]


@pytest.mark.parametrize(
    ("kind", "warning"),
    [("aws", ["network-allowance", "clock", *ONLY_WARN]), ("inventory", ONLY_WARN)],
)
def test_hosts_of_their_own_are_judged_strictly(kind: str, warning: list[str]) -> None:
    """Every check of the local testbed, on AWS of its network, too; none with a wider bound; nothing gives way to the load. What
    warns is of disks that have changed since the first probe (which trials that touched nobody can know), of trials that weren't steady
    (they tell of the system all the same), and on AWS what has no known bound, with the reason."""
    strict = {check.check: check for check in load_profile(kind).checks}
    local = {check.check: check for check in load_profile("local").checks}
    assert strict.keys() - local.keys() == ({"network-allowance"} if kind == "aws" else set())
    assert local.keys() <= strict.keys()
    assert [name for name, check in strict.items() if check.on_failure == "warn"] == warning
    for name in set(warning).difference(ONLY_WARN):
        assert strict[name].why_warn.startswith("No bound is known")
    for name in ("send-delay", "steal", "clock", "client-cpu", "steady-state"):
        assert all(bound <= local[name].bounds[key] for key, bound in strict[name].bounds.items())
    assert load_profile(kind).daemon_niceness == 0


@pytest.mark.parametrize(
    ("gib", "broker_heap"), [(None, "512m"), (8, "512m"), (15, "2g"), (31, "2g"), (62, "6g"), (124, "6g"), (186, "16g")]
)
def test_memory_follows_the_smallest_broker(gib: int | None, broker_heap: str) -> None:
    """i3en.large to 6xlarge as the kernel shows them: each gets the largest class that it reaches."""
    memory = SYSTEMS["kafka"].memory.for_hosts(None if gib is None else gib * 2**30)
    assert memory["broker"] == {"heap": broker_heap}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_class_fits_into_its_hosts(system: str) -> None:
    """All processes together leave a quarter of the smallest host of the class to the page cache; the smallest fit 2 GiB."""
    for each in SYSTEMS[system].memory.classes:
        sizes = [size for name, one in each.memory.items() if name != "controller" for size in one.values()]
        assert sum(size_bytes(size) for size in sizes) <= 0.75 * each.least_bytes or each.least_bytes == 0
        assert each.least_bytes or sum(size_bytes(size) for size in sizes) <= 2 * 2**30


@pytest.mark.parametrize("kind", ["local", "rehearsal"])
def test_hosts_that_share_a_machine_have_a_fixed_part_of_it(kind: str) -> None:
    """However large the machine is: the smallest class of every system."""
    bytes_ = load_profile(kind).for_hosts(2**40).system_memory_bytes
    assert all(system.memory.for_hosts(bytes_) == system.memory.for_hosts(None) for system in SYSTEMS.values())


def test_hosts_on_one_machine_share_its_memory() -> None:
    """Three broker hosts with one boot id have a third each; the smallest counts; one that doesn't tell makes it unknown."""

    def broker(name: str) -> ScriptedHost:
        ssh = SshAddress("127.0.0.1", 22, "bench", "ssh-ed25519 AAAA")
        return ScriptedHost(HostRecord(name, "broker", ssh, "127.0.0.1", "/srv", (), name, "t", 1))

    def facts(boot_id: str, memory_bytes: int | None) -> Facts:
        return Facts(None, None, memory_bytes, "6.1", None, None, boot_id, (), None, None)

    hosts = [broker("a"), broker("b"), broker("c")]
    assert memory_per_broker(hosts, {name: facts("one", 24) for name in "abc"}) == 8
    assert memory_per_broker(hosts, {"a": facts("1", 24), "b": facts("2", 16), "c": facts("3", 24)}) == 16
    assert memory_per_broker(hosts, {"a": facts("1", 24), "b": facts("2", None), "c": facts("3", 24)}) is None


def test_a_rehearsal_is_judged_as_aws_but_for_what_one_machine_brings_about() -> None:
    """Every check of AWS, on the same axis; those of the machine warn, and no page is without the word."""
    aws = {check.check: check for check in load_profile("aws").checks}
    played = {check.check: check for check in load_profile("rehearsal").checks}
    assert {name: each.axis for name, each in aws.items()} == {name: each.axis for name, each in played.items()}
    changed = {name for name, check in aws.items() if check != played[name]}
    of_machine = {"send-delay", "steal", "network-allowance", "client-cpu", "foreign-load", "cpu-pressure"}
    assert changed == {*of_machine, "steady-state"}
    assert {played[name].on_failure for name in changed} == {"warn"}
    assert any("rehearsal" in caveat for caveat in load_profile("rehearsal").caveats)
