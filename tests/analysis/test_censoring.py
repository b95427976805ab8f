"""A system that gives messages up, or stops answering, gains nothing by it: from the records to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.application import make_report
from tests.analysis.synthetic_results import Plan, Shape, write_results

PULSAR, GIVES_UP, STOPS = (
    "b01-1-pulsar-l1-steady",
    "b01-2-kafka-l1-steady",
    "b02-1-kafka-l1-steady",
)
EVERY_THIRD = tuple((producer, index) for producer in (0, 1) for index in range(400, 1600, 3))
PLANS = [
    Plan(PULSAR, 1, 1, "pulsar", 20.0),
    Plan(GIVES_UP, 1, 2, "kafka", 4.0, unacknowledged=EVERY_THIRD),
    Plan(
        STOPS, 2, 1, "kafka", 4.0, cut_after_s=5,
        abort={"rule": "nothing-acknowledged", "axis": "outcome", "reason": "nothing was acknowledged for 30 s", "host": None},
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of a campaign in which kafka is fast, and silent for a third of the messages, or for the second half."""
    folder: Path = tmp_path_factory.mktemp("censored")
    results = write_results(folder / "results", PLANS, Shape())
    (folder / "scratch").mkdir()
    out = results / "report"
    make_report(spark, str(results), out=str(out), scratch=folder / "scratch", progress=lambda _: None)
    document: dict[str, Any] = json.loads((out / "report.json").read_text())
    return document


def _latency(report: dict[str, Any], trial: str, metric: str) -> dict[str, Any]:
    (found,) = (each for each in report["trials"] if each["trial"] == trial)
    (entry,) = (each for each in found["latencies"] if each["metric"] == metric)
    return dict(entry)


@pytest.mark.parametrize("metric", ["response_latency", "publish_latency", "end_to_end_latency"])
def test_percentiles_are_of_all_scheduled_messages(report: dict[str, Any], metric: str) -> None:
    """Of 2,400, a third of them never acknowledged nor received: the median is that of all, the 90th percentile is only bounded."""
    entry = _latency(report, GIVES_UP, metric)
    assert entry["samples"] == 2400
    assert 4.0 < entry["ms"]["p50"] < 9.0
    assert entry["ms"]["p90"] is None
    assert entry["more_than_ms"]["p90"] > entry["ms"]["p50"]
    assert _latency(report, PULSAR, metric)["more_than_ms"] == {}


def test_a_system_that_stops_answering_is_bounded_by_how_long_was_waited(report: dict[str, Any]) -> None:
    """Half of the messages, those of the last three of six seconds: p75 is later than what was waited for the last quarter."""
    entry = _latency(report, STOPS, "response_latency")
    assert entry["samples"] == 2400
    assert entry["more_than_ms"]["p75"] == pytest.approx(1000.0)
    assert entry["ms"]["max"] is None


def test_no_comparison_is_won_by_silence(report: dict[str, Any]) -> None:
    """Pulsar's p99 is at most so much of kafka's; its throughput stands."""
    found = {each["metric"]: each for each in report["comparisons"]}
    p99 = found["response_latency_p99"]["blocks"][0]
    assert p99["second"]["high"] is None
    assert p99["ratio"]["value"] is None
    assert p99["ratio"]["low"] == 0.0
    assert found["response_latency_p50"]["blocks"][0]["ratio"]["value"] > 1


def test_the_summary_says_what_is_known(report: dict[str, Any]) -> None:
    """No value, and the bound."""
    rows = {row["metric"]: row for row in report["summary"] if row["trial"] == GIVES_UP}
    p99 = rows["response_latency_p99"]
    assert (p99["value"], p99["high"], p99["samples"]) == (None, None, 2400)
    assert p99["low"] > 0
    p50 = rows["response_latency_p50"]
    assert p50["value"] == p50["low"] == p50["high"]
