"""The benchmark of the analysis: its judgement, its records, what it measures of processes, a small run, and the page made of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for tests.benchmarks
from provisioning.testbeds.aws.prices import load_prices
from tests.benchmarks import analysis, scale
from tests.benchmarks.comparison import Found, Key, differences
from tests.benchmarks.generate_records import Shape, generate, is_whole, written_in

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
    shape = Shape(messages=200_000, trials=2, unacknowledged_per_million=500)
    generate(tmp_path / "records", shape, lambda _: None)
    files = sorted((tmp_path / "records").glob("trials/*/produced/*.parquet"))
    table = pq.ParquetDataset(files).read()
    assert table.num_rows == shape.messages == written_in(tmp_path / "records").rows["produced"]
    assert set(table["phase"].to_pylist()) == {"warmup", "measure"}
    assert table["acked_ns"].null_count > table["sent_ns"].null_count > 0
    assert table["error"].null_count < shape.messages


def test_generated_receipts_are_of_every_acknowledged_message(tmp_path: Path) -> None:
    """But for one that is lost and one that comes twice; after its acknowledgement, and in its partition's order."""
    generate(tmp_path, Shape(messages=40_000, trials=1, is_read=True), lambda _: None)
    (trial,) = (tmp_path / "trials").iterdir()
    sent = pq.ParquetDataset(sorted(trial.glob("produced/*.parquet"))).read()
    acked = sent.filter(pc.is_valid(sent["acked_ns"]))
    acked_ns = {(row["producer"], row["sequence"]): row["acked_ns"] for row in acked.to_pylist()}
    got = pq.ParquetDataset(sorted(trial.glob("consumed/*.parquet"))).read().to_pylist()
    received = [(row["producer"], row["sequence"]) for row in got]
    assert len(received) == len(acked_ns) and len(acked_ns.keys() - set(received)) == 1
    last: dict[tuple[int, int], int] = {}
    for row in got:
        assert row["received_ns"] > acked_ns[row["producer"], row["sequence"]]
        place = row["producer"], row["partition"]
        assert last.get(place, -1) <= row["sequence"]
        last[place] = row["sequence"]


def test_records_are_kept_only_if_they_are_whole_and_of_the_same_shape(tmp_path: Path) -> None:
    """Another shape, or a file that isn't as long as it was written, and they are generated anew."""
    shape = Shape(messages=20_000, trials=1)
    generate(tmp_path, shape, lambda _: None)
    assert is_whole(tmp_path, shape)
    assert not is_whole(tmp_path, Shape(messages=20_004, trials=1))
    file = next(tmp_path.glob("trials/*/produced/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    assert not is_whole(tmp_path, shape)


def test_no_records_are_generated_on_a_disk_without_twice_the_space(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The message says what is needed and what there is."""
    monkeypatch.setattr(analysis, "ROOT", tmp_path)
    monkeypatch.setattr(analysis, "BENCHMARKS", tmp_path / "benchmarks")
    with pytest.raises(SystemExit, match=r"not enough disk: .* fewer --rows"):
        analysis.missing_records([analysis.Size(10**14, 5, 1)])


FOOTPRINT = """
import json, subprocess, sys
from tests.benchmarks.footprint import PYTHON, watched
program = "import sys, time; held = bytearray(100_000_000); open(sys.argv[1], 'rb').read(); time.sleep(1)"
_, seen = watched(lambda: subprocess.run([sys.executable, "-c", program, sys.argv[1]], check=True))
print(json.dumps([seen.peak_bytes[PYTHON], seen.read_bytes, seen.seconds, seen.cpu_s]))
"""


def test_a_footprint_is_that_of_the_process(tmp_path: Path) -> None:
    """A process that holds 100 MB for a second and reads 50 MB is seen to, and the watcher's own memory isn't counted."""
    (tmp_path / "file").write_bytes(bytes(50_000_000))
    # in a process of its own: all that a process starts is watched, and other tests have started Spark in this one
    command = [sys.executable, "-c", FOOTPRINT, str(tmp_path / "file")]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    peak_bytes, read_bytes, seconds, cpu_s = json.loads(done.stdout)
    assert 100e6 < peak_bytes < 250e6
    assert 50e6 < read_bytes < 150e6
    assert seconds > 1 and cpu_s > 0


def test_the_page_has_the_tables_of_its_measurement_and_of_the_price_table() -> None:
    """docs/scale.md says what docs/scale.json and prices.toml come to; `python -m tests.benchmarks.scale` writes it anew."""
    page = scale.PAGE.read_text()
    assert scale.with_tables(page, json.loads(scale.MEASURED.read_text())) == page


def test_the_cost_follows_from_rate_cluster_and_prices() -> None:
    """Twice the CPU a row is twice the compute time; the money is that of all instances, with EMR's surcharge."""
    prices, rates = load_prices(), scale.Rates(core_s_per_row=4e-6, bytes_per_row=5, read_bytes_per_row=50)
    once = scale.run_on("m5.4xlarge", 4, rates, prices)
    twice = scale.run_on("m5.4xlarge", 4, scale.Rates(8e-6, 5, 50), prices)
    assert once.compute_s == pytest.approx(1e11 * 4e-6 / (45 * scale.VCPU_SHARE))  # 9 executors of 5
    assert twice.compute_s == pytest.approx(2 * once.compute_s)
    assert twice.network_s == once.network_s
    region = "us-west-2"
    hour = prices.price("instance_hour", "m5.4xlarge", region) + prices.price("emr_hour", "m5.4xlarge", region)
    hours = (scale.START_S + once.job_s) / 3600
    assert 4 * hour * hours < once.dollars < 4 * (hour + 0.05) * hours


@pytest.mark.integration
@pytest.mark.benchmarks
def test_a_small_run_finds_equal_percentiles_and_a_true_report() -> None:
    """Both engines agree on 200,000 rows and the report says what was made up; the last line is all of it as JSON."""
    command = [sys.executable, "-m", "tests.benchmarks.analysis", "--rows", "200000", "--trials", "2", "--runs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["as_expected"]
    assert [one["case"] for one in summary["percentiles"]] == ["plain", "report"]
    for one in summary["percentiles"]:
        assert 0 < one["shuffled_counts"] < one["rows"] == 200_000
        assert one["fresh"]["spark"]["peak_bytes"].keys() == {"jvm", "python"}
    (job,) = summary["report_jobs"]
    assert job["rows"] == pytest.approx(200_000, rel=0.01) and job["footprint"]["peak_bytes"].keys() > {"jvm", "python"}
    page = scale.with_tables(scale.PAGE.read_text(), summary)
    assert "| 200,000 | plain | 1 |" in page
