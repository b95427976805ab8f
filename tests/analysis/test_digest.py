"""Digests of reports for a site: what they keep, what they refuse, and that a hostile report is told in a sentence."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.digest.campaign import digest_of
from analysis.digest.conditions import promise_of, workload_of
from analysis.digest.imported import imported_digest
from analysis.digest.reading import flat, rounded, text
from analysis.errors import AnalysisError
from analysis.omb.import_task import import_files
from analysis.promise import promise
from tests.analysis.omb_results import PUBLISHED
from tests.analysis.synthetic_results import DURABILITY
from tests.site.campaigns import HURT, SLOW
from tests.site.reports import COMMIT, KAFKA, PULSAR, Ran, report_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """Nine blocks of two systems, and one whose trials are invalid."""
    return report_of([KAFKA, PULSAR, SLOW])


@pytest.fixture(scope="module")
def digest(report: dict[str, Any]) -> dict[str, Any]:
    return digest_of(report, "report.json")


def figure(entry: dict[str, Any], metric: str = "response_latency_p99") -> dict[str, Any]:
    (found,) = [each for each in entry["figures"] if each["metric"] == metric]
    return dict(found)


def test_an_entry_has_the_values_of_all_trials_and_the_median_of_those_that_count(
    report: dict[str, Any], digest: dict[str, Any]
) -> None:
    """To five digits, in the order of the blocks; what is invalid is there and in no median."""
    kafka, _, slow = digest["entries"]
    rows = [
        row["value"]
        for row in report["summary"]
        if row["contestant"] == "kafka" and row["metric"] == "response_latency_p99"
    ]
    assert figure(kafka)["values"] == pytest.approx(rows, rel=1e-4)
    assert figure(kafka)["median"] == pytest.approx(sorted(rows)[4], rel=1e-4)
    assert (kafka["system"], kafka["version"], kafka["not_met"]) == ("kafka", "4.3.1", {})
    assert kafka["trials"] == [[block, "valid"] for block in range(1, 10)]
    assert (figure(slow)["median"], len(figure(slow)["values"])) == (None, 9)
    assert slow["trials"][0] == [1, "invalid"]
    assert slow["not_met"] == {"no-loss": 9}


def test_pairs_say_what_the_report_s_comparisons_say(report: dict[str, Any], digest: dict[str, Any]) -> None:
    """Ratio, interval, verdict and blocks; of no metric that a site doesn't show."""
    (said,) = [each for each in report["comparisons"] if each["metric"] == "response_latency_p99"]
    (pair,) = [each for each in digest["pairs"] if each["metric"] == "response_latency_p99"]
    assert (pair["first"], pair["second"], pair["blocks"]) == (0, 1, 9)
    assert pair["ratio"] == pytest.approx(said["median"]["value"], rel=1e-4)
    assert pair["interval"][:2] == pytest.approx([said["interval"]["low"], said["interval"]["high"]], rel=1e-4)
    assert (pair["verdict"], pair["why"]) == ("difference shown", said["certainty"])
    assert not [each for each in digest["pairs"] if each["metric"].startswith("fault_")]


def test_what_a_campaign_says_of_itself(digest: dict[str, Any]) -> None:
    """The day, the commit, the hosts by role, and the answer in the report's own words."""
    assert (digest["campaign"], digest["date"], digest["commit"], digest["changed"]) == (
        "demo",
        "2023-11-14",
        COMMIT,
        False,
    )
    assert digest["hosts"]["roles"] == {"broker": 3, "client": 1}
    assert digest["hosts"]["machines"] == ["local: Example CPU, 2 CPUs, 23 GiB"]
    assert digest["hosts"]["kernels"] == ["6.1.0"]
    assert "kafka" in digest["findings"][0] and digest["certainty"].startswith("9 blocks")
    assert digest["excluded"] == 9


def test_faults_are_counted_over_all_trials_and_timed_over_blocks() -> None:
    """Acknowledged, lost, whether that had to survive, the median of the longest gaps and the longest of all."""
    digest = digest_of(report_of(HURT, blocks=4), "report.json")
    (fault,) = digest["faults"]
    assert (fault["do"], fault["target"]) == ("kill", "leader:0/0")
    kafka, nats = fault["felt"]
    assert (kafka["acknowledged"], kafka["lost"], kafka["must"], kafka["trials"]) == (9_600, 4, True, 4)
    assert (nats["lost"], nats["unanswered"]) == (0, 12)
    gap = nats["times"]["fault_gap_of_a_partition"]
    assert (gap["unit"], gap["median"], gap["longest"]) == ("s", pytest.approx(4.02), pytest.approx(4.24))
    assert digest["entries"][kafka["entry"]]["contestant"] == "kafka"


def test_a_level_and_its_variants_are_one_promise() -> None:
    """The variant is the contestant's; another level is another promise."""
    said = [promise_of({**DURABILITY[name], "promise": promise(DURABILITY[name])}) for name in ("2", "2-bypass", "1")]
    assert said[0] == said[1] != said[2]
    assert said[2]["words"] == "acknowledged when a quorum of brokers has it, on disk"


def test_a_workload_is_alike_by_what_is_sent_and_not_by_its_name() -> None:
    """The rate stands by itself, and there is one only where it was given."""
    asked = {"name": "steady", "rate_per_s": 400, "pacing": "open-loop", "message_bytes": 1024, "backlog": None}
    steady, other = workload_of(asked), workload_of({**asked, "name": "other"})
    assert steady["shape"] == other["shape"] == {"message_bytes": "1024", "pacing": "open-loop"}
    assert steady["rate_per_s"] == 400
    assert workload_of({**asked, "pacing": "search"})["rate_per_s"] is None


def test_where_each_ran_as_fast_as_it_could_latencies_are_left_out(report: dict[str, Any]) -> None:
    """Under unlike loads they say nothing."""
    searched = copy.deepcopy(report)
    for trial in searched["trials"]:
        trial["workload"]["pacing"] = "search"
    searched["comparisons"] = []
    entries = digest_of(searched, "report.json")["entries"]
    assert {each["metric"] for entry in entries for each in entry["figures"]} == {"throughput_achieved"}


def test_a_block_against_itself_is_in_no_entry(report: dict[str, Any]) -> None:
    """A/A blocks measure noise."""
    noise = copy.deepcopy(report)
    for trial in noise["trials"]:
        if trial["block"] > 7:
            trial["block_kind"] = "A/A"
    assert [len(entry["trials"]) for entry in digest_of(noise, "report.json")["entries"]] == [7, 7, 7]


def test_texts_can_not_disguise_what_stands_around_them() -> None:
    """Marks that turn the direction, control characters, halves of characters; and nothing is endless."""
    assert text("a\u202egpj.exe\x1b[2J\ud800b\nc") == "a\ufffdgpj.exe\ufffd[2J\ufffdb c"
    assert text("x" * 5_000) == "x" * 597 + "..."
    assert text({"b": 1}) == '{"b": 1}'
    assert flat({"a": {"b": [1], "c": None}, "d": ""}) == {"a.b": "[1]", "d": ""}
    assert (rounded(0.123456789), rounded(400.0), rounded(1e30)) == (0.12346, 400, 1e30)


def _without(*path: str) -> Callable[[dict[str, Any]], object]:
    def change(report: dict[str, Any]) -> None:
        at: Any = report
        for key in path[:-1]:
            at = at[0] if key == "0" else at[key]
        del at[path[-1]]

    return change


def _with(value: Any, *path: str) -> Callable[[dict[str, Any]], object]:
    def change(report: dict[str, Any]) -> None:
        at: Any = report
        for key in path[:-1]:
            at = at[0] if key == "0" else at[key]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_with(2, "schema"), "schema is 2"),
        (_without("manifest"), "manifest is missing"),
        (_with([], "manifest"), "manifest: expected an object"),
        (_with(10**30, "manifest", "created_ns"), "not as samebox writes it"),
        (_with("now", "manifest", "created_ns"), "manifest.created_ns: expected a whole number"),
        (_with("x", "manifest", "testbed", "hosts"), "manifest.testbed.hosts: expected a list"),
        (_with({"broker-1": {"cpus": 2}}, "manifest", "facts"), "'memory_bytes' is missing"),
        (_with(7, "answer", "findings"), "answer.findings: expected a list"),
        (_with({}, "trials"), "trials: expected a list"),
        (_with("1", "trials", "0", "block"), "trials[0].block: expected a whole number"),
        (_with(-1, "trials", "0", "block"), "-1 isn't a count"),
        (_with(2**70, "trials", "0", "counts", "acknowledged"), "isn't a count"),
        (_with(float("nan"), "summary", "0", "low"), "summary[0].low: expected a number"),
        (_with("many", "summary", "0", "value"), "not as samebox writes it"),
        (_with("nobody", "comparisons", "0", "first"), "'nobody'"),
        (_with({"low": 1}, "comparisons", "0", "interval"), "'high' is missing"),
        (_with([{"contestants": 3}], "faults"), "'words' is missing"),
        (_with(None, "checks"), "checks: expected a list"),
    ],
)  # fmt: skip
def test_a_malformed_report_is_refused_in_a_sentence(
    report: dict[str, Any], change: Callable[[dict[str, Any]], object], said: str
) -> None:
    """With the file and what is wrong in it; by no other exception."""
    broken = copy.deepcopy(report)
    change(broken)
    with pytest.raises(AnalysisError) as caught:
        digest_of(broken, "report.json")
    assert str(caught.value).startswith("report.json: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_campaign_without_end_is_refused(report: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A site must stay small whatever a bundle says."""
    monkeypatch.setattr("analysis.digest.entries.MOST_ENTRIES", 2)
    with pytest.raises(AnalysisError, match="3 contestants in cells; a site takes 2 of a campaign"):
        digest_of(report, "report.json")


def test_imported_results_are_entries_without_trials(tmp_path: Path) -> None:
    """What names don't state is unknown, doubts are kept, and nobody's folders are told."""
    files = sorted(PUBLISHED.rglob("*.json"))[:6]
    import_files([str(file) for file in files], out=tmp_path / "imported")
    digest = imported_digest(tmp_path / "imported", "import.json")
    assert (digest["origin"], len(digest["entries"])) == ("openmessaging-benchmark", 6)
    assert {tuple(map(tuple, entry["trials"])) for entry in digest["entries"]} == {((0, "no records"),)}
    assert {(entry["promise"] or {}).get("level") for entry in digest["entries"]} <= {1, 2, 3, 4, None}
    assert str(PUBLISHED) not in json.dumps(digest)
    assert figure(digest["entries"][0], "throughput_achieved")["median"] > 0


def test_a_spoilt_import_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """A list that isn't one; a table without the columns."""
    import_files([str(sorted(PUBLISHED.rglob("*.json"))[0])], out=tmp_path)
    document = json.loads((tmp_path / "import.json").read_text())
    (tmp_path / "import.json").write_text(json.dumps(document | {"files": {}}))
    with pytest.raises(AnalysisError, match=r"^import\.json: .*files: expected a list"):
        imported_digest(tmp_path, "import.json")
    (tmp_path / "import.json").write_text(json.dumps(document))
    (tmp_path / "summary.csv").write_text("trial\nx\n")
    with pytest.raises(AnalysisError, match=r"^import\.json: 'metric' is missing"):
        imported_digest(tmp_path, "import.json")


def test_what_can_not_be_read_stops_no_other(report: dict[str, Any], tmp_path: Path) -> None:
    """A line for each folder, in their order, each by itself."""
    for name, content in (
        ("1", json.dumps(report)),
        ("2", "{"),
        ("3", json.dumps(report_of([Ran("a", "nats", "1", 1.0)]))),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(content)
    done = subprocess.run(
        [sys.executable, "-m", "analysis.digest", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=100
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(line["digest"]["entries"]) if "digest" in line else line["refused"][:11] for line in lines] == [
        3,
        "report.json",
        1,
    ]
