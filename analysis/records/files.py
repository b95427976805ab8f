"""Where the records of a campaign lie, and a file of them as an Arrow table. Refuses unknown layouts; never drops a row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.campaign import Campaign, Trial
from analysis.errors import AnalysisError
from analysis.records.arrow import table
from analysis.records.counting import Times
from analysis.records.latencies import PUBLISH_OF_PHASE
from analysis.schema import ADDED, PARQUET_SCHEMA_KEY, RECORDS, SCHEMA_VERSION
from analysis.storage import Storage
from analysis.thirds import thirds_of

FILE = "file"  # the name of the file that a row was read from
TEXTS = ("subscription", "phase", "error")  # of few values


@dataclass(frozen=True)
class Records:
    """The folders with record files, by trial and kind, and when each trial was what."""

    folders: Mapping[tuple[str, str], str]
    times: Mapping[str, Times]


def records_of(storage: Storage, campaign: Campaign) -> Records:
    """Looks which there are: a trial that was aborted early may lack some kind of record."""
    folders = {
        (trial.name, kind): f"{campaign.results}/trials/{trial.name}/{kind}"
        for trial in campaign.trials
        for kind in RECORDS
    }
    there = {key: uri for key, uri in folders.items() if storage.entries(uri)}
    return Records(there, {trial.name: times_of(trial) for trial in campaign.trials})


def times_of(trial: Trial) -> Times:
    """When a trial was what, as kernels are told."""
    others = {metric: trial.phase_ns(phase) for phase, metric in PUBLISH_OF_PHASE.items()}
    return Times(
        trial.start_ns,
        trial.measured_ns(),
        {metric: bounds_ns for metric, bounds_ns in others.items() if bounds_ns is not None},
        thirds_of(trial),
    )


def read(uri: str, content: Any, columns: Collection[str], rows_at_once: int) -> Iterator[pa.Table]:
    """These columns of one file in tables of at most so many rows, in the file's order; its name and folder say what it is, and a
    column that files of earlier versions don't have is null.

    `content`: a buffer of its bytes. Raises AnalysisError naming the file.
    """
    _, kind, name = uri.rsplit("/", 2)
    try:
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=[name for name in TEXTS if name in columns])
        _refuse_unknown(uri, kind, file.schema_arrow, file.metadata.metadata or {})
        there = [name for name in file.schema_arrow.names if name in columns]
        for rows in file.iter_batches(rows_at_once, columns=there, use_threads=False):
            yield _as_asked(pa.Table.from_batches([rows]), kind, name, columns)
    except (pa.ArrowException, OSError) as error:
        cause = str(error).splitlines()[0]
        raise AnalysisError(f"{uri}: not a readable Parquet file: {cause}") from None


def _as_asked(rows: pa.Table, kind: str, file: str, columns: Collection[str]) -> pa.Table:
    made: dict[str, Any] = {
        field.name: rows[field.name] if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in RECORDS[kind]
        if field.name in columns
    }
    if FILE in columns:
        made[FILE] = pa.repeat(pa.scalar(file), len(rows)).dictionary_encode()
    return table(made)


def _refuse_unknown(uri: str, kind: str, found: pa.Schema, said: Mapping[bytes, bytes]) -> None:
    version = said.get(PARQUET_SCHEMA_KEY.encode())
    if version != str(SCHEMA_VERSION).encode():
        told = "none" if version is None else repr(version.decode(errors="replace"))
        raise AnalysisError(
            f"{uri}: its samebox.schema is {told}, this version reads {SCHEMA_VERSION}.",
            next_step="Analyse it with the samebox version that wrote it.",
        )
    missing = [field.name for field in RECORDS[kind] if field.name not in found.names and field.name not in ADDED]
    if missing:
        raise AnalysisError(f"{uri}: has no column {', '.join(missing)} though it says schema {SCHEMA_VERSION}.")
