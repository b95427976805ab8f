"""A maker of reports without Spark, for tests of everything around it: every latency counts in what it writes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq

from bench.results.folder import Results
from provisioning.errors import SameboxError


@dataclass
class SumsOfLatencies:
    """Writes each trial's latencies, added up, as its report. Refuses a folder that is there, as the real job refuses a foreign one."""

    made: list[Path] = field(default_factory=list)

    def __call__(self, results: Results, out: Path) -> None:
        if out.exists():
            raise AssertionError(f"{out} is there already")
        out.mkdir(parents=True)
        sums = [{"trial": trial, "sum_ns": _sum_ns(results.trial_dir(trial))} for trial in results.finished()]
        (out / "report.json").write_text(json.dumps({"schema": 1, "trials": sums}, indent=1) + "\n")
        (out / "checks.json").write_text("[]\n")
        (out / "summary.csv").write_text(
            "trial,sum_ns\n" + "".join(f"{each['trial']},{each['sum_ns']}\n" for each in sums)
        )
        pq.write_table(pa.Table.from_pylist(sums), out / "summary.parquet")
        (out / "index.html").write_text(f"<p>{sums}</p>\n")
        (out / "_SUCCESS").touch()
        self.made.append(out)


class FailingJob:
    """A job that ends with its own error."""

    def __call__(self, results: Results, out: Path) -> None:
        raise SameboxError(
            f"the report job failed: {results.root}/manifest.json: schema is 7, so {out.name} isn't there"
        )


def _sum_ns(trial: Path) -> int:
    tables = [pq.read_table(path) for path in sorted(trial.glob("produced/*.parquet"))]
    rows = pa.concat_tables(tables)
    return int(pc.sum(pc.subtract(rows["acked_ns"], rows["intended_ns"])).as_py())
