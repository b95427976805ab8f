"""The task import-omb: result files of OpenMessaging Benchmark in, a folder of tables out. They are small and few: it needs no Spark.

1. read and parse all files, each by itself; one that is refused stops no other
2. name the trials; a file with the bytes of another one counts once
3. write aside, rename

Exit code 0: at least one file was imported; 1: none was, and nothing was written.
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from analysis.documents import SCHEMA_VERSION, write_json
from analysis.errors import AnalysisError, run_plain_task
from analysis.omb.layout import NOTES, ORIGIN
from analysis.omb.result_file import MOST_BYTES, NEXT, is_plain, read_result
from analysis.omb.rows import Imported, import_result
from analysis.outputs import SUMMARY, write_table
from analysis.schema import PARQUET_SCHEMA_KEY

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
_SUCCESS = "_SUCCESS"
OUTPUTS = frozenset({"import.json", "summary.csv", "summary.parquet", "windows.csv", "windows.parquet", _SUCCESS})
_OTHER = "Give another folder with --out."


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


def run(arguments: Sequence[str], scratch: Path) -> int:
    """Parses the arguments and imports."""
    del scratch
    parser = argparse.ArgumentParser(
        prog="job.py import-omb", description="Imports results of OpenMessaging Benchmark."
    )
    parser.add_argument("files", nargs="+", help="result files")
    parser.add_argument("--out", required=True, help="the folder to write")
    options = parser.parse_args(arguments)
    return run_plain_task(lambda: import_files(list(dict.fromkeys(options.files)), out=Path(options.out)))


def import_files(files: Sequence[str], *, out: Path) -> dict[str, Any]:
    """Writes `out` and returns its import.json. Raises AnalysisError if no file can be imported, or `out` can't be written."""
    require_replaceable(out)
    outcomes = read_all(files)
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    imported: dict[str, Imported] = {}
    copies = []
    for outcome in outcomes:
        if isinstance(outcome, Imported):
            first = imported.setdefault(outcome.result.sha256, outcome)
            if first is not outcome:
                copies.append(Copy(outcome.result.source, first.result.source))
    if not imported:
        raise AnalysisError(
            "no file was imported.\n" + "\n".join(one.error for one in refused), next_step=refused[0].next_step
        )
    found = list(imported.values())
    document = import_document(found, copies, refused)
    write_import(out, found, document)
    return document


def read_all(files: Sequence[str]) -> list[Imported | Refused]:
    """What became of each file, in the order given; one that is named twice, by whatever path, is read once."""
    first: dict[str, str] = {}  # in full -> as given
    for file in files:
        first.setdefault(os.path.realpath(file), file)
    sources = list(first.values())
    names = trial_names(sources)
    return [_read(file, names[file]) for file in sources]


def _read(file: str, trial: str) -> Imported | Refused:
    """A refusal is an outcome here, not an exception: it concerns one file, and the others are imported."""
    shown = os.fsencode(file).decode("utf-8", "backslashreplace")
    try:
        if not is_plain(file):
            raise AnalysisError(
                f"{shown}: its name isn't plain text in UTF-8, and it would be in every row.", next_step="Rename it."
            )
        return import_result(read_result(_content(Path(file)), file), trial)
    except AnalysisError as error:
        return Refused(shown, str(error), error.next_step)
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:200]}"
        return Refused(shown, f"{shown}: samebox can't import it, because of a bug in samebox ({what}).", "")


def _content(file: Path) -> bytes:
    """The bytes of a file. Raises AnalysisError for what isn't one, can't be read, or is far larger than any result."""
    try:
        found = file.stat()
        if stat.S_ISDIR(found.st_mode):
            raise AnalysisError(f"{file}: a folder; a file is needed.", next_step=NEXT)
        if not stat.S_ISREG(found.st_mode):
            raise AnalysisError(f"{file}: a pipe or a device; a file is needed.", next_step="Write it to a file first.")
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise AnalysisError(f"{file}: no such file.", next_step="Check the spelling of its name.") from None
    except OSError as error:
        raise AnalysisError(f"{file}: can't be read: {error.strerror}.", next_step=NEXT) from None
    if len(content) > MOST_BYTES:
        raise AnalysisError(
            f"{file}: more than {MOST_BYTES // 2**20} MiB, too large for a result of OpenMessaging Benchmark.",
            next_step=NEXT,
        )
    return content


def trial_names(files: Sequence[str]) -> Mapping[str, str]:
    """What to call each file's trial: its name, after as many of its folders as tell it from the others."""
    parts = {file: PurePosixPath(file.removesuffix(".json")).parts for file in files}
    alike: dict[tuple[str, ...], int] = {}
    for own in parts.values():
        for depth in range(1, len(own) + 1):
            alike[own[-depth:]] = alike.get(own[-depth:], 0) + 1
    return {
        file: "/".join(next((own[-depth:] for depth in range(1, len(own)) if alike[own[-depth:]] == 1), own))
        for file, own in parts.items()
    }


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


def require_replaceable(out: Path) -> None:
    """Raises AnalysisError if `out` can't be written, or holds anything that isn't of an earlier import."""
    try:
        if not out.exists():
            nearest = next(parent for parent in out.parents if parent.exists())
            if not nearest.is_dir():
                raise AnalysisError(f"{out}: can't be written: {nearest} is a file.", next_step=_OTHER)
            return
        if not out.is_dir():
            raise AnalysisError(f"{out}: can't be written: it is a file.", next_step=_OTHER)
        foreign = sorted(entry.name for entry in out.iterdir() if entry.name not in OUTPUTS)
    except OSError as error:
        raise AnalysisError(f"{out}: can't be written: {error.strerror}.", next_step=_OTHER) from None
    if foreign:
        raise AnalysisError(
            f"{out}: contains files that aren't part of an earlier import ({', '.join(foreign[:3])}), so it isn't replaced.",
            next_step=_OTHER,
        )


def write_import(out: Path, imported: Sequence[Imported], document: Mapping[str, Any]) -> None:
    """Writes OUTPUTS. Raises AnalysisError, and leaves nothing half-written."""
    aside = out.with_name(f"{out.name}.writing")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        try:
            write_json(aside / "import.json", document)
            write_table(aside, "summary", [row for one in imported for row in one.summary], SUMMARY)
            write_table(aside, "windows", [row for one in imported for row in one.windows], WINDOWS)
            (aside / _SUCCESS).touch()
            if out.exists():
                shutil.rmtree(out)
            aside.rename(out)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise AnalysisError(f"{out}: can't be written: {error.strerror or error}.", next_step=_OTHER) from None
