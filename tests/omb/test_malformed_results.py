"""Malformed input of import-omb, export-omb and claims, as data: each is one clear sentence, and nothing half-written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.omb.import_task import Refused, import_files, read_all
from bench.cli.main import samebox
from provisioning.errors import SameboxError
from tests.analysis.omb_results import document, write

Maker = Callable[[Path], object]


def text(content: str | bytes) -> Maker:
    """A file of just this."""
    return lambda file: file.write_bytes(content if isinstance(content, bytes) else content.encode())


def result(**changes: Any) -> Maker:
    """A whole result but for some keys."""
    return lambda file: write(file.parent, file.name, document("g3", **changes))


def raw(key: str, value: str) -> Maker:
    """A whole result with a key's value as it is written here, which json wouldn't write."""

    def make(file: Path) -> None:
        made = json.dumps(document("g3", **{key: "HERE"}))
        file.write_text(made.replace('"HERE"', value))

    return make


RATES = [1.0] * 6
# what it is, the file, what is said of it
FILES: list[tuple[str, Maker, str]] = [
    ("empty", text(""), "the file is empty"),
    ("blank", text(" \n\n"), "the file is empty"),
    ("no JSON", text("publishRate: 1"), "not valid JSON: Expecting value in line 1, column 1"),
    ("cut off", text('{"workload": "a", '), "was it cut off?"),
    ("two documents", text("{}\n{}"), "not valid JSON: Extra data in line 2"),
    ("a list", text("[1, 2]"), "expected a JSON object, found a list of 2"),
    ("a number", text("7"), "expected a JSON object, found 7"),
    ("null", text("null"), "expected a JSON object, found null"),
    ("another object", text('{"a": 1}'), "the key workload is missing"),
    ("packed", text(b"\x1f\x8b\x08\x00"), "compressed with gzip"),
    ("binary", text(b"\xff\xfe\x00"), "not a text file"),
    ("UTF-16", text('{"a": 1}'.encode("utf-16")), "not a text file"),
    ("nested", text("[" * 100_000), "nested too deeply"),
    ("a key twice", text('{"workload": "a", "driver": "b", "workload": "c"}'), 'the key "workload" appears twice'),
    ("a percentile twice", raw("aggregatedPublishLatencyQuantiles", '{"50.0": 1, "50.0": 2}'), 'the key "50.0" appears twice'),
    ("309 digits", raw("publishRate", f"[{'9' * 309}]"), "publishRate[0]: expected a number below 10^15, found an integer of about 3"),
    ("5,000 digits", raw("publishRate", f"[{'9' * 5000}]"), "contains a number with thousands of digits"),
    ("a field of 400 digits", raw("topics", "9" * 400), "topics: expected a whole number from 0 to 10^15"),
    ("sums to infinity", result(publishRate=[1e308] * 6), "publishRate[0]: expected a number below 10^15, found 1e+308"),
    ("infinity", raw("publishRate", "[Infinity]"), "publishRate[0]: expected a finite number, found Infinity"),
    ("not a number", raw("publishRate", "[NaN]"), "publishRate[0]: expected a finite number, found NaN"),
    ("a negative rate", result(publishRate=[-1.0] * 6), "publishRate[0]: expected a number, 0 or more, found -1.0"),
    ("a text for a number", result(publishRate=["1"] * 6), 'publishRate[0]: expected a finite number, found "1"'),
    ("true for a number", result(publishRate=[True] * 6), "publishRate[0]: expected a finite number, found true"),
    ("no window", result(publishRate=[]), "publishRate: expected a list with one number for each window, found an empty list"),
    ("unlike lists", result(consumeRate=[1.0]), "publishRate has 6 windows and consumeRate has 1"),
    ("a null list", raw("consumeRate", "null"), "consumeRate: expected a list with one number for each window, found null"),
    ("no aggregate", result(aggregatedPublishLatencyAvg=None), "the key aggregatedPublishLatencyAvg is missing"),
    ("a map of lists", result(aggregatedPublishLatencyQuantiles=[1]), "expected an object of percentile and value"),
    ("percentile 101", result(aggregatedPublishLatencyQuantiles={"101": 1}), 'percentiles from 0 to 100 as its keys, found "101"'),
    ("percentile x", result(aggregatedPublishLatencyQuantiles={"x": 1}), 'percentiles from 0 to 100 as its keys, found "x"'),
    ("half a topic", result(topics=1.5), "topics: expected a whole number"),
    ("no name", result(workload="  "), "workload: expected a name, found"),
    ("a number for a name", result(driver=7), "driver: expected a name, found 7"),
    ("10 MB of name", result(workload="x" * 10_000_000), "workload: expected a name of at most 1,000 characters"),
    ("control characters", result(workload="a\x1b[31mb"), "none of them a control character"),
    ("a line break", result(driver="Kafka\n,1"), "none of them a control character"),
    ("half a character", raw("workload", '"\\ud800"'), "none of them a control character"),
    ("a pipe", lambda file: os.mkfifo(file), "a pipe or a device; a file is needed"),
    ("a loop of links", lambda file: file.symlink_to(file), "can't be read: Too many levels of symbolic links"),
    ("a broken link", lambda file: file.symlink_to("nowhere.json"), "no such file"),
    ("unreadable", lambda file: file.symlink_to("/proc/self/mem"), "can't be read: Input/output error"),
    ("a folder", lambda file: file.mkdir(), "a folder; a file is needed"),
    ("70 MB", text(b" " * (70 * 2**20)), "more than 64 MiB"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "make", "says"), FILES, ids=[what for what, _, _ in FILES])
def test_a_malformed_file_is_refused_and_the_one_beside_it_imported(
    what: str, make: Maker, says: str, tmp_path: Path
) -> None:
    """With its name and one sentence; the import is whole."""
    del what
    odd, good = tmp_path / "odd.json", write(tmp_path, "good.json")
    make(odd)
    written = import_files([str(odd), str(good)], out=tmp_path / "out")
    assert [file["trial"] for file in written["files"]] == ["good"]
    (refused,) = written["refused"]
    assert refused["error"].startswith(f"{odd}: ")
    assert says in refused["error"]
    assert len(refused["error"]) < len(str(odd)) + 200
    assert (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.parametrize("name", [b"\xff.json", b"a\nb.json", b"a\x07.json"])
def test_a_name_that_cannot_stand_in_a_table_is_refused(name: bytes, tmp_path: Path) -> None:
    """Named as far as it can be."""
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    file.write_text(json.dumps(document()))
    (found,) = read_all([str(file)])
    assert isinstance(found, Refused)
    assert "its name isn't plain text in UTF-8" in found.error
    found.error.encode()


def test_what_only_looks_odd_is_imported(tmp_path: Path) -> None:
    """A fork's own keys, however deep; names that a file system hides; white space around a name."""
    deep: Any = 0
    for _ in range(900):
        deep = [deep]
    write(tmp_path, ".hidden.json", document("g3", workload=" padded\n"))
    write(tmp_path, "_deep.json", document("g3", forks_own=deep, driver="Pulsar"))
    written = import_files([str(file) for file in tmp_path.glob("*.json")], out=tmp_path / "out")
    assert not written["refused"]
    assert {file["workload"] for file in written["files"]} == {"padded", "Steady"}


def report(**changes: Any) -> dict[str, Any]:
    """A report.json with one trial."""
    trial = {
        "trial": "b01", "experiment": "SN20-E5", "system": "kafka", "durability": {"name": "1"}, "block": 1, "validity": "valid",
        "workload": {"name": "e5-latency", "message_bytes": 1024},
    }  # fmt: skip
    row = {"trial": "b01", "metric": "publish_latency_p99", "unit": "ms", "value": 1.0}
    made = {"schema": 1, "manifest": {"campaign": "mine"}, "trials": [trial], "summary": [row]}
    return {key: value for key, value in {**made, **changes}.items() if value is not ...}


def trial(**changes: Any) -> list[dict[str, Any]]:
    """The one trial but for some keys."""
    return [{**report()["trials"][0], **changes}]


def row(value: Any) -> list[dict[str, Any]]:
    """The one row of the summary with another value."""
    return [{**report()["summary"][0], "value": value}]


REPORTS: list[tuple[str, str | dict[str, Any], str]] = [
    ("no JSON", "schema = 1", "report.json: not valid JSON"),
    ("a list", "[]", "report.json: expected a JSON object"),
    ("nested", "[" * 100_000, "nested too deeply"),
    ("another schema", report(schema=2), "schema is 2, this version reads schema 1"),
    ("null manifest", report(manifest=None), "manifest: expected an object, found null"),
    ("no manifest", report(manifest=...), "manifest is missing"),
    ("no trials", report(trials=[]), "trials is empty: there is nothing to judge by"),
    ("trials as text", report(trials="b01"), 'trials: expected a list, found "b01"'),
    ("a trial as text", report(trials=["b01"]), 'trials[0]: expected an object, found "b01"'),
    ("text for a block", report(trials=trial(block="1")), 'trials[0].block: expected a whole number, found "1"'),
    ("null durability", report(trials=trial(durability=None)), "trials[0].durability: expected an object, found null"),
    ("no size", report(trials=trial(workload={"name": "x"})), "trials[0].workload.message_bytes is missing"),
    ("text for a value", report(summary=row("1.0")), '(b01, publish_latency_p99).value: expected a number, 0 or more, found "1.0"'),
    ("NaN", report(summary=row(float("nan"))), "expected a number, 0 or more, found NaN"),
    ("a negative value", report(summary=row(-1.0)), "expected a number, 0 or more, found -1.0"),
    ("a null value", report(summary=row(None)), "expected a number, 0 or more, found null"),
    ("a text for a bound", report(summary=[{**row(None)[0], "low": "5"}]), 'low: expected a number, 0 or more, found "5"'),
    ("null summary", report(summary=None), "summary: expected a list, found null"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "content", "says"), REPORTS, ids=[what for what, _, _ in REPORTS])
def test_claims_refuse_a_malformed_report(what: str, content: str | dict[str, Any], says: str, tmp_path: Path) -> None:
    """By key, with what to type."""
    del what
    folder = tmp_path / "report"
    folder.mkdir()
    (tmp_path / "manifest.json").write_text('{"schema": 1}')
    (folder / "checks.json").write_text("[]")
    (folder / "report.json").write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(SameboxError) as caught:
        samebox.main(["claims", "--evidence", str(tmp_path)], standalone_mode=False)
    assert says in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert "samebox report" in caught.value.next_step


COMMANDS: list[tuple[list[str], str]] = [
    (["claims", "--document", ""], "no document of claims ''. Valid choices: brokers-bench"),
    (["claims", ""], "no claim ''. Valid choices: CPRO-C01"),
    (["claims", "--evidence", "missing"], "neither a campaign's results folder (it has no manifest.json) nor imported results"),
    (["claims", "--evidence", "file"], "neither a campaign's results folder"),
    (["import-omb", "file", "--out", "file"], "file is a file"),
    (["import-omb", "file", "--out", "file/below"], "file is a file"),
    (["import-omb", "file", "missing"], "no file was imported"),
    (["import-omb", "empty"], "no JSON file in it"),
    (["export-omb", "empty"], "not a results folder"),
    (["export-omb", "finished", "--out", "file/below"], "file is a file"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "says"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_a_command_that_cannot_work_says_so(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Spark is started, and with nothing written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("{}")
    (tmp_path / "empty").mkdir()
    trial_folder = tmp_path / "finished" / "trials" / "b01"
    trial_folder.mkdir(parents=True)
    (trial_folder / "trial.json").write_text("{}")
    (tmp_path / "finished" / "manifest.json").write_text('{"schema": 1, "testbed": {}}')
    monkeypatch.setattr("bench.report.here.require_spark", lambda: pytest.fail("Spark was started"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SameboxError) as caught:
        samebox.main(words, standalone_mode=False)
    assert says in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before
