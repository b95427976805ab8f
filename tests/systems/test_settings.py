"""Settings: what differs, whole files and their settings, overrides, flags of running JVMs."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from provisioning.errors import DeploymentError
from systems.deployment import Plan, Topic
from systems.jvm.readback import flags_of, properties_told
from systems.jvm.rendering import jvm_flags, override_jvm_flags, override_properties, properties, size_bytes
from systems.registry import DURABILITY
from systems.rendering import render
from systems.settings import Drift, drift, joined, merged

RECORDED = Path(__file__).with_name("recorded")


def test_drift_names_altered_and_unknown_keys() -> None:
    """A different value and an absent key are drift; case of booleans and extra keys are not."""
    intended = {"broker": {"threads": "8", "flush": "true", "thraeds": "3"}}
    effective = {"broker": {"threads": "7", "flush": "True", "other": "1"}}
    assert drift(intended, effective) == (Drift("broker", "threads", "8", "7"), Drift("broker", "thraeds", "3", None))


def test_a_component_nobody_read_back_is_all_drift() -> None:
    """A process that wasn't asked can't pass."""
    assert drift({"broker": {"a": "1"}}, {}) == (Drift("broker", "a", "1", None),)


def test_a_template_without_its_variable_is_an_error() -> None:
    """No key is ever rendered empty because somebody forgot it."""
    with pytest.raises(jinja2.UndefinedError):
        render("kafka/templates/server.properties.j2")


def test_properties_are_read_as_servers_read_them() -> None:
    """Comments and blank lines are none; values keep their equal signs."""
    assert properties("# a=1\n\nb = 2\nc=d=e\nempty=\n") == {"b": "2", "c": "d=e", "empty": ""}


def test_an_override_replaces_in_place_or_is_appended() -> None:
    """An overridden key appears once; an unknown one is written too, for the read-back to judge."""
    text = override_properties("# why\na=1\nb=2\n", {"a": "9", "zz": "3"})
    assert text.splitlines()[:3] == ["# why", "a=9", "b=2"]
    assert properties(text) == {"a": "9", "b": "2", "zz": "3"}


def test_jvm_flags_are_named_and_valued_as_the_jvm_prints_them() -> None:
    """Sizes in bytes, switches as booleans, system properties left out."""
    text = "-XX:MaxHeapSize=512m\n-XX:+UseG1GC\n-XX:-UseNUMA\n-Dx=y\n# -XX:+No\n"
    assert jvm_flags(text) == {"MaxHeapSize": "536870912", "UseG1GC": "true", "UseNUMA": "false"}
    overridden = override_jvm_flags(text, {"MaxHeapSize": "1g", "UseG1GC": "false", "UseZGC": "true"})
    assert jvm_flags(overridden) == {
        "MaxHeapSize": str(2**30),
        "UseG1GC": "false",
        "UseNUMA": "false",
        "UseZGC": "true",
    }


def test_sizes() -> None:
    """A JVM size in bytes; anything else is refused."""
    assert [size_bytes(each) for each in ("1", "1k", "512m", "2G")] == [1, 1024, 2**29, 2**31]
    with pytest.raises(ValueError, match="5 apples"):
        size_bytes("5 apples")


def test_flags_of_a_running_jvm() -> None:
    """A JVM's answer, recorded: what was asked for is found in it."""
    flags = flags_of((RECORDED / "jvm-flags.txt").read_text())
    assert flags["MaxHeapSize"] == "536870912"
    assert flags["UseG1GC"] == "true"
    assert flags["THPStackMitigation"] == "false"
    assert flags["MaxGCPauseMillis"] == "20"


def test_system_properties_are_unescaped() -> None:
    """A JVM escapes colons as a properties file does."""
    found = properties_told((RECORDED / "zookeeper-system-properties.txt").read_text())
    assert found["zookeeper.server.2"] == "127.0.0.22:2888:3888"


def plan(**overrides: dict[str, str]) -> Plan:
    named = {key.replace("__", "/").replace("_", "-"): value for key, value in overrides.items()}
    return Plan(DURABILITY["1"], (Topic("t", 3),), {}, named)


def test_an_override_of_one_host_goes_before_that_of_its_kind() -> None:
    """ "broker" holds for all brokers, "broker/broker-1" for one."""
    asked = plan(broker={"a": "1", "b": "1"}, broker__broker_1={"a": "2"})
    assert asked.overrides_for("broker/broker-1") == {"a": "2", "b": "1"}
    assert asked.overrides_for("broker/broker-2") == {"a": "1", "b": "1"}


def test_an_override_of_nothing_is_refused() -> None:
    """A component that the system doesn't have is named with the nearest that it has."""
    with pytest.raises(DeploymentError, match=r"unknown component 'brokr'. Did you mean 'broker'"):
        plan(brokr={"a": "1"}).check_overrides({"broker/broker-1", "topic"})
    plan(broker={}, topic={}).check_overrides({"broker/broker-1", "topic"})


def test_every_system_has_a_client_to_set() -> None:
    """It is no process of the system, but the load generator's."""
    plan(client={"io_threads": "4"}).check_overrides({"broker/broker-1"})


def test_things_that_should_be_alike_show_their_difference() -> None:
    """A value that all share is theirs; one that differs is neither; what one of them lacks isn't known."""
    alike = [{"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4"}]
    assert joined(alike) == {"a": "1", "b": "2,4"}
    assert joined([]) == {}


def test_the_later_layer_wins_key_by_key() -> None:
    """What a campaign says goes over its profile, and the rest of the profile stays."""
    profile = {"broker": {"threads": "4", "io": "8"}, "client": {"acks": "all"}}
    assert merged(profile, {"broker": {"threads": "16"}}) == {
        "broker": {"threads": "16", "io": "8"},
        "client": {"acks": "all"},
    }
