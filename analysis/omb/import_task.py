"""The task import-omb: result files of OpenMessaging Benchmark in, a folder of tables out.

1. read and parse all files on Spark, each by itself; one that is refused stops no other
2. name the trials; a file with the bytes of another one counts once
3. write aside, rename

Exit code 0: at least one file was imported; 1: none was, and nothing was written.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pyspark.sql import SparkSession

from analysis.errors import AnalysisError
from analysis.omb.result_file import NEXT, read_result
from analysis.omb.rows import Imported, import_result
from analysis.omb.write import OUTPUTS, Copy, Refused, import_document, write_import
from analysis.storage import Storage
from analysis.task import Progress, run_task

_GLOB = re.compile(r"([\\\[\]{}*?])")  # what Hadoop would take for a pattern


def run(arguments: Sequence[str], scratch: Path) -> int:
    """Parses the arguments and imports."""
    parser = argparse.ArgumentParser(
        prog="job.py import-omb", description="Imports results of OpenMessaging Benchmark."
    )
    parser.add_argument("files", nargs="+", help="result files: paths, or any URIs that Spark reads")
    parser.add_argument("--out", required=True, help="the folder to write")
    options = parser.parse_args(arguments)
    files = list(dict.fromkeys(options.files))
    return run_task(
        "samebox import-omb",
        lambda spark, progress: import_files(spark, files, out=options.out, scratch=scratch, progress=progress),
    )


def import_files(
    spark: SparkSession, files: Sequence[str], *, out: str, scratch: Path, progress: Progress
) -> dict[str, Any]:
    """Writes `out` and returns its import.json; `scratch` is an empty local folder. Raises AnalysisError if no file can be imported."""
    storage = Storage(spark)
    progress(f"reading {len(files)} files")
    outcomes = read_all(spark, storage, files)
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
    document = import_document(list(imported.values()), copies, refused)
    folder = scratch / "import"
    folder.mkdir()
    write_import(folder, list(imported.values()), document)
    storage.publish(folder, out, kind="import", replaces=OUTPUTS)
    progress(f"imported: {out}")
    return document


def read_all(spark: SparkSession, storage: Storage, files: Sequence[str]) -> list[Imported | Refused]:
    """What became of each file, in the order given; one that is named twice, by whatever path, is read once."""
    found: dict[str, Imported | Refused] = {}
    sources: dict[str, str] = {}  # in full -> as given
    for file in files:
        if ":" in PurePosixPath(file).name:
            found[file] = Refused(file, f"{file}: Spark reads no file with a colon in its name.", "Rename it.")
        elif not storage.is_file(file):
            found[file] = Refused(file, f"{file}: no such file.", "Is the name spelt right?")
        else:
            sources.setdefault(storage.qualified(file), file)
    if sources:
        names = trial_names(list(sources.values()))
        patterns = [_GLOB.sub(r"\\\1", file) for file in sources.values()]
        contents = spark.read.format("binaryFile").load(patterns).select("path", "content").rdd
        parsed = contents.map(lambda row: _parse(bytes(row["content"]), sources[row["path"]], names)).collect()
        # Spark passes over a file without content
        empty = {file: Refused(file, f"{file}: the file is empty.", NEXT) for file in sources.values()}
        found |= empty | dict(parsed)
    return [found[file] for file in files if file in found]


def _parse(content: bytes, source: str, names: Mapping[str, str]) -> tuple[str, Imported | Refused]:
    """Runs in Spark's workers: a refusal is an outcome there, no exception."""
    try:
        return source, import_result(read_result(content, source), names[source])
    except AnalysisError as error:
        return source, Refused(source, str(error), error.next_step)


def trial_names(files: Sequence[str]) -> dict[str, str]:
    """What to call each file's trial: its name, after as many of its folders as tell it from the others."""
    parts = {file: PurePosixPath(file.removesuffix(".json")).parts for file in files}
    names = {}
    for file, own in parts.items():
        for depth in range(1, len(own) + 1):
            same = [other for other, theirs in parts.items() if theirs[-depth:] == own[-depth:]]
            if len(same) == 1 or depth == len(own):
                names[file] = "/".join(own[-depth:])
                break
    return names
