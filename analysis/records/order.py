"""Whether messages arrived in the order they were sent: each file in its own order, then the files of a consumer one after another.

Rows are never put into another order across files: each file is reduced to first, last and the steps back in between, by producer and
partition. A step back is a message received right after one with a higher sequence, of the same subscription, producer and partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.records.arrow import plain, schema
from analysis.records.counting import Counting, Times, unchanged
from analysis.records.files import FILE

KEYS = ("subscription", "producer", "partition", "consumer", FILE)
MERGED_BY = ("subscription", "producer", "partition")
COLUMNS = (*KEYS, "sequence", "received_ns")


@dataclass(frozen=True)
class Ordering:
    """Steps back in one subscription of a trial; `worst` names the producer and partition with most of them."""

    trial: str
    subscription: str
    steps_back: int
    deepest_step: int
    worst: str | None


def count_stretches(rows: pa.Table, times: Times) -> pa.Table:
    """One row per key, file by file: KEYS, first and last sequence and time, steps back, the deepest of them."""
    del times
    codes, firsts = _codes(rows)
    # stable: rows of one key stay in the order in which they were received
    order = np.argsort(codes, kind="stable")
    sequences, received_ns = (rows[name].to_numpy()[order] for name in ("sequence", "received_ns"))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    steps = np.diff(sequences, prepend=sequences[:1]) * -1  # positive: a step back
    steps[starts] = 0
    np.clip(steps, 0, None, out=steps)
    keys = rows.select(list(KEYS)).take(firsts)
    stretches = keys.cast(pa.schema([(name, plain(keys[name].type)) for name in KEYS]))
    columns = {
        "first_sequence": sequences[starts],
        "last_sequence": sequences[ends],
        "first_received_ns": received_ns[starts],
        "last_received_ns": received_ns[ends],
        "steps_back": np.add.reduceat((steps > 0).astype(np.int64), starts) if len(starts) else starts,
        "deepest_step": np.maximum.reduceat(steps, starts) if len(starts) else starts,
    }
    for name, values in columns.items():
        stretches = stretches.append_column(name, pa.array(values, pa.int64()))
    return stretches


def _codes(rows: pa.Table) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """A number per row that says which key it has, ascending as keys first appear in no particular order; and the first row of each."""
    code = np.zeros(len(rows), np.int64)
    for name in KEYS:
        _, numbers = np.unique(_numbers(rows, name), return_inverse=True)
        code = code * (int(numbers.max(initial=0)) + 1) + numbers
    _, firsts, dense = np.unique(code, return_index=True, return_inverse=True)
    # 16 bits are sorted by radix, several times as fast
    return dense.astype(np.uint16 if len(firsts) <= np.iinfo(np.uint16).max else np.int64), firsts


def _numbers(rows: pa.Table, name: str) -> npt.NDArray[Any]:
    column: Any = rows[name].combine_chunks()
    numbers: npt.NDArray[Any] = (
        column.indices.to_numpy() if pa.types.is_dictionary(column.type) else column.to_numpy(zero_copy_only=False)
    )
    return numbers


def steps_back(stretches: pa.Table) -> pa.Table:
    """subscription, producer, partition, steps_back, deepest_step: with the steps back between one stretch and the next.

    Where two consumers of a subscription share a partition at the same time, nothing says which came first: each is then compared
    with its own previous stretch only.
    """
    by_key: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for stretch in stretches.to_pylist():
        by_key.setdefault(tuple(stretch[name] for name in MERGED_BY), []).append(stretch)
    rows = [
        dict(zip((*MERGED_BY, "steps_back", "deepest_step"), (*key, *_steps_back(parts)), strict=True))
        for key, parts in by_key.items()
    ]
    return pa.Table.from_pylist(rows, STEPS)


def _steps_back(parts: Sequence[dict[str, Any]]) -> tuple[int, int]:
    # within a file its own order counts, in which its parts come; within a consumer the names of files are the order of receipt; clocks
    # only order the consumers
    began_ns: dict[str, int] = {}
    for part in parts:
        began_ns.setdefault(part[FILE], part["first_received_ns"])
    parts = sorted(parts, key=lambda part: (began_ns[part[FILE]], part[FILE]))
    steps, deepest = 0, 0
    last_of: dict[int, dict[str, Any]] = {}
    previous = None
    for part in parts:
        steps += part["steps_back"]
        deepest = max(deepest, part["deepest_step"])
        one_after_another = previous is not None and previous["last_received_ns"] < part["first_received_ns"]
        before = previous if one_after_another else last_of.get(part["consumer"])
        if before is not None and part["first_sequence"] < before["last_sequence"]:
            steps += 1
            deepest = max(deepest, before["last_sequence"] - part["first_sequence"])
        last_of[part["consumer"]] = previous = part
    return steps, deepest


def orderings(rows: Iterable[Any]) -> list[Ordering]:
    """Rows of STEPS added up per trial and subscription."""
    found: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for row in rows:
        name = f"producer {row['producer']}, partition {row['partition']}"
        counts = found.setdefault((row["trial"], row["subscription"]), [])
        counts.append((row["steps_back"], row["deepest_step"], name))
    return [_ordering(key, counts) for key, counts in sorted(found.items())]


def _ordering(key: tuple[str, str], counts: list[tuple[int, int, str]]) -> Ordering:
    steps, deepest = sum(count for count, _, _ in counts), max(deep for _, deep, _ in counts)
    worst = max(counts)[2] if steps else None
    return Ordering(*key, steps, deepest, worst)


STEPS = schema(
    subscription=pa.string(),
    producer=pa.int32(),
    partition=pa.int32(),
    steps_back=pa.int64(),
    deepest_step=pa.int64(),
)
ORDER = Counting("order", "consumed", COLUMNS, count_stretches, unchanged, steps_back, spread_by="producer")
