"""`samebox import-omb` and `samebox export-omb` as a user types them, with the mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.checkout import CHECKOUT
from bench.cli.main import samebox
from bench.cli.omb_results import result_files
from bench.report.here import _failure
from provisioning.errors import InvalidInput

PUBLISHED = CHECKOUT / "tests" / "data" / "omb" / "results"
SOUND = PUBLISHED / "latency" / "sync" / "kafka-100-partitions-1kb-batched-1ms-1mb-ack-all-sync.json"
CORRUPT = PUBLISHED / "catchup_read" / "sync" / "kafka-backlog-100-partitions-1kb-batched-1ms-ack-all-sync.json"


def typed(*words: str | Path) -> int:
    """The exit code of `samebox` with these words."""
    return int(samebox.main([str(word) for word in words], standalone_mode=False) or 0)


def test_files_are_imported_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line each: what it is, its rate, its percentiles or why there are none; a refused file makes the exit code 1."""
    cut = tmp_path / "cut.json"
    cut.write_bytes(SOUND.read_bytes()[:5000])
    out = tmp_path / "out"
    assert typed("import-omb", SOUND, CORRUPT, cut, "--out", out, "--plain") == 1
    output = capsys.readouterr()
    sound, corrupt = (line.split() for line in output.out.splitlines() if line.strip().startswith("kafka-"))
    assert sound[1:] == ["kafka", "1", "199,999", "5.71", "58.83", "163.94"]
    assert corrupt[1:] == ["kafka", "1", "199,983", "-", "-", "-", "corrupt-aggregate,", "paused-consumers"]
    assert "2 imported, 1 refused" in output.out
    assert "cut.json: not valid JSON" in output.err
    assert len(json.loads((out / "import.json").read_text())["files"]) == 2


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    """All JSON files below it, once each; an empty one is a mistake."""
    found = result_files([PUBLISHED / "latency" / "sync", SOUND])
    assert len(found) == 4
    assert SOUND in found
    with pytest.raises(InvalidInput, match="no JSON file in it"):
        result_files([tmp_path])


def test_an_export_needs_a_finished_trial(tmp_path: Path) -> None:
    """A folder of something else, and a trial that isn't there, are refused before anything is started."""
    with pytest.raises(InvalidInput, match="not a results folder"):
        typed("export-omb", tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": 1, "testbed": {}}')
    with pytest.raises(InvalidInput, match="no finished trial, so there is nothing to export"):
        typed("export-omb", tmp_path)
    trial = tmp_path / "trials" / "b01-1-kafka-l1-steady"
    trial.mkdir(parents=True)
    (trial / "trial.json").write_text("{}")
    with pytest.raises(InvalidInput, match="no finished trial 'b02'") as caught:
        typed("export-omb", tmp_path, "--trial", "b02")
    assert caught.value.next_step == "Finished are: b01-1-kafka-l1-steady."
    bucket = '{"name": "b", "region": "us-west-2"}'
    (tmp_path / "manifest.json").write_text(f'{{"schema": 1, "testbed": {{"records_bucket": {bucket}}}}}')
    (trial / "trial.json").write_text('{"schema": 1, "abort": null, "records": {"produced/p.parquet": 7}}')
    with pytest.raises(InvalidInput, match="in the bucket b"):
        typed("export-omb", tmp_path)


def test_the_jobs_own_error_is_what_the_user_reads() -> None:
    """With its next step; where it printed none, its last lines."""
    failure = _failure(
        ["  1.0 s  reading", "error: no file was imported.", "a.json: bad", "next: Give others."],
        "the import job failed",
    )
    assert str(failure) == "the import job failed: no file was imported.\na.json: bad"
    assert failure.next_step == "Give others."
    assert "its last lines:\nTraceback" in str(_failure(["Traceback"], "the import job failed"))


def test_a_jobs_java_errors_are_shown_without_their_stacks() -> None:
    """They would push out what was wrong; and of memory there can be more."""
    stack = ["\tat org.apache.spark.Frame.run(Frame.scala:1)"] * 60
    failure = _failure(
        ["Caused by: java.lang.OutOfMemoryError: Java heap space", *stack, "\t... 12 more"], "the job failed"
    )
    assert str(failure).endswith("its last lines:\nCaused by: java.lang.OutOfMemoryError: Java heap space")
    assert "SPARK_DRIVER_MEMORY" in failure.next_step
