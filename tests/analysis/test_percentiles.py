"""Exact percentiles against sorting everything in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from analysis.latencies import Series
from analysis.percentiles import (
    CURVE_QUANTILES,
    MAXIMUM,
    TABLE_QUANTILES,
    bucket,
    exact_percentiles,
    is_shown,
    quantile_name,
    rank,
)
from analysis.population import Population
from analysis.timeline import coarse_bucket

LATENCIES = "subscription string, measured boolean, second int, value_ns bigint"


def series(spark: SparkSession, trial: str, rows: list[tuple[Any, ...]]) -> Series:
    """The samples of a made-up metric of one trial."""
    return Series(trial, "m", spark.createDataFrame(rows, LATENCIES))


def test_every_percentile_equals_the_one_found_by_sorting(either_ansi: SparkSession) -> None:
    """Each quantile of two trials is the value at its nearest rank among all values sorted by numpy."""
    random = np.random.default_rng(1)
    samples = {
        "heavy": random.lognormal(15, 2, 5000).astype(np.int64),
        "ties": random.integers(-3, 4, 3000),  # negative: two clocks that differ
    }
    latencies = [
        series(either_ansi, trial, [("", True, 0, int(value)) for value in values]) for trial, values in samples.items()
    ]
    found = exact_percentiles(either_ansi, latencies, TABLE_QUANTILES + CURVE_QUANTILES)
    assert {one.trial for one in found} == set(samples)
    for one in found:
        ordered = np.sort(samples[one.trial])
        shown = is_shown(one.quantile_ppm, len(ordered))
        assert one.samples == len(ordered)
        assert one.value_ns == (int(ordered[rank(one.quantile_ppm, len(ordered)) - 1]) if shown else None)


def test_nearest_rank_is_numpys_inverted_cdf() -> None:
    """The rank in integers picks what numpy's `inverted_cdf` picks, also where q * n is whole."""
    for samples in (1, 2, 10, 99, 100, 1000, 1001):
        values = np.arange(samples)
        for quantile in (10_000, 500_000, 900_000, 990_000, MAXIMUM):
            expected = np.percentile(values, quantile / 10_000, method="inverted_cdf")
            assert values[rank(quantile, samples) - 1] == expected


@pytest.mark.parametrize(("samples", "shown"), [(999, False), (1000, True), (1009, True)])
def test_a_percentile_needs_ten_samples_beyond_it(samples: int, shown: bool) -> None:
    """p99 is shown from 1,000 samples on; the maximum always."""
    assert is_shown(990_000, samples) is shown
    assert is_shown(MAXIMUM, 1)


def test_only_the_measure_phase_counts(spark: SparkSession) -> None:
    """Samples of the warm-up are in no percentile."""
    rows = [("", False, 0, 10**9)] * 50 + [("", True, 1, 5)] * 50
    found = exact_percentiles(spark, [series(spark, "t", rows)], [MAXIMUM])
    assert [(one.value_ns, one.samples) for one in found] == [(5, 50)]


def test_no_rows_give_no_percentiles(spark: SparkSession) -> None:
    """A campaign of which nothing was recorded has no percentile, and no error."""
    assert exact_percentiles(spark, [], TABLE_QUANTILES) == []
    assert exact_percentiles(spark, [series(spark, "t", [])], TABLE_QUANTILES) == []


def test_subscriptions_are_told_apart(spark: SparkSession) -> None:
    """What one subscription has in a bucket that another one asks for counts for neither but its own."""
    rows = [(name, True, 0, value) for name in ("a", "b") for value in (1, 2, 3) * (5 if name == "a" else 9)]
    found = exact_percentiles(spark, [series(spark, "t", rows)], [100_000, MAXIMUM])
    assert [(one.subscription, one.samples, one.value_ns) for one in found] == [
        ("a", 15, 1), ("a", 15, 3), ("b", 27, 1), ("b", 27, 3),
    ]  # fmt: skip


@pytest.mark.parametrize("number_of", [bucket, coarse_bucket])
def test_buckets_grow_with_the_value(either_ansi: SparkSession, number_of: Callable[[Column], Column]) -> None:
    """A larger value never has a smaller bucket, from far below zero to a day in nanoseconds."""
    values = sorted({sign * (2**power + step) for power in range(47) for step in (-1, 0, 1) for sign in (-1, 1)})
    frame = either_ansi.createDataFrame([(value,) for value in values], "value bigint")
    buckets = [
        row["bucket"]
        for row in frame.select("value", number_of(F.col("value")).alias("bucket")).orderBy("value").collect()
    ]
    assert buckets == sorted(buckets)


def test_what_was_never_answered_counts_as_later_than_everything(spark: SparkSession) -> None:
    """Of 2,000 messages, of which the 1,500 fastest were answered, p50 is the 1,000th answered; p95 is only bounded.

    The unanswered ones are taken to be those that were waited for shortest: p95 is the 400th of them.
    """
    answered = [("", True, 0, value * 1000) for value in range(1, 1501)] + [("", True, 0, None)] * 500
    waits = ((2 * 10**9, 300), (3 * 10**9, 1700))
    populations = {("t", "m", ""): Population(2000, waits), ("t", "n", ""): Population(100, waits)}
    found = exact_percentiles(spark, [series(spark, "t", answered)], [500_000, 950_000, 999_000, MAXIMUM], populations)
    assert [(one.metric, one.samples, one.value_ns, one.more_than_ns) for one in found] == [
        ("m", 2000, 1_000_000, None),
        ("m", 2000, None, 3 * 10**9),
        ("m", 2000, None, None),  # fewer than ten beyond it
        ("m", 2000, None, 3 * 10**9),
        ("n", 100, None, 2 * 10**9),  # nothing of it was answered
        ("n", 100, None, None),
        ("n", 100, None, None),
        ("n", 100, None, 2 * 10**9),
    ]


def test_a_bound_is_not_below_what_was_answered(spark: SparkSession) -> None:
    """Of messages that were hardly waited for, all that is known is that they are later than the answered ones."""
    rows = [("", True, 0, 10**9)] * 50
    (found,) = exact_percentiles(
        spark, [series(spark, "t", rows)], [MAXIMUM], {("t", "m", ""): Population(60, ((7, 60),))}
    )
    assert found.value_ns is None
    assert found.more_than_ns is not None
    assert found.more_than_ns == pytest.approx(10**9, rel=0.002)
    assert found.more_than_ns <= 10**9


def test_names() -> None:
    """Quantiles are named as people write them."""
    assert [quantile_name(quantile) for quantile in (500_000, 999_000, MAXIMUM)] == ["p50", "p99.9", "max"]
