"""Records of a detached campaign come home: only finished trials, only what is missing, never over another run's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.orchestrator.attach import fetch_notes, fetch_results
from bench.results.folder import MANIFEST_SCHEMA, Results, write_json
from provisioning.errors import InvalidInput
from tests.orchestrator.folder_host import FolderHost, folder_host


@pytest.fixture
def host(tmp_path: Path) -> FolderHost:
    return folder_host(tmp_path / "host")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "laptop" / "results" / "demo")


def there(host: FolderHost) -> Results:
    """The results on the host."""
    return Results(Path(host.record.root) / "orchestrator" / "results" / "demo")


def begin(host: FolderHost, seed: int = 1) -> Results:
    """A campaign that has begun on the host."""
    root = there(host).root
    root.mkdir(parents=True)
    (root / "vetting").mkdir()
    (root / "vetting" / "broker-1.json").write_text("{}")
    (root / "campaign.toml").write_text("schema = 1\n")
    (root / "omb-steady.yaml").write_text("topics: 1\n")
    (root / "durability_proof.json").write_text("{}")
    (root / "manifest.json").write_text(json.dumps({"schema": MANIFEST_SCHEMA, "seed": seed, "order": []}))
    return there(host)


def finish(results: Results, trial: str) -> None:
    """A finished trial on the host."""
    folder = results.begin_trial(trial)
    (folder / "produced").mkdir()
    (folder / "produced" / "a.parquet").write_text(trial)
    results.finish_trial(trial, {"trial": trial})


def test_before_the_manifest_there_is_nothing(host: FolderHost, results: Results) -> None:
    """A campaign that hasn't begun leaves no folder here."""
    assert fetch_results(host, "demo", results, print) == ()
    assert not results.root.exists()


def test_trial_by_trial(host: FolderHost, results: Results) -> None:
    """A trial under way stays there; a finished one comes whole, and once."""
    remote = begin(host)
    finish(remote, "one")
    remote.begin_trial("two")
    assert fetch_results(host, "demo", results, print) == ("one",)
    assert (results.trial_dir("one") / "produced" / "a.parquet").read_text() == "one"
    assert results.campaign_file.exists()
    assert (results.root / "omb-steady.yaml").read_text() == "topics: 1\n"
    assert (results.root / "vetting" / "broker-1.json").exists()
    assert results.durability_proof_file.exists()
    before = (results.trial_dir("one") / "trial.json").stat().st_ino
    finish(remote, "two")
    assert fetch_results(host, "demo", results, print) == ("two",)
    assert (results.trial_dir("one") / "trial.json").stat().st_ino == before
    assert fetch_results(host, "demo", results, print) == ()


def test_notes_of_what_was_given_up(host: FolderHost, results: Results) -> None:
    """What is known of an attempt at a trial that never finished comes with the rest, but not before there is a rest."""
    remote = begin(host)
    attempts = [{"began_ns": 1, "step": "load"}]
    remote.note_attempts("two", attempts)
    fetch_notes(host, "demo", results)
    assert not results.root.exists()
    finish(remote, "one")
    fetch_results(host, "demo", results, print)
    fetch_notes(host, "demo", results)
    assert (results.noted_attempts("one"), results.noted_attempts("two")) == ([], attempts)


def test_probes_of_disks_come_when_the_campaign_has_ended(host: FolderHost, results: Results) -> None:
    """They are written while it goes on, when the campaign's own files may be here already."""
    remote = begin(host)
    finish(remote, "one")
    write_json(remote.probe_file("00"), {"schema": 1, "name": "00"})
    fetch_results(host, "demo", results, print)
    assert results.probed() == ()
    write_json(remote.probe_file("01"), {"schema": 1, "name": "01"})
    fetch_notes(host, "demo", results)
    assert results.probed() == ("00", "01")


def test_a_fetch_cut_off_is_done_again(host: FolderHost, results: Results) -> None:
    """What a broken attempt left is replaced."""
    finish(begin(host), "one")
    fetch_results(host, "demo", results, print)
    results.trial_dir("one").rename(results.partial_dir("one"))
    (results.partial_dir("one") / "stale").write_text("")
    assert fetch_results(host, "demo", results, print) == ("one",)
    assert not (results.trial_dir("one") / "stale").exists()


def test_another_runs_results_are_not_mixed_in(host: FolderHost, results: Results, tmp_path: Path) -> None:
    """The same name isn't the same campaign."""
    begin(host)
    fetch_results(host, "demo", results, print)
    other = folder_host(tmp_path / "other")
    finish(begin(other, seed=2), "one")
    with pytest.raises(InvalidInput, match="of another run") as caught:
        fetch_results(other, "demo", results, print)
    assert f"mv {results.root}" in caught.value.next_step
    assert results.finished() == ()
