"""Writes the report's files into a local folder, the same bytes for the same results. Where they go is storage's business."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.drawing import Drawing
from analysis.schema import PARQUET_SCHEMA_KEY, SCHEMA_VERSION

_FIELDS: list[pa.Field[Any]] = [
    pa.field("trial", pa.string()),
    pa.field("system", pa.string()),
    pa.field("durability", pa.string()),
    pa.field("workload", pa.string()),
    pa.field("block", pa.int32()),
    pa.field("metric", pa.string()),
    pa.field("unit", pa.string()),
    pa.field("value", pa.float64()),
    pa.field("samples", pa.int64()),
]
SUMMARY = pa.schema(_FIELDS, metadata={PARQUET_SCHEMA_KEY: str(SCHEMA_VERSION)})


def write_outputs(folder: Path, *, page: str, report: dict[str, Any], drawings: Sequence[Drawing]) -> None:
    """index.html, checks.json, report.json, summary.csv, summary.parquet, data/*.csv."""
    (folder / "index.html").write_text(page, encoding="utf-8")
    _write_json(folder / "checks.json", report["checks"])
    _write_json(folder / "report.json", report)
    rows = report["summary"]
    _write_csv(folder / "summary.csv", SUMMARY.names, ([row[name] for name in SUMMARY.names] for row in rows))
    pq.write_table(pa.Table.from_pylist(rows, schema=SUMMARY), folder / "summary.parquet")
    (folder / "data").mkdir()
    for drawing in drawings:
        _write_csv(folder / "data" / f"{drawing.name}.csv", drawing.columns, drawing.rows)


def _write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
