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
    PRODUCED,
    ROW_GROUP_ROWS,
    consumed_table,
    phase_column,
    produced_table,
    write_records,
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
    file = write_records(some_produced(), tmp_path, "produced/producer-0002.parquet")
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
    file = write_records(table, tmp_path, "consumed/x.parquet")
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

    def full(_table: object, where: Path, **_options: object) -> None:
        where.write_bytes(b"PAR1")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        write_records(some_produced(), tmp_path, "produced/a.parquet")
    assert list((tmp_path / "produced").iterdir()) == []


def test_a_produced_row_costs_few_bytes(tmp_path: Path) -> None:
    """With jitter of milliseconds on both times: at most 20 bytes a row, in row groups of a bounded size."""
    rows = 4 * ROW_GROUP_ROWS
    noise = np.random.default_rng(1)
    intended = 1_800_000_000_000_000_000 + np.arange(rows) * 1_000_000
    sent = intended + noise.integers(20_000, 300_000, rows)
    table = produced_table(
        0, 0, intended, sent, sent + noise.integers(1_000_000, 30_000_000, rows), np.zeros(rows, np.int64),
        noise.integers(0, 6, rows).astype(np.int32), {}, (Phase("measure", int(intended[0]), int(intended[-1]) + 1),),
    )  # fmt: skip
    file = write_records(table, tmp_path, "p.parquet")
    assert file.bytes / rows <= 20
    metadata = pq.ParquetFile(tmp_path / "p.parquet").metadata
    assert metadata.num_row_groups == 4
    encodings = {
        metadata.row_group(0).column(index).path_in_schema: metadata.row_group(0).column(index).encodings
        for index in range(metadata.num_columns)
    }
    for column in ("sequence", "intended_ns", "sent_ns", "acked_ns"):
        assert "DELTA_BINARY_PACKED" in encodings[column]
