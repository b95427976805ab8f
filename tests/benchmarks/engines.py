"""The same percentiles of the same files by the two engines: samebox's analysis on Spark, and DuckDB. It compares nothing.

Both read the Parquet files anew in every call, leave out the warm-up, and group by trial.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

from analysis.campaign import read_campaign
from analysis.percentiles import CURVE_QUANTILES, MAXIMUM, MILLION, TABLE_QUANTILES, is_shown
from analysis.pipeline import exact_percentiles
from analysis.records.buckets import PRODUCED, count_produced
from analysis.records.files import records_of
from analysis.records.latencies import PUBLISH, RESPONSE, SEND_DELAY
from analysis.records.scan import scan
from analysis.schema import MEASURE
from analysis.storage import Storage
from tests.benchmarks.comparison import Found, Key, Values

# a message acknowledged before its send call returned has a publish latency of 0 (docs/records.md)
_DUCKDB_METRICS = {
    RESPONSE: "acked_ns - intended_ns",
    PUBLISH: "CASE WHEN acked_ns < sent_ns THEN 0 ELSE acked_ns - sent_ns END",
    SEND_DELAY: "sent_ns - intended_ns",
}


@dataclass(frozen=True)
class Case:
    """What is asked of both engines, per trial."""

    name: str
    metrics: tuple[str, ...]
    quantiles_ppm: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}: {len(self.metrics)} metric{'s'[: len(self.metrics) > 1]} x {len(self.quantiles_ppm)} quantiles"


PLAIN = Case("plain", (RESPONSE,), (500_000, 900_000, 990_000, 999_000, MAXIMUM))
REPORT = Case("report", tuple(_DUCKDB_METRICS), tuple(sorted({*TABLE_QUANTILES, *CURVE_QUANTILES})))


@dataclass(frozen=True)
class Shuffled:
    """What the stages of a query wrote for other stages to read."""

    bytes: int
    counts: int


class Spark:
    """The production path: the report job's own scan and its own percentiles."""

    name = "samebox on Spark"

    def __init__(self, spark: SparkSession, results: Path) -> None:
        storage = Storage(spark)
        self._spark, self._records = spark, records_of(storage, read_campaign(storage, str(results)))

    def percentiles(self, case: Case) -> Values:
        """Runs the case once."""
        buckets = replace(PRODUCED, count=partial(count_produced, only=case.metrics))
        counted = scan(self._spark, self._records, dict.fromkeys(self._records.times, (buckets,)))
        return {
            Key(one.trial, one.metric, one.quantile_ppm): Found(one.value_ns, one.samples)
            for one in exact_percentiles(self._spark, self._records, counted, case.quantiles_ppm)
            if one.value_ns is not None
        }

    def shuffled(self, case: Case) -> Shuffled:
        """Runs the case once more and reads Spark's own metrics of its stages."""
        before = self._jobs()
        self.percentiles(case)
        context: Any = self._spark.sparkContext._jsc.sc()
        store = context.statusStore()
        ids = {stage for job, stages in self._jobs().items() if job not in before for stage in stages}
        stages = [store.lastStageAttempt(stage) for stage in sorted(ids)]
        return Shuffled(
            bytes=sum(stage.shuffleWriteBytes() for stage in stages),
            counts=sum(stage.shuffleWriteRecords() for stage in stages),
        )

    def _jobs(self) -> dict[int, list[int]]:
        """The stages of every job so far."""
        context: Any = self._spark.sparkContext._jsc.sc()
        context.listenerBus().waitUntilEmpty()
        jobs = context.statusStore().jobsList(None)
        return {
            jobs.apply(index).jobId(): [
                int(jobs.apply(index).stageIds().apply(stage)) for stage in range(jobs.apply(index).stageIds().size())
            ]
            for index in range(jobs.size())
        }


class DuckDb:
    """DuckDB's exact `quantile_disc` in one query."""

    name = f"DuckDB {duckdb.__version__}"

    def __init__(self, results: Path, threads: int) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {threads}")
        self._files = str(results / "trials" / "*" / "produced" / "*.parquet")

    def percentiles(self, case: Case) -> Values:
        """Runs the case once. What samebox wouldn't show (too few samples beyond it) is left out of the answer."""
        rows = self._connection.execute(self.query(case), [self._files]).fetchall()
        return {
            Key(trial, metric, quantile): Found(value, samples)
            for trial, *answers in rows
            for metric, samples, values in zip(case.metrics, answers[::2], answers[1::2], strict=True)
            for quantile, value in zip(case.quantiles_ppm, values, strict=True)
            if is_shown(quantile, samples)
        }

    @staticmethod
    def query(case: Case) -> str:
        """Its SQL; quantiles are decimals, so that DuckDB too finds the rank in integers."""
        quantiles = ", ".join(f"{quantile / MILLION:.6f}" for quantile in case.quantiles_ppm)
        answers = ", ".join(
            f"count({_DUCKDB_METRICS[metric]}), quantile_disc({_DUCKDB_METRICS[metric]}, [{quantiles}])"
            for metric in case.metrics
        )
        return (
            f"SELECT regexp_extract(filename, '/trials/([^/]+)/', 1) AS trial, {answers} "
            f"FROM read_parquet(?, filename = true) WHERE phase = '{MEASURE}' GROUP BY trial"
        )
