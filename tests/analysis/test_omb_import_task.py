"""Many result files at once: what is imported, counted once, refused, and written whole or not at all."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.errors import AnalysisError
from analysis.omb.import_task import OUTPUTS, WINDOWS, import_files, trial_names
from analysis.outputs import SUMMARY
from tests.analysis.omb_results import document, write


def folder(path: Path) -> Path:
    """An empty folder."""
    path.mkdir()
    return path


def test_good_files_are_imported_beside_bad_ones(tmp_path: Path) -> None:
    """Each by its own name, whatever characters it has; a copy counts once; what is refused is listed with its reason."""
    good = write(tmp_path, "a/run [1] {x} *?.json", document("g3"))
    same_name = write(tmp_path, "b/run [1] {x} *?.json", document("g0", driver="Pulsar"))
    hidden = [
        write(tmp_path, name, document("g1", driver=f"NATS {name}"))
        for name in ("_kafka.json", ".nats.json", "at 10:00.json")
    ]
    copy = write(tmp_path, "copy.json", document("g3"))
    cut, empty = tmp_path / "cut.json", tmp_path / "empty.json"
    cut.write_text(good.read_text()[:700])
    empty.touch()
    again = f"{tmp_path}/a/../a/./{good.name}"  # the same file by another name is read once
    bad = (cut, tmp_path / "missing.json", folder(tmp_path / "c"), empty)
    files = [str(file) for file in (good, same_name, again, copy, *hidden, *bad)]
    out = tmp_path / "deep" / "out"
    import_files(files, out=out)

    assert {path.name for path in out.iterdir()} == OUTPUTS
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    written = json.loads((out / "import.json").read_text())
    trials = [file["trial"] for file in written["files"]]
    assert trials == ["a/run [1] {x} *?", "b/run [1] {x} *?", "_kafka", ".nats", "at 10:00"]
    assert [file["generation"] for file in written["files"]] == ["g3", "g0", "g1", "g1", "g1"]
    assert written["copies"] == [{"file": str(copy), "of": str(good)}]
    refused = {entry["file"]: entry["error"] for entry in written["refused"]}
    assert list(refused) == [str(file) for file in bad]
    assert "is empty" in refused[str(empty)]
    assert "was it cut off?" in refused[str(cut)]
    assert "no such file" in refused[str(tmp_path / "missing.json")]

    table = pq.read_table(out / "summary.parquet")
    assert table.schema.equals(SUMMARY, check_metadata=True)
    rows = table.to_pylist()
    assert {row["system"] for row in rows} == {"kafka", "pulsar", "nats"}
    with (out / "summary.csv").open(newline="") as file:
        assert [float(row["value"]) for row in csv.DictReader(file)] == [row["value"] for row in rows]
    windows = pq.read_table(out / "windows.parquet")
    assert windows.schema.equals(WINDOWS, check_metadata=True)
    firsts = [row for row in windows.to_pylist() if row["note"]]
    assert {(row["window"], row["nominal_start_s"]) for row in firsts} == {(1, 0.0)}
    assert {row["metric"] for row in firsts} == {"throughput_achieved", "throughput_received", "omb_publish_error_rate"}


def test_an_import_replaces_an_earlier_one(tmp_path: Path) -> None:
    """Whole: of the first nothing is left."""
    first, second = write(tmp_path, "first.json"), write(tmp_path, "second.json", document(driver="Pulsar"))
    for file in (first, second):
        written = import_files([str(file)], out=tmp_path / "out")
    assert [file["trial"] for file in written["files"]] == ["second"]
    assert json.loads((tmp_path / "out" / "import.json").read_text()) == written


def test_nothing_is_written_where_nothing_can_be_imported(tmp_path: Path) -> None:
    """The error has every file's reason. A folder with something else in it is left as it is."""
    bad, good = write(tmp_path, "bad.json", {"a": 1}), write(tmp_path, "good.json")
    foreign = folder(tmp_path / "foreign")
    (foreign / "thesis.txt").write_text("mine")
    missing = ("the key workload is missing", "missing.json: no such file")
    for files, out, said in (
        ([bad, tmp_path / "missing.json"], tmp_path / "out", missing),
        ([good], foreign, ("contains files that aren't part of an earlier import (thesis.txt)",)),
        ([good], good, (f"{good}: can't be written: it is a file",)),
        ([good], good / "below", (f"can't be written: {good} is a file",)),
    ):
        with pytest.raises(AnalysisError) as caught:
            import_files([str(file) for file in files], out=out)
        assert all(part in str(caught.value) for part in said)
        assert caught.value.next_step
    assert not (tmp_path / "out").exists()
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]
    assert not list(tmp_path.rglob("*.writing"))


def test_trials_are_told_apart_by_their_folders() -> None:
    """By as few of them as do it."""
    names = trial_names(["x/sync/kafka.json", "x/nosync/kafka.json", "y/sync/kafka.json", "z/pulsar.json"])
    assert list(names.values()) == ["x/sync/kafka", "nosync/kafka", "y/sync/kafka", "pulsar"]
