"""Do the records of a trial agree with its counters, its schedule and one another? Row by row, without Spark.

What a producer was to send follows from the workload and the seed; what a consumer received names the message as it was sent; the
times of both sides only ever grow. What is left to a forger is when something was acknowledged: of that the figures tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.bundle.layout import MESSAGES
from bench.results.recorded import RECORDS
from bench.verify.difference import Difference
from bench.verify.phases import phase_names
from bench.verify.sender import Producer
from bench.verify.trials import LOAD, Recorded, about_within
from bench.worker import records

# what says that it holds more is made to fill memories; messages that were never sent take next to nothing
MOST_ROWS, MOST_ROWS_PER_BYTE = 2**24, 64  # of a trial's files of one kind: so many, and so many a byte beyond
MOST_DECODED_BYTES, MOST_GROWTH = 2**28, 1_000  # of a file: so many, or so many times its own
_ROWS_AT_ONCE = 262_144
_OF_WORKER = re.compile(r"(producer|consumer)-(?P<number>[0-9]{4,9})-[0-9]{1,20}\.parquet")
# without the one column that earlier versions didn't write, which says nothing here
PRODUCED = records.PRODUCED.remove(records.PRODUCED.get_field_index("held_until_ns"))
CONSUMED = records.CONSUMED
_OF_SAMPLES: list[pa.Field[Any]] = [
    pa.field("time_ns", pa.int64(), nullable=False),
    pa.field("host", pa.string(), nullable=False),
]
SAMPLES = pa.schema(_OF_SAMPLES)


@dataclass(frozen=True)
class File:
    """A record file: its name within the trial, its rows and its bytes."""

    name: str
    path: Path
    rows: int
    size_bytes: int

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]


def record_differences(folder: Path, trial: Recorded, seed: int) -> Iterator[Difference]:
    """All that contradicts. `folder`: the trial's, with all of its records; `seed`: the campaign's."""

    def said(where: str, what: str) -> Difference:
        return Difference("records", f"{trial.name}/{where}" if where else trial.name, what)

    files: list[File] = []
    for kind in RECORDS:
        for path in sorted((folder / kind).glob("*")):
            found = _file(path, kind) if path.name[0] not in "._" else "a name that marks unfinished work"
            if isinstance(found, str):
                yield said(f"{kind}/{path.name}", found)
                return  # whatever is counted of it would be wrong as well
            files.append(found)
        own = [file for file in files if file.kind == kind]
        rows, size_bytes = sum(file.rows for file in own), sum(file.size_bytes for file in own)
        if rows > MOST_ROWS + MOST_ROWS_PER_BYTE * size_bytes:
            yield said(kind, f"{size_bytes:,} bytes say that they hold {rows:,} rows: no records are like that")
            return
    counters = list(_counter_differences(trial, files))
    yield from (said("", what) for what in counters)
    if not trial.document["phases"]:
        return
    try:
        yield from (said(where, what) for where, what in _row_differences(trial, files, seed))
    except (pa.ArrowException, OSError, ValueError, IndexError, TypeError) as error:
        yield said("", f"its records can't be read: {(str(error).splitlines() or [''])[0].rstrip('.')}")


def _file(path: Path, kind: str) -> File | str:
    """What its footer says, or what is wrong with it."""
    size_bytes = path.stat().st_size
    try:
        footer = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        return f"not a whole Parquet file: {(str(error).splitlines() or [''])[0].rstrip('.')}"
    decoded = sum(
        footer.row_group(group).column(column).total_uncompressed_size
        for group in range(footer.num_row_groups)
        for column in range(footer.num_columns)
    )
    if decoded > max(MOST_DECODED_BYTES, MOST_GROWTH * size_bytes):
        return f"{size_bytes:,} bytes say that they hold {decoded:,}: no records are like that"
    return File(f"{kind}/{path.name}", path, footer.num_rows, size_bytes)


def _counter_differences(trial: Recorded, files: Sequence[File]) -> Iterator[str]:
    """Counters of rows and bytes. A trial that was ended early may lack files that were lost with their host, and never has more."""
    document = trial.document
    agree: Callable[[int, int], bool] = (
        (lambda here, told: here == told) if trial.completed else (lambda here, told: here <= told)
    )
    for kind in RECORDS:
        here, told = sum(file.rows for file in files if file.kind == kind), int(document["rows"].get(kind, 0))
        if not agree(here, told):
            yield f"its {kind} files hold {here:,} rows, and its trial.json says {told:,}"
    listed = document.get("records")
    if listed is not None:
        there = {file.name: file.size_bytes for file in files if file.kind in MESSAGES}
        for name in sorted(there.keys() | (listed.keys() if trial.completed else set())):
            if there.get(name) != listed.get(name):
                yield f"{name} has {_bytes(there.get(name))}, and its trial.json says {_bytes(listed.get(name))}"
    for worker in document["observations"].get("workers") or []:
        if worker.get("rows") is None or (prefix := _files_of(str(worker["worker"]), document["workload"])) is None:
            continue
        own = [file for file in files if file.name.startswith(prefix)]
        rows, size_bytes = sum(file.rows for file in own), sum(file.size_bytes for file in own)
        if not agree(rows, int(worker["rows"])):
            yield f"{worker['worker']} wrote {worker['rows']:,} rows by its own count, and its files hold {rows:,}"
        elif worker.get("bytes") is not None and not agree(size_bytes, int(worker["bytes"])):
            yield f"{worker['worker']} wrote {worker['bytes']:,} bytes by its own count, and its files have {size_bytes:,}"


def _row_differences(trial: Recorded, files: Sequence[File], seed: int) -> Iterator[tuple[str, str]]:
    """File -> what is wrong in it; of both sides the first thing, and of receipts only where what was sent is sound."""
    yield from _wrong_samples(trial, files)
    if _has_lost_files(trial, files):
        return  # with them went what the others would have to agree with
    producers: dict[int, Producer] = {}
    sent = next(_wrong_sent(trial, files, seed, producers), None)
    found = sent or next(_wrong_received(trial, files, producers), None)
    if found:
        yield found


def _has_lost_files(trial: Recorded, files: Sequence[File]) -> bool:
    """Whether a trial was ended early by the loss of a host, and files with it."""
    return not trial.completed and not set(trial.document.get("records") or ()) <= {file.name for file in files}


def _wrong_sent(
    trial: Recorded, files: Sequence[File], seed: int, producers: dict[int, Producer]
) -> Iterator[tuple[str, str]]:
    """Fills `producers`, by number."""
    for number, own in _by_worker(files, "produced"):
        producer = producers[number] = Producer(number, trial, seed)
        for file in own:
            for rows in _batches(file, PRODUCED):
                if wrong := producer.wrong(rows):
                    yield file.name, wrong
        if trial.completed and trial.length_is_fixed and (incomplete := producer.incomplete()):
            yield own[-1].name, incomplete


def _wrong_received(
    trial: Recorded, files: Sequence[File], producers: Mapping[int, Producer]
) -> Iterator[tuple[str, str]]:
    until_ns = trial.watched_until_ns("consumers")
    for _, own in _by_worker(files, "consumed"):
        last_ns = 0
        for file in own:
            for rows in _batches(file, CONSUMED):
                received = rows["received_ns"].to_numpy()
                if wrong := _wrong_receipts(rows, producers, trial):
                    yield file.name, wrong
                if len(received) and (received[0] < last_ns or np.any(np.diff(received) < 0)):
                    yield file.name, "its rows aren't in the order received"
                last_ns = int(received[-1]) if len(received) else last_ns
            if last_ns > until_ns:
                yield file.name, "messages were received after its trial had stopped to listen"


def _wrong_samples(trial: Recorded, files: Sequence[File]) -> Iterator[tuple[str, str]]:
    load, span = trial.step_ns(LOAD), trial.span_ns
    hosts = {str(host["name"]) for host in trial.document["hosts"]}
    for file in (file for file in files if file.kind == "hosts"):
        for rows in _batches(file, SAMPLES):
            times, names = rows["time_ns"].to_numpy(), set(rows["host"].unique().to_pylist())
            if strangers := sorted(map(str, names - hosts)):
                yield file.name, f"its samples are of {strangers[0]}, which isn't one of the trial's hosts"
            if load and span and len(times) and not about_within(times.min(), times.max(), (load[0], span[1])):
                yield file.name, "its samples were taken outside of the trial"


def _wrong_receipts(rows: pa.Table, producers: Mapping[int, Producer], trial: Recorded) -> str | None:
    """What of a consumer's rows can't be of messages that were sent as the producers' records say.

    In a trial that was ended early a producer may have been killed with rows that it hadn't written yet.
    """
    of, sequence = rows["producer"].to_numpy(), rows["sequence"].to_numpy()
    intended, partition = rows["intended_ns"].to_numpy(), rows["partition"].to_numpy()
    for number in np.unique(of):
        producer, mine = producers.get(int(number)), of == number
        known = mine & producer.has(sequence) if producer is not None else np.zeros(len(of), bool)
        if trial.completed and not np.array_equal(known, mine):
            return f"it holds messages of producer {number} that were never sent"
        if producer and (wrong := producer.contradiction(sequence[known], intended[known], partition[known])):
            return wrong
    if not np.array_equal(rows["phase"].to_numpy(), phase_names(intended, trial.document["phases"])):
        return "rows have another phase than that of their intended times"
    return None


def _by_worker(files: Sequence[File], kind: str) -> Iterator[tuple[int, list[File]]]:
    """The files of each worker in their order, by its number: produced/producer-0001-... are those of 1."""
    own: dict[int, list[File]] = {}
    for file in files:
        if file.kind == kind:
            named = _OF_WORKER.fullmatch(file.path.name)
            if named is None:
                raise ValueError(f"{file.name} has a name that no worker gives")
            own.setdefault(int(named["number"]), []).append(file)
    yield from sorted(own.items())


def _batches(file: File, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a file, some at a time. Raises ValueError for columns of another type than samebox writes."""
    parquet = pq.ParquetFile(file.path)
    there = parquet.schema_arrow
    for field in schema:
        if field.name not in there.names or there.field(field.name).type != field.type:
            raise ValueError(f"{file.name} has no column {field.name} of type {field.type}")
    for batch in parquet.iter_batches(_ROWS_AT_ONCE, columns=schema.names, use_threads=False):
        rows = pa.Table.from_batches([batch])
        for field in schema:
            if not field.nullable and rows[field.name].null_count:
                raise ValueError(f"{file.name}: rows lack their {field.name}")
        yield rows


def _files_of(worker: str, workload: Mapping[str, Any]) -> str | None:
    """What the names of a worker's files begin with: those that read a backlog are numbered after the other consumers."""
    role, _, number = worker.rpartition("-")
    if not number.isdigit():
        return None
    if role == "producer":
        return f"produced/producer-{int(number):04d}-"
    first = int(workload["consumers"]) if role == "catch-up" else 0
    return f"consumed/consumer-{first + int(number):04d}-"


def _bytes(size: int | None) -> str:
    return "no such file" if size is None else f"{size:,} bytes"
