"""Loss, duplicates and order, on frames of a few rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from analysis.audit import (
    MOST_BUCKETS,
    SEQUENCE_BITS,
    Delivery,
    acknowledged_fingerprints,
    audit_delivery,
    bucket_bits,
    differing_buckets,
    received_fingerprints,
)
from analysis.order import Ordering, merge_stretches, orderings, summarise

PRODUCED = "trial string, producer int, sequence bigint, phase string, intended_ns bigint, sent_ns bigint, acked_ns bigint, error string, measure_start_ns bigint, measure_end_ns bigint"  # noqa: E501
CONSUMED = "trial string, subscription string, producer int, sequence bigint, intended_ns bigint, received_ns bigint, measure_start_ns bigint, measure_end_ns bigint"  # noqa: E501


def _produced(spark: SparkSession, acked: dict[int, bool]) -> Any:
    rows = [("t", 0, n, "measure", 1, 1, 2 if is_acked else None, None, 0, 10) for n, is_acked in acked.items()]
    return spark.createDataFrame(rows, PRODUCED)


def _consumed(spark: SparkSession, sequences: list[int], subscription: str = "s") -> Any:
    return spark.createDataFrame([("t", subscription, 0, n, n, 3, 0, 10) for n in sequences], CONSUMED)


def _audit(
    spark: SparkSession, produced: Any, consumed: Any, subscriptions: int = 1, bits: int = SEQUENCE_BITS
) -> list[Delivery]:
    return audit_delivery(
        spark,
        produced,
        consumed,
        acknowledged=produced.transform(acknowledged_fingerprints, bits).collect(),
        received=consumed.transform(received_fingerprints, bits).collect(),
        subscription_counts={"t": subscriptions},
        bits=bits,
    )


def test_loss_duplicates_and_surplus_are_found_exactly(either_ansi: SparkSession) -> None:
    """One lost, one received three times, one received though never acknowledged; over two sequence buckets."""
    produced = _produced(either_ansi, {0: True, 1: True, 2: True, 3: False, 4096: True, 4097: True})
    consumed = _consumed(either_ansi, [0, 2, 2, 2, 3, 4096])
    assert _audit(either_ansi, produced, consumed) == [Delivery("t", "s", 5, 6, 2, 2, 1, ("0/1", "0/4097"), 2)]


def test_larger_buckets_find_the_same(spark: SparkSession) -> None:
    """A campaign of many rows has larger buckets, so that the driver holds no more of them; nothing else changes."""
    produced = _produced(spark, {0: True, 1: True, 2: True, 3: False, 4096: True, 4097: True})
    consumed = _consumed(spark, [0, 2, 2, 2, 3, 4096])
    assert _audit(spark, produced, consumed, bits=19) == [Delivery("t", "s", 5, 6, 2, 2, 1, ("0/1", "0/4097"), 2)]
    assert bucket_bits(200_000_000) == SEQUENCE_BITS
    many = 100_000_000_000
    assert MOST_BUCKETS / 2 < many >> bucket_bits(many) <= MOST_BUCKETS


def test_a_loss_made_up_for_by_a_duplicate_is_found(spark: SparkSession) -> None:
    """Counts agree, so only the hashes can tell."""
    produced, consumed = _produced(spark, {0: True, 1: True}), _consumed(spark, [0, 0])
    assert _audit(spark, produced, consumed) == [Delivery("t", "s", 2, 2, 1, 1, 0, ("0/1",), 1)]


def test_agreeing_buckets_need_no_second_look(spark: SparkSession) -> None:
    """When everything arrived once, no bucket is compared message by message."""
    acknowledged = _produced(spark, dict.fromkeys(range(5000), True)).transform(acknowledged_fingerprints).collect()
    received = _consumed(spark, list(range(5000))).transform(received_fingerprints).collect()
    assert differing_buckets(acknowledged, received, {"t": ["s"]}) == []


def test_a_subscription_that_received_nothing_lost_everything(spark: SparkSession) -> None:
    """Two subscriptions were asked for and one never shows up in the records."""
    produced, consumed = _produced(spark, {0: True, 1: True}), _consumed(spark, [0, 1])
    seen, silent = _audit(spark, produced, consumed, subscriptions=2)
    assert (silent.subscription, silent.lost, silent.received) == ("(silent 1)", 2, 0)
    assert (seen.subscription, seen.lost) == ("s", 0)


def _stretches(
    sequences: list[int], *, file: str = "a", offset: int = 0, ordinal: int = 0, consumer: int = 0, at: int = 0
) -> list[Any]:
    rows = pd.DataFrame(
        {
            "trial": "t",
            "subscription": "s",
            "producer": 0,
            "partition": 0,
            "consumer": consumer,
            "file": file,
            "file_offset": offset,
            "sequence": sequences,
            "received_ns": [at + n for n in range(len(sequences))],
        }
    )
    return list(summarise(rows, ordinal).to_dict("records"))


def _merged(stretches: list[Any]) -> list[Ordering]:
    return orderings(merge_stretches(pd.DataFrame(stretches)).to_dict("records"))


def test_steps_back_are_counted_inside_a_stretch() -> None:
    """3 then 2, and 9 then 4: two steps back, the deeper by five; a repeat is no step back."""
    (found,) = _merged(_stretches([1, 3, 2, 2, 9, 4, 5]))
    assert (found.steps_back, found.deepest_step, found.worst) == (2, 5, "producer 0, partition 0")


def test_a_step_back_between_two_files_is_counted() -> None:
    """The second file begins below the first one's end."""
    (found,) = _merged([*_stretches([5, 6], file="b", at=100), *_stretches([1, 9], file="a")])
    assert (found.steps_back, found.deepest_step) == (1, 4)


def test_a_partition_handed_to_another_consumer_keeps_its_order() -> None:
    """The first consumer's messages came before the second one's, whatever their files are called."""
    (found,) = _merged([*_stretches([1, 2], file="z", consumer=1), *_stretches([3, 4], file="a", consumer=0, at=50)])
    assert found.steps_back == 0


def test_consumers_that_share_a_partition_are_not_set_against_each_other() -> None:
    """Nothing says which of two simultaneous receipts came first."""
    shared = [*_stretches([1, 9], consumer=0, at=0), *_stretches([2, 8], file="b", consumer=1, at=1)]
    assert _merged(shared)[0].steps_back == 0


def test_batches_of_one_file_are_merged_in_the_order_read() -> None:
    """Two batches of the same file and the same instant keep their place."""
    (found,) = _merged([*_stretches([3, 4], ordinal=1), *_stretches([1, 2], ordinal=0)])
    assert found.steps_back == 0
