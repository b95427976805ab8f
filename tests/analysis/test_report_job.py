"""The whole job on synthetic results: once through a real spark-submit with a zipped package, and its refusals in-process."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.application import make_report
from analysis.errors import AnalysisError
from tests.analysis.synthetic_results import CHECKS, CONSUMED, Plan, Shape, write_results

ROOT = Path(__file__).resolve().parents[2]
FAULTY, ABORTED, DRIFTED, NEVER = (
    "b01-2-kafka-l1-steady",
    "b02-1-kafka-l1-steady",
    "b02-2-pulsar-l1-steady",
    "b03-1-kafka-l1-steady",
)
DRIFT = [{"component": "topic", "key": "flush.messages", "intended": "1", "effective": "9223372036854775807"}]
DEAD_WORKER = {
    **dict.fromkeys(("cpu_s", "wall_s", "rss_peak_bytes", "rows", "exit_status")),
    "worker": "producer-0",
    "host": "client-1",
}
SHAPE = Shape(subscriptions=2)
SCALE = {"name": "local", "rules": ["offered rate x 0.01, not below 100 msg/s", "partitions x 0.1, not below 100"]}
DEFINITION = {"differs": ["Today's systems."], "experiments": [{"id": "X-1", "differs": ["A search, no maximum."]}]}
PROVEN: dict[str, Any] = {
    "system": "kafka", "durability": {"name": "1", "replication": "sync", "local": "sync", "bypass": False}, "verdict": "proven",
    "sentence": "120 of 120 messages were synced to disk on at least 2 nodes before their acknowledgement came.",
    "evidence": {"messages": 120, "arrived": [0, 0, 0, 120], "written": [0, 0, 0, 120], "synced": [0, 0, 7, 113]},
    "created_ns": 1_700_000_000_000_000_000, "testbed": {"kind": "local", "name": "local"},
}  # fmt: skip
NOT_OBSERVED = {**PROVEN, "system": "pulsar", "verdict": "not shown", "sentence": "bookie died", "evidence": None}
PLANS = [
    Plan("b01-1-pulsar-l1-steady", 1, 1, "pulsar", 6.0),
    Plan(FAULTY, 1, 2, "kafka", 3.0, lost=((0, 1200), (1, 900)), repeated=((0, 505), (1, 1505), (1, 3)), swapped=((0, 702),)),
    Plan(
        ABORTED, 2, 1, "kafka", cut_after_s=6, observations={"workers": [DEAD_WORKER]},
        abort={"rule": "nothing-acknowledged", "axis": "outcome", "reason": "nothing was acknowledged for 30 s", "host": None},
    ),
    Plan(DRIFTED, 2, 2, "pulsar", changes={"settings": {"intended": {"topic": {"a": "1"}}, "effective": {"topic": {"a": "2"}}, "drift": DRIFT}}),  # noqa: E501
    Plan(
        NEVER, 3, 1, "kafka", nothing_recorded=True, changes={"settings": {}, "observations": {}},
        abort={"rule": "host-lost", "axis": "validity", "reason": "no SSH connection", "host": "broker-2"},
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def submitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with a report made by spark-submit from a zip of the package, started somewhere else."""
    work = tmp_path_factory.mktemp("submitted")
    results = write_results(work / "results", PLANS, SHAPE, scale=SCALE, representative=True, definition=DEFINITION)
    (results / "durability_proof.json").write_text(json.dumps({"schema": 1, "cells": [PROVEN, NOT_OBSERVED]}))
    with zipfile.ZipFile(work / "analysis.zip", "w") as archive:
        for file in (ROOT / "analysis").rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(ROOT))
    job = work / "job.py"  # as on a cluster: the file alone, not inside the package
    job.write_text((ROOT / "analysis" / "job.py").read_text())
    command = [
        str(Path(sys.executable).with_name("spark-submit")),
        "--master",
        "local[2]",
        "--py-files",
        str(work / "analysis.zip"),
    ]
    command += ["--conf", f"spark.local.dir={work}/spark", "--conf", f"spark.sql.warehouse.dir={work}/warehouse"]
    command += ["--conf", "spark.sql.ansi.enabled=true", str(job), str(results)]
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, cwd=work, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return Path(results)


@pytest.mark.integration
def test_the_report_is_whole(submitted: Path) -> None:
    """Every file is there, nothing else, and the mark of success."""
    names = {path.name for path in (submitted / "report").iterdir()}
    assert names == {"index.html", "checks.json", "report.json", "summary.csv", "summary.parquet", "data", "_SUCCESS"}
    assert not (submitted / "report.writing").exists()
    assert sorted(path.stem for path in (submitted / "report" / "data").iterdir()) == sorted(
        [f"percentiles-steady-l1-{m}-latency" for m in ("response", "publish", "end-to-end")]
        + [f"time-{plan.name}" for plan in PLANS if plan.name != NEVER]
        + ["disks-steady-l1", "ratios-steady-l1-pulsar-kafka"]
    )


@pytest.mark.integration
def test_the_durability_proof_is_shown(submitted: Path) -> None:
    """Its verdicts with their evidence, also where nothing could be observed."""
    report = json.loads((submitted / "report" / "report.json").read_text())
    assert report["durability_proof"] == [PROVEN, NOT_OBSERVED]
    page = (submitted / "report" / "index.html").read_text()
    assert '<td class="nowrap">0, 0, 7, 113</td>' in page
    assert PROVEN["sentence"] in page
    assert "bookie died" in page


@pytest.mark.integration
def test_loss_duplicates_and_order_are_found_exactly(submitted: Path) -> None:
    """Two lost, three repeated, one swapped pair, in each of two subscriptions; nothing in the other trials."""
    report = json.loads((submitted / "report" / "report.json").read_text())
    for trial in report["trials"]:
        faulty = trial["trial"] == FAULTY
        if trial["trial"] == NEVER:
            continue
        found = [(d["lost"], d["duplicates"], d["unacknowledged_received"], d["examples"]) for d in trial["deliveries"]]
        assert found == [(2, 3, 0, ["0/1200", "1/900"]) if faulty else (0, 0, 0, [])] * 2
        assert [ordering["steps_back"] for ordering in trial["orderings"]] == [1 if faulty else 0] * 2


@pytest.mark.integration
def test_verdicts(submitted: Path) -> None:
    """checks.json holds every check of every trial; the faults are where they were put, and nowhere else."""
    checks = json.loads((submitted / "report" / "checks.json").read_text())
    assert len(checks) == len(CHECKS) * len(PLANS)
    assert all(set(check) == {"trial", "check", "axis", "verdict", "evidence", "sentence"} for check in checks)
    bad = {
        (c["trial"], c["check"]): c["verdict"]
        for c in checks
        if c["verdict"] not in ("valid", "met") and c["trial"] != NEVER
    }
    assert bad == {
        (FAULTY, "no-loss"): "not met",
        (FAULTY, "no-duplicates"): "not met",
        (FAULTY, "order"): "not met",
        (ABORTED, "offered-rate"): "not met",
        (ABORTED, "kept-answering"): "not met",
        (DRIFTED, "settings"): "invalid",
    }
    never = {c["check"]: c["verdict"] for c in checks if c["trial"] == NEVER}
    assert (never["hosts-kept"], never["send-delay"], never["no-loss"]) == ("invalid", "unknown", "unknown")


@pytest.mark.integration
def test_only_sound_pairs_are_compared(submitted: Path) -> None:
    """Block 2 has an invalid trial and block 3 one system only, so one ratio is left, and no interval."""
    report = json.loads((submitted / "report" / "report.json").read_text())
    assert {(c["first"], c["second"], len(c["blocks"])) for c in report["comparisons"]} == {("pulsar", "kafka", 1)}
    assert {exclusion["trial"] for exclusion in report["excluded"]} == {DRIFTED, NEVER}
    assert "with fewer than 6 blocks no 95 % interval is possible" in report["answer"]["certainty"]
    outcomes = {outcome["contestant"]: outcome for outcome in report["outcomes"]}
    assert outcomes["kafka"]["trials"] == 3
    assert outcomes["kafka"]["not_met"]["kept-answering"] == 1


@pytest.mark.integration
def test_a_scaled_report_says_so_everywhere(submitted: Path) -> None:
    """In the strip that stays in sight and is printed on every page, and in the answer's own words; what differs is listed."""
    page = (submitted / "report" / "index.html").read_text()
    strip = re.search(r'<p class="scaled" role="note">(.*?)</p>', page, re.DOTALL)
    assert strip
    assert "local" in strip.group(1)
    assert "offered rate x 0.01, not below 100 msg/s; partitions x 0.1, not below 100" in strip.group(1)
    assert page.index('class="scaled"') < page.index("<header>")
    scaled, represented, *_ = json.loads((submitted / "report" / "report.json").read_text())["answer"]["warnings"]
    assert scaled.startswith("Scaled down (local)")
    assert represented == "Only what represents each experiment was run: one workload at one promise."
    assert page.index("Today&#39;s systems.") < page.index("A search, no maximum.")


@pytest.mark.integration
def test_the_summary_holds_exact_percentiles(submitted: Path) -> None:
    """summary.csv equals summary.parquet, and p99 of the response latency equals numpy's over the records."""
    rows = list(csv.DictReader((submitted / "report" / "summary.csv").open()))
    table = pq.read_table(submitted / "report" / "summary.parquet").to_pylist()
    assert [(row["trial"], row["metric"], row["value"], row["low"], row["high"]) for row in rows] == [
        (r["trial"], r["metric"], *("" if r[name] is None else str(r[name]) for name in ("value", "low", "high")))
        for r in table
    ]
    for trial in (PLANS[0].name, FAULTY):
        produced = pq.read_table(submitted / "trials" / trial / "produced").to_pandas()
        measured = produced[produced["phase"] == "measure"]
        exact_ns = np.percentile(measured["acked_ns"] - measured["intended_ns"], 99, method="inverted_cdf")
        (found,) = (r for r in table if (r["trial"], r["metric"]) == (trial, "response_latency_p99"))
        assert (found["value"], found["unit"], found["samples"]) == (exact_ns / 1e6, "ms", len(measured))


class _Links(HTMLParser):
    """Collects every attribute that makes a browser load something."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = ("src", "srcset", "data", "poster") + (
            ("href", "xlink:href") if tag in ("link", "image", "use") else ()
        )
        self.loaded += [value or "" for name, value in attrs if name in names]


@pytest.mark.integration
def test_the_page_loads_nothing_from_outside(submitted: Path) -> None:
    """One file: no script but its own, no link but to itself or its neighbours, and every trial, caveat and figure is in it."""
    page = (submitted / "report" / "index.html").read_text()
    links = _Links()
    links.feed(page)
    assert [link for link in links.loaded if not link.startswith(("#", "data:"))] == []
    assert not re.search(r"<script[^>]|@import|fetch\(|url\((?!#)", page)
    assert page.count('<svg role="img"') == 9
    assert all(plan.name in page for plan in PLANS)
    greyed = set(re.findall(r'class="not-compared">([^ ]+) <span class="note">not compared', page))
    assert greyed == {DRIFTED, NEVER}
    assert f"<strong>{DRIFTED} (not compared).</strong>" in page
    assert "it doesn't compare brokers" in page.replace("&#39;", "'")


def _in_process(spark: SparkSession, results: Path, scratch: Path, out: Path | None = None) -> Path:
    report = out or results / "report"
    scratch.mkdir()
    make_report(spark, str(results), out=str(report), scratch=scratch, progress=lambda _: None)
    return report


def test_twice_gives_the_same_bytes(spark: SparkSession, results: Path, tmp_path: Path) -> None:
    """A second run replaces the report by an equal one."""
    write_results(results, PLANS[:2])
    report = _in_process(spark, results, tmp_path / "first")
    before = {path.relative_to(report): path.read_bytes() for path in report.rglob("*") if path.is_file()}
    _in_process(spark, results, tmp_path / "second")
    after = {path.relative_to(report): path.read_bytes() for path in report.rglob("*") if path.is_file()}
    assert before == after


def test_a_trial_that_is_not_steady_is_told_and_marked(spark: SparkSession, results: Path, tmp_path: Path) -> None:
    """The check has the exact medians of its thirds, the first screen says so, its figure marks them; another trial's is as ever."""
    unsteady, steady = "b01-2-kafka-l1-steady", PLANS[0].name
    write_results(results, [PLANS[0], Plan(unsteady, 1, 2, "kafka", 3.0, settles_s=2.0)])
    folder = _in_process(spark, results, tmp_path / "scratch")
    report = json.loads((folder / "report.json").read_text())
    found = {each["trial"]: each for each in report["checks"] if each["check"] == "steady-state"}
    assert {trial: each["verdict"] for trial, each in found.items()} == {steady: "valid", unsteady: "warn"}
    (change,) = found[unsteady]["evidence"]["judged"]
    produced = pq.read_table(results / "trials" / unsteady / "produced").to_pandas()
    measured = produced[produced["phase"] == "measure"]
    since_ns = measured["intended_ns"] - measured["intended_ns"].min()
    latency_ns = measured["acked_ns"] - measured["intended_ns"]
    medians_ms = [
        np.percentile(latency_ns[within], 50, method="inverted_cdf") / 1e6
        for within in (since_ns < 2e9, since_ns >= 4e9)
    ]
    assert [change["first_ms"], change["last_ms"]] == medians_ms
    assert any(sentence.startswith("steady-state warns of 1 of 2 trials") for sentence in report["answer"]["warnings"])
    page = (folder / "index.html").read_text()
    assert page.count("first and the last third of the measurement, at their p50") == 1
    assert not [row for row in report["summary"] if "third" in row["metric"]]


def test_aa_blocks_reach_the_report(spark: SparkSession, results: Path, tmp_path: Path) -> None:
    """A trial of an A/A block is in the tables of trials and in its pair's noise, and in no curve, ratio or outcome of two systems."""
    aa = [
        Plan(f"aa02-{place}-kafka-l1-steady", 2, place, "kafka", 3.0, changes={"block_kind": "A/A"}) for place in (1, 2)
    ]
    write_results(results, [PLANS[0], replace(PLANS[1], lost=(), repeated=(), swapped=()), *aa])
    folder = _in_process(spark, results, tmp_path / "scratch")
    report = json.loads((folder / "report.json").read_text())
    found = {comparison["metric"]: comparison for comparison in report["comparisons"]}["response_latency_p50"]
    assert [(entry["block"], entry["ratio"]["value"] > 1.5) for entry in found["blocks"]] == [(1, True)]
    assert [(entry["block"], 0.8 < entry["ratio"]["value"] < 1.25) for entry in found["aa_blocks"]] == [(2, True)]
    assert [(outcome["contestant"], outcome["trials"]) for outcome in report["outcomes"]] == [
        ("pulsar", 1),
        ("kafka", 1),
    ]
    assert [(outcome["contestant"], outcome["trials"]) for outcome in report["aa_outcomes"]] == [("kafka", 2)]
    assert {trial["trial"]: trial["block_kind"] for trial in report["trials"]}["aa02-1-kafka-l1-steady"] == "A/A"
    assert "aa02" not in (folder / "data" / "percentiles-steady-l1-response-latency.csv").read_text()
    assert "1 A/A block of these systems makes no noise band: 6 are needed" in report["answer"]["certainty"]


def test_a_folder_that_is_no_report_is_not_replaced(spark: SparkSession, results: Path, tmp_path: Path) -> None:
    """--out pointed at somebody's files is refused, and they stay."""
    write_results(results, PLANS[4:])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(AnalysisError, match=r"thesis\.txt"):
        _in_process(spark, results, tmp_path / "scratch", out=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def _older_manifest(results: Path) -> None:
    _change(results / "manifest.json", schema=2)


def _older_trial(results: Path) -> None:
    _change(results / "trials" / FAULTY / "trial.json", schema="1")


def _unmarked_rows(results: Path) -> None:
    file = next((results / "trials" / FAULTY / "consumed").glob("*.parquet"))
    pq.write_table(pq.read_table(file).replace_schema_metadata({}), file)


def _newer_rows(results: Path) -> None:
    file = next((results / "trials" / FAULTY / "consumed").glob("*.parquet"))
    pq.write_table(pq.read_table(file).replace_schema_metadata({"samebox.schema": "2"}), file)


def _missing_column(results: Path) -> None:
    file = next((results / "trials" / FAULTY / "consumed").glob("*.parquet"))
    table = pq.read_table(file).drop_columns(["received_ns"])
    pq.write_table(table.replace_schema_metadata(CONSUMED.metadata or {"samebox.schema": "1"}), file)


def _torn_file(results: Path) -> None:
    file = next((results / "trials" / FAULTY / "produced").glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:100])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_older_manifest, r"manifest\.json: schema is 2"),
        (_older_trial, r"trial\.json: schema is '1'"),
        (_unmarked_rows, r"parquet: its samebox\.schema is none"),
        (_newer_rows, r"parquet: its samebox\.schema is '2'"),
        (_missing_column, r"has no column received_ns"),
        (_torn_file, r"not a readable Parquet file"),
    ],
)
def test_unknown_layouts_are_refused(
    spark: SparkSession, results: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    """A file of another schema version, or one that isn't what it says, ends the job before anything is written."""
    write_results(results, PLANS[1:2])
    damage(results)
    with pytest.raises(AnalysisError, match=message):
        _in_process(spark, results, tmp_path / "scratch")
    assert not (results / "report").exists()


def _change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
