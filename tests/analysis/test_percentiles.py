"""Exact percentiles against sorting everything in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analysis.percentiles import CURVE_QUANTILES, MAXIMUM, TABLE_QUANTILES, is_shown, quantile_name, rank
from analysis.population import Population
from analysis.records.buckets import bucket_of
from analysis.records.seconds import coarse_bucket
from tests.analysis.percentiles import exact_percentiles


@pytest.mark.parametrize("parts", [1, 3])
def test_every_percentile_equals_the_one_found_by_sorting(parts: int) -> None:
    """Each quantile of two trials is the value at its nearest rank among all values sorted by numpy, however many files they lie in."""
    random = np.random.default_rng(1)
    samples = {
        "heavy": random.lognormal(15, 2, 5000).astype(np.int64),
        "ties": random.integers(-3, 4, 3000),  # negative: two clocks that differ
    }
    values = {(trial, "m", ""): found for trial, found in samples.items()}
    found = exact_percentiles(values, TABLE_QUANTILES + CURVE_QUANTILES, parts=parts)
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


def test_no_rows_give_no_percentiles() -> None:
    """A campaign of which nothing was recorded has no percentile, and no error."""
    assert exact_percentiles({}, TABLE_QUANTILES) == []
    assert exact_percentiles({("t", "m", ""): []}, TABLE_QUANTILES) == []


def test_subscriptions_are_told_apart() -> None:
    """What one subscription has in a bucket that another one asks for counts for neither but its own."""
    values = {("t", "m", name): (1, 2, 3) * (5 if name == "a" else 9) for name in ("a", "b")}
    found = exact_percentiles(values, [100_000, MAXIMUM])
    assert [(one.subscription, one.samples, one.value_ns) for one in found] == [
        ("a", 15, 1), ("a", 15, 3), ("b", 27, 1), ("b", 27, 3),
    ]  # fmt: skip


@pytest.mark.parametrize("number_of", [bucket_of, coarse_bucket])
def test_buckets_grow_with_the_value(number_of: Callable[[Any], Any]) -> None:
    """A larger value never has a smaller bucket, from far below zero to a day in nanoseconds."""
    values = sorted({sign * (2**power + step) for power in range(47) for step in (-1, 0, 1) for sign in (-1, 1)})
    buckets = number_of(np.array(values)).tolist()
    assert buckets == sorted(buckets)


def test_what_was_never_answered_counts_as_later_than_everything() -> None:
    """Of 2,000 messages, of which the 1,500 fastest were answered, p50 is the 1,000th answered; p95 is only bounded.

    The unanswered ones are taken to be those that were waited for shortest: p95 is the 400th of them.
    """
    answered = [value * 1000 for value in range(1, 1501)]
    waits = ((2 * 10**9, 300), (3 * 10**9, 1700))
    populations = {("t", "m", ""): Population(2000, waits), ("t", "n", ""): Population(100, waits)}
    found = exact_percentiles({("t", "m", ""): answered}, [500_000, 950_000, 999_000, MAXIMUM], populations)
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


def test_a_bound_is_not_below_what_was_answered() -> None:
    """Of messages that were hardly waited for, all that is known is that they are later than the answered ones."""
    (found,) = exact_percentiles(
        {("t", "m", ""): [10**9] * 50}, [MAXIMUM], {("t", "m", ""): Population(60, ((7, 60),))}
    )
    assert found.value_ns is None
    assert found.more_than_ns is not None
    assert found.more_than_ns == pytest.approx(10**9, rel=0.002)
    assert found.more_than_ns <= 10**9


def test_names() -> None:
    """Quantiles are named as people write them."""
    assert [quantile_name(quantile) for quantile in (500_000, 999_000, MAXIMUM)] == ["p50", "p99.9", "max"]
