"""Runs countings over record files on Spark: each file is read once, by one task; then the counts of a trial are merged.

What Spark distributes is files: it lists and reads them wherever it can read, packs them into tasks, repeats what fails and moves the
counts, which are serialized Arrow tables. The number of its jobs doesn't depend on how many trials or countings there are.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from zipimport import zipimporter

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from analysis.errors import AnalysisError
from analysis.records.counting import Counting, Times
from analysis.records.files import Records, read

ROWS_AT_ONCE = 131_072  # of one trial and kind, that are counted together: what a worker's memory goes by
FILES_IN_A_BATCH = 4  # that a task is handed at a time
TABLES_AT_MOST = 8  # of one kind of counts, before a task merges them
SPREAD = 64
COUNTS = "name string, trial string, spread int, counts binary, fault string, next_step string"
# trial -> what is counted in it
Countings = Mapping[str, Sequence[Counting]]
# the name of a counting and its trial -> what it came to
Counted = dict[tuple[str, str], pa.Table]
Spread = tuple[str, str, int]
Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def scan(spark: SparkSession, records: Records, countings: Countings) -> Counted:
    """What the countings of every trial come to; one that found no row is missing. Raises AnalysisError naming a file that can't be
    read, or that this version doesn't know.
    """
    kinds = {(trial, counting.kind) for trial, wanted in countings.items() for counting in wanted}
    folders = [uri for key, uri in records.folders.items() if key in kinds]
    if not folders:
        return {}
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", FILES_IN_A_BATCH)  # a record of these is a file
    files = spark.read.format("binaryFile").option("pathGlobFilter", "[!._]*.parquet").load(folders)
    count, merge = (
        partial(in_task, partial(count_files, times=records.times, countings=countings)),
        partial(in_task, partial(merge_counts, countings=countings)),
    )
    counts = files.select("path", "content").mapInArrow(count, COUNTS)
    rows = counts.repartition("name", "trial", "spread").mapInArrow(merge, COUNTS).collect()
    for row in rows:
        if row["fault"] is not None:
            raise AnalysisError(row["fault"], next_step=row["next_step"])
    found: defaultdict[tuple[str, str], list[pa.Table]] = defaultdict(list)
    for row in rows:
        found[row["name"], row["trial"]].append(_table(row["counts"]))
    return {key: pa.concat_tables(tables) for key, tables in found.items()}


def in_task(work: Work, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a worker does for one task.

    Before each task PySpark has Python look anew at everything that modules could be imported from. In an archive that means reading
    its whole directory, and Spark's own is one: 40 ms a task, as much as the task itself often takes. An archive that isn't among the
    importers in use is opened again when something is to be imported, and no sooner.
    """
    for path in [path for path, importer in sys.path_importer_cache.items() if isinstance(importer, zipimporter)]:
        del sys.path_importer_cache[path]
    yield from work(batches)


def count_files(
    batches: Iterable[pa.RecordBatch], *, times: Mapping[str, Times], countings: Countings
) -> Iterator[pa.RecordBatch]:
    """Where files are read: `batches` of path and content to counts, one row of COUNTS for each counting, trial and place to merge."""
    counts: defaultdict[tuple[str, str], list[pa.Table]] = defaultdict(list)

    def count(trial: str, kind: str, tables: Sequence[pa.Table]) -> None:
        rows = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
        for counting in _of(countings, trial, kind):
            found = counts[counting.name, trial]
            found.append(counting.count(rows, times[trial]))
            if len(found) >= TABLES_AT_MOST:
                found[:] = [_merged(counting, found)]

    waiting: defaultdict[tuple[str, str], list[pa.Table]] = defaultdict(list)
    waiting_rows: Counter[tuple[str, str]] = Counter()
    try:
        for trial, kind, rows in _parts(batches, countings):
            waiting[trial, kind].append(rows)
            waiting_rows[trial, kind] += len(rows)
            if waiting_rows[trial, kind] >= ROWS_AT_ONCE:
                count(trial, kind, waiting.pop((trial, kind)))
                del waiting_rows[trial, kind]
        for (trial, kind), tables in waiting.items():
            count(trial, kind, tables)
    except AnalysisError as error:
        yield _fault(error)
        return
    for (name, trial), tables in counts.items():
        counting = _named(countings, trial, name)
        for place, table in _spread(counting, _merged(counting, tables)):
            yield _row((name, trial, place), table)


def merge_counts(batches: Iterable[pa.RecordBatch], *, countings: Countings) -> Iterator[pa.RecordBatch]:
    """Where the counts of a trial have come together: one table of each counting, finished."""
    found: defaultdict[Spread, list[pa.Table]] = defaultdict(list)
    for batch in batches:
        for row in batch.to_pylist():
            if row["fault"] is None:
                found[row["name"], row["trial"], row["spread"]].append(_table(row["counts"]))
            else:
                yield _fault(AnalysisError(row["fault"], next_step=row["next_step"]))
    for (name, trial, place), tables in found.items():
        counting = _named(countings, trial, name)
        yield _row((name, trial, place), counting.finish(_merged(counting, tables)))


def _parts(batches: Iterable[pa.RecordBatch], countings: Countings) -> Iterator[tuple[str, str, pa.Table]]:
    """Trial, kind and the rows of each part of each file, in its order. Raises AnalysisError naming a file that can't be read."""
    for batch in batches:
        for uri, content in zip(batch["path"], batch["content"], strict=True):
            trial, kind, _ = uri.as_py().rsplit("/", 3)[1:]
            columns = {column for each in _of(countings, trial, kind) for column in each.columns}
            for rows in read(uri.as_py(), content.as_buffer(), columns, ROWS_AT_ONCE):
                yield trial, kind, rows


def _of(countings: Countings, trial: str, kind: str) -> list[Counting]:
    return [each for each in countings[trial] if each.kind == kind]


def _named(countings: Countings, trial: str, name: str) -> Counting:
    return next(each for each in countings[trial] if each.name == name)


def _merged(counting: Counting, tables: Sequence[pa.Table]) -> pa.Table:
    return counting.merge(pa.concat_tables(tables).unify_dictionaries())


def _spread(counting: Counting, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    if counting.spread_by is None:
        yield 0, table
        return
    places = np.mod(table[counting.spread_by].to_numpy(), SPREAD)
    for place in np.unique(places).tolist():
        yield place, table.filter(pa.array(places == place))


def _row(key: Spread, counts: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, counts.schema) as stream:
        stream.write_table(counts)
    return _batch(*key, sink.getvalue().to_pybytes(), None, "")


def _fault(error: AnalysisError) -> pa.RecordBatch:
    return _batch("", "", 0, None, str(error), error.next_step)


def _batch(*values: Any) -> pa.RecordBatch:
    types = (pa.string(), pa.string(), pa.int32(), pa.binary(), pa.string(), pa.string())
    names = ["name", "trial", "spread", "counts", "fault", "next_step"]
    columns = [pa.array([value], kind) for value, kind in zip(values, types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names)


def _table(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as stream:
        return stream.read_all()
