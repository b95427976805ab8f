"""`samebox software`: the versions that there are, and what is typed wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.cli import software as commands
from bench.cli.main import samebox
from provisioning.cache import Notice
from provisioning.errors import InvalidInput
from systems.registry import SYSTEMS, release_of, releases_of
from systems.release import Release
from systems.software.added import add
from tests.bench.test_available import TOY
from tests.systems.test_software_added import release as archive


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is on this machine, and the project pins nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("SAMEBOX_HOME", str(tmp_path / "home"))
    return tmp_path / "xdg" / "samebox"


def typed(*words: str) -> None:
    """Runs the command line."""
    samebox.main(list(words), standalone_mode=False)


def test_the_list_has_every_version_of_every_system(capsys: pytest.CaptureFixture[str]) -> None:
    """With its default, who pins it, and that nothing is downloaded yet."""
    typed("software", "list", "--json")
    rows = json.loads(capsys.readouterr().out)
    assert [(row["system"], row["version"]) for row in rows] == [
        (system, release.version) for system in SYSTEMS for release in releases_of(system)
    ]
    assert [row["version"] for row in rows if row["default"] and row["system"] == "kafka"] == ["4.3.1"]
    assert {(row["pinned_by"], row["cached"]) for row in rows} == {("samebox", False)}


def test_the_table_says_what_the_json_does(capsys: pytest.CaptureFixture[str]) -> None:
    """And which system's archive is missing, with the command that adds it."""
    typed("software", "list")
    printed = capsys.readouterr()
    assert "kafka     4.3.1        default  samebox    not yet" in printed.out
    assert "kafka     3.9.1                 samebox    not yet" in printed.out
    assert (
        "redpanda: nothing of it can be fetched; samebox software add redpanda --file redpanda-*.tar.gz" in printed.err
    )


def test_an_archive_that_was_added_is_in_the_list(
    empty_cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the version that it says it is."""
    file = archive(tmp_path / "given", "1.0")
    monkeypatch.setitem(SYSTEMS, "toy", TOY)
    assert TOY.archive is not None
    add("toy", TOY.archive, file, empty_cache)
    typed("software", "list", "--json")
    [row] = [each for each in json.loads(capsys.readouterr().out) if each["system"] == "toy"]
    assert row == {
        "system": "toy",
        "version": "1.0",
        "default": True,
        "pinned_by": "its archive, which was added",
        "cached": True,
    }


def test_what_was_pinned_is_told_with_what_it_lacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is and that it belongs into version control, from which version the rest was taken over, and what is left out."""

    def pinned(system: str, version: str, cache_dir: Path, *, notice: Notice) -> Release:
        del cache_dir, notice
        return release_of(system, version)

    monkeypatch.setattr(commands, "pin", pinned)
    typed("software", "add", "kafka", "3.9.1")
    said = capsys.readouterr().err
    assert "kafka 3.9.1 is pinned in systems/kafka/software/3.9.1: commit it with the campaigns that name it." in said
    assert (
        "Left out of the broker's file, as this version doesn't know it: share.coordinator.state.topic.replication.factor"
        in said
    )


@pytest.mark.parametrize("words", [(), ("4.2.0", "--file", "x.tgz")])
def test_a_version_and_a_file_are_two_things(words: tuple[str, ...]) -> None:
    """Neither, or both, is told with what to type."""
    with pytest.raises(InvalidInput, match=r"software add kafka: give either a version or --file\.") as refusal:
        typed("software", "add", "kafka", *words)
    assert refusal.value.next_step == "samebox software add kafka VERSION, or samebox software add kafka --file FILE"
