"""Writes the report's files into a local folder, the same bytes for the same results."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.documents import write_json
from analysis.schema import PARQUET_SCHEMA_KEY, SCHEMA_VERSION

if TYPE_CHECKING:  # an import of results draws nothing, and matplotlib takes a third of a second
    from analysis.drawing import Drawing

_FIELDS: list[pa.Field[Any]] = [
    pa.field("trial", pa.string()),
    pa.field("origin", pa.string()),  # who measured: samebox, or what a result was imported from
    pa.field("system", pa.string()),
    pa.field("contestant", pa.string()),  # null: imported
    pa.field("durability", pa.string()),
    pa.field("workload", pa.string()),
    pa.field("block", pa.int32()),
    pa.field("metric", pa.string()),
    pa.field("unit", pa.string()),
    pa.field("value", pa.float64()),  # null where only bounds are known
    pa.field("low", pa.float64()),
    pa.field("high", pa.float64()),  # null: nothing bounds it
    pa.field("samples", pa.int64()),
    pa.field("note", pa.string()),  # of an imported value: how it is defined there and what was left out
]
OWN = "samebox"
SUMMARY = pa.schema(_FIELDS, metadata={PARQUET_SCHEMA_KEY: str(SCHEMA_VERSION)})


def write_outputs(folder: Path, *, page: str, report: dict[str, Any], drawings: Sequence[Drawing]) -> None:
    """index.html, checks.json, report.json, summary.csv, summary.parquet, data/*.csv."""
    (folder / "index.html").write_text(page, encoding="utf-8")
    write_json(folder / "checks.json", report["checks"])
    write_json(folder / "report.json", report)
    write_table(folder, "summary", report["summary"], SUMMARY)
    (folder / "data").mkdir()
    for drawing in drawings:
        _write_csv(folder / "data" / f"{drawing.name}.csv", drawing.columns, drawing.rows)


def write_table(folder: Path, name: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
    """The same rows as <name>.csv and <name>.parquet; a column that a row doesn't have is null."""
    _write_csv(folder / f"{name}.csv", schema.names, ([row.get(column) for column in schema.names] for row in rows))
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), folder / f"{name}.parquet")


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
