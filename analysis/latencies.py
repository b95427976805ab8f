"""The three latencies and the send delay, one row per sample. They are never mixed and never filtered by value."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.campaign import NANOSECONDS

RESPONSE = "response_latency"
PUBLISH = "publish_latency"
END_TO_END = "end_to_end_latency"
SEND_DELAY = "send_delay"
NO_SUBSCRIPTION = ""  # a producer's own times belong to no subscription; null keys don't join


def second_of(time_ns: Column) -> Column:
    """Whole seconds since the trial's load started."""
    return F.floor((time_ns - F.col("start_ns")) / F.lit(NANOSECONDS)).cast("int")


def produced_latencies(produced: DataFrame) -> DataFrame:
    """Response, publish latency and send delay of every message that has them.

    A message acknowledged before its send call returned has a publish latency of 0, never less (docs/records.md).
    """
    waited_ns = F.col("acked_ns") - F.col("sent_ns")
    never_negative = F.when(waited_ns < F.lit(0), F.lit(0)).when(waited_ns >= F.lit(0), waited_ns)
    samples = F.array(
        F.struct(F.lit(RESPONSE).alias("metric"), (F.col("acked_ns") - F.col("intended_ns")).alias("value_ns")),
        F.struct(F.lit(PUBLISH).alias("metric"), never_negative.alias("value_ns")),
        F.struct(F.lit(SEND_DELAY).alias("metric"), (F.col("sent_ns") - F.col("intended_ns")).alias("value_ns")),
    )
    exploded = produced.select(
        "trial", "phase", second_of(F.col("intended_ns")).alias("second"), F.explode(samples).alias("sample")
    )
    return exploded.select(
        "trial",
        F.col("sample.metric").alias("metric"),
        F.lit(NO_SUBSCRIPTION).alias("subscription"),
        "phase",
        "second",
        F.col("sample.value_ns").alias("value_ns"),
    ).where(F.col("value_ns").isNotNull())


def consumed_latencies(consumed: DataFrame) -> DataFrame:
    """End-to-end latency of every receipt, per subscription; a repeat is a receipt of its own."""
    return consumed.select(
        "trial",
        F.lit(END_TO_END).alias("metric"),
        "subscription",
        "phase",
        second_of(F.col("intended_ns")).alias("second"),
        (F.col("received_ns") - F.col("intended_ns")).alias("value_ns"),
    )


def all_latencies(produced: DataFrame, consumed: DataFrame) -> DataFrame:
    """Every sample of every trial: trial, metric, subscription, phase, second, value_ns."""
    return produced.transform(produced_latencies).unionByName(consumed.transform(consumed_latencies))
