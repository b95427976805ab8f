"""How the analysis scales: the report job, and exact percentiles on Spark beside DuckDB's `quantile_disc`. `make bench-analysis`.

For each size, smallest first:
1. generate the records, or find those of an earlier run: messages alone, and a campaign of as many rows, half of them receipts
2. make the campaign's report as `samebox report` does: time, memory, and that it says what was made up, no more and no less
3. the first query of a fresh process of each engine: time and memory
4. run both engines in turn in one session; the first run of each is not counted
5. read from Spark's own metrics what was shuffled

Every percentile must be equal to the nanosecond, and every report as expected: exit code 1 and what isn't, otherwise 0. The last line
is all of it as JSON, which `python -m tests.benchmarks.scale FILE` brings into docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from analysis.session import start_session
from bench.campaign.estimate import gibibytes
from bench.report.here import DRIVER_JVM
from tests.benchmarks.comparison import Values, differences
from tests.benchmarks.engines import PLAIN, REPORT, Case, DuckDb, Shuffled, Spark
from tests.benchmarks.footprint import watched
from tests.benchmarks.generate_records import Shape, generate, is_whole, written_in
from tests.benchmarks.report_job import JobRun, run_report
from tests.benchmarks.scale import growth, percentiles, report_jobs

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS, SCRATCH = ROOT / ".samebox" / "benchmarks", ROOT / ".samebox" / "scratch"
CASES = {case.name: case for case in (PLAIN, REPORT)}
ENGINES = ("spark", "duckdb")
AT_MOST = 6.0  # times DuckDB's median
SPARE = 2  # times what the records take must be free


@dataclass(frozen=True)
class Size:
    """One number of rows: the messages that the queries read, and the campaign, of as many rows in all, that the job reads."""

    rows: int
    trials: int
    runs: int

    @property
    def records(self) -> Mapping[Path, Shape]:
        """Where they are."""
        return {self.messages: Shape(self.rows, self.trials), self.campaign: Shape(self.rows // 2, 4, is_read=True)}

    @property
    def messages(self) -> Path:
        return BENCHMARKS / f"messages-{self.rows}-{self.trials}"

    @property
    def campaign(self) -> Path:
        return BENCHMARKS / f"campaign-{self.rows}"


@dataclass(frozen=True)
class Compared:
    """Both engines on one case and size: seconds of the counted warm runs, and each alone in a fresh process."""

    case: Case
    rows: int
    spark_s: tuple[float, ...]
    duckdb_s: tuple[float, ...]
    shuffled: Shuffled
    fresh: Mapping[str, Mapping[str, Any]]

    @property
    def ratio(self) -> float:
        """Spark's median over DuckDB's."""
        return median(self.spark_s) / median(self.duckdb_s)

    def to_json(self) -> dict[str, Any]:
        """Seconds rounded to milliseconds."""
        return {
            "case": self.case.name,
            "rows": self.rows,
            "ratio": round(self.ratio, 2),
            "spark_s": [round(value, 3) for value in self.spark_s],
            "duckdb_s": [round(value, 3) for value in self.duckdb_s],
            "shuffled_bytes": self.shuffled.bytes,
            "shuffled_counts": self.shuffled.counts,
            "fresh": self.fresh,
        }


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark, or with --fresh one query; the only place that turns a difference into an exit code."""
    options = _parse(arguments)
    # what `samebox report` tells spark-submit; both engines get the same number of threads
    master = f"--master local[{options.threads}] --conf spark.ui.showConsoleProgress=false --driver-java-options '{DRIVER_JVM}'"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{master} pyspark-shell"
    runs = [*options.runs, *[options.runs[-1]] * len(options.rows)]
    sizes = [Size(rows, options.trials, count) for rows, count in zip(options.rows, runs, strict=False)]
    if options.fresh:
        print(json.dumps(_first_query(sizes[0].messages, CASES[options.fresh[0]], options.fresh[1], options.threads)))
        return 0
    for folder, shape in missing_records(sizes).items():
        _say(
            f"generating {shape.messages:,} messages{' and their receipts' if shape.is_read else ''}, kept for the next run"
        )
        generate(folder, shape, _say, options.threads)
    jobs = [_report_job(size, options.threads) for size in sizes]
    fresh = {
        (size.rows, case.name): {engine: _fresh_process(size, case, engine, options.threads) for engine in ENGINES}
        for size in sizes
        for case in CASES.values()
    }
    compared, wrong = _compare(sizes, fresh, options.threads)
    wrong += [f"report of {job.rows:,} rows: {line}" for job in jobs for line in job.unexpected]
    summary: dict[str, Any] = {
        "benchmark": "analysis",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "as_expected": not wrong,
        "at_most": AT_MOST,
        "threads": options.threads,
        "machine": _machine(),
        "percentiles": [one.to_json() for one in compared],
        "report_jobs": [asdict(job) for job in jobs],
        "message_bytes": {size.rows: sum(written_in(size.messages).bytes.values()) for size in sizes},
    }
    summary = json.loads(json.dumps(summary))  # as whoever reads it finds it
    print(*(table(summary) for table in (percentiles, report_jobs, growth)), sep="\n\n")
    print("\n".join(wrong) if wrong else "all percentiles equal to the nanosecond; all reports say what was made up")
    print(json.dumps(summary))
    return 1 if wrong else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-analysis", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000_000, 200_000_000], help="sizes, smallest first")
    parser.add_argument("--trials", type=int, default=5, help="of the messages that the queries read")
    parser.add_argument(
        "--runs", type=int, nargs="+", default=[5, 2],
        help="counted runs of each engine on each case, per size; the last number is that of all further sizes",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=2, help="of each engine, and of the job")
    parser.add_argument(
        "--fresh", nargs=2, metavar=("CASE", "ENGINE"), help="only time the first query of this process"
    )
    return parser.parse_args(arguments)


def missing_records(sizes: Sequence[Size]) -> dict[Path, Shape]:
    """The records that must be generated. Ends the benchmark if the disk hasn't twice the space that they take."""
    wanted = {folder: shape for size in sizes for folder, shape in size.records.items()}
    missing = {folder: shape for folder, shape in wanted.items() if not is_whole(folder, shape)}
    need = sum(shape.most_bytes for shape in missing.values())
    BENCHMARKS.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(BENCHMARKS).free
    if free < SPARE * need:
        raise SystemExit(
            f"not enough disk: the records take up to {gibibytes(need)} in {BENCHMARKS.relative_to(ROOT)}, so "
            f"{gibibytes(SPARE * need)} should be free there, and {gibibytes(free)} are. Free some, or ask for fewer --rows."
        )
    if missing:
        _say(f"the records take up to {gibibytes(need)} in {BENCHMARKS.relative_to(ROOT)}; {gibibytes(free)} are free")
    return missing


def _report_job(size: Size, threads: int) -> JobRun:
    _say(f"the report of {size.rows:,} rows")
    job = run_report(size.campaign, threads=threads)
    _say(f"  {job.footprint.seconds:.0f} s, {gibibytes(job.footprint.peak)}")
    return job


def _first_query(results: Path, case: Case, engine: str, threads: int) -> dict[str, float]:
    """Seconds of each step of this process's first query."""
    took: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Any]) -> Any:
        began_s = time.perf_counter()
        result = work()
        took[step] = round(time.perf_counter() - began_s, 2)
        return result

    if engine == "duckdb":
        theirs = timed("load_s", lambda: DuckDb(results, threads))
        timed("query_s", lambda: theirs.percentiles(case))
        return took
    spark = timed("session_s", lambda: start_session("samebox benchmark"))
    ours = timed("load_s", lambda: Spark(spark, results))
    timed("query_s", lambda: ours.percentiles(case))
    spark.stop()
    return took


def _fresh_process(size: Size, case: Case, engine: str, threads: int) -> dict[str, Any]:
    """The same in a process of its own, with what the whole process took."""
    _say(f"{size.rows:,} rows, {case}: first query of a fresh process, {engine}")
    sizes = ["--rows", str(size.rows), "--trials", str(size.trials), "--threads", str(threads)]
    command = [sys.executable, "-m", "tests.benchmarks.analysis", *sizes, "--fresh", case.name, engine]
    done, footprint = watched(
        lambda: subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    return {"steps": json.loads(done.splitlines()[-1]), **asdict(footprint)}


def _compare(
    sizes: Sequence[Size], fresh: Mapping[tuple[int, str], Mapping[str, Any]], threads: int
) -> tuple[list[Compared], list[str]]:
    """Both engines on every size and case, in one session, and every percentile that they don't agree on."""
    spark = start_session("samebox benchmark")
    compared, unequal = [], []
    try:
        for size in sizes:
            ours, theirs = Spark(spark, size.messages), DuckDb(size.messages, threads)
            for case in CASES.values():
                spark_s, duckdb_s, lines = _alternate(case, size, ours, theirs)
                rows = sum(written_in(size.messages).rows.values())
                shuffled = ours.shuffled(case)
                compared.append(Compared(case, rows, spark_s, duckdb_s, shuffled, fresh[size.rows, case.name]))
                unequal += [f"{size.rows:,} rows, {line}" for line in lines]
    finally:
        spark.stop()
    return compared, unequal


def _alternate(
    case: Case, size: Size, ours: Spark, theirs: DuckDb
) -> tuple[tuple[float, ...], tuple[float, ...], list[str]]:
    """Both engines in turn, who goes first alternating; what differed in any run."""
    seconds: dict[str, list[float]] = {ours.name: [], theirs.name: []}
    unequal: dict[str, None] = {}
    for run in range(size.runs + 1):
        answers: dict[str, Values] = {}
        for engine in (ours, theirs) if run % 2 else (theirs, ours):
            began_s = time.perf_counter()
            answers[engine.name] = engine.percentiles(case)
            seconds[engine.name].append(time.perf_counter() - began_s)
        unequal |= dict.fromkeys(differences(answers[ours.name], answers[theirs.name]))
        shown = ", ".join(f"{name} {values[-1]:.2f} s" for name, values in seconds.items())
        _say(f"{size.rows:,} rows, {case}: run {run} of {size.runs}{' (not counted)' if run == 0 else ''}: {shown}")
    return tuple(seconds[ours.name][1:]), tuple(seconds[theirs.name][1:]), list(unequal)


def _machine() -> dict[str, Any]:
    """Processor, cores and memory, as far as Linux says it."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "processor": models[0].partition(": ")[2] if models else "unknown",
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
