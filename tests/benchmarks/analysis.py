"""Exact percentiles of every trial: samebox's analysis on Spark beside DuckDB's exact `quantile_disc`. `make bench-analysis`.

1. generate the records, or find those of an earlier run
2. time the first query of a fresh process: JVM start, session, query
3. run both engines in turn in one session; the first run of each is not counted
4. every percentile must be equal to the nanosecond: exit code 1 and the rows that aren't, otherwise 0
5. read from Spark's own metrics what was shuffled
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from analysis.session import start_session
from tests.benchmarks.comparison import Values, differences
from tests.benchmarks.engines import PLAIN, REPORT, Case, DuckDb, Spark
from tests.benchmarks.generate_records import Shape, generate, is_whole

ROOT = Path(__file__).resolve().parents[2]
CASES = {case.name: case for case in (PLAIN, REPORT)}
AT_MOST = 6.0  # times DuckDB's median


@dataclass(frozen=True)
class Times:
    """Seconds of the counted runs of both engines on one case."""

    case: Case
    spark_s: tuple[float, ...]
    duckdb_s: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Spark's median over DuckDB's."""
        return median(self.spark_s) / median(self.duckdb_s)


def main(arguments: Sequence[str]) -> int:
    """Runs the benchmark, or with --fresh one query; the only place that turns a difference into an exit code."""
    options = _parse(arguments)
    # what spark-submit would be told; both engines get the same number of threads
    master = f"--master local[{options.threads}] --conf spark.ui.showConsoleProgress=false"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{master} pyspark-shell"
    shape = Shape(options.rows, options.trials)
    results = ROOT / ".samebox" / "benchmarks" / f"produced-{shape.rows}-{shape.trials}"
    if options.fresh:
        print(json.dumps(_first_query(results, CASES[options.fresh])))
        return 0
    _prepare(results, shape)
    fresh = {case.name: _fresh_process(arguments, case) for case in CASES.values()}
    spark = start_session("samebox benchmark")
    try:
        ours, theirs = Spark(spark, results), DuckDb(results, options.threads)
        found = [_alternate(case, ours, theirs, options.runs) for case in CASES.values()]
        shuffled = {case.name: ours.shuffled(case) for case in CASES.values()}
    finally:
        spark.stop()
    unequal = [line for _, lines in found for line in lines]
    times = [one for one, _ in found]
    _print_table(times, fresh)
    for name, one in shuffled.items():
        print(f"{name}: shuffled {one.bytes:,} bytes, {one.counts:,} counts (not rows: {one.rows_read:,} were read)")
    print("\n".join(unequal) if unequal else "all percentiles equal to the nanosecond")
    summary = {
        "benchmark": "analysis",
        "ratios": {one.case.name: round(one.ratio, 2) for one in times},
        "at_most": AT_MOST,
        "equal": not unequal,
        "rows": shape.rows,
        "trials": shape.trials,
        "threads": options.threads,
        "spark_s": {one.case.name: [round(value, 3) for value in one.spark_s] for one in times},
        "duckdb_s": {one.case.name: [round(value, 3) for value in one.duckdb_s] for one in times},
        "fresh_s": fresh,
        "shuffled_bytes": {name: one.bytes for name, one in shuffled.items()},
        "shuffled_counts": {name: one.counts for name, one in shuffled.items()},
    }
    print(json.dumps(summary))
    return 1 if unequal else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-analysis", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000, help="of all trials together, warm-up included")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each engine on each case")
    parser.add_argument("--threads", type=int, default=2, help="of each engine")
    parser.add_argument("--fresh", choices=sorted(CASES), help="only time the first query of this process")
    return parser.parse_args(arguments)


def _prepare(results: Path, shape: Shape) -> None:
    """The records, said where they come from."""
    where = results.relative_to(ROOT)
    if is_whole(results, shape):
        _say(f"using the records generated earlier: {where} ({shape.rows:,} rows)")
        return
    _say(f"generating {shape.rows:,} rows in {where}, kept for the next run")
    generate(results, shape, _say)


def _first_query(results: Path, case: Case) -> dict[str, float]:
    """Seconds of each step of this process's first query."""
    took: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Any]) -> Any:
        began_s = time.perf_counter()
        result = work()
        took[step] = round(time.perf_counter() - began_s, 2)
        return result

    spark = timed("session_s", lambda: start_session("samebox benchmark"))
    engine = timed("load_s", lambda: Spark(spark, results))
    timed("query_s", lambda: engine.percentiles(case))
    spark.stop()
    return took


def _fresh_process(arguments: Sequence[str], case: Case) -> dict[str, float]:
    """The same in a process of its own, with the time of the whole process."""
    _say(f"{case}: first query of a fresh process")
    command = [sys.executable, "-m", "tests.benchmarks.analysis", *arguments, "--fresh", case.name]
    began_s = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    process_s = round(time.perf_counter() - began_s, 2)
    return {**json.loads(done.stdout.splitlines()[-1]), "process_s": process_s}


def _alternate(case: Case, ours: Spark, theirs: DuckDb, runs: int) -> tuple[Times, list[str]]:
    """Both engines in turn, who goes first alternating; what differed in any run."""
    seconds: dict[str, list[float]] = {ours.name: [], theirs.name: []}
    unequal: dict[str, None] = {}
    for run in range(runs + 1):
        answers: dict[str, Values] = {}
        for engine in (ours, theirs) if run % 2 else (theirs, ours):
            began_s = time.perf_counter()
            answers[engine.name] = engine.percentiles(case)
            seconds[engine.name].append(time.perf_counter() - began_s)
        unequal |= dict.fromkeys(differences(answers[ours.name], answers[theirs.name]))
        shown = ", ".join(f"{name} {values[-1]:.2f} s" for name, values in seconds.items())
        _say(f"{case}: run {run} of {runs}{' (not counted)' if run == 0 else ''}: {shown}")
    return Times(case, tuple(seconds[ours.name][1:]), tuple(seconds[theirs.name][1:])), list(unequal)


def _print_table(times: Sequence[Times], fresh: dict[str, dict[str, float]]) -> None:
    print(f"{'':<38}{'median s':>10}{'range s':>16}{'ratio':>8}")
    for one in times:
        for name, values in ((Spark.name, one.spark_s), (DuckDb.name, one.duckdb_s)):
            spread = f"{min(values):.2f} to {max(values):.2f}"
            ratio = f"{one.ratio:.2f}" if name == Spark.name else ""
            print(f"{f'{one.case.name}, {name}':<38}{median(values):>10.2f}{spread:>16}{ratio:>8}")
        goal = "met" if one.ratio <= AT_MOST else "not met"
        print(f"  {one.case}, {len(one.spark_s)} warm runs each; goal of at most {AT_MOST:g} times DuckDB: {goal}")
    for name, took in fresh.items():
        steps = ", ".join(f"{step.removesuffix('_s')} {seconds:.1f} s" for step, seconds in took.items())
        print(f"{name}, fresh process: {steps}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
