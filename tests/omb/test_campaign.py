"""Workload files of OpenMessaging Benchmark as a campaign: what is written is what is run, and the originals lie beside it."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import order_of
from bench.omb.campaign import Choices, write_campaign
from bench.omb.fields import read_workload
from bench.omb.mapping import ALWAYS, differences, workload_of
from provisioning.errors import InvalidInput
from tests.omb.files import write

CHOICES = Choices(systems=("pulsar", "kafka"), durability=("1", "2-bypass"), blocks=2, seed=7)


AT_MOST = 1_000  # topics, producers and consumers of the load generator at most (docs/omb.md)
OMB_HOME = os.environ.get("OMB_HOME")
CHECKOUT = Path(OMB_HOME) if OMB_HOME else Path(__file__).resolve().parents[1] / "data" / "omb"
THEIRS = sorted(CHECKOUT.glob("workloads/**/*.yaml"))


def test_what_is_written_is_what_was_understood(tmp_path: Path) -> None:
    """Reading the TOML back gives the very workload and sentences of the mapping, with every choice."""
    file = write(tmp_path, producerRate=0)
    campaign = load_campaign(write_campaign([file], CHOICES, tmp_path))
    omb = read_workload(file)
    (experiment,) = campaign.experiments
    assert experiment.workloads == (workload_of(omb, "steady", where="steady.yaml"),)
    assert (campaign.differs, experiment.differs) == ((ALWAYS,), differences(omb))
    assert (experiment.id, experiment.title, experiment.durability) == ("steady", "Small and steady", ("1", "2-bypass"))
    assert (campaign.name, campaign.systems, campaign.blocks, campaign.seed) == ("steady", ("pulsar", "kafka"), 2, 7)


def test_several_files_are_one_campaign(tmp_path: Path) -> None:
    """An experiment each, in the order given; the campaign is called by the first."""
    files = [write(tmp_path, "b.yaml"), write(tmp_path, "a.yaml", name=None)]
    campaign = load_campaign(write_campaign(files, CHOICES, tmp_path))
    assert campaign.name == "b-and-1-more"
    assert [(each.id, each.title) for each in campaign.experiments] == [("b", "Small and steady"), ("a", "a")]
    assert list(dict.fromkeys(trial.workload.name for trial in order_of(campaign))) == ["b", "a"]


def test_the_original_lies_beside_it_untouched(tmp_path: Path) -> None:
    """Byte for byte, and its SHA-256 stands in the campaign, so in the manifest."""
    file = write(tmp_path, "100 Topics (1kb).YAML")
    written = write_campaign([file], CHOICES, tmp_path / "below")
    assert (written.parent / "omb-100-topics-1kb.yaml").read_bytes() == file.read_bytes()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert load_campaign(written).sources == {"omb-100-topics-1kb.yaml": digest}
    assert sorted(path.name for path in written.parent.iterdir()) == ["campaign.toml", "omb-100-topics-1kb.yaml"]


def test_another_choice_is_another_file(tmp_path: Path) -> None:
    """A plan that is made while a campaign starts doesn't change that campaign's file; the same plan is the same file."""
    file = write(tmp_path)
    first = write_campaign([file], CHOICES, tmp_path)
    assert write_campaign([file], CHOICES, tmp_path) == first
    assert write_campaign([file], dataclasses.replace(CHOICES, seed=8), tmp_path) != first


def test_a_changed_or_missing_original_is_refused(tmp_path: Path) -> None:
    """`resume` must not go on with a campaign whose evidence was edited."""
    written = write_campaign([write(tmp_path)], CHOICES, tmp_path / "below")
    source = written.with_name("omb-steady.yaml")
    source.write_text(source.read_text() + "\n")
    with pytest.raises(InvalidInput, match=r"'sources\.omb-steady\.yaml'.*its SHA-256 differs"):
        load_campaign(written)
    source.unlink()
    with pytest.raises(InvalidInput, match=r"'sources\.omb-steady\.yaml': no such file beside the campaign"):
        load_campaign(written)


@pytest.mark.parametrize("name", ["manifest.json", "../omb-steady.yaml", "campaign.toml"])
def test_a_source_cannot_take_another_files_place(tmp_path: Path, name: str) -> None:
    """It is copied into the results folder under its name."""
    written = write_campaign([write(tmp_path)], CHOICES, tmp_path / "below")
    written.write_text(written.read_text().replace("omb-steady.yaml", name))
    with pytest.raises(InvalidInput, match="sources"):
        load_campaign(written)


def test_all_files_problems_are_listed_at_once(tmp_path: Path) -> None:
    """A folder's files are mended in one go, and nothing is written."""
    files = [write(tmp_path, "a.yaml", topics=0), write(tmp_path, "b.yaml"), write(tmp_path, "c.yaml", topics=5000)]
    with pytest.raises(InvalidInput) as caught:
        write_campaign(files, CHOICES, tmp_path / "below")
    assert [line.split(":")[0].rpartition("/")[2] for line in str(caught.value).splitlines()] == ["a.yaml"] + [
        "c.yaml"
    ] * 3
    assert not (tmp_path / "below").exists()


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """Their trials would be called alike."""
    (tmp_path / "other").mkdir()
    files = [write(tmp_path, "load.400k.yaml"), write(tmp_path / "other", "load-400k.yaml")]
    with pytest.raises(InvalidInput, match="would both be called 'load-400k'"):
        write_campaign(files, CHOICES, tmp_path)


def test_long_names_are_cut(tmp_path: Path) -> None:
    """A campaign's name is at most 64 characters, also with what it says of the others."""
    files = [write(tmp_path, f"{letter * 80}.yaml") for letter in "ab"]
    campaign = load_campaign(write_campaign(files, CHOICES, tmp_path))
    assert campaign.name == "a" * 53 + "-and-1-more"
    assert [each.id for each in campaign.experiments] == ["a" * 64, "b" * 64]


def test_their_files_are_there() -> None:
    """130 at the commit that tests/data/omb/README.md names; of a checkout at least one."""
    assert THEIRS if OMB_HOME else len(THEIRS) == 130


@pytest.mark.parametrize("file", THEIRS, ids=lambda file: file.stem)
def test_openmessaging_benchmarks_own_files(file: Path, tmp_path: Path) -> None:
    """Each is accepted with its totals, or refused for a number that is beyond the load generator and for nothing else."""
    omb = read_workload(file)
    producers = omb.topics * omb.producersPerTopic
    if max(omb.topics, producers, omb.consumers) > AT_MOST:
        with pytest.raises(InvalidInput) as refused:
            write_campaign([file], CHOICES, tmp_path)
        assert "beyond samebox's load generator" in refused.value.next_step
        assert all("less than or equal to" in line for line in str(refused.value).splitlines())
        return
    campaign = load_campaign(write_campaign([file], CHOICES, tmp_path))
    workload = campaign.experiments[0].workloads[0]
    assert workload.producers == producers
    assert (workload.backlog.consumers if workload.backlog else workload.consumers) == omb.consumers
    assert order_of(campaign)
