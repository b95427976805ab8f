"""Published figures: the rows of evidence/*.csv, and how a claim names some of them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from analysis.errors import AnalysisError

PRINTED_FILE, RAW_FILE = "published.csv", "raw.csv"
# what identifies a row; the same columns in both files
KEYS = (
    *("source", "table", "workload", "system", "local_durability", "replication_durability", "partitions"),
    *("subscriptions", "message_bytes", "rate_msgs_per_s", "metric", "statistic", "unit"),
)
Selection = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Figure:
    """One row: its columns as they are written, and its value."""

    columns: Mapping[str, str]
    value: float

    @cached_property
    def key(self) -> tuple[str, ...]:
        """What identifies it."""
        return tuple(self.columns[name] for name in KEYS)

    @property
    def unit(self) -> str:
        return self.columns["unit"]

    @property
    def place(self) -> str:
        """Where it is printed, as people say it."""
        columns, table = self.columns, self.columns["table"]
        promise = f"local {columns['local_durability']}, replication {columns['replication_durability']},"
        words = (
            f"{table}:" if table.startswith(("fig", "text", "disk")) else f"table {table}:",
            columns["system"],
            promise if columns["local_durability"] else "",
            f"{columns['partitions']} partitions" if columns["partitions"] else "",
            f"{columns['subscriptions']} subscriptions" if columns["subscriptions"] not in ("", "1") else "",
            f"{columns['message_bytes']} bytes" if columns["message_bytes"] not in ("", "1024") else "",
            f"{columns['metric'].replace('_', ' ')} {columns['statistic']}",
        )
        return " ".join(filter(None, words))


def read_figures(text: str, file: str) -> tuple[Figure, ...]:
    """The rows of a CSV text. Raises AnalysisError for a missing column, a value that isn't a number, or a duplicate row."""
    reader = csv.DictReader(text.splitlines())
    missing = [name for name in (*KEYS, "value") if name not in (reader.fieldnames or ())]
    if missing:
        raise AnalysisError(f"{file}: has no column {', '.join(missing)}.")
    found: dict[tuple[str, ...], Figure] = {}
    for row in reader:
        where = f"{file}, line {reader.line_num}"
        try:
            figure = Figure(row, float(row["value"]))
        except (TypeError, ValueError):
            raise AnalysisError(f"{where}: value is {row['value']!r}, not a number.") from None
        if not math.isfinite(figure.value) or figure.value < 0:
            raise AnalysisError(f"{where}: value is {row['value']!r}, not a number of 0 or more.")
        if figure.key in found:
            raise AnalysisError(f"{where}: {figure.place} appears twice.")
        found[figure.key] = figure
    return tuple(found.values())


def packaged_figures(name: str) -> tuple[Figure, ...]:
    """The figures that come with samebox."""
    text = files("analysis.claims").joinpath("evidence", name).read_text(encoding="utf-8")
    return read_figures(text, f"analysis/claims/evidence/{name}")


def select(figures: Iterable[Figure], selection: Selection) -> list[Figure]:
    """The figures whose columns have one of the asked values, in the order of the file."""
    return [figure for figure in figures if matches(figure, selection)]


def matches(figure: Figure, selection: Selection) -> bool:
    """Whether every selected column has one of the asked values."""
    return all(figure.columns[column] in asked for column, asked in selection.items())


def key_within(figure: Figure, selection: Selection) -> tuple[str, ...]:
    """What tells a figure from the others of its selection: every column that the selection doesn't fix to one value.

    So figures of two selections that fix the same columns, of two systems say, can be put side by side.
    """
    return tuple(figure.columns[name] for name in KEYS if len(selection.get(name, ())) != 1)
