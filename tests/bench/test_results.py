"""The results folder: written once, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.results.folder import Results
from provisioning.errors import InvalidInput


def begun(folder: Path) -> Results:
    """A campaign that has just begun."""
    results = Results(folder / "demo")
    campaign_file = folder / "demo.toml"
    campaign_file.write_text("schema = 1\n")
    results.begin({"schema": 1, "order": []}, {"broker-1": {"verdict": "accept"}}, campaign_file)
    return results


def test_a_trial_is_whole_or_not_there(tmp_path: Path) -> None:
    """Before finish_trial nothing counts as finished; an interrupted attempt is swept away by the next."""
    results = begun(tmp_path)
    folder = results.begin_trial("b01-1-x")
    (folder / "half").write_text("written")
    assert results.finished() == ()
    assert list(results.begin_trial("b01-1-x").iterdir()) == []
    results.finish_trial("b01-1-x", {"schema": 1})
    assert results.finished() == ("b01-1-x",)


def test_results_are_written_once(tmp_path: Path) -> None:
    """A second campaign of the same name is refused and says what to type."""
    results = begun(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        begun(tmp_path)
    assert "samebox resume" in caught.value.next_step
    assert results.manifest()["schema"] == 1


def test_what_a_campaign_was_made_from_lies_beside_it(tmp_path: Path) -> None:
    """The sources are copied from beside the campaign file, byte for byte; those that aren't named are not."""
    campaign_file = tmp_path / "campaign.toml"
    for name in ("campaign.toml", "omb-one.yaml", "omb-other.yaml"):
        (tmp_path / name).write_text(f"# {name}\n")
    results = Results(tmp_path / "results" / "demo")
    results.begin({"schema": 1, "order": []}, {}, campaign_file, sources=["omb-one.yaml"])
    assert sorted(path.name for path in results.root.iterdir()) == [
        "campaign.toml", "manifest.json", "omb-one.yaml", "trials"
    ]  # fmt: skip
    assert (results.root / "omb-one.yaml").read_text() == "# omb-one.yaml\n"


def test_setting_aside_keeps_everything(tmp_path: Path) -> None:
    """An earlier run keeps its files under a dated name, also when set aside twice in a second."""
    kept = []
    for _ in range(2):
        results = begun(tmp_path)
        results.begin_trial("t")
        results.finish_trial("t", {})
        kept.append(results.set_aside())
    assert all(folder is not None and (folder / "trials" / "t" / "trial.json").exists() for folder in kept)
    assert len(set(kept)) == 2
    assert Results(tmp_path / "demo").set_aside() is None


def test_another_folder_is_not_results(tmp_path: Path) -> None:
    """A folder without a manifest is refused by name."""
    with pytest.raises(InvalidInput, match="not a results folder"):
        Results(tmp_path).manifest()


def test_a_campaign_killed_before_its_manifest_is_typed_once_more(tmp_path: Path) -> None:
    """There is no folder yet, and nothing in it to be resumed: the sentence says so and what to type."""
    with pytest.raises(InvalidInput, match="demo doesn't exist: no campaign named demo") as caught:
        Results(tmp_path / "demo").manifest()
    assert "`samebox run campaigns/demo.toml`" in caught.value.next_step
