"""What happened in each second of a trial, warm-up included: throughput and latency over time. Never used for a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.latencies import END_TO_END, NO_SUBSCRIPTION, RESPONSE, Series, second_of
from analysis.percentiles import MILLION, SAMPLES_BEYOND

SCHEDULED = "scheduled"
SENT = "sent"
ACKNOWLEDGED = "acknowledged"
RECEIVED = "received"
DRAWN = (RESPONSE, END_TO_END)
BUCKETS_PER_E = 128  # per factor e: each is 0.8 % wide


def produced_events(produced: DataFrame) -> DataFrame:
    """One row per thing that happened to a message at its producer: trial, event, no subscription, second."""
    events = F.array(
        F.struct(F.lit(SCHEDULED).alias("event"), F.col("intended_ns").alias("time_ns")),
        F.struct(F.lit(SENT).alias("event"), F.col("sent_ns").alias("time_ns")),
        F.struct(F.lit(ACKNOWLEDGED).alias("event"), F.col("acked_ns").alias("time_ns")),
    )
    exploded = produced.select("trial", "start_ns", F.explode(events).alias("happened"))
    return exploded.select(
        "trial",
        F.col("happened.event").alias("event"),
        F.lit(NO_SUBSCRIPTION).alias("subscription"),
        second_of(F.col("happened.time_ns")).alias("second"),
    )


def received_events(consumed: DataFrame) -> DataFrame:
    """One row per receipt: trial, event, subscription, second."""
    return consumed.select(
        "trial", F.lit(RECEIVED).alias("event"), "subscription", second_of(F.col("received_ns")).alias("second")
    )


def throughput_over_time(produced: DataFrame, consumed: DataFrame) -> DataFrame:
    """Messages per second of each kind of event: trial, event, subscription (of receipts), second, messages."""
    events = produced.transform(produced_events).unionByName(consumed.transform(received_events))
    happened = events.where(F.col("second").isNotNull())
    return happened.groupBy("trial", "event", "subscription", "second").agg(F.count("*").alias("messages"))


def coarse_bucket(value_ns: Column) -> Column:
    """A bucket number that grows with the value. Times can be negative by the error between two clocks."""
    size = F.floor(F.log(F.abs(value_ns) + F.lit(1)) * F.lit(BUCKETS_PER_E)).cast("long")
    return F.when(value_ns < F.lit(0), -size).when(value_ns >= F.lit(0), size)


def latency_over_time(latencies: Iterable[Series]) -> DataFrame:
    """Per second: median, p99 (from 1,000 samples on) and maximum of DRAWN, by the intended time of the messages.

    Read from coarse buckets: each value is one that occurred, less than 1 % above the exact percentile. Null where it falls among
    messages that were never acknowledged. For figures only.
    """
    per_second = ["trial", "metric", "subscription", "second"]
    merged = reduce(DataFrame.unionByName, [_coarsely(one) for one in latencies if one.metric in DRAWN])
    whole = Window.partitionBy(*per_second)
    up_to_here = whole.orderBy(F.col("bucket").asc_nulls_last()).rowsBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    everything = whole.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    ranked = merged.withColumns(
        {"last_rank": F.sum("samples").over(up_to_here), "total": F.sum("samples").over(everything)}
    )
    return ranked.groupBy(*per_second).agg(
        F.max("total").alias("samples"),
        _first_reaching(500_000).alias("p50_ns"),
        _first_reaching(990_000).alias("p99_ns"),
        F.when(F.bool_and(F.col("bucket").isNotNull()), F.max("highest_ns")).alias("max_ns"),
    )


def _coarsely(one: Series) -> DataFrame:
    """Samples and highest value of each second and coarse bucket, which is null for what was never acknowledged."""
    known = one.samples.where(F.col("second").isNotNull())
    counted = known.groupBy(*one.keys, "second", coarse_bucket(F.col("value_ns")).alias("bucket"))
    return one.named(counted.agg(F.count("*").alias("samples"), F.max("value_ns").alias("highest_ns")))


def _first_reaching(quantile_ppm: int) -> Column:
    reached = F.col("last_rank") * F.lit(MILLION) >= F.col("total") * F.lit(quantile_ppm)
    enough = F.col("total") * F.lit(MILLION - quantile_ppm) >= F.lit(SAMPLES_BEYOND * MILLION)
    return F.min(F.when(reached & enough, F.col("highest_ns")))
