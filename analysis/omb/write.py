"""The folder that an import writes: import.json, summary.csv, summary.parquet, windows.csv, windows.parquet. It computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.documents import write_json
from analysis.omb.folder import SUCCESS
from analysis.omb.layout import NOTES, ORIGIN
from analysis.omb.rows import Imported
from analysis.outputs import SUMMARY, write_table
from analysis.schema import PARQUET_SCHEMA_KEY, SCHEMA_VERSION

_FIELDS: list[pa.Field[Any]] = [
    pa.field("trial", pa.string()),
    pa.field("window", pa.int32()),  # from 1
    pa.field("nominal_start_s", pa.float64()),  # windows carry no time: ten seconds each, in truth a little more
    pa.field("metric", pa.string()),
    pa.field("unit", pa.string()),
    pa.field("value", pa.float64()),
    pa.field("note", pa.string()),
]
WINDOWS = pa.schema(_FIELDS, metadata={PARQUET_SCHEMA_KEY: str(SCHEMA_VERSION)})
OUTPUTS = frozenset({"import.json", "summary.csv", "summary.parquet", "windows.csv", "windows.parquet", SUCCESS})


@dataclass(frozen=True)
class Refused:
    """A file that wasn't imported, why, and what to do about it."""

    file: str
    error: str
    next_step: str


@dataclass(frozen=True)
class Copy:
    """A file with the very bytes of an imported one: counted once."""

    file: str
    of: str


def import_document(imported: Sequence[Imported], copies: Sequence[Copy], refused: Sequence[Refused]) -> dict[str, Any]:
    """The document of import.json."""
    return {
        "schema": SCHEMA_VERSION,
        "origin": ORIGIN,
        "definitions": dict(NOTES),
        "files": [one.document() for one in imported],
        "copies": [vars(copy) for copy in copies],
        "refused": [vars(one) for one in refused],
    }


def write_import(folder: Path, imported: Sequence[Imported], document: Mapping[str, Any]) -> None:
    """Writes OUTPUTS (but for the last, which says that all are there) into an empty folder."""
    write_json(folder / "import.json", document)
    write_table(folder, "summary", [row for one in imported for row in one.summary], SUMMARY)
    write_table(folder, "windows", [row for one in imported for row in one.windows], WINDOWS)
