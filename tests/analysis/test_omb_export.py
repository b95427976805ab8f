"""A trial as a result file of OpenMessaging Benchmark: what its chart script reads is there, exact, and comes back by import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.errors import AnalysisError
from analysis.omb.export import export_trials
from analysis.omb.layout import known_keys
from tests.analysis.omb_results import import_file, values
from tests.analysis.synthetic_results import EPOCH_NS, Plan, S, Shape, write_results

SHAPE = Shape(rate_per_s=200, warmup_s=2, measure_s=25, subscriptions=2)
SOUND, FAULTY, NOTHING = "b01-1-pulsar-l1-steady", "b01-2-kafka-l1-steady", "b02-1-kafka-l1-steady"
PLANS = [
    Plan(SOUND, 1, 1, "pulsar"),
    Plan(FAULTY, 1, 2, "kafka", lost=((0, 1200),), repeated=((1, 1505),), unacknowledged=((0, 1000), (1, 2000))),
    Plan(
        NOTHING, 2, 1, "kafka", nothing_recorded=True, changes={"settings": {}, "observations": {}},
        abort={"rule": "host-lost", "axis": "validity", "reason": "no SSH connection", "host": "broker-2"},
    ),
]  # fmt: skip
# what bin/create_charts.py of openmessaging/benchmark (commit 85599891) reads of a result: lists with a number for each window ...
CHARTED_LISTS = (
    *("publishLatency99pct", "publishDelayLatency99pct", "publishRate", "publishErrorRate"),
    *("endToEndLatency95pct", "consumeRate", "endToEndLatencyAvg"),
)
# ... and objects whose keys are percentiles
CHARTED_QUANTILES = (
    *("aggregatedPublishLatencyQuantiles", "aggregatedPublishDelayLatencyQuantiles"),
    "aggregatedEndToEndLatencyQuantiles",
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound trial, one with losses and errors, one that never began."""
    return write_results(tmp_path_factory.mktemp("export") / "results", PLANS, SHAPE)


@pytest.fixture(scope="module")
def exported(spark: SparkSession, results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every trial of the folder, as far as it can be exported."""
    out = results / "omb"
    scratch = tmp_path_factory.mktemp("scratch")
    written = export_trials(spark, str(results), [], out=str(out), scratch=scratch, progress=lambda _: None)
    assert written == [SOUND, FAULTY]
    return out


def document(exported: Path, trial: str = SOUND) -> dict[str, Any]:
    """A trial's result file."""
    made: dict[str, Any] = json.loads((exported / f"{trial}.json").read_text())
    return made


def columns(results: Path, trial: str, kind: str) -> dict[str, Any]:
    """The records of a trial, as numpy arrays with nan for null."""
    table = pq.read_table(results / "trials" / trial / kind)
    return {name: table[name].to_pandas().to_numpy() for name in table.column_names}


def measured_from_ns(trial: str) -> int:
    """When its measure phase began."""
    return EPOCH_NS + [plan.name for plan in PLANS].index(trial) * 600 * S + SHAPE.warmup_s * S


def nearest_rank(values: Any, share: float) -> float:
    """The smallest value with at least that share of all at most it."""
    return float(np.sort(values)[int(np.ceil(round(share * len(values), 6))) - 1])


def test_what_their_charts_read_is_there(exported: Path) -> None:
    """Every key of bin/create_charts.py, with its type, and lists as long as there are windows."""
    for trial in (SOUND, FAULTY):
        made = document(exported, trial)
        assert all(isinstance(made[key], str) and made[key] for key in ("workload", "driver"))
        for key in CHARTED_LISTS:
            assert len(made[key]) == 3, key
            assert all(isinstance(value, int | float) for value in made[key]), key
        assert max(made["publishLatency99pct"]) > 0
        for key in CHARTED_QUANTILES:
            points = sorted((float(percentile), value) for percentile, value in made[key].items())
            assert len(points) > 20 and points[-1][0] == 100.0, key
            assert all(isinstance(value, int | float) for _, value in points), key
            assert [value for _, value in points] == sorted(value for _, value in points), key


def test_the_file_has_the_newest_generations_keys_and_no_other(exported: Path) -> None:
    """A reader of theirs refuses what it doesn't know; what is in microseconds there is whole microseconds."""
    made = document(exported)
    assert set(made) == known_keys()
    assert {len(value) for value in made.values() if isinstance(value, list)} == {3}
    assert all(isinstance(value, int) for value in made["publishDelayLatency99pct"])
    assert isinstance(made["aggregatedPublishDelayLatencyMax"], int)
    assert (made["messageSize"], made["topics"], made["partitions"], made["producersPerTopic"]) == (1024, 1, 3, 2)
    assert made["consumersPerTopic"] == 1  # two consumers of two subscriptions
    assert made["driver"] == "pulsar level 1, block 1, 200 per s, 2 subscriptions, by samebox"


@pytest.mark.parametrize("trial", [SOUND, FAULTY])
def test_figures_are_exact(trial: str, exported: Path, results: Path) -> None:
    """Against the records themselves: rates by what happened in a window, latencies by the window of the intended time."""
    made, begin = document(exported, trial), measured_from_ns(trial)
    rows = columns(results, trial, "produced")
    in_window = (rows["intended_ns"] - begin) // (10 * S)
    in_phase = (rows["intended_ns"] >= begin) & (rows["intended_ns"] < begin + SHAPE.measure_s * S)
    acked = rows["acked_ns"].astype(float)
    publish_us = np.floor((acked - rows["sent_ns"].astype(float)) / 1000)
    for window in range(3):
        values = publish_us[in_phase & (in_window == window) & ~np.isnan(acked)]
        assert made["publishLatency99pct"][window] == pytest.approx(nearest_rank(values, 0.99) / 1000, abs=0.002)
        assert made["publishLatencyAvg"][window] == pytest.approx(values.mean() / 1000, rel=1e-3)
        acknowledged = ((acked >= begin + window * 10 * S) & (acked < begin + (window + 1) * 10 * S)).sum()
        if window < 2:
            assert made["publishRate"][window] == pytest.approx(acknowledged / 10)
    everything = publish_us[in_phase & ~np.isnan(acked)]
    assert made["aggregatedPublishLatency50pct"] == pytest.approx(nearest_rank(everything, 0.5) / 1000, abs=0.002)
    assert made["aggregatedPublishLatencyMax"] == pytest.approx(everything.max() / 1000, abs=0.002)
    received = columns(results, trial, "consumed")
    in_phase = (received["intended_ns"] >= begin) & (received["intended_ns"] < begin + SHAPE.measure_s * S)
    end_to_end_ns = (received["received_ns"] - received["intended_ns"])[in_phase]
    assert made["aggregatedEndToEndLatency999pct"] == nearest_rank(end_to_end_ns // 1000, 0.999) / 1000


def test_errors_and_backlog_are_counted(exported: Path) -> None:
    """Two messages had an error; one was lost to a subscription each, another came twice in both."""
    made = document(exported, FAULTY)
    assert sum(
        rate * seconds for rate, seconds in zip(made["publishErrorRate"], (10, 10, 5), strict=True)
    ) == pytest.approx(2)
    assert document(exported)["publishErrorRate"] == [0, 0, 0]
    assert all(isinstance(backlog, int) and backlog >= 0 for backlog in made["backlog"])


def test_an_export_is_imported_whole(exported: Path) -> None:
    """No fault but the one that every file of the format may have, and the same figures."""
    for trial in (SOUND, FAULTY):
        made, back = document(exported, trial), import_file(exported / f"{trial}.json")
        assert back.result.generation == "g3"
        assert not back.faults
        assert back.aggregates_used
        assert values(back)["publish_latency_p99"] == made["aggregatedPublishLatency99pct"]
        assert values(back)["send_delay_p99"] == pytest.approx(made["aggregatedPublishDelayLatency99pct"] / 1000)
        assert back.identity["system"].value == {SOUND: "pulsar", FAULTY: "kafka"}[trial]


def test_what_differs_and_what_is_missing_is_said(exported: Path) -> None:
    """Beside the files: how each latency is defined, and which trial isn't there."""
    assert {path.name for path in exported.iterdir()} == {f"{SOUND}.json", f"{FAULTY}.json", "about.txt", "_SUCCESS"}
    about = (exported / "about.txt").read_text()
    assert "from the return of the send call" in about
    assert f"Not exported: no load was recorded of {NOTHING}." in about


def test_an_export_refuses_what_it_cannot_do(spark: SparkSession, results: Path, tmp_path: Path) -> None:
    """An unknown trial, one without a load, a folder with files of others: by name, and nothing is written."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    for number, (names, out, said) in enumerate(
        [
            (["b09"], tmp_path / "out", "no trial 'b09'"),
            ([NOTHING], tmp_path / "out", f"no load was recorded of {NOTHING}"),
            ([SOUND], foreign, "contains files that aren't part of an earlier export (thesis.txt)"),
        ]
    ):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        with pytest.raises(AnalysisError) as caught:
            export_trials(spark, str(results), names, out=str(out), scratch=scratch, progress=lambda _: None)
        assert said in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]
