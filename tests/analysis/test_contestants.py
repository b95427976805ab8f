"""In what contestants of one system differ, by what their trials recorded."""

from __future__ import annotations

from typing import Any

from analysis.campaign import Campaign, Trial
from analysis.contestants import ContestantDifference, contestant_differences

HOSTS = [{"name": "broker-1", "role": "broker", "address": "127.0.1.11", "root": "/srv/broker-1"}]


def trial(contestant: str, number: int, **changes: Any) -> Trial:
    """One of a contestant; `changes`: settings that were read back beside those intended, or keys of the document."""
    intended = {"broker/broker-1": {"threads": "8", "listen": "127.0.1.11:9092"}, **changes.pop("intended", {})}
    effective = {**intended, **changes.pop("effective", {})}
    document = {
        "system": "kafka",
        "contestant": contestant,
        "version": "4.3.1",
        "durability": {"name": "1", "level": 1},
        "workload": {"name": "steady", "rate_per_s": 100, "batch_delay_ms": 1, "backlog": None},
        "ended": "completed",
        "settings": {"intended": intended, "effective": effective},
        **changes,
    }
    return Trial(f"b{number:02d}-{contestant}", document)


def differences(*trials: Trial, same_as: str | None = None) -> list[ContestantDifference]:
    """Of a campaign with the contestants a and b."""
    declared = [{"name": "a", "system": "kafka", "same_as": None}, {"name": "b", "system": "kafka", "same_as": same_as}]
    manifest = {"definition": {"contestants": declared}, "testbed": {"hosts": HOSTS}}
    return contestant_differences(Campaign("results", manifest, trials, {}, ()))


def keys(found: ContestantDifference) -> tuple[list[str], list[str]]:
    """Those asked for, and those that came out by themselves."""
    return [each.key for each in found.asked], [each.key for each in found.by_itself]


def test_what_was_asked_for_is_told_with_both_values() -> None:
    """A setting, a key of the workload, and the version."""
    changed = {"broker/broker-1": {"threads": "16", "listen": "127.0.1.11:9092"}}
    workload = {"name": "steady", "rate_per_s": 100, "batch_delay_ms": 7, "backlog": None}
    [found] = differences(trial("a", 1), trial("b", 1, intended=changed, workload=workload, version="4.4.0"))
    assert keys(found) == (["threads", "version", "batch_delay_ms"], [])
    assert found.sentence == (
        "b differs from a in broker threads (8, 16), version (4.3.1, 4.4.0), workload batch_delay_ms (1, 7)."
    )


def test_other_defaults_are_told_apart_from_what_was_asked() -> None:
    """Nobody asked for them, and a reader must know them; what was asked for isn't told twice."""
    read = {"broker/broker-1": {"threads": "8", "listen": "127.0.1.11:9092", "linger": "5"}}
    other = {"broker/broker-1": {"threads": "8", "listen": "127.0.1.11:9092", "linger": "0"}}
    [found] = differences(trial("a", 1, effective=read), trial("b", 1, effective=other, version="4.4.0"))
    assert keys(found) == (["version"], ["linger"])
    assert "one setting has another value that the campaign doesn't ask for: broker linger (5, 0)" in found.sentence


def test_what_changes_from_trial_to_trial_is_no_difference() -> None:
    """An identifier that every start draws anew says nothing of the contestant."""
    trials = [
        trial(name, number, effective={"cluster": {"id": f"{name}{number}"}})
        for name in ("a", "b")
        for number in (1, 2)
    ]
    [found] = differences(*trials)
    assert keys(found) == ([], [])


def test_hosts_are_their_roles() -> None:
    """The same listener on another host's address is the same setting."""
    software = "/srv/broker-1/software/kafka-{}-0123456789abcdef/libs"
    ours, theirs = ({"jvm": {"archive": software.format(version)}} for version in ("4.3.1", "4.4.0"))
    [found] = differences(trial("a", 1, effective=ours), trial("b", 1, effective=theirs))
    assert keys(found) == ([], [])


def test_only_trials_of_one_cell_are_held_against_each_other() -> None:
    """At another level a contestant itself has other settings."""
    level = {"name": "2", "level": 2}
    flushed, not_flushed = ({"topic": {"flush": value}} for value in ("1", "never"))
    trials = [
        trial(name, number, intended=settings, durability=durability)
        for name in ("a", "b")
        for number, (settings, durability) in enumerate(((flushed, {"name": "1", "level": 1}), (not_flushed, level)))
    ]
    [found] = differences(*trials)
    assert keys(found) == ([], [])


def test_an_aborted_trial_has_no_say() -> None:
    """It may not have come to read anything back."""
    [found] = differences(trial("a", 1), trial("b", 1), trial("b", 2, ended="aborted", settings={}))
    assert keys(found) == ([], [])


def test_twins_that_differ_are_told() -> None:
    """Two that were to be the same, and aren't, compare something that nobody asked for."""
    [same] = differences(trial("a", 1), trial("b", 1), same_as="a")
    assert same.sentence == "b is the same as a under another name: none of their settings differs."
    [other] = differences(trial("a", 1), trial("b", 1, effective={"topic": {"x": "1"}}), same_as="a")
    assert other.sentence.startswith("b was asked to be the same as a; one setting has another value")


def test_systems_as_such_have_no_such_differences() -> None:
    """They differ in everything."""
    manifest = {"definition": {"systems": ["kafka"]}, "testbed": {"hosts": HOSTS}}
    assert contestant_differences(Campaign("results", manifest, (trial("a", 1),), {}, ())) == []
