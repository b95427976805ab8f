"""Exact percentiles of a few values, by the same two looks that the report takes at files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.percentiles import Histogram, Percentile, histograms_of, percentiles_of, wanted_ranks
from analysis.population import NO_POPULATIONS, Key, Populations
from analysis.records.buckets import MERGE, count_samples
from analysis.records.latencies import Samples
from analysis.records.values import count_values, countings

# trial, metric, subscription -> values
Values = Mapping[Key, Sequence[int] | npt.NDArray[Any]]


def exact_percentiles(
    values: Values, quantiles: Sequence[int], populations: Populations = NO_POPULATIONS, *, parts: int = 1
) -> list[Percentile]:
    """Every quantile; the values are looked at in so many parts, as if they lay in as many files."""
    trials = sorted({trial for trial, *_ in values})
    histograms: dict[Key, Histogram] = {}
    for trial in trials:
        counted = MERGE(pa.concat_tables([count_samples(_samples(values, trial, at, parts)) for at in range(parts)]))
        histograms |= dict(histograms_of(trial, counted))
    found = {}
    for trial, ranks in wanted_ranks(histograms, quantiles, populations).items():
        buckets: dict[str, set[int]] = {}
        for each in ranks:
            buckets.setdefault(each.metric, set()).add(each.bucket)
        looking, _ = countings(ranks)
        inside = [count_values(_samples(values, trial, at, parts), buckets) for at in range(parts)]
        for row in looking.finish(looking.merge(pa.concat_tables(inside))).to_pylist():
            found[trial, row["metric"], row["subscription"], row["quantile_ppm"]] = row["value_ns"]
    return percentiles_of(histograms, found, quantiles, populations)


def _samples(values: Values, trial: str, part: int, parts: int) -> Samples:
    for (of_trial, metric, subscription), all_of_them in values.items():
        if of_trial == trial:
            yield metric, subscription, np.asarray(all_of_them, np.int64)[part::parts]
