"""How many samples of each latency lie in which narrow bucket: the first look at the exact percentiles (analysis.percentiles)."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.records.arrow import labelled
from analysis.records.counting import Counting, Times, added_up
from analysis.records.latencies import (
    CONSUMED_COLUMNS,
    PRODUCED_COLUMNS,
    PRODUCED_METRICS,
    Samples,
    consumed_samples,
    produced_samples,
)

PER_ROOT = 128  # buckets per whole fourth root of a value in ns: 0.2 % wide at 0.1 ms, 0.1 % at 1 ms, 0.01 % at 10 s
KEYS = ("metric", "subscription", "bucket")


def bucket_of(values_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Bucket numbers that grow with the value. Times can be negative by the error between two clocks.

    The fourth root does for narrow buckets of small and large times alike what a logarithm does, at a fraction of its cost.
    """
    roots = np.sqrt(np.sqrt(np.abs(values_ns).astype(np.float64)))
    numbers: npt.NDArray[np.int64] = np.floor(np.copysign(roots * PER_ROOT, values_ns)).astype(np.int64)
    return numbers


def lowest_in(bucket: int) -> int:
    """A value that is in no bucket above, and not above any in this one."""
    return math.floor((max(0, bucket) / PER_ROOT) ** 4)


def count_produced(rows: pa.Table, times: Times, only: Collection[str] = PRODUCED_METRICS) -> pa.Table:
    """metric, subscription, bucket, samples: of the producers' latencies, or of some of them."""
    return count_samples(produced_samples(rows, times, only))


def count_consumed(rows: pa.Table, times: Times) -> pa.Table:
    """The same of the end-to-end latency."""
    return count_samples(consumed_samples(rows, times))


def count_samples(samples: Samples) -> pa.Table:
    """metric, subscription, bucket, samples: of any metrics."""
    tables = []
    for metric, subscription, values_ns in samples:
        buckets = bucket_of(values_ns)
        lowest = int(buckets.min(initial=0))
        counts = np.bincount(buckets - lowest)
        present = np.flatnonzero(counts)
        columns = {"bucket": present + lowest, "samples": counts[present]}
        tables.append(labelled(columns, metric=metric, subscription=subscription))
    return pa.concat_tables([EMPTY, *tables])


_NONE = np.array([], np.int64)
EMPTY = labelled({"bucket": _NONE, "samples": _NONE}, metric="", subscription="")
MERGE = added_up(KEYS, sums=["samples"])
PRODUCED = Counting("buckets", "produced", PRODUCED_COLUMNS, count_produced, MERGE)
CONSUMED = Counting("buckets", "consumed", CONSUMED_COLUMNS, count_consumed, MERGE)
