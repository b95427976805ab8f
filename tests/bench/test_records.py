"""Record files say what docs/records.md says: columns, types, nulls, versions; whole files or none; few bytes a row."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.worker.message import message_maker
from bench.worker.records import (
    CONSUMED,
    FILE_ROWS,
    FILE_S,
    PRODUCED,
    ROW_GROUP_ROWS,
    RecordFiles,
    RecordWriter,
    WrittenFile,
    consumed_table,
    phase_column,
    produced_table,
)
from bench.worker.schedule import Phase

PHASES = (Phase("warmup", 1_000, 2_000), Phase("measure", 2_000, 9_000))
CONTRACT = Path(__file__).resolve().parents[2] / "docs" / "records.md"


def some_produced() -> pa.Table:
    """Four messages: acknowledged, acknowledged before its send returned, failed, never sent."""
    return produced_table(
        producer=2,
        first_sequence=10,
        intended_ns=np.array([1_500, 1_999, 2_000, 2_500]),
        sent_ns=np.array([1_600, 2_100, 2_200, 0]),
        acked_ns=np.array([1_700, 2_050, 0, 0]),
        held_until_ns=np.array([0, 2_010, 0, 0]),
        partition=np.array([4, 5, 0, 0], np.int32),
        errors={2: "Timeout"},
        phases=PHASES,
    )


def many_produced(rows: int) -> pa.Table:
    """Messages with jitter of milliseconds on both times."""
    noise = np.random.default_rng(1)
    intended = 1_800_000_000_000_000_000 + np.arange(rows) * 1_000_000
    sent = intended + noise.integers(20_000, 300_000, rows)
    return produced_table(
        0, 0, intended, sent, sent + noise.integers(1_000_000, 30_000_000, rows), np.zeros(rows, np.int64),
        noise.integers(0, 6, rows).astype(np.int32), {}, (Phase("measure", int(intended[0]), int(intended[-1]) + 1),),
    )  # fmt: skip


def writer_into(folder: Path, files: list[WrittenFile], now_s: list[float] | None = None) -> RecordWriter:
    """A writer that notes finished files in `files`; its clock shows the last of `now_s`."""
    shown = [0.0] if now_s is None else now_s
    return RecordWriter(RecordFiles(folder, 0, lambda: PHASES, files.append, monotonic_s=lambda: shown[-1]))


def written(table: pa.Table, folder: Path, name: str) -> WrittenFile:
    """One file of these rows."""
    files: list[WrittenFile] = []
    writer = writer_into(folder, files)
    writer.add(table, name)
    writer.finish()
    return files[0]


def columns_of_contract(kind: str) -> dict[str, tuple[str, bool]]:
    """Column -> (type, nullable) from the table of one kind in the contract."""
    section = CONTRACT.read_text().split(f"## {kind} (schema 1)")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (\w+)(, null)? \|", section, re.M)
    return {name: (kind, bool(null)) for name, kind, null in rows if name != "column"}


@pytest.mark.parametrize(("schema", "kind"), [(PRODUCED, "produced"), (CONSUMED, "consumed")])
def test_the_schemas_are_the_contract(schema: pa.Schema, kind: str) -> None:
    """The columns of the contract, in its order, with its types and nulls, and a version."""
    ours = {field.name: (str(field.type), field.nullable) for field in schema}
    assert ours == columns_of_contract(kind)
    assert list(ours) == list(columns_of_contract(kind))
    assert schema.metadata[b"samebox.schema"] == b"1"


def test_a_produced_file_round_trips(tmp_path: Path) -> None:
    """Nulls where a time never came, every time as it was taken, phases by intended time."""
    file = written(some_produced(), tmp_path, "produced/producer-0002.parquet")
    assert (file.name, file.rows) == ("produced/producer-0002.parquet", 4)
    assert file.bytes == (tmp_path / file.name).stat().st_size
    table = pq.read_table(tmp_path / file.name)
    assert table.schema.metadata[b"samebox.schema"] == b"1"
    assert table.to_pydict() == {
        "producer": [2, 2, 2, 2],
        "partition": [4, 5, None, None],
        "sequence": [10, 11, 12, 13],
        "intended_ns": [1_500, 1_999, 2_000, 2_500],
        "sent_ns": [1_600, 2_100, 2_200, None],
        "acked_ns": [1_700, 2_050, None, None],
        "error": [None, None, "Timeout", None],
        "phase": ["warmup", "warmup", "measure", "measure"],
        "held_until_ns": [None, 2_010, None, None],
    }


def test_a_consumed_file_round_trips(tmp_path: Path) -> None:
    """Rows stay in the order received, repeats included."""
    make = message_maker(64, 0, seed=1, producer=1, run=1)
    headers = b"".join(make(sequence, 1_900 + sequence)[:32] for sequence in (7, 300, 7))
    table = consumed_table(0, "s", headers, np.array([1, 2, 1], np.int32), np.array([5_000, 5_001, 5_002]), PHASES)
    file = written(table, tmp_path, "consumed/x.parquet")
    assert pq.read_table(tmp_path / file.name).to_pydict() == {
        "consumer": [0, 0, 0], "subscription": ["s", "s", "s"], "producer": [1, 1, 1], "sequence": [7, 300, 7],
        "partition": [1, 2, 1], "intended_ns": [1_907, 2_200, 1_907], "received_ns": [5_000, 5_001, 5_002],
        "phase": ["warmup", "measure", "warmup"],
    }  # fmt: skip


def test_times_outside_the_phases_fall_in_the_nearest() -> None:
    """No row is without a phase."""
    assert phase_column(np.array([0, 99_999]), PHASES).to_pylist() == ["warmup", "measure"]


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is whole: neither half a file nor the one written aside stays."""

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    files: list[WrittenFile] = []
    writer = writer_into(tmp_path, files)
    writer.add(some_produced(), "produced/a.parquet")
    assert len(list((tmp_path / "produced").iterdir())) == 1
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(pq.ParquetWriter, "write_table", full)
        writer.add(some_produced(), "produced/b.parquet")
    writer.finish()
    assert (list((tmp_path / "produced").iterdir()), files) == ([], [])


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk can also be full when the end of a file is written."""

    close = pq.ParquetWriter.close

    def full(writer: pq.ParquetWriter) -> None:
        close(writer)
        raise OSError(28, "No space left on device")

    files: list[WrittenFile] = []
    writer = writer_into(tmp_path, files)
    writer.add(some_produced(), "produced/a.parquet")
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(pq.ParquetWriter, "close", full)
        writer.finish()
    assert (list((tmp_path / "produced").iterdir()), files) == ([], [])


def test_a_file_takes_rows_until_it_is_old(tmp_path: Path) -> None:
    """What a killed worker loses is bounded in time: an old file is finished by the next rows and by the next tick."""
    files: list[WrittenFile] = []
    now_s = [100.0]
    writer = writer_into(tmp_path, files, now_s)
    writer.add(some_produced(), "produced/a.parquet")
    writer.tick()
    now_s.append(now_s[0] + FILE_S - 0.1)
    writer.add(some_produced(), "produced/b.parquet")
    assert files == []
    now_s.append(now_s[0] + FILE_S)
    writer.tick()
    assert [(file.name, file.rows) for file in files] == [("produced/a.parquet", 8)]
    writer.add(some_produced(), "produced/c.parquet")
    now_s.append(now_s[-1] + FILE_S)
    writer.add(some_produced(), "produced/d.parquet")
    assert [(file.name, file.rows) for file in files[1:]] == [("produced/c.parquet", 8)]
    assert pq.read_table(tmp_path / "produced/c.parquet")["sequence"].to_pylist() == 2 * [10, 11, 12, 13]
    assert {file.name for file in (tmp_path / "produced").iterdir()} == {"a.parquet", "c.parquet"}


def test_a_file_takes_so_many_rows(tmp_path: Path) -> None:
    """However fast they come."""
    files: list[WrittenFile] = []
    writer = writer_into(tmp_path, files)
    part = many_produced(FILE_ROWS // 4)
    for number in range(5):
        writer.add(part, f"produced/{number}.parquet")
    assert [(file.name, file.rows) for file in files] == [("produced/0.parquet", FILE_ROWS)]


def test_a_produced_row_costs_few_bytes(tmp_path: Path) -> None:
    """With jitter of milliseconds on both times: at most 20 bytes a row, in row groups of a bounded size."""
    rows = 4 * ROW_GROUP_ROWS
    table = many_produced(rows)
    file = written(table, tmp_path, "p.parquet")
    assert file.bytes / rows <= 20
    metadata = pq.ParquetFile(tmp_path / "p.parquet").metadata
    assert metadata.num_row_groups == 4
    encodings = {
        metadata.row_group(0).column(index).path_in_schema: metadata.row_group(0).column(index).encodings
        for index in range(metadata.num_columns)
    }
    for column in ("sequence", "intended_ns", "sent_ns", "acked_ns"):
        assert "DELTA_BINARY_PACKED" in encodings[column]
