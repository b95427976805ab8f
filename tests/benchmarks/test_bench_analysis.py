"""The benchmark of exact percentiles: its judgement, its records, and a small run of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for tests.benchmarks
from tests.benchmarks.comparison import Found, Key, differences
from tests.benchmarks.generate_records import Shape, generate, is_whole

ROOT = Path(__file__).resolve().parents[2]
P99, P50 = Key("t", "response_latency", 990_000), Key("t", "response_latency", 500_000)
VALUES = {P99: Found(7_000_000, 1_000), P50: Found(3_000_000, 1_000)}


def test_equal_values_are_no_difference() -> None:
    """The same percentiles of as many samples are equal, in whatever order they came."""
    assert differences(VALUES, dict(reversed(VALUES.items()))) == []


@pytest.mark.parametrize(
    ("altered", "shown"),
    [
        ({P99: Found(7_000_001, 1_000)}, "99 %: 7000000 ns of 1000 samples, DuckDB 7000001 ns of 1000 samples"),
        ({P99: Found(7_000_000, 999)}, "99 %: 7000000 ns of 1000 samples, DuckDB 7000000 ns of 999 samples"),
    ],
)
def test_one_nanosecond_or_one_sample_is_a_difference(altered: dict[Key, Found], shown: str) -> None:
    """A value that is off by one is named, with both sides."""
    assert differences(VALUES, VALUES | altered) == [f"t response_latency {shown}"]


def test_a_percentile_that_only_one_side_has_is_a_difference() -> None:
    """Whichever side it is missing on."""
    without = {P50: VALUES[P50]}
    assert len(differences(VALUES, without)) == len(differences(without, VALUES)) == 1


def test_generated_records_have_what_real_ones_have(tmp_path: Path) -> None:
    """A warm-up, unacknowledged rows, errors, unsent messages, and as many rows as asked for."""
    shape = Shape(rows=200_000, trials=2, unacknowledged_per_million=500)
    generate(tmp_path / "records", shape, lambda _: None)
    files = sorted((tmp_path / "records").glob("trials/*/produced/*.parquet"))
    table = pq.ParquetDataset(files).read()
    assert table.num_rows == shape.rows
    assert set(table["phase"].to_pylist()) == {"warmup", "measure"}
    assert table["acked_ns"].null_count > table["sent_ns"].null_count > 0
    assert table["error"].null_count < shape.rows


def test_records_are_kept_only_if_they_are_whole_and_of_the_same_shape(tmp_path: Path) -> None:
    """Another shape, or a file that isn't as long as it was written, and they are generated anew."""
    shape = Shape(rows=20_000, trials=1)
    generate(tmp_path, shape, lambda _: None)
    assert is_whole(tmp_path, shape)
    assert not is_whole(tmp_path, Shape(rows=20_001, trials=1))
    file = next(tmp_path.glob("trials/*/produced/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    assert not is_whole(tmp_path, shape)


@pytest.mark.integration
def test_a_small_run_finds_equal_percentiles() -> None:
    """Both engines find the same percentiles of 200,000 rows; the last line is the result as JSON."""
    command = [sys.executable, "-m", "tests.benchmarks.analysis", "--rows", "200000", "--trials", "2", "--runs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["equal"] and set(summary["ratios"]) == {"plain", "report"}
    assert all(0 < count < summary["rows"] for count in summary["shuffled_counts"].values())
