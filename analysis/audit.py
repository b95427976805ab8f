"""Which acknowledged messages never arrived, and which arrived twice. Exact, without shuffling rows that agree.

1. `acknowledged_fingerprints`, `received_fingerprints`: count and sum of hashes per 4,096 sequence numbers of a producer, or per
   more of them in a campaign of so many messages that their counts would be too many for the driver (`bucket_bits`).
2. `differing_buckets`: where the two sides differ (computed on the collected counts).
3. `message_differences`: only those buckets are compared message by message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from analysis.latencies import in_measure_phase

SEQUENCE_BITS = 12  # messages per bucket: 4,096
MOST_SEQUENCE_BITS = 21
MOST_BUCKETS = 200_000  # that the driver is to hold, of both sides together
HASH_BITS_DROPPED = 24  # sums of 40-bit hashes can't overflow a long, not even of the largest bucket received thrice
EXAMPLES = 5
BUCKET = T.StructType(
    [
        T.StructField("trial", T.StringType(), False),
        T.StructField("subscription", T.StringType(), False),
        T.StructField("producer", T.IntegerType(), False),
        T.StructField("sequence_bucket", T.LongType(), False),
    ]
)


@dataclass(frozen=True)
class Delivery:
    """What one subscription of a trial got. `examples` are "producer/sequence" of the first lost messages."""

    trial: str
    subscription: str
    acknowledged: int
    received: int
    lost: int
    duplicates: int
    unacknowledged_received: int
    examples: tuple[str, ...]
    repeats_of_measure: int = 0  # of the duplicates, those of messages intended in the measure phase


def bucket_bits(rows: int) -> int:
    """How many bits of a sequence number lie inside a bucket, for a campaign of so many produced and consumed rows."""
    bits = SEQUENCE_BITS
    while rows >> bits > MOST_BUCKETS and bits < MOST_SEQUENCE_BITS:
        bits += 1
    return bits


def sequence_bucket(bits: int) -> Column:
    """The bucket of a row's sequence number."""
    return F.shiftright(F.col("sequence"), bits).alias("sequence_bucket")


def acknowledged_fingerprints(produced: DataFrame, bits: int = SEQUENCE_BITS) -> DataFrame:
    """Per trial, producer, phase and sequence bucket: what was scheduled, sent, acknowledged, and the latter's fingerprint."""
    acked, sent = F.col("acked_ns").isNotNull(), F.col("sent_ns").isNotNull()
    begin, end = F.col("measure_start_ns"), F.col("measure_end_ns")
    due_before, due_by_end = F.col("intended_ns") < begin, F.col("intended_ns") < end
    before, by_end = F.col("acked_ns") < begin, F.col("acked_ns") < end
    on_time = due_by_end & ~due_before & by_end
    late = due_by_end & ~due_before & ~by_end
    impossible = (F.col("sent_ns") < F.col("intended_ns")) | (F.col("acked_ns") < F.col("intended_ns"))
    return produced.groupBy("trial", "producer", "phase", sequence_bucket(bits)).agg(
        F.count("*").alias("scheduled"),
        F.count_if(sent).alias("sent"),
        F.count_if(acked).alias("acknowledged"),
        F.count_if(sent & ~acked).alias("sent_unacknowledged"),
        F.count_if(~before & by_end).alias("acknowledged_in_window"),
        F.count_if(on_time).alias("acknowledged_on_time"),
        F.count_if(late).alias("acknowledged_late"),
        F.count_if(due_before & acked & ~before).alias("carried_in"),
        F.count_if(due_before & (~acked | ~before)).alias("behind_at_start"),
        F.count_if(due_by_end & (~acked | ~by_end)).alias("behind_at_end"),
        F.count_if(impossible).alias("impossible_times"),
        F.count("error").alias("errors"),
        F.max("sequence").alias("highest_sequence"),
        F.coalesce(F.sum(F.when(acked, _hash())), F.lit(0)).alias("fingerprint"),
    )


def received_fingerprints(consumed: DataFrame, bits: int = SEQUENCE_BITS) -> DataFrame:
    """Per trial, subscription, producer and sequence bucket: receipts and their fingerprint."""
    in_window = (F.col("received_ns") >= F.col("measure_start_ns")) & (F.col("received_ns") < F.col("measure_end_ns"))
    of_measure = in_measure_phase()
    return consumed.groupBy("trial", "subscription", "producer", sequence_bucket(bits)).agg(
        F.count("*").alias("received"),
        F.count_if(in_window).alias("received_in_window"),
        F.count_if(of_measure).alias("received_of_measure"),
        F.sum(_hash()).alias("fingerprint"),
    )


def message_differences(
    produced: DataFrame, consumed: DataFrame, buckets: DataFrame, bits: int = SEQUENCE_BITS
) -> DataFrame:
    """Per subscription, over the given buckets only: lost, duplicates, received though unacknowledged, first lost ones."""
    of_producer, of_subscription = ["trial", "producer", "sequence_bucket"], BUCKET.fieldNames()
    message = [*of_subscription, "sequence"]
    few = F.broadcast(buckets)
    acked = produced.where(F.col("acked_ns").isNotNull()).select("trial", "producer", "sequence", sequence_bucket(bits))
    expected = acked.join(few, on=of_producer, how="inner").groupBy(*message).agg(F.lit(1).alias("expected"))
    receipts = consumed.select(
        *("trial", "subscription", "producer", "sequence"), sequence_bucket(bits), in_measure_phase().alias("measured")
    )
    arrived = (
        receipts.join(few, on=of_subscription, how="left_semi")
        .groupBy(*message)
        .agg(F.count("*").alias("receipts"), F.bool_or("measured").alias("measured"))
    )
    compared = expected.join(arrived, on=message, how="full_outer")
    is_lost, is_surplus = F.col("receipts").isNull(), F.col("expected").isNull()
    repeats = F.col("receipts") - F.lit(1)
    # by bucket first: a system that lost everything has more lost messages than one task can hold
    of_bucket = compared.groupBy(*of_subscription).agg(
        F.count_if(is_lost).alias("lost"),
        F.coalesce(F.sum(repeats), F.lit(0)).alias("duplicates"),
        F.coalesce(F.sum(F.when(F.col("measured"), repeats)), F.lit(0)).alias("repeats_of_measure"),
        F.count_if(is_surplus).alias("unacknowledged_received"),
        _first(F.collect_list(F.when(is_lost, F.struct("producer", "sequence")))).alias("examples"),
    )
    return of_bucket.groupBy("trial", "subscription").agg(
        *(F.sum(name).alias(name) for name in ("lost", "duplicates", "unacknowledged_received", "repeats_of_measure")),
        _first(F.flatten(F.collect_list("examples"))).alias("examples"),
    )


def differing_buckets(
    acknowledged: Iterable[Mapping[str, Any]], received: Iterable[Mapping[str, Any]], subscriptions: Mapping[str, Any]
) -> list[tuple[str, str, int, int]]:
    """Buckets whose two fingerprints differ, as rows of BUCKET; `subscriptions`: trial -> names."""
    expected: dict[tuple[str, int, int], tuple[int, int]] = {}
    for row in acknowledged:
        key = (row["trial"], row["producer"], row["sequence_bucket"])
        count, total = expected.get(key, (0, 0))  # a bucket may lie across two phases
        expected[key] = (count + row["acknowledged"], total + row["fingerprint"])
    wanted = {
        (trial, subscription, producer, number): prints
        for (trial, producer, number), prints in expected.items()
        for subscription in subscriptions.get(trial, ())
        if prints[0]
    }
    got = {
        (row["trial"], row["subscription"], row["producer"], row["sequence_bucket"]): (
            row["received"],
            row["fingerprint"],
        )
        for row in received
    }
    return sorted(key for key in wanted.keys() | got.keys() if wanted.get(key) != got.get(key))


def audit_delivery(
    spark: SparkSession,
    produced: DataFrame,
    consumed: DataFrame,
    *,
    acknowledged: list[Any],
    received: list[Any],
    subscription_counts: Mapping[str, int],
    bits: int = SEQUENCE_BITS,
) -> list[Delivery]:
    """Loss and duplicates per trial and subscription, from the collected fingerprints and, where they differ, the rows.

    `bits`: those of the fingerprints' buckets.
    """
    names = _subscriptions(received, subscription_counts)
    differing = differing_buckets(acknowledged, received, names)
    found: dict[tuple[str, str], Any] = {}
    if differing:
        buckets = spark.createDataFrame(differing, BUCKET)
        rows = message_differences(produced, consumed, buckets, bits).collect()
        found = {(row["trial"], row["subscription"]): row for row in rows}
    acked: Counter[str] = Counter()
    for row in acknowledged:
        acked[row["trial"]] += row["acknowledged"]
    got: Counter[tuple[str, str]] = Counter()
    for row in received:
        got[row["trial"], row["subscription"]] += row["received"]
    return [
        _delivery(trial, name, acked[trial], got[trial, name], found.get((trial, name)))
        for trial in sorted(names)
        for name in names[trial]
    ]


def _delivery(trial: str, subscription: str, acknowledged: int, received: int, row: Any) -> Delivery:
    if row is None:
        return Delivery(trial, subscription, acknowledged, received, 0, 0, 0, ())
    examples = tuple(f"{lost['producer']}/{lost['sequence']}" for lost in row["examples"])
    return Delivery(
        trial, subscription, acknowledged, received,
        row["lost"], row["duplicates"], row["unacknowledged_received"], examples, row["repeats_of_measure"],
    )  # fmt: skip


def _subscriptions(received: Iterable[Any], counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Names seen per trial, plus a stand-in for each subscription that was asked for and received nothing at all."""
    seen: dict[str, set[str]] = {trial: set() for trial in counts}
    for row in received:
        seen[row["trial"]].add(row["subscription"])
    return {
        trial: sorted(names) + [f"(silent {number + 1})" for number in range(counts[trial] - len(names))]
        for trial, names in seen.items()
    }


def _first(names: Column) -> Column:
    return F.slice(F.sort_array(names), 1, EXAMPLES)


def _hash() -> Column:
    return F.shiftrightunsigned(F.xxhash64("sequence"), HASH_BITS_DROPPED)
