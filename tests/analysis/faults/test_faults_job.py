"""A campaign with faults through the whole job, and one without: what the report, the page and the summary have."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.application import make_report
from tests.analysis.faults.campaigns import faulty_campaign
from tests.analysis.synthetic_results import Plan, write_results


def report_of(spark: SparkSession, results: Path, folder: Path) -> Path:
    """The folder of its report."""
    (folder / "scratch").mkdir(parents=True)
    make_report(spark, str(results), out=str(folder / "out"), scratch=folder / "scratch", progress=lambda _: None)
    return folder / "out"


@pytest.fixture(scope="module")
def faulty(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of three blocks."""
    folder = tmp_path_factory.mktemp("faults")
    yield report_of(spark, faulty_campaign(folder / "demo", blocks=3), folder / "report")


def read(out: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((out / "report.json").read_text())
    return document


def test_every_fault_of_every_cell_is_told(faulty: Path) -> None:
    """Two workloads, one with two faults; all contestants, and the trials in which they took effect."""
    told = read(faulty)["faults"]
    assert [(each["workload"], each["called"]) for each in told] == [
        ("kill-leader", "1 kill"),
        ("kill-all", "1 kill"),
        ("kill-all", "2 freeze"),
    ]
    trials = {own["contestant"]: len(own["trials"]) for own in told[0]["contestants"]}
    assert trials == {"kafka": 3, "pulsar": 2, "nats": 3}  # one of pulsar's never took effect


def test_the_first_thing_told_is_what_was_lost_that_had_to_survive(faulty: Path) -> None:
    """With its rows; what the promise allows comes after it, as that."""
    first, second = read(faulty)["answer"]["findings"][:2]
    assert first.startswith("Lost what had to survive. Workload kill-leader, durability level 1, fault 1")
    assert "kafka lost 4 acknowledged messages in 1 of 3 trials" in first
    assert "producer 1, sequence 4089, partition 1, acknowledged 0.011 s before the fault" in first
    assert first.endswith("by that it has them all, and didn't deliver them.")
    assert "which the promise allows: a quorum may have had it only in the memory" in second


def test_lost_messages_are_listed_with_their_times(faulty: Path) -> None:
    """Each with producer, sequence, partition, and when it was acknowledged."""
    kafka = read(faulty)["faults"][0]["contestants"][0]
    (lossy,) = [trial for trial in kafka["trials"] if trial["losses"]["lost"]]
    assert (lossy["losses"]["lost"], lossy["promise"]["must"], kafka["totals"]["lost"]) == (4, True, 4)
    assert [(row["producer"], row["sequence"]) for row in lossy["losses"]["rows"]] == [
        (1, 4089),
        (0, 4090),
        (1, 4091),
        (0, 4092),
    ]
    assert all(-0.02 < row["acknowledged_after_s"] < 0 for row in lossy["losses"]["rows"])


def test_what_faults_did_is_compared_block_by_block_like_any_other_metric(faulty: Path) -> None:
    """One comparison per pair and headline of each fault; the excluded trial is in none."""
    found = {
        (each["first"], each["second"], each["metric"]): len(each["blocks"])
        for each in read(faulty)["comparisons"]
        if each["workload"] == "kill-leader" and each["metric"].startswith("fault_")
    }
    assert found["kafka", "nats", "fault_gap_of_a_partition[1 kill]"] == 3
    assert found["kafka", "pulsar", "fault_response_back_after[1 kill]"] == 2
    assert len(found) == 3 * 5


def test_summary_and_page_have_what_faults_did(faulty: Path) -> None:
    """The figures' data lies beside the page."""
    with (faulty / "summary.csv").open() as file:
        metrics = {row["metric"] for row in csv.DictReader(file)}
    assert {"fault_gap[1 kill]", "fault_lost[1 kill]", "fault_unacknowledged_paid_after[2 freeze]"} <= metrics
    page = (faulty / "index.html").read_text()
    assert 'id="faults"' in page and "Which promise must survive which fault" in page
    assert "https://kafka.apache.org/documentation/#producerconfigs_acks" in page
    assert (faulty / "data" / "recovery-fault-kill-leader-l1-1.csv").is_file()
    assert (faulty / "data" / "around-fault-kill-all-l2-2.csv").is_file()


def test_a_fault_that_never_took_effect_excludes_its_trial_and_says_why(faulty: Path) -> None:
    """With the sentence of what was observed."""
    (excluded,) = read(faulty)["excluded"]
    assert excluded["trial"] == "b03-2-pulsar-l1-kill-leader"
    assert "nobody led the partition when it was to be killed" in excluded["reasons"][0]


def test_a_campaign_without_faults_says_nothing_of_any(spark: SparkSession, tmp_path: Path) -> None:
    """Neither report nor page nor summary has a word of it, not even an empty one."""
    results = write_results(tmp_path / "demo", [Plan("b01-1-kafka-l1-steady", 1, 1, "kafka")])
    out = report_of(spark, results, tmp_path / "report")
    assert not {"faults", "survival"} & read(out).keys()
    assert "fault" not in (out / "summary.csv").read_text()
    assert 'id="faults"' not in (out / "index.html").read_text()
    assert not [file.name for file in (out / "data").iterdir() if "fault" in file.name]
