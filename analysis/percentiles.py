"""Exact percentiles of all rows in two passes that shuffle counts, not rows. It never averages or interpolates one.

1. `count_buckets` counts samples in buckets 0.1 % wide; the counts say in which bucket each wanted rank lies.
2. `values_at` looks only into those buckets, counts each value there, and picks the value at the rank.

Definition: nearest rank on the sorted values (SQL's percentile_disc): the smallest value v such that at least the share q of all
samples is <= v. Quantiles are whole parts per million, so that the rank is computed in integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from analysis.schema import MEASURE

MILLION = 1_000_000
SAMPLES_BEYOND = 10  # a percentile with fewer samples beyond it is an anecdote
FINE = 1024  # buckets per factor e: each is 0.1 % wide
MAXIMUM = MILLION
TABLE_QUANTILES = (500_000, 750_000, 900_000, 950_000, 990_000, 999_000, 999_900, 999_990, MAXIMUM)
CURVE_QUANTILES = (
    *(10_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 750_000, 800_000, 850_000),
    *(900_000, 925_000, 950_000, 965_000, 980_000, 990_000, 993_000, 995_000, 997_000, 998_000),
    *(999_000, 999_300, 999_500, 999_700, 999_800, 999_900, 999_950, 999_970, 999_990, 999_999),
)
KEYS = ("trial", "metric", "subscription")
WANTED = T.StructType(
    [
        T.StructField("trial", T.StringType(), False),
        T.StructField("metric", T.StringType(), False),
        T.StructField("subscription", T.StringType(), False),
        T.StructField("bucket", T.LongType(), False),
        T.StructField("quantile_ppm", T.LongType(), False),
        T.StructField("rank_in_bucket", T.LongType(), False),
    ]
)


@dataclass(frozen=True)
class Percentile:
    """One exact percentile. `value_ns` is None when too few samples lie beyond it to show it."""

    trial: str
    metric: str
    subscription: str
    quantile_ppm: int
    samples: int
    value_ns: int | None


def quantile_name(quantile_ppm: int) -> str:
    """p50, p99.9, max."""
    return "max" if quantile_ppm == MAXIMUM else f"p{quantile_ppm / 10_000:g}"


def rank(quantile_ppm: int, samples: int) -> int:
    """The nearest rank, from 1."""
    return max(1, -(-quantile_ppm * samples // MILLION))


def is_shown(quantile_ppm: int, samples: int) -> bool:
    """Whether enough samples lie beyond the percentile; the maximum is always shown, as what it is."""
    if quantile_ppm == MAXIMUM:
        return samples > 0
    return samples - rank(quantile_ppm, samples) >= SAMPLES_BEYOND


def bucket(value: Column, per_e: int = FINE) -> Column:
    """A bucket number that grows with the value. Times can be negative by the error between two clocks."""
    size = F.floor(F.log(F.abs(value) + F.lit(1)) * F.lit(per_e)).cast("long")
    return F.when(value < F.lit(0), -size).when(value >= F.lit(0), size)


def count_buckets(latencies: DataFrame) -> DataFrame:
    """Pass 1: samples of the measure phase per trial, metric, subscription and bucket."""
    measured = latencies.where(F.col("phase") == F.lit(MEASURE))
    return measured.groupBy(*KEYS, bucket(F.col("value_ns")).alias("bucket")).agg(F.count("*").alias("samples"))


def wanted_ranks(histogram: Iterable[Any], quantiles: Sequence[int]) -> list[tuple[Any, ...]]:
    """Where each wanted rank lies: rows of WANTED, from collected histogram rows."""
    wanted: list[tuple[Any, ...]] = []
    ordered = sorted(histogram, key=lambda row: (row["trial"], row["metric"], row["subscription"], row["bucket"]))
    for key, rows in groupby(ordered, key=lambda row: (row["trial"], row["metric"], row["subscription"])):
        counts = [(row["bucket"], row["samples"]) for row in rows]
        total = sum(count for _, count in counts)
        shown = sorted({quantile for quantile in quantiles if is_shown(quantile, total)})
        below, position = 0, 0
        for quantile in shown:
            while below + counts[position][1] < rank(quantile, total):
                below += counts[position][1]
                position += 1
            wanted.append((*key, counts[position][0], quantile, rank(quantile, total) - below))
    return wanted


def values_at(latencies: DataFrame, wanted: DataFrame) -> DataFrame:
    """Pass 2: trial, metric, subscription, quantile_ppm, value_ns for each wanted rank."""
    in_bucket = [*KEYS, "bucket"]
    buckets = F.broadcast(wanted.groupBy(*in_bucket).agg(F.max("rank_in_bucket").alias("highest_rank")))
    measured = latencies.where(F.col("phase") == F.lit(MEASURE)).withColumn("bucket", bucket(F.col("value_ns")))
    candidates = measured.join(buckets, on=in_bucket, how="left_semi")
    counted = candidates.groupBy(*in_bucket, "value_ns").agg(F.count("*").alias("samples"))
    up_to_here = (
        Window.partitionBy(*in_bucket).orderBy("value_ns").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    ranked = counted.withColumn("last_rank", F.sum("samples").over(up_to_here))
    matched = ranked.join(F.broadcast(wanted), on=in_bucket, how="inner")
    holds_rank = F.col("rank_in_bucket").between(F.col("last_rank") - F.col("samples") + F.lit(1), F.col("last_rank"))
    return matched.where(holds_rank).select(*KEYS, "quantile_ppm", "value_ns")


def exact_percentiles(spark: SparkSession, latencies: DataFrame, quantiles: Sequence[int]) -> list[Percentile]:
    """Every quantile asked for, per trial, metric and subscription, over the measure phase."""
    histogram = latencies.transform(count_buckets).collect()
    totals: dict[tuple[str, str, str], int] = {}
    for row in histogram:
        key = (row["trial"], row["metric"], row["subscription"])
        totals[key] = totals.get(key, 0) + row["samples"]
    wanted = spark.createDataFrame(wanted_ranks(histogram, quantiles), WANTED)
    found = {
        (row["trial"], row["metric"], row["subscription"], row["quantile_ppm"]): row["value_ns"]
        for row in latencies.transform(values_at, wanted).collect()
    }
    return [
        Percentile(*key, quantile, total, found.get((*key, quantile)))
        for key, total in sorted(totals.items())
        for quantile in sorted(set(quantiles))
    ]
