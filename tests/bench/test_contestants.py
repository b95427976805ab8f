"""Contestants of a campaign: several settings, clients or variants of one system under names of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.campaign.blocks import blocks_of
from bench.campaign.campaign import Campaign
from bench.campaign.campaign_file import load_campaign
from bench.campaign.contestant import plain
from bench.campaign.contestant_differences import contestant_differences, told
from bench.campaign.cross_check import with_native_trials
from bench.campaign.order import empty_cells, order_of
from bench.campaign.prepared import plan_of, prepare
from bench.campaign.testbed_profile import load_profile
from bench.run.equipped import store_of
from bench.run.priming import PAYS_FROM_TRIALS, worth_priming
from provisioning.errors import InvalidInput
from provisioning.software.store import Store
from systems.registry import release_of, software
from systems.release import NO_FACTS, Facts, Release
from tests.bench.test_campaign import GOOD, refusal, write

BASE = GOOD.replace('systems = ["pulsar", "kafka"]\n', "")
OLD = '[[contestants]]\nname = "kafka"\nsystem = "kafka"\n'
NEW = '[[contestants]]\nname = "more-threads"\nsystem = "kafka"\nsettings.broker."num.io.threads" = "16"\n'


def text(*contestants: str, base: str = BASE) -> str:
    """A campaign file with these contestants."""
    return base + "".join(contestants)


def campaign(folder: Path, *contestants: str, base: str = BASE) -> Campaign:
    """What such a file says."""
    return load_campaign(write(folder, text(*contestants, base=base)))


def test_contestants_take_turns_like_systems(tmp_path: Path) -> None:
    """Blocks are reversed in turn, and trials are named and recorded by contestant; one that is its system as such as ever."""
    order = order_of(campaign(tmp_path, OLD, NEW))
    assert [(each.block, each.contestant.name, each.system) for each in order] == [
        (1, "kafka", "kafka"), (1, "more-threads", "kafka"), (2, "more-threads", "kafka"), (2, "kafka", "kafka"),
    ]  # fmt: skip
    assert [each.trial for each in order[:2]] == ["b01-1-kafka-l1-steady", "b01-2-more-threads-l1-steady"]
    assert [each.to_json().get("contestant") for each in order[:2]] == [None, "more-threads"]


def test_in_an_aa_block_one_contestant_takes_both_places(tmp_path: Path) -> None:
    """Not both contestants of one system: those are what is compared."""
    base = BASE.replace("blocks = 2", "blocks = 2\naa_blocks = 2")
    order = order_of(campaign(tmp_path, OLD, NEW, base=base))
    blocks = [block.number for block in blocks_of(2, 2) if block.kind == "A/A"]
    assert [[each.contestant.name for each in order if each.block == block] for block in blocks] == [
        ["kafka", "kafka"],
        ["more-threads", "more-threads"],
    ]


def test_systems_mean_one_contestant_each(tmp_path: Path) -> None:
    """The short form: each named as its system, and nothing of its own."""
    loaded = load_campaign(write(tmp_path, GOOD))
    assert loaded.compared == (plain("pulsar"), plain("kafka"))
    assert all(each.is_plain for each in loaded.compared)


def test_a_contestant_is_deployed_with_its_own_over_the_campaigns(tmp_path: Path) -> None:
    """Settings, memory and client, key by key; the other contestant has the campaign's alone."""
    own = NEW + "client.idempotence = false\n" + 'memory.broker.heap = "1g"\n'
    common = '[settings.kafka.broker]\n"num.io.threads" = "4"\n"num.network.threads" = "5"\n'
    loaded = campaign(tmp_path, OLD, own, common)
    plans = {spec.contestant.name: plan_of(spec, loaded, load_profile("local")) for spec in order_of(loaded)}
    assert plans["kafka"].overrides["broker"] == {"num.io.threads": "4", "num.network.threads": "5"}
    assert plans["more-threads"].overrides["broker"] == {"num.io.threads": "16", "num.network.threads": "5"}
    assert plans["more-threads"].overrides["client"] == {"idempotence": "false"}
    assert plans["more-threads"].memory["broker"] == {**plans["kafka"].memory["broker"], "heap": "1g"}


def test_a_client_sends_the_workload_in_its_own_way(tmp_path: Path) -> None:
    """Keys of a workload that are its client's differ; the load itself, and the cell that it is compared in, don't."""
    order = order_of(
        campaign(tmp_path, OLD, NEW.replace('settings.broker."num.io.threads" = "16"', "client.batch_delay_ms = 7"))
    )
    assert [(each.workload.name, each.workload.batch_delay_ms, each.workload.rate_per_s) for each in order[:2]] == [
        ("steady", 1, 1000),
        ("steady", 7, 1000),
    ]


def test_a_variant_runs_beside_its_level(tmp_path: Path) -> None:
    """At the same promise, so in the same cell; and where the system hasn't that variant of a level, its cell is empty."""
    variant = '[[contestants]]\nname = "no-journal"\nsystem = "pulsar"\nvariant = "bypass"\n'
    journal = '[[contestants]]\nname = "journal"\nsystem = "pulsar"\n'
    loaded = campaign(tmp_path, journal, variant, base=BASE.replace("durability = [1]", "durability = [2, 1]"))
    assert {(each.contestant.name, each.durability) for each in order_of(loaded)} == {
        ("journal", "2"), ("journal", "1"), ("no-journal", "2-bypass"),
    }  # fmt: skip
    assert [(cell.system, cell.durability) for cell in empty_cells(loaded)] == [("no-journal", "1")]


def test_native_trials_and_priming_go_by_contestant(tmp_path: Path) -> None:
    """Two contestants of a system are two: each is checked by the tools and primed by itself."""
    loaded = campaign(tmp_path, OLD, NEW, base=BASE.replace("blocks = 2", f"blocks = {PAYS_FROM_TRIALS}"))
    order = order_of(loaded)
    assert [each.contestant.name for each in worth_priming(order)] == ["kafka", "more-threads"]
    native = [each for each in with_native_trials(order, where="x") if each.generator == "native"]
    assert {each.contestant.name for each in native} == {"kafka", "more-threads"}


def test_the_manifest_names_the_one_key_that_differs(tmp_path: Path) -> None:
    """With both values; roles stand for hosts, and what both have in common isn't listed."""
    loaded = campaign(tmp_path, OLD, NEW)
    common = {"broker/broker-1": {"node.id": "1", "num.io.threads": "8"}, "topic": {"flush.messages": "1"}}
    changed = {**common, "broker/broker-1": {"node.id": "1", "num.io.threads": "16"}}
    found = contestant_differences(loaded, {"kafka": common, "more-threads": changed})
    key = {"component": "broker", "key": "num.io.threads", "first": "8", "second": "16"}
    assert found == [{"system": "kafka", "first": "kafka", "second": "more-threads", "keys": [key], "defaults": []}]
    assert told(found) == ["more-threads differs from kafka in broker num.io.threads (8, 16)."]


def test_versions_and_clients_are_differences_too(tmp_path: Path) -> None:
    """They are no settings of processes, and make all the difference; so do the defaults that nobody sets."""
    client = NEW.replace(
        'settings.broker."num.io.threads" = "16"', "client.batch_delay_ms = 7\nclient.idempotence = false"
    )
    loaded = campaign(tmp_path, OLD, client + 'version = "3.9.1"\n')
    [found] = contestant_differences(loaded, {each.name: {} for each in loaded.compared})
    assert {(each["component"], each["key"]): (each["first"], each["second"]) for each in found["keys"]} == {
        ("software", "version"): ("4.3.1", "3.9.1"),
        ("client", "idempotence"): (None, "false"),
        ("workload", "batch_delay_ms"): ("1", "7"),
    }
    assert "group.coordinator.threads" in {each["key"] for each in found["defaults"]}
    assert f"{len(found['defaults'])} recorded defaults differ" in told([found])[0]


def test_a_version_is_deployed_from_its_own_software(tmp_path: Path) -> None:
    """Two of them lie side by side in the store; where none is named, it is the system's own."""
    loaded = campaign(tmp_path, OLD, OLD.replace('name = "kafka"', 'name = "older"') + 'version = "3.9.1"\n')
    store = Store(tmp_path, software())
    versions = [store_of(each, store).version("kafka") for each in loaded.compared]
    assert versions == ["4.3.1", "3.9.1"]


def test_a_level_that_a_version_cannot_give_stays_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the version's own reason; the other version runs it."""
    facts = {"3.9.1": Facts(1, cannot={"1": "it forgets to flush"})}

    def with_facts(system: str, version: str | None) -> Release:
        return replace(release_of(system, version), facts=facts.get(version or "", NO_FACTS))

    monkeypatch.setattr("bench.campaign.campaign.release_of", with_facts)
    loaded = campaign(tmp_path, OLD, OLD.replace('name = "kafka"', 'name = "older"') + 'version = "3.9.1"\n')
    assert {each.contestant.name for each in order_of(loaded)} == {"kafka"}
    assert [(cell.system, cell.reason) for cell in empty_cells(loaded)] == [("older", "it forgets to flush")]


def test_the_version_that_is_meant_anyway_is_no_difference(tmp_path: Path) -> None:
    """Naming the default is naming nothing."""
    named = OLD.replace('name = "kafka"', 'name = "named"') + 'version = "4.3.1"\n'
    assert "contestants kafka and named don't differ in anything" in refusal(tmp_path, text(OLD, named))


def test_settings_that_a_version_does_not_have_are_refused_beforehand(tmp_path: Path) -> None:
    """Unknown keys and components, each with what is near, and before any testbed."""
    file = write(tmp_path, text(OLD, NEW.replace("num.io.threads", "num.io.treads")))
    with pytest.raises(InvalidInput, match=r"more-threads: setting 'num.io.treads' .* Did you mean 'num.io.threads'"):
        prepare(load_campaign(file), file, "local")
    file = write(tmp_path, text(OLD, NEW.replace("settings.broker.", "settings.brokr.")))
    with pytest.raises(
        InvalidInput, match=r"more-threads: settings for unknown component 'brokr'\. Did you mean 'broker'"
    ):
        prepare(load_campaign(file), file, "local")


def test_equals_are_refused_unless_they_are_meant(tmp_path: Path) -> None:
    """Who wants to see the noise under two names says so; and says it only of equals."""
    twin = OLD.replace('name = "kafka"', 'name = "again"')
    said = refusal(tmp_path, text(OLD, twin))
    assert "contestants kafka and again don't differ in anything" in said
    assert "same_as = 'kafka'" in said
    loaded = campaign(tmp_path, OLD, twin + 'same_as = "kafka"\n')
    assert [each.name for each in loaded.compared] == ["kafka", "again"]
    assert "again isn't the same as more-threads" in refusal(tmp_path, text(NEW, twin + 'same_as = "more-threads"\n'))
    ahead = twin + 'same_as = "more-threads"\n'
    assert "more-threads isn't the same as again" in refusal(tmp_path, text(ahead, NEW))
    assert "no other contestant is called 'kafkaa'" in refusal(tmp_path, text(OLD, twin + 'same_as = "kafkaa"\n'))


WRONG: dict[str, tuple[str, str]] = {
    "both forms": (GOOD.replace("[[workloads]]", f"{OLD}[[workloads]]"), "give either 'systems' or 'contestants'"),
    "an unknown system": (text(OLD.replace('system = "kafka"', 'system = "kafak"')), "'contestants.0.system': unknown system 'kafak'"),
    "a name twice": (text(OLD, NEW.replace("more-threads", "kafka")), "key 'contestants': kafka is listed twice"),
    "an unknown key": (text(OLD, NEW + 'heap = "1g"\n'), "unknown key 'contestants.1.heap'"),
    "an unknown profile": (text(NEW + 'profile = "fast"\n'), "'contestants.0.profile': unknown profile 'fast'"),
    "an unknown version": (text(NEW + 'version = "0.1"\n'), "'contestants.0.version': kafka 0.1 isn't pinned. Valid versions: 4.3.1"),
    "an unknown variant": (text(NEW + 'variant = "bypass"\n'), "unknown variant 'bypass'. Valid choices: none, kafka has no variants"),
    "an unknown client key": (text(NEW + "client.linger_ms = 5\n"), "client.linger_ms': unknown. Valid choices: batch_bytes"),
    "a client key of the wrong kind": (text(NEW + 'client.batch_delay_ms = "5"\n'), "contestants.0.client: key 'batch_delay_ms'"),
    "a client setting of the wrong kind": (text(NEW + 'client.idempotence = "maybe"\n'), "contestants.0.client.idempotence' = 'maybe'"),
    "a variant among the levels": (
        text(OLD, NEW, base=BASE.replace("durability = [1]", 'durability = ["2-bypass"]')),
        "'2-bypass' is a variant; among contestants, say variant = ... in those that have it",
    ),
    "a name that no file can have": (text(OLD.replace('name = "kafka"', 'name = "../x"')), "'contestants.0.name'"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path, what: str) -> None:
    """With file, key and what would be right, before anything starts."""
    wrong, sentence = WRONG[what]
    assert sentence in refusal(tmp_path, wrong)


def test_an_experiment_names_those_who_take_part(tmp_path: Path) -> None:
    """By contestant; names that the campaign hasn't are refused."""
    experiment = '[[experiments]]\nid = "E1"\ntitle = "t"\ndurability = [1]\ncontestants = ["more-threads"]\n'
    base = BASE.replace("durability = [1]\n", "").replace("[[workloads]]", f"{experiment}[[experiments.workloads]]")
    loaded = campaign(tmp_path, OLD, NEW, base=base)
    assert {each.contestant.name for each in order_of(loaded)} == {"more-threads"}
    wrong = base.replace('contestants = ["more-threads"]', 'contestants = ["fewer"]')
    assert "fewer is not one of the campaign's own: kafka, more-threads" in refusal(
        tmp_path, text(OLD, NEW, base=wrong)
    )
