"""Systems whose software can't be fetched: added by a command, and where they aren't, absent from campaigns with the reason."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bench.campaign.available import of_what_is_there, untried
from bench.campaign.campaign import Campaign
from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import empty_cells, order_of
from bench.campaign.prepared import prepare
from bench.cli.doctor import findings_here
from bench.cli.main import samebox
from provisioning.cache import sha256_of
from provisioning.errors import InvalidInput, MissingRequirement
from systems.kafka.system import KAFKA
from systems.registry import SYSTEMS, lacking, software
from systems.software.release_jars import read_tarball
from tests.bench.test_choice import manifest
from tests.systems.test_software_added import release

COMMAND = "samebox software add toy --file toy-*.tgz"
TOY = dataclasses.replace(
    KAFKA, software=(), archive=partial(read_tarball, "toy"), archive_name="toy-*.tgz", untried="Its own is a toy."
)
CAMPAIGN = """
schema = 1
name = "two"
question = "Which?"
seed = 1
systems = ["toy", "kafka"]
blocks = 2
{experiments}
"""
WORKLOAD = """
[[experiments.workloads]]
name = "{name}"
rate_per_s = 500
message_bytes = 100
measure_s = 3
"""
ALL = f'[[experiments]]\nid = "all"\ntitle = "All"\ndurability = [1, 3]\n{WORKLOAD.format(name="steady")}'
OWN = f'[[experiments]]\nid = "own"\ntitle = "Own"\ndurability = [1]\nsystems = ["toy"]\n{WORKLOAD.format(name="own")}'


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A system of which nothing is pinned, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setitem(SYSTEMS, "toy", TOY)
    yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A campaign that compares it."""
    path = tmp_path / "two.toml"
    path.write_text(CAMPAIGN.format(experiments=ALL + OWN))
    return path


def typed(*words: str | Path) -> None:
    """Runs the command line."""
    samebox.main([str(word) for word in words], standalone_mode=False)


def test_without_its_archive_its_cells_are_empty_with_the_command(file: Path) -> None:
    """In every experiment that asks for it, also one of its own; the others run, as if it weren't named."""
    campaign = of_what_is_there(load_campaign(file), given=())
    cells = {(cell.experiment, cell.system): cell for cell in empty_cells(campaign)}
    assert cells.keys() == {("all", "toy"), ("own", "toy")}
    for cell in cells.values():
        assert cell.durability is None
        assert cell.reason == f"the archive of toy isn't here, and it can't be fetched: {COMMAND}"
    assert {(trial.experiment, trial.system) for trial in order_of(campaign)} == {("all", "kafka")}
    assert campaign.systems == ("kafka",)


def test_with_its_archive_the_campaign_is_as_it_says(file: Path) -> None:
    """Nothing of it is changed."""
    campaign = load_campaign(file)
    assert of_what_is_there(campaign, given=["toy"]) == campaign


def test_a_campaign_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    """With what to do."""
    file = tmp_path / "own.toml"
    file.write_text(CAMPAIGN.format(experiments=OWN))
    with pytest.raises(MissingRequirement, match="none of its trials can run: toy: the archive of toy") as refusal:
        prepare(load_campaign(file), file, "local")
    assert refusal.value.next_step == COMMAND


def test_what_was_added_is_there_for_every_later_command(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan has its trials, and says either way that it was never run."""
    typed("plan", file, "--json")
    without = json.loads(capsys.readouterr().out)
    archive = release(tmp_path / "given", "1.0")
    typed("software", "add", "toy", "--file", archive)
    said = capsys.readouterr().err
    assert f"toy 1.0, SHA-256 {sha256_of(archive)}, kept as" in said and "Its own is a toy." in said
    typed("plan", file, "--json")
    having = json.loads(capsys.readouterr().out)
    assert {trial["system"] for trial in without["trials"]} == {"kafka"}
    assert {trial["system"] for trial in having["trials"]} == {"kafka", "toy"}
    assert without["untried"] == having["untried"] == [{"system": "toy", "what": "Its own is a toy."}]
    typed("plan", file)
    assert "Never run by samebox's makers: toy. Its own is a toy." in capsys.readouterr().out


def test_the_doctor_tells_what_to_add_and_what_was_never_run(tmp_path: Path) -> None:
    """Neither counts as missing: all other systems run without it."""
    found = {each.need: each for each in findings_here()}
    assert (found["toy's archive"].met, found["toy's archive"].next_step) == (None, COMMAND)
    assert (found["toy was run by samebox's makers"].met, found["toy was run by samebox's makers"].found) == (
        None,
        "never",
    )
    typed("software", "add", "toy", "--file", release(tmp_path / "given", "1.0"))
    after = {each.need: each for each in findings_here()}
    assert after["toy's archive"].met is True and after["toy's archive"].found.startswith("1.0, SHA-256 ")
    assert after["toy was run by samebox's makers"].met is None


def test_what_the_report_shows_says_both(file: Path) -> None:
    """The manifest, out of which it is made: the empty cell with the command, and among the caveats that it was never run."""
    document = manifest(prepare(load_campaign(file), file, "local"))
    assert {cell["system"] for cell in document["empty_cells"] if COMMAND in cell["reason"]} == {"toy"}
    assert "toy was never run by samebox's makers. Its own is a toy." in document["caveats"]
    assert (
        "toy was never run by samebox's makers. Its own is a toy."
        in (manifest(prepare(load_campaign(file), file, "local", given=["toy"]))["caveats"])
    )


@pytest.mark.parametrize(
    ("system", "reason"),
    [
        ("cafka", "unknown system 'cafka'. Valid choices:.*toy"),
        ("kafka", "kafka is fetched by itself, in a pinned version. Valid choices:.*toy"),
    ],
)
def test_only_what_cannot_be_fetched_is_added(system: str, reason: str, tmp_path: Path) -> None:
    """Nothing pinned is ever replaced for good, unseen."""
    with pytest.raises(InvalidInput, match=reason):
        typed("software", "add", system, "--file", release(tmp_path / "given", "1.0"))


def test_an_archive_given_with_a_command_is_as_good(file: Path, tmp_path: Path) -> None:
    """--software SYSTEM=FILE makes the system there for one run."""
    archive = release(tmp_path / "given", "1.0")
    assert "toy" in lacking(()) and "toy" not in lacking(["toy"])
    prepared = prepare(load_campaign(file), file, "local", given=["toy"])
    assert "toy" in {trial.system for trial in prepared.trials}
    assert software({"toy": archive})[-1].version == "1.0"


def test_only_systems_of_the_campaign_are_told_as_never_run(file: Path) -> None:
    """Absent ones too: their cells are in the report."""
    campaign: Campaign = load_campaign(file)
    assert untried(of_what_is_there(campaign, given=())) == {"toy": "Its own is a toy."}
    assert untried(dataclasses.replace(campaign, systems=("kafka",), experiments=campaign.experiments[:1])) == {}
