"""Arrow's functions as kernels call them, with types that say what they take: the stubs refuse plain numbers and chunked columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute
Column = Any  # a pyarrow.ChunkedArray


def table(columns: Mapping[str, Any]) -> pa.Table:
    """Columns of Arrow or numpy, of equal length, by name."""
    return pa.table(dict(columns))


def labelled(columns: Mapping[str, Any], **labels: str) -> pa.Table:
    """Such a table in which every row has the same labels, which come first."""
    size = len(next(iter(columns.values())))
    return table({**{name: pa.repeat(pa.scalar(text), size) for name, text in labels.items()}, **columns})


def schema(**columns: pa.DataType) -> pa.Schema:
    """A type for each column."""
    return pa.schema(list(columns.items()))


def grouped(rows: pa.Table, keys: Sequence[str], figures: Sequence[tuple[Any, str]]) -> pa.Table:
    """The keys of each group, once, and its figures (column and function); ([], "count_all"): how many rows it has. In this thread:
    Spark has as many tasks as there are cores."""
    wanted: Any = list(figures)
    return rows.group_by(list(keys), use_threads=False).aggregate(wanted)


def parts(rows: pa.Table, name: str) -> Iterator[tuple[str, pa.Table]]:
    """The rows with each value of a text column, in the order of the values."""
    values: list[Any] = pc.unique(rows[name]).to_pylist()
    for value in sorted(values):
        yield value, rows if len(values) == 1 else rows.filter(pc.equal(rows[name], value))


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column that was read as a dictionary, in tables that leave the file."""
    return kind.value_type if isinstance(kind, pa.DictionaryType) else kind
