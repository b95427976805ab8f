"""The whole report job over generated records, started as `samebox report` starts it: time of every step, and its verdicts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.report.here import Verdicts, make_report
from bench.results.folder import Results
from tests.benchmarks.footprint import Footprint, watched
from tests.benchmarks.generate_records import written_in
from tests.benchmarks.receipts import LOST_OF_A_TRIAL, REPEATED_OF_A_TRIAL

# 12.3 s  exact percentiles: trials 1 to 4 of 4
_STEP = re.compile(r"^ *([0-9.]+) s  (.+)$")
READING, REPORT = "reading", "report"


@dataclass(frozen=True)
class JobRun:
    """One report. `steps`: seconds of each, by its name; the first begins when Spark is up.

    `unexpected`: what the report should have said of these records and didn't; empty = it found just what was made up.
    """

    rows: int
    bytes: int
    files: int
    footprint: Footprint
    steps: Mapping[str, float]
    unexpected: tuple[str, ...]


def run_report(folder: Path, *, threads: int) -> JobRun:
    """Makes the report of a generated folder. Raises SameboxError if the job fails."""
    lines: list[str] = []
    verdicts, footprint = watched(
        lambda: make_report(Results(folder), master=f"local[{threads}]", on_line=lines.append)
    )
    written, trials = written_in(folder), len(Results(folder).finished())
    rows, sizes = sum(written.rows.values()), sum(written.bytes.values())
    return JobRun(rows, sizes, written.files, footprint, _steps(lines), tuple(_unexpected(verdicts, trials)))


def _steps(lines: list[str]) -> dict[str, float]:
    began = [
        (float(match[1]), match[2].split(" /")[0].partition(":")[0]) for line in lines if (match := _STEP.match(line))
    ]
    spent: defaultdict[str, float] = defaultdict(float)
    for (at, name), (after, _) in pairwise(began):
        spent[name] += after - at
    return {name: round(seconds, 2) for name, seconds in spent.items()}


def _unexpected(verdicts: Verdicts, trials: int) -> list[str]:
    """Every trial lost some messages and got some twice, and nothing else is wrong with it."""
    made_up = (f"no-loss: {LOST_OF_A_TRIAL} of ", f"no-duplicates: {REPEATED_OF_A_TRIAL} of ")
    found = [sentence for sentence in verdicts.not_met if any(words in sentence for words in made_up)]
    missing = (
        [f"{len(made_up) * trials - len(found)} losses or repeats were not found"] if len(found) < 2 * trials else []
    )
    return [*missing, *verdicts.excluded, *(sentence for sentence in verdicts.not_met if sentence not in found)]
