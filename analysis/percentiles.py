"""Exact percentiles of all messages in two looks at the records that move counts, not rows. None is averaged or interpolated.

1. `analysis.records.buckets` counts samples in narrow buckets; the counts say in which bucket each wanted rank lies (`wanted_ranks`).
2. `analysis.records.values` looks only into those buckets and picks the value at the rank.

Definition: nearest rank on the sorted values (SQL's percentile_disc): the smallest value v such that at least the share q of all
samples is <= v. Quantiles are whole parts per million, so that the rank is computed in integers.

What was never answered counts as later than everything (`analysis.population`): a percentile that falls there is only bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.population import NO_POPULATIONS, Key, Population, Populations, population_of
from analysis.records.arrow import parts
from analysis.records.buckets import lowest_in
from analysis.records.values import Wanted

MILLION = 1_000_000
SAMPLES_BEYOND = 10  # a percentile with fewer samples beyond it is an anecdote
MAXIMUM = MILLION
TABLE_QUANTILES = (500_000, 750_000, 900_000, 950_000, 990_000, 999_000, 999_900, 999_990, MAXIMUM)
CURVE_QUANTILES = (
    *(10_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 750_000, 800_000, 850_000),
    *(900_000, 925_000, 950_000, 965_000, 980_000, 990_000, 993_000, 995_000, 997_000, 998_000),
    *(999_000, 999_300, 999_500, 999_700, 999_800, 999_900, 999_950, 999_970, 999_990, 999_999),
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


@dataclass(frozen=True)
class Histogram:
    """The samples of one metric in narrow buckets, ascending; `up_to_here`: how many lie in a bucket or below it."""

    buckets: npt.NDArray[np.int64]
    up_to_here: npt.NDArray[np.int64]

    @property
    def samples(self) -> int:
        """All of them."""
        return int(self.up_to_here[-1])


def histograms_of(trial: str, counted: pa.Table) -> Iterator[tuple[Key, Histogram]]:
    """Each metric and subscription of a trial, from the counts of analysis.records.buckets."""
    for metric, of_metric in parts(counted.sort_by("bucket"), "metric"):
        for subscription, rows in parts(of_metric, "subscription"):
            up_to_here = np.cumsum(rows["samples"].to_numpy())
            yield (trial, metric, subscription), Histogram(rows["bucket"].to_numpy(), up_to_here)


def wanted_ranks(
    histograms: Mapping[Key, Histogram], quantiles: Sequence[int], populations: Populations = NO_POPULATIONS
) -> dict[str, list[Wanted]]:
    """Where each wanted rank lies, by trial."""
    found: dict[str, list[Wanted]] = {}
    for (trial, metric, subscription), histogram in histograms.items():
        total = population_of(populations, (trial, metric, subscription), histogram.samples).messages
        for quantile in sorted(set(quantiles)):
            place = rank(quantile, total)
            if is_shown(quantile, total) and place <= histogram.samples:
                at = int(np.searchsorted(histogram.up_to_here, place))
                below = int(histogram.up_to_here[at - 1]) if at else 0
                wanted = Wanted(metric, subscription, int(histogram.buckets[at]), place - below, quantile)
                found.setdefault(trial, []).append(wanted)
    return found


def percentiles_of(
    histograms: Mapping[Key, Histogram],
    values_ns: Mapping[tuple[str, str, str, int], int],
    quantiles: Sequence[int],
    populations: Populations = NO_POPULATIONS,
) -> list[Percentile]:
    """Every quantile asked for, per trial, metric and subscription. `values_ns`: what was found at the wanted ranks, by key and
    quantile. `populations`: the messages to rank over, of those that not only have samples.
    """
    return [
        _percentile(key, quantile, populations, histograms.get(key), values_ns)
        for key in sorted(histograms.keys() | populations.keys())
        for quantile in sorted(set(quantiles))
    ]


def _percentile(
    key: Key,
    quantile: int,
    populations: Populations,
    histogram: Histogram | None,
    values_ns: Mapping[tuple[str, str, str, int], int],
) -> Percentile:
    """One percentile: the value that was found, or what is known of one that lies among the unanswered messages."""
    samples = histogram.samples if histogram else 0
    largest_ns = lowest_in(int(histogram.buckets[-1])) if histogram else 0
    population: Population = population_of(populations, key, samples)
    position = rank(quantile, population.messages)
    more_than_ns = None
    if is_shown(quantile, population.messages) and position > samples:
        more_than_ns = max(largest_ns, population.waited_ns(position - samples))
    return Percentile(*key, quantile, population.messages, values_ns.get((*key, quantile)), more_than_ns)
