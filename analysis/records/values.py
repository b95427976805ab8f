"""Which values lie in the few buckets that hold a wanted rank: the second look, after which percentiles are exact to the nanosecond."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from analysis.records.arrow import labelled, table
from analysis.records.buckets import bucket_of
from analysis.records.counting import Counting, Times, added_up
from analysis.records.latencies import CONSUMED_COLUMNS, PRODUCED_COLUMNS, Samples, consumed_samples, produced_samples

KEYS = ("metric", "subscription", "bucket", "value_ns")


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


def countings(wanted: Sequence[Wanted]) -> Iterator[Counting]:
    """What finds these ranks of one trial, among its produced and consumed records."""
    kinds = {"produced": (PRODUCED_COLUMNS, produced_samples), "consumed": (CONSUMED_COLUMNS, consumed_samples)}
    buckets: dict[str, set[int]] = {}
    for each in wanted:
        buckets.setdefault(each.metric, set()).add(each.bucket)
    for kind, (columns, samples) in kinds.items():
        yield Counting(
            "values", kind, columns, partial(_count, buckets=buckets, samples=samples), added_up(KEYS, ["samples"]),
            partial(values_at, wanted=wanted),
        )  # fmt: skip


def _count(
    rows: pa.Table, times: Times, *, buckets: Mapping[str, set[int]], samples: Callable[[pa.Table, Times], Samples]
) -> pa.Table:
    return count_values(samples(rows, times), buckets)


def count_values(samples: Samples, buckets: Mapping[str, set[int]]) -> pa.Table:
    """metric, subscription, bucket, value_ns, samples: of the values in these buckets of each metric."""
    tables = [EMPTY]
    for metric, subscription, values_ns in samples:
        if not (wanted := buckets.get(metric)):
            continue
        numbers = bucket_of(values_ns)
        inside = np.isin(numbers, np.array(sorted(wanted)))
        found, counts = np.unique(values_ns[inside], return_counts=True)
        columns = {"bucket": bucket_of(found), "value_ns": found, "samples": counts}
        tables.append(labelled(columns, metric=metric, subscription=subscription))
    return pa.concat_tables(tables)


def values_at(counted: pa.Table, wanted: Sequence[Wanted]) -> pa.Table:
    """metric, subscription, quantile_ppm, value_ns: the value at each wanted rank."""
    ordered = counted.sort_by([(name, "ascending") for name in KEYS])
    keys = list(zip(*(ordered[name].to_pylist() for name in KEYS[:3]), strict=True))
    values, up_to_here = ordered["value_ns"].to_numpy(), np.cumsum(ordered["samples"].to_numpy())
    first_of = {key: at for at, key in reversed(list(enumerate(keys)))}
    rows = []
    for each in wanted:
        first = first_of.get((each.metric, each.subscription, each.bucket))
        if first is not None:
            below = int(up_to_here[first - 1]) if first else 0
            at = int(np.searchsorted(up_to_here, below + each.rank_in_bucket))
            rows.append((each.metric, each.subscription, each.quantile_ppm, int(values[at])))
    names = ("metric", "subscription", "quantile_ppm", "value_ns")
    types = (pa.string(), pa.string(), pa.int64(), pa.int64())
    return table({name: pa.array([row[at] for row in rows], types[at]) for at, name in enumerate(names)})


_NONE = np.array([], np.int64)
EMPTY = labelled({"bucket": _NONE, "value_ns": _NONE, "samples": _NONE}, metric="", subscription="")
