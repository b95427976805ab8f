"""Exact percentiles of all rows in two passes that shuffle counts, not rows. It never averages or interpolates one.

1. `count_buckets` counts samples in narrow buckets; the counts say in which bucket each wanted rank lies.
2. `values_at` looks only into those buckets, counts each value there, and picks the value at the rank.

Each metric of each trial is scanned by itself: all that is hashed for a sample is its bucket (and its subscription, where it has
one), and only the columns that the metric is made of are read.

Definition: nearest rank on the sorted values (SQL's percentile_disc): the smallest value v such that at least the share q of all
samples is <= v. Quantiles are whole parts per million, so that the rank is computed in integers.

What was never answered counts as later than everything (`analysis.population`): a percentile that falls there is only bounded.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from analysis.latencies import Series
from analysis.population import NO_POPULATIONS, Key, Population, Populations, population_of

MILLION = 1_000_000
SAMPLES_BEYOND = 10  # a percentile with fewer samples beyond it is an anecdote
PER_ROOT = 128  # buckets per whole fourth root of a value in ns: 0.2 % wide at 0.1 ms, 0.1 % at 1 ms, 0.01 % at 10 s
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
        T.StructField("bucket", T.IntegerType(), False),
        T.StructField("quantile_ppm", T.LongType(), False),
        T.StructField("rank_in_bucket", T.LongType(), False),
    ]
)


@dataclass(frozen=True)
class Percentile:
    """One percentile of `samples` messages, exact in `value_ns`, or only known to be larger than `more_than_ns`.

    Both are None when too few samples lie beyond it to show it.
    """

    trial: str
    metric: str
    subscription: str
    quantile_ppm: int
    samples: int
    value_ns: int | None
    more_than_ns: int | None = None


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


def bucket(value_ns: Column) -> Column:
    """A bucket number that grows with the value. Times can be negative by the error between two clocks.

    The fourth root does for narrow buckets of small and large times alike what a logarithm does, at a fraction of its cost.
    """
    root = F.sqrt(F.sqrt(F.abs(value_ns)))
    return F.floor(F.signum(value_ns) * root * F.lit(PER_ROOT)).cast("int")


def count_buckets(one: Series) -> DataFrame:
    """Pass 1: samples of the measure phase per bucket: KEYS, bucket, samples."""
    return one.named(_measured(one).groupBy(*one.keys, "bucket").agg(F.count("*").alias("samples")))


def lowest_in(bucket_number: int) -> int:
    """A value that is in no bucket above, and not above any in this one."""
    return math.floor((max(0, bucket_number) / PER_ROOT) ** 4)


def wanted_ranks(
    histogram: pd.DataFrame, quantiles: Sequence[int], populations: Populations = NO_POPULATIONS
) -> list[tuple[Any, ...]]:
    """Where each wanted rank lies: rows of WANTED, from the rows of pass 1."""
    wanted: list[tuple[Any, ...]] = []
    for key, counts in histogram.sort_values("bucket").groupby(list(KEYS)):
        buckets, up_to_here = counts["bucket"].to_numpy(), counts["samples"].cumsum().to_numpy()
        answered = int(up_to_here[-1])
        total = population_of(populations, key, answered).messages
        shown = {quantile for quantile in quantiles if is_shown(quantile, total) and rank(quantile, total) <= answered}
        for quantile in sorted(shown):
            position = int(np.searchsorted(up_to_here, rank(quantile, total)))
            below = int(up_to_here[position - 1]) if position else 0
            wanted.append((*key, int(buckets[position]), quantile, rank(quantile, total) - below))
    return wanted


def count_values(one: Series, buckets: Collection[int]) -> DataFrame:
    """The values in these buckets with their samples in the measure phase: KEYS, bucket, value_ns, samples."""
    wanted = _measured(one).where(F.col("bucket").isin(*buckets))
    return one.named(wanted.groupBy(*one.keys, "bucket", "value_ns").agg(F.count("*").alias("samples")))


def values_at(counted: DataFrame, wanted: DataFrame) -> DataFrame:
    """Pass 2: trial, metric, subscription, quantile_ppm, value_ns for each wanted rank; `counted` as `count_values` does."""
    in_bucket = [*KEYS, "bucket"]
    up_to_here = (
        Window.partitionBy(*in_bucket).orderBy("value_ns").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    ranked = counted.withColumn("last_rank", F.sum("samples").over(up_to_here))
    matched = ranked.join(F.broadcast(wanted), on=in_bucket, how="inner")
    holds_rank = F.col("rank_in_bucket").between(F.col("last_rank") - F.col("samples") + F.lit(1), F.col("last_rank"))
    return matched.where(holds_rank).select(*KEYS, "quantile_ppm", "value_ns")


def exact_percentiles(
    spark: SparkSession,
    latencies: Sequence[Series],
    quantiles: Sequence[int],
    populations: Populations = NO_POPULATIONS,
) -> list[Percentile]:
    """Every quantile asked for, per trial, metric and subscription, over the measure phase.

    `populations`: the messages to rank over, of those that not only have samples.
    """
    if not latencies:
        return []
    histogram = reduce(DataFrame.unionByName, [count_buckets(one) for one in latencies]).toPandas()
    wanted = wanted_ranks(histogram, quantiles, populations)
    buckets: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for trial, metric, _, number, *_ in wanted:
        buckets[trial, metric].add(number)
    counted = [count_values(one, sorted(buckets[one.trial, one.metric])) for one in latencies]
    rows = reduce(DataFrame.unionByName, counted).transform(values_at, _frame(spark, wanted))
    found = {
        (row["trial"], row["metric"], row["subscription"], row["quantile_ppm"]): row["value_ns"]
        for row in rows.collect()
    }
    answered: dict[Any, tuple[int, int]] = {
        key: (int(counts["samples"].sum()), lowest_in(int(counts["bucket"].max())))
        for key, counts in histogram.groupby(list(KEYS))
    }
    return [
        _percentile(key, quantile, population_of(populations, key, answered.get(key, (0, 0))[0]), answered, found)
        for key in sorted(answered.keys() | populations.keys())
        for quantile in sorted(set(quantiles))
    ]


def _percentile(
    key: Key, quantile: int, population: Population, answered: Mapping[Any, tuple[int, int]], found: Mapping[Any, int]
) -> Percentile:
    """One percentile: what pass 2 found, or what is known of one that lies among the unanswered messages."""
    samples, largest_ns = answered.get(key, (0, 0))
    position = rank(quantile, population.messages)
    more_than_ns = None
    if is_shown(quantile, population.messages) and position > samples:
        more_than_ns = max(largest_ns, population.waited_ns(position - samples))
    return Percentile(*key, quantile, population.messages, found.get((*key, quantile)), more_than_ns)


def _measured(one: Series) -> DataFrame:
    in_phase = one.samples.where(F.col("measured") & F.col("value_ns").isNotNull())
    return in_phase.select(*one.keys, "value_ns", bucket(F.col("value_ns")).alias("bucket"))


def _frame(spark: SparkSession, wanted: Sequence[tuple[Any, ...]]) -> DataFrame:
    """Rows of WANTED as a DataFrame. As JSON in the plan they are there at once; a list goes through Python workers."""
    names = WANTED.fieldNames()
    literal = json.dumps([dict(zip(names, row, strict=True)) for row in wanted])
    return spark.range(1).select(F.inline(F.from_json(F.lit(literal), T.ArrayType(WANTED))))
