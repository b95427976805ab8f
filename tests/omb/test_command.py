"""`samebox plan --omb` as a user types it, with the mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.checkout import CHECKOUT
from bench.cli.main import samebox
from bench.cli.terminal import shown
from bench.omb.mapping import ALWAYS
from provisioning.errors import InvalidInput
from systems.registry import SYSTEMS
from tests.omb.files import write

DEMO = str(CHECKOUT / "campaigns" / "demo.toml")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where campaigns are written that were made from workload files."""
    monkeypatch.setattr("bench.cli.omb.STATE", tmp_path / "state")
    return tmp_path / "state"


def typed(*words: str | Path) -> None:
    """What `samebox` does with these words."""
    samebox.main([str(word) for word in words], standalone_mode=False)


def test_the_plan_of_a_workload_file(tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every system by default, but for those whose archive isn't there, once, at level 1; the campaign it became is named."""
    typed("plan", "--omb", write(tmp_path, producerRate=0, subscriptionsPerTopic=1), "--json")
    output = capsys.readouterr()
    trials = json.loads(output.out)["trials"]
    there = [name for name, system in SYSTEMS.items() if system.software]
    assert [trial["trial"] for trial in trials] == [f"b01-{at}-{name}-l1-steady" for at, name in enumerate(there, 1)]
    (written,) = state.glob("omb/*/campaign.toml")
    assert f"As samebox understands it: {shown(written)}" in output.err


def test_what_the_files_do_not_say_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Systems, durability, blocks and seed are options."""
    options = ["--systems", "kafka", "--durability", "1,2", "--blocks", "2", "--seed", "9"]
    typed("plan", "--omb", write(tmp_path, "a.yaml"), write(tmp_path, "b.yaml"), *options, "--json")
    trials = json.loads(capsys.readouterr().out)["trials"]
    found = {(trial["system"], trial["durability"], trial["workload"]["name"], trial["block"]) for trial in trials}
    assert found == {("kafka", level, name, block) for level in "12" for name in "ab" for block in (1, 2)}


def test_a_large_file_fits_this_machine_by_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenMessaging Benchmark's files are for large machines: 512 GiB become 128 MiB, and hours minutes."""
    large: dict[str, Any] = {
        "topics": 1,
        "producerRate": 200_000,
        "consumerBacklogSizeGB": 512,
        "subscriptionsPerTopic": 1,
    }
    typed("plan", "--omb", write(tmp_path, **large), "--systems", "kafka", "--scale", "local", "--json")
    (trial,) = json.loads(capsys.readouterr().out)["trials"]
    workload = trial["workload"]
    assert (workload["rate_per_s"], workload["measure_s"]) == (2000, 12)
    assert workload["backlog"]["size_bytes"] == 512 * 2**30 // 4000


def test_mistakes_are_answered_with_what_to_type(tmp_path: Path) -> None:
    """A file of the wrong kind, an option that a campaign file has itself, a system that there isn't."""
    file = write(tmp_path)
    for words, said in (
        (["plan", file], "a campaign is a TOML file"),
        (["plan", "--omb", DEMO], "a campaign of samebox's own"),
        (["plan", DEMO, "--blocks", "2"], "--blocks is for --omb"),
        (["plan", DEMO, DEMO], "one campaign at a time"),
        (
            ["plan", "--omb", file, "--systems", "cafka"],
            f"--systems: unknown 'cafka'. Valid choices: {','.join(SYSTEMS)}",
        ),
        (["plan", "--omb", file, "--systems", "kafka,kafka"], "kafka is listed twice"),
        (["plan", "--omb", file, "--durability", "9"], "--durability: unknown '9'. Valid choices: 1,2,"),
        (["plan", "--omb", tmp_path / "stead.yaml"], "no such file"),
        (
            ["plan", "--omb", file, "--systems", "kafka", "--durability", "2-bypass"],
            "kafka at level 2-bypass: Kafka has no journal",
        ),
    ):
        with pytest.raises(InvalidInput) as caught:
            typed(*words)
        assert said in str(caught.value)


def test_a_run_says_what_it_does_in_another_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything else, also before it finds that no testbed is up."""
    nothing = tmp_path / "inventory.json"
    with pytest.raises(InvalidInput, match="no such file"):
        typed("run", "--omb", write(tmp_path, producerRate=0), "--inventory", nothing)
    said = capsys.readouterr().err
    assert ALWAYS in said
    assert "producerRate 0: samebox searches" in said


def test_a_campaign_file_is_planned_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --omb the one file is a campaign."""
    typed("plan", DEMO, "--json")
    assert json.loads(capsys.readouterr().out)["campaign"] == "demo"
