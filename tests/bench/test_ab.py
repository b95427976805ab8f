"""`samebox ab`: what it makes of a line, and what it says to a wrong one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import order_of
from bench.campaign.prepared import Prepared
from bench.campaign.two_contestants import STEADY, Asked, campaign_of, contestants
from bench.cli import ab as command
from bench.cli import one_line
from bench.cli.campaign import Manner
from bench.cli.outcome import Outcome
from provisioning.errors import InvalidInput


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Prepared, Manner]]:
    """Takes the place of running: what would be run."""
    runs: list[tuple[Prepared, Manner]] = []

    def run(prepared: Prepared, tarballs: Mapping[str, Path], how: Manner) -> Outcome:
        assert not tarballs
        runs.append((prepared, how))
        return Outcome.DONE

    monkeypatch.setattr(one_line, "whole_local_campaign", run)
    monkeypatch.setattr(one_line, "STATE", tmp_path)
    monkeypatch.setattr(command, "require_spark", lambda: None)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    return runs


def typed(*words: str) -> str:
    """What is printed, or the error of a wrong line."""
    try:
        return CliRunner().invoke(command.ab, words, catch_exceptions=False, standalone_mode=False).output
    except InvalidInput as error:
        return f"{error} {error.next_step}"


def test_a_setting_makes_a_second_contestant(started: list[tuple[Prepared, Manner]]) -> None:
    """Its name says what it is; the system as such is the other one; both run in every block."""
    typed("kafka", "--set", "broker.num.io.threads=16", "--blocks", "6", "--durability", "2")
    [(prepared, _)] = started
    one, other = prepared.campaign.compared
    assert (one.name, one.settings) == ("kafka-num.io.threads-16", {"broker": {"num.io.threads": "16"}})
    assert other.is_plain
    assert [(each.block, each.contestant.name) for each in prepared.trials[:2]] == [(1, one.name), (1, other.name)]
    assert len(prepared.trials) == 12
    assert {each.durability for each in prepared.trials} == {"2"}


def test_its_file_can_be_run_again(started: list[tuple[Prepared, Manner]]) -> None:
    """It is a campaign file like any other, and gives the same trials."""
    typed(
        "pulsar",
        "--client",
        "batch_delay_ms=5",
        "--client",
        "io_threads=2",
        "--memory",
        "broker.heap=512m",
        "--blocks",
        "6",
    )
    [(prepared, _)] = started
    assert order_of(load_campaign(prepared.campaign_file)) == prepared.trials
    one = tomllib.loads(prepared.campaign_file.read_text())["contestants"][0]
    assert one == {
        "name": "pulsar-changed",
        "system": "pulsar",
        "client": {"batch_delay_ms": 5, "io_threads": 2},
        "memory": {"broker": {"heap": "512m"}},
    }


def test_a_workload_of_ones_own(started: list[tuple[Prepared, Manner]], tmp_path: Path) -> None:
    """Called by its file."""
    file = tmp_path / "My load.toml"
    file.write_text("rate_per_s = 500\nmessage_bytes = 64\nmeasure_s = 2\n")
    typed("nats", "--set", "server.write_deadline=7s", "--workload", str(file))
    [(prepared, _)] = started
    assert [(each.name, each.rate_per_s) for each in prepared.campaign.workloads] == [("my-load", 500)]


def test_few_blocks_are_run_all_the_same(started: list[tuple[Prepared, Manner]]) -> None:
    """Who tries something out is told beforehand that it won't decide."""
    assert "3 blocks are too few for a verdict, which takes 6" in typed(
        "kafka", "--set", "broker.num.io.threads=16", "--blocks", "3"
    )
    assert len(started) == 1


def test_without_a_blocks_option_nothing_is_too_few(started: list[tuple[Prepared, Manner]]) -> None:
    """The default can give a verdict."""
    assert "too few" not in typed("kafka", "--set", "broker.num.io.threads=16")
    assert len(started) == 1


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown system": (("kafak",), "SYSTEM: unknown 'kafak'. Did you mean 'kafka'?"),
    "nothing that differs": (("kafka",), "that would compare kafka with itself. Name two versions"),
    "three versions": (("kafka", "1", "2", "3"), "two versions can be compared, not 3"),
    "an unknown level": (("kafka", "--set", "broker.x=1", "--durability", "7"), "--durability: unknown '7'"),
    "a setting without a component": (("kafka", "--set", "x=1"), "--set x=1: expected COMPONENT.KEY=VALUE, such as broker."),
    "a setting without a value": (("kafka", "--set", "broker.x"), "--set broker.x: expected COMPONENT.KEY=VALUE"),
    "a setting twice": (("kafka", "--set", "broker.x=1", "--set", "broker.x=2"), "--set: x is given twice"),
    "a client key without a value": (("kafka", "--client", "linger"), "--client linger: expected KEY=VALUE"),
    "an unknown client key": (("kafka", "--client", "linger=5"), "contestants.0.client.linger': unknown"),
    "an unknown profile": (("kafka", "--profile", "fast"), "contestants.0.profile': unknown profile 'fast'"),
    "a workload that isn't there": (("kafka", "--set", "broker.x=1", "--workload", "no.toml"), "no.toml: no such file"),
    "a level that it can't give": (("nats", "--set", "server.x=1", "--durability", "3"), "none of its trials can run"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_every_mistake_gets_its_sentence(what: str, started: list[tuple[Prepared, Manner]]) -> None:
    """And nothing is started."""
    words, sentence = WRONG[what]
    assert sentence in typed(*words)
    assert started == []


def test_versions_and_settings_at_once_are_refused() -> None:
    """Nobody could tell which of both made a difference."""
    with pytest.raises(InvalidInput, match="which of both made a difference"):
        contestants(Asked("kafka", ("4.3.1", "4.4.0"), {"broker": {"a": "1"}}))


def test_the_newer_version_is_asked_about() -> None:
    """So that its ratio is over the other one's; settings at one version are at that for both."""
    one, other = contestants(Asked("kafka", ("4.3.1", "4.4.0")))
    assert (one["name"], one["version"]) == ("kafka-4.4.0", "4.4.0")
    assert (other["name"], other["version"]) == ("kafka-4.3.1", "4.3.1")
    one, other = contestants(Asked("kafka", ("4.4.0",), {"broker": {"a": "1"}}))
    assert (one["version"], other["version"]) == ("4.4.0", "4.4.0")
    assert one["name"] != other["name"]


def test_names_are_such_as_files_can_have() -> None:
    """Whatever the values are."""
    value: Any = {"broker": {"log.dirs": "/a b/Ä" + "x" * 90}}
    document = campaign_of(Asked("kafka", (), value), STEADY, durability="1", blocks=1, aa_blocks=0, seed=1)
    assert document["name"].replace("-", "").isalnum()
    assert document["name"].isascii()
    assert len(document["name"]) <= 64
