"""System profiles and durability tables over all systems: every cell is either given or refused with a reason, nothing is lost."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

from bench.campaign.campaign import Campaign
from bench.campaign.campaign_file import load_campaign
from bench.campaign.contestant import plain
from bench.campaign.order import TrialSpec
from bench.campaign.prepared import plan_of
from bench.campaign.system_settings import (
    all_profiles,
    changed_promises,
    differences,
    durability_table,
    own_values,
    profile_caveats,
    profile_of,
    wrong_client_settings,
)
from bench.campaign.testbed_profile import load_profile
from contract.workload import Workload
from provisioning.errors import InvalidInput
from systems.jvm.rendering import size_bytes
from systems.profile import SystemProfile, profile_names, system_profile
from systems.registry import DURABILITY, SYSTEMS
from tests.bench.test_campaign import GOOD, refusal, write

PUBLISHED = [(name, profile) for name, system in SYSTEMS.items() for profile in profile_names(system.profiles)]
GIBIBYTE = 2**30


def spec(system: str, durability: str = "1") -> TrialSpec:
    """A trial of this cell."""
    workload = Workload("steady", 100, 1024, 1.0)
    return TrialSpec(f"b01-1-{system}-l{durability}-steady", 1, 1, plain(system), durability, workload, "E1")


def campaign(folder: Path, text: str) -> Campaign:
    """A campaign file with these lines before its workloads."""
    return load_campaign(write(folder, GOOD.replace("[[workloads]]", f"{text}\n[[workloads]]")))


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_durability_is_given_or_refused_with_a_reason(system: str) -> None:
    """No name is in both tables; only another system's variants may be in neither, and they have a reason all the same."""
    own = SYSTEMS[system]
    can, cannot = set(own.levels), set(own.cannot)
    others = {each.name for each in DURABILITY.values() if each.variant is not None} - can
    assert can | cannot | others == set(DURABILITY)
    assert not can & cannot
    assert all(own.why_not(name) for name in DURABILITY.keys() - can)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_durability_has_its_differences(system: str) -> None:
    """Whoever compares two systems at a level reads at least who acknowledges there and what the disks write."""
    about = {name: [each for each in SYSTEMS[system].differences if name in each.durability] for name in DURABILITY}
    for name in SYSTEMS[system].levels:
        assert len(about[name]) >= 2, name
        aspects = [each.aspect for each in about[name]]
        assert len(aspects) == len(set(aspects)), name
    assert not any(about[name] for name in SYSTEMS[system].cannot)


def test_differences_are_read_aspect_by_aspect() -> None:
    """Both systems' rows about one thing stand beside each other, and only about levels that were run."""
    found = differences([(system, "1") for system in SYSTEMS])
    aspects = [entry["aspect"] for entry in found]
    assert [aspects.count(each) for each in dict.fromkeys(aspects)] == [len(SYSTEMS)] * len(set(aspects))
    assert aspects == [each for each in dict.fromkeys(aspects) for _ in SYSTEMS]
    assert {name for entry in found for name in entry["durability"]} == {"1"}


@pytest.mark.parametrize(("system", "profile"), PUBLISHED)
def test_profiles_set_what_the_client_has(system: str, profile: str) -> None:
    """Every file reads, and every client setting in it is one that the client knows, of its kind."""
    found = system_profile(SYSTEMS[system].profiles, profile)
    assert found.source
    assert wrong_client_settings({system: found.settings}) == []
    assert all(found.not_set.values())


@pytest.mark.parametrize(("system", "profile"), PUBLISHED)
def test_published_sizes_fit_into_their_hosts(system: str, profile: str) -> None:
    """A quarter of the smallest such host is left to the page cache, and caches fit into the memory beside the heap."""
    large = system_profile(SYSTEMS[system].profiles, profile).large_hosts
    if large is None:
        return
    sizes = [size_bytes(size) for each in large.memory.values() for size in each.values()]
    assert sum(sizes) <= 0.75 * large.least_memory_bytes
    for process, settings in large.settings.items():
        megabytes = sum(int(value) for key, value in settings.items() if key.endswith("CacheMaxSizeMb"))
        assert megabytes * 2**20 <= size_bytes(large.memory.get(process, {}).get("direct", "0"))


@pytest.mark.parametrize("profile", ["sn2020", "sn2022"])
def test_no_message_waits_for_a_check_every_few_milliseconds(profile: str) -> None:
    """The setting that the 2020 report calls the main cause of an earlier campaign's latencies is in both campaigns' profiles."""
    key = "managedLedgerNewEntriesCheckDelayInMillis"
    assert profile_of("pulsar", profile, None).settings["broker"][key] == "0"


def test_small_hosts_have_the_testbeds_sizes_and_it_is_said() -> None:
    """Published sizes reach hosts of the published size; elsewhere each is listed with the reason, and there is a caveat."""
    small, large = (profile_of("pulsar", "sn2020", gib * GIBIBYTE) for gib in (8, 62))
    assert "dbStorage_writeCacheMaxSizeMb" not in small.settings["bookie"]
    assert small.memory == {}
    assert "bookie.dbStorage_writeCacheMaxSizeMb=2048" in small.left_out
    assert "broker.heap=8g" in small.left_out
    assert large.settings["bookie"]["dbStorage_writeCacheMaxSizeMb"] == "2048"
    assert large.memory["broker"] == {"heap": "8g", "direct": "16g"}
    assert not large.left_out
    assert profile_of("pulsar", "sn2020", None).left_out == small.left_out  # unknown counts as small
    [caveat] = profile_caveats([("pulsar", "sn2020")], 8 * GIBIBYTE)
    assert "60 GiB or more" in caveat
    assert profile_caveats([("pulsar", "sn2020")], 62 * GIBIBYTE) == []


def test_a_system_without_the_profile_has_its_vendors_defaults_and_it_is_said() -> None:
    """Nobody published anything for it under that name."""
    assert "brokers-bench" not in profile_names(SYSTEMS["pulsar"].profiles)
    assert profile_of("pulsar", "brokers-bench", None).name == "vendor-default"
    [caveat] = profile_caveats([("kafka", "brokers-bench"), ("pulsar", "brokers-bench")], None)
    assert caveat == "pulsar has no profile brokers-bench: it runs with the vendor's own defaults"


def test_an_unknown_profile_names_the_choices(tmp_path: Path) -> None:
    """A misspelt profile would be a published campaign without its settings."""
    said = refusal(tmp_path, GOOD.replace("seed = 7", 'seed = 7\nsystem_profile = "sn2021"'))
    assert "key 'system_profile': unknown profile 'sn2021'" in said
    assert "Valid choices: brokers-bench, sn2020, sn2022, vendor-client, vendor-default." in said
    assert all_profiles() == ("brokers-bench", "sn2020", "sn2022", "vendor-client", "vendor-default")
    with pytest.raises(InvalidInput, match=r"There are: brokers-bench"):
        system_profile(SYSTEMS["kafka"].profiles, "sn2021")


def test_the_campaigns_settings_go_over_the_profiles(tmp_path: Path) -> None:
    """Key by key: what the campaign doesn't name stays the profile's; memory that a profile doesn't publish stays the testbed's."""
    lines = [
        "[settings.kafka.broker]",
        '"num.network.threads" = "4"',
        "[settings.kafka.client]",
        'in_flight_requests = "1"',
    ]
    asked = dataclasses.replace(campaign(tmp_path, "\n".join(lines)), system_profile="sn2020")
    plan = plan_of(spec("kafka"), asked, load_profile("aws").for_hosts(62 * GIBIBYTE))
    assert plan.overrides["broker"]["num.network.threads"] == "4"
    assert plan.overrides["broker"]["num.replica.fetchers"] == "8"
    assert plan.overrides["client"] == {"in_flight_requests": "1", "max_partition_fetch_bytes": "1048576"}
    assert plan.memory["broker"] == {"heap": "6g"}
    assert plan.memory["controller"] == {"heap": "1g"}


def test_what_is_not_the_vendors_is_listed_as_it_runs() -> None:
    """Ours with the value of this plan; none that runs with the vendor's; and what the campaign itself asks for."""
    bookie = {"journalMaxSizeMB": "2048", "diskUsageThreshold": "0.97", "numReadWorkerThreads": "16"}
    asked = {"pulsar": {"bookie": {"numReadWorkerThreads": "16", "diskUsageThreshold": "0.97"}}, "kafka": {}}
    found = own_values({"pulsar": "pulsar"}, {"pulsar": {"bookie/broker-1": bookie, "bookie/broker-2": {}}}, asked)
    listed = {each["key"]: (each["component"], each["value"], each["vendor"]) for each in found["pulsar"]}
    assert "journalMaxSizeMB" not in listed
    assert listed["diskUsageThreshold"] == ("bookie", "0.97", "0.95")
    assert listed["numReadWorkerThreads"] == ("bookie", "16", None)
    assert listed["useV2WireProtocol"] == ("bookie", None, "true")
    assert found.keys() == {"pulsar"}


def test_client_settings_are_checked_before_anything_starts(tmp_path: Path) -> None:
    """Unknown ones, those of the wrong kind, and acks, which is what the durability level means."""
    wrong = '[settings.kafka.client]\nacks = "0"\nidempotence = "yes"\nin_flight_requests = "five"\n'
    said = refusal(tmp_path, GOOD.replace("[[workloads]]", f"{wrong}[[workloads]]"))
    assert "'settings.kafka.client.acks': unknown client setting" in said
    assert "idempotence, in_flight_requests, max_partition_fetch_bytes" in said
    assert "idempotence' = 'yes': expected true or false" in said
    assert "in_flight_requests' = 'five': expected a whole number" in said


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_clients_defaults_say_what_kind_a_value_is(system: str) -> None:
    """Each default is a number or a boolean, or no value could be checked by it."""
    defaults = importlib.import_module(SYSTEMS[system].client_module).SETTINGS
    assert defaults
    assert all(value.isdecimal() or value in ("true", "false") for value in defaults.values())


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_vendors_do_when_brokers_break_is_one_key_away(system: str) -> None:
    """Each system has the profile; what clients do otherwise under faults, it takes back, with values of the right kind."""
    client = SYSTEMS[system].client
    assert "vendor-client" in profile_names(SYSTEMS[system].profiles)
    own = profile_of(system, "vendor-client", None).settings.get("client", {})
    assert client.UNDER_FAULTS.keys() <= own.keys() <= client.SETTINGS.keys()
    assert wrong_client_settings({system: {"client": own}}) == []


def test_a_promise_that_settings_change_is_said() -> None:
    """The table shows what was run, and the difference to what the level's name means is a sentence."""
    cells = [(plain("kafka"), "2"), (plain("kafka"), "4"), (plain("pulsar"), "2-bypass")]
    overrides = {"kafka": profile_of("kafka", "brokers-bench", None).settings}
    table = durability_table(cells, overrides, 3)
    assert table["kafka"]["2"]["topic"]["min.insync.replicas"] == "1"
    assert changed_promises(cells, overrides, 3) == [
        "kafka: topic min.insync.replicas is 1, where durability 2 means 2",
        "kafka: topic min.insync.replicas is 1, where durability 4 means 2",
    ]
    assert changed_promises(
        cells, {"pulsar": {"bookie/broker-2": {"journalWriteData": "true", "flushInterval": "1"}}}, 3
    ) == ["pulsar: bookie/broker-2 journalWriteData is true, where durability 2-bypass means false"]
    assert changed_promises(cells, {"kafka": {"topic": {"min.insync.replicas": "2"}}}, 3) == []
    assert "lz4" not in str(
        durability_table([(plain("kafka"), "2")], {"kafka": {"topic": {"compression.type": "lz4"}}}, 3)
    )


def test_a_profile_without_sizes_leaves_nothing_out() -> None:
    """Hosts of any size have all of it."""
    found = SystemProfile(1, "a page", {"broker": {"a": "1"}}).on_hosts("x", None)
    assert (found.settings, found.memory, found.left_out) == ({"broker": {"a": "1"}}, {}, {})
