"""Whether messages arrived in the order they were sent: a scan of each file in its own order, merged in file order.

Rows are never sorted or shuffled: each stretch of a file is reduced to first, last and the steps back in between. The stretches are
merged on Spark too, by producer and partition: there are as many as files, so the driver gets only what they come to.
A step back is a message received right after one with a higher sequence, of the same subscription, producer and partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

KEYS = ["trial", "subscription", "producer", "partition", "consumer"]
STRETCH = T.StructType(
    [
        T.StructField("trial", T.StringType(), False),
        T.StructField("subscription", T.StringType(), False),
        T.StructField("producer", T.IntegerType(), False),
        T.StructField("partition", T.IntegerType(), False),
        T.StructField("consumer", T.IntegerType(), False),
        T.StructField("file", T.StringType(), False),
        T.StructField("file_offset", T.LongType(), False),
        T.StructField("ordinal", T.LongType(), False),
        T.StructField("first_sequence", T.LongType(), False),
        T.StructField("last_sequence", T.LongType(), False),
        T.StructField("first_received_ns", T.LongType(), False),
        T.StructField("last_received_ns", T.LongType(), False),
        T.StructField("steps_back", T.LongType(), False),
        T.StructField("deepest_step", T.LongType(), False),
    ]
)

MERGED_BY = ["trial", "subscription", "producer", "partition"]
STEPS = T.StructType(
    [
        T.StructField("trial", T.StringType(), False),
        T.StructField("subscription", T.StringType(), False),
        T.StructField("producer", T.IntegerType(), False),
        T.StructField("partition", T.IntegerType(), False),
        T.StructField("steps_back", T.LongType(), False),
        T.StructField("deepest_step", T.LongType(), False),
    ]
)


@dataclass(frozen=True)
class Ordering:
    """Steps back in one subscription of a trial; `worst` names the producer and partition with most of them."""

    trial: str
    subscription: str
    steps_back: int
    deepest_step: int
    worst: str | None


def stretches(consumed: DataFrame) -> DataFrame:
    """One row per file stretch and key (layout STRETCH), computed where the file is read."""
    rows = consumed.select(*KEYS, "sequence", "received_ns", "file", F.col("file_offset").cast("long"))
    return rows.mapInPandas(summarise_batches, STRETCH)


def summarise_batches(batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Batches of rows in file order to stretches; a batch that holds the rows of two files becomes two stretches."""
    for ordinal, batch in enumerate(batches):
        if len(batch):
            yield summarise(batch, ordinal)


def summarise(rows: pd.DataFrame, ordinal: int) -> pd.DataFrame:
    """The stretches of one batch. `ordinal` is the batch's place in what its reader was given."""
    keys = [*KEYS, "file", "file_offset"]
    grouped = rows.groupby(keys, sort=False)
    step = grouped["sequence"].shift() - rows["sequence"]  # positive = a step back
    back = rows[keys].assign(
        steps_back=(step > 0).astype("int64"), deepest_step=step.clip(lower=0).fillna(0).astype("int64")
    )
    firsts_and_lasts = grouped.agg(
        first_sequence=("sequence", "first"),
        last_sequence=("sequence", "last"),
        first_received_ns=("received_ns", "first"),
        last_received_ns=("received_ns", "last"),
    )
    counted = back.groupby(keys, sort=False).agg(steps_back=("steps_back", "sum"), deepest_step=("deepest_step", "max"))
    joined = firsts_and_lasts.join(counted).reset_index().assign(ordinal=ordinal)
    return joined[STRETCH.fieldNames()]


def steps_back(stretched: DataFrame) -> DataFrame:
    """Stretches to steps back per trial, subscription, producer and partition (layout STEPS)."""
    return stretched.groupBy(*MERGED_BY).applyInPandas(merge_stretches, STEPS)


def merge_stretches(parts: pd.DataFrame) -> pd.DataFrame:
    """The stretches of one producer and partition to one row of STEPS, adding the steps back between one stretch and the next.

    Where two consumers of a subscription share a partition at the same time, nothing says which came first: each is then
    compared with its own previous stretch only.
    """
    steps, deepest = _steps_back(parts.to_dict("records"))
    return parts[MERGED_BY].head(1).assign(steps_back=steps, deepest_step=deepest)


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


def _steps_back(parts: list[Any]) -> tuple[int, int]:
    # within a consumer the names and offsets of files are the order of receipt; clocks only order the consumers
    own = ("file", "file_offset", "ordinal")
    parts = sorted(parts, key=lambda part: (part["first_received_ns"], *(part[name] for name in own)))
    steps, deepest = 0, 0
    last_of: dict[int, Any] = {}
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
