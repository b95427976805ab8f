"""What a kernel is to the scan: which records it reads, what it counts in them, how counts of several files become one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from analysis.records.arrow import grouped, table

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Times:
    """When a trial's load began and its phases were, in ns; None where it never got so far.

    `measured`: the phase that the trial's figures are of. `others`: metric -> the phase in which its publish latency is told.
    `thirds`: metric -> the third of the measured phase in which its response latency is told; empty where none is.
    """

    start_ns: int | None
    measured: tuple[int, int] | None
    others: Mapping[str, tuple[int, int]]
    thirds: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def unchanged(counts: pa.Table) -> pa.Table:
    """What is done to counts that are already what is wanted."""
    return counts


@dataclass(frozen=True)
class Counting:
    """One table of counts. `count` sees rows of one trial, of as many files as are read at once; `merge` makes one table of several
    (it may be called on what it made); `finish` is called once, when all that a trial has is in one table.

    `columns`: what `count` reads. `spread_by`: a column of the counts by whose values a trial's may be merged apart, where they may be
    too many for one task.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    count: Callable[[pa.Table, Times], pa.Table]
    merge: Callable[[pa.Table], pa.Table]
    finish: Callable[[pa.Table], pa.Table] = unchanged
    spread_by: str | None = None


def added_up(keys: Sequence[str], sums: Sequence[str], highest: Sequence[str] = ()) -> Callable[[pa.Table], pa.Table]:
    """Merges by adding: rows with equal keys become one, with the sums of some columns and the highest of others."""

    def merge(counts: pa.Table) -> pa.Table:
        wanted = [*((name, "sum") for name in sums), *((name, "max") for name in highest)]
        added = grouped(counts, keys, wanted)
        of_keys = {name: added[name] for name in keys}
        return table(
            of_keys | {name: added[f"{name}_{how}"].cast(counts.schema.field(name).type) for name, how in wanted}
        )

    return merge
