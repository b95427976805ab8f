"""Two reports of the same records, digit by digit: the one in a bundle and the one that its records give here.

A report depends on its records alone, not on when, where or under which name it was made: wherever the same version of samebox makes
it, its files have the same bytes. Only last digits may be other ones on another kind of CPU (bench.verify.last_digits); this is told,
and is no difference. Where files differ otherwise, this says in what.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.verify.difference import Difference, Found, Unchecked
from bench.verify.last_digits import same_number, same_text
from contract import results_folder as layout

MOST_TOLD = 20  # differences of one file
MOST_SHOWN = 60


def report_differences(bundled: Path, remade: Path) -> Iterator[Found]:
    """`bundled`, `remade`: folders of reports."""
    there, following = _files(bundled), _files(remade)
    for name in sorted(there - following):
        yield Difference("report", f"{layout.REPORT}/{name}", "there, and its records give no such file")
    for name in sorted(following - there):
        yield Difference("report", f"{layout.REPORT}/{name}", "its records give this file, and it isn't there")
    for name in sorted(there & following):
        if (bundled / name).read_bytes() == (remade / name).read_bytes():
            continue
        if _same_but_for_last_digits(bundled / name, remade / name):
            yield Unchecked(
                f"the last digits of {layout.REPORT}/{name}, which another CPU may compute otherwise", matters=False
            )
            continue
        told = list(islice(_named(bundled / name, remade / name), MOST_TOLD + 1))
        for what in told[:MOST_TOLD] or ["it has the same content in other bytes"]:
            yield Difference("report", f"{layout.REPORT}/{name}", what)
        if len(told) > MOST_TOLD:
            yield Difference("report", f"{layout.REPORT}/{name}", "and more")


def _same_but_for_last_digits(one: Path, other: Path) -> bool:
    try:
        if one.suffix == ".parquet":
            return pq.read_metadata(one).created_by == pq.read_metadata(other).created_by and not list(
                _tables(one, other)
            )
        return same_text(one.read_text(encoding="utf-8"), other.read_text(encoding="utf-8"))
    except (ValueError, OSError, pa.ArrowException):
        return False


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _named(one: Path, other: Path) -> Iterator[str]:
    """In what two files that aren't the same differ; nothing if not in their content."""
    try:
        if one.suffix == ".json":
            yield from _values(json.loads(one.read_text()), json.loads(other.read_text()))
        elif one.suffix == ".csv":
            yield from _lines(one, other)
        elif one.suffix == ".parquet":
            yield from _tables(one, other)
        else:
            yield _first_difference(one.read_bytes(), other.read_bytes())
    except (ValueError, RecursionError, pa.ArrowException, csv.Error) as error:
        yield f"it can't be read: {(str(error).splitlines() or [''])[0].rstrip('.')}"


def _values(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """Keys with other values, named by their path; an entry of a list by what it is of, where that can be told."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from _values(one.get(key), other.get(key), f"{at}.{key}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _values(left, right, f"{at}[{_called(left, right) or index}]")
    elif (type(one) is not type(other) or one != other) and not same_number(one, other):
        yield f"{at or 'all of it'} is {_shown(one)}, and its records give {_shown(other)}"


_NAMES = (
    "trial",
    "check",
    "workload",
    "level",
    "metric",
    "first",
    "second",
    "subscription",
    "contestant",
    "system",
    "block",
    "host",
    "daemon",
)


def _called(one: Any, other: Any) -> str:
    """What an entry of a list is of: the values of its naming keys, if both sides agree on them."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return ""
    named = [(one[key], other.get(key)) for key in _NAMES if isinstance(one.get(key), str | int)]
    return " ".join(str(left) for left, _ in named) if all(left == right for left, right in named) else ""


def _lines(one: Path, other: Path) -> Iterator[str]:
    with one.open(newline="") as left, other.open(newline="") as right:
        rows, following_rows = csv.reader(left), csv.reader(right)
        columns = next(following_rows, [])
        if (said := next(rows, [])) != columns:
            yield f"its columns are {_shown(said)}, and its records give {_shown(columns)}"
            return
        for number, (mine, theirs) in enumerate(zip_longest(rows, following_rows), start=2):
            if mine == theirs:
                continue
            if mine is None or theirs is None or len(mine) != len(theirs):
                yield f"line {number} is {_shown(mine)}, and its records give {_shown(theirs)}"
                continue
            for column, value, following in zip_longest(columns, mine, theirs):
                if value != following:
                    where = f"line {number} ({theirs[0]}), {column}"
                    yield f"{where} is {_shown(value)}, and its records give {_shown(following)}"


def _tables(one: Path, other: Path) -> Iterator[str]:
    left, right = pq.read_table(one), pq.read_table(other)
    if left.schema != right.schema or left.num_rows != right.num_rows:
        shapes = [f"{each.num_rows} rows and {each.num_columns} columns" for each in (left, right)]
        yield f"it has {shapes[0]}, and its records give {shapes[1]}"
        return
    for number, (mine, theirs) in enumerate(zip(left.to_pylist(), right.to_pylist(), strict=True)):
        yield from _values(mine, theirs, f"row {number} ({theirs.get('trial')}, {theirs.get('metric')})")


def _first_difference(one: bytes, other: bytes) -> str:
    at = next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )
    line = one[:at].count(b"\n") + 1
    mine, theirs = (each[max(0, at - 20) : at + 20].decode(errors="replace") for each in (one, other))
    return f"line {line} reads {_shown(mine)}, and its records give {_shown(theirs)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
