"""A ladder's records through the whole job: the curve is of exact percentiles, and its figure's data is beside the page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.application import make_report
from tests.analysis.synthetic_results import EPOCH_NS, Plan, S, Shape, manifest_document, write_results, write_trial

RATES = (200, 400)


def write_ladder(folder: Path) -> None:
    """Two systems at two rates in one block; what the workload is, each trial.json says."""
    trials = [
        (Plan(f"b01-{place}-{system}-l1-climb-{rate}", 1, place, system, median_ms), Shape(rate_per_s=rate))
        for rate in RATES
        for place, (system, median_ms) in enumerate((("pulsar", 6.0), ("kafka", 3.0)), start=1)
    ]
    write_results(folder, [], order=manifest_document([plan for plan, _ in trials], Shape())["order"])
    for at, (plan, shape) in enumerate(trials):
        trial = folder / "trials" / plan.name
        write_trial(trial, plan, shape, start_ns=EPOCH_NS + at * 600 * S)
        document = json.loads((trial / "trial.json").read_text())
        document["workload"] |= {"name": f"climb-{shape.rate_per_s}", "ladder": "climb", "goal_p99_ms": 15}
        (trial / "trial.json").write_text(json.dumps(document))


def test_a_ladder_reaches_the_report(spark: SparkSession, results: Path, tmp_path: Path) -> None:
    """Points are the summary's figures; who keeps the goal comes first, at the brokers' CPU time by its telemetry."""
    write_ladder(results)
    (tmp_path / "scratch").mkdir()
    out = tmp_path / "report"
    make_report(spark, str(results), out=str(out), scratch=tmp_path / "scratch", progress=lambda _: None)
    (curve,) = json.loads((out / "report.json").read_text())["curves"]
    assert (curve["ladder"], curve["level"], curve["goal_p99_ms"]) == ("climb", 1, 15)
    assert [own["contestant"] for own in curve["contestants"]] == ["kafka", "pulsar"]
    kafka, pulsar = curve["contestants"]
    assert kafka["at_goal"]["median"] == {"value": 400.0, "low": 400.0, "high": None}
    assert pulsar["at_goal"]["median"] == {"value": None, "low": 0.0, "high": 200.0}
    assert pulsar["cost"] is None
    # three brokers of 0.3 cores each at 400 messages a second
    assert kafka["cost"]["brokers_core_s"]["median"]["value"] == pytest.approx(0.9 / 400 * 1e6, rel=0.01)
    with (out / "data" / "curve-climb-l1.csv").open() as file:
        points = {row["trial"]: row["p99_ms"] for row in csv.DictReader(file)}
    with (out / "summary.csv").open() as file:
        summary = {
            row["trial"]: row["value"] for row in csv.DictReader(file) if row["metric"] == "response_latency_p99"
        }
    assert points == summary
    assert len(points) == 2 * len(RATES)
