"""Which values lie in the few buckets that hold a wanted rank: the second look, after which percentiles are exact to the nanosecond."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.records.arrow import labelled, parts, table
from analysis.records.buckets import bucket_of
from analysis.records.counting import Counting, Times
from analysis.records.latencies import (
    CONSUMED_COLUMNS,
    PRODUCED_COLUMNS,
    PRODUCED_METRICS,
    Samples,
    consumed_samples,
    produced_samples,
)


@dataclass(frozen=True)
class Wanted:
    """A rank that is looked for: in which bucket of a metric it lies, and which of that bucket's values, from 1, it is."""

    metric: str
    subscription: str
    bucket: int
    rank_in_bucket: int
    quantile_ppm: int


# trial -> the ranks that are looked for in it
WantedOf = Mapping[str, Sequence[Wanted]]
SamplesOf = Callable[[pa.Table, Times], Samples]


def countings(wanted: Sequence[Wanted]) -> Iterator[Counting]:
    """What finds these ranks of one trial, among its produced and consumed records."""
    buckets: dict[str, set[int]] = {}
    for each in wanted:
        buckets.setdefault(each.metric, set()).add(each.bucket)
    produced = partial(produced_samples, only=[metric for metric in PRODUCED_METRICS if metric in buckets])
    kinds: Mapping[str, tuple[tuple[str, ...], SamplesOf]] = {
        "produced": (PRODUCED_COLUMNS, produced),
        "consumed": (CONSUMED_COLUMNS, consumed_samples),
    }
    for kind, (columns, samples) in kinds.items():
        yield Counting(
            "values", kind, columns, partial(_count, buckets=buckets, samples=samples), counted_once,
            partial(values_at, wanted=wanted),
        )  # fmt: skip


def _count(rows: pa.Table, times: Times, *, buckets: Mapping[str, set[int]], samples: SamplesOf) -> pa.Table:
    return count_values(samples(rows, times), buckets)


def count_values(samples: Samples, buckets: Mapping[str, set[int]]) -> pa.Table:
    """metric, subscription, value_ns, samples: of the values in these buckets of each metric, each once, ascending."""
    tables = [EMPTY]
    for metric, subscription, values_ns in samples:
        if wanted := buckets.get(metric):
            inside = np.isin(bucket_of(values_ns), np.array(sorted(wanted)))
            found, counts = np.unique(values_ns[inside], return_counts=True)
            tables.append(labelled({"value_ns": found, "samples": counts}, metric=metric, subscription=subscription))
    return pa.concat_tables(tables)


def counted_once(counts: pa.Table) -> pa.Table:
    """The same of several such tables: each value of a metric and subscription once, ascending, with all of its samples.

    One sort of numbers: grouping by all four columns takes several times as long, and there are as many rows as distinct values.
    """
    tables = [EMPTY]
    for metric, subscription, values_ns, samples in _populations(counts):
        order = np.argsort(values_ns)
        values_ns, samples = values_ns[order], samples[order]
        first = np.flatnonzero(np.append(True, values_ns[1:] != values_ns[:-1]))
        columns = {"value_ns": values_ns[first], "samples": np.add.reduceat(samples, first)}
        tables.append(labelled(columns, metric=metric, subscription=subscription))
    return pa.concat_tables(tables)


def values_at(counted: pa.Table, wanted: Sequence[Wanted]) -> pa.Table:
    """metric, subscription, quantile_ppm, value_ns: the value at each wanted rank."""
    rows = []
    for metric, subscription, values_ns, samples in _populations(counted):
        buckets, up_to_here = bucket_of(values_ns), np.cumsum(samples)  # both ascend, as the values do
        for each in (one for one in wanted if (one.metric, one.subscription) == (metric, subscription)):
            first = int(np.searchsorted(buckets, each.bucket))
            if first < len(buckets) and buckets[first] == each.bucket:
                below = int(up_to_here[first - 1]) if first else 0
                at = int(np.searchsorted(up_to_here, below + each.rank_in_bucket))
                rows.append((metric, subscription, each.quantile_ppm, int(values_ns[at])))
    names = ("metric", "subscription", "quantile_ppm", "value_ns")
    types = (pa.string(), pa.string(), pa.int64(), pa.int64())
    return table({name: pa.array([row[at] for row in rows], types[at]) for at, name in enumerate(names)})


def _populations(counts: pa.Table) -> Iterator[tuple[str, str, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Values and samples of each metric and subscription, in the order of the rows; none is empty."""
    for metric, of_metric in parts(counts, "metric"):
        for subscription, rows in parts(of_metric, "subscription"):
            yield metric, subscription, rows["value_ns"].to_numpy(), rows["samples"].to_numpy()


_NONE = np.array([], np.int64)
EMPTY = labelled({"value_ns": _NONE, "samples": _NONE}, metric="", subscription="")
