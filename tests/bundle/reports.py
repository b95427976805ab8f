"""A maker of reports without Spark, for tests of everything around it: every latency counts in what it writes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.results.folder import Results
from provisioning.errors import SameboxError


@dataclass
class SumsOfLatencies:
    """Writes each trial's latencies, added up, and its receipts as a report. Refuses a folder that is there, as the real job does."""

    made: list[Path] = field(default_factory=list)

    def __call__(self, results: Results, out: Path) -> None:
        if out.exists():
            raise AssertionError(f"{out} is there already")
        out.mkdir(parents=True)
        rows = [row for trial in results.finished() for row in _rows(trial, results.trial_dir(trial))]
        (out / "report.json").write_text(json.dumps({"schema": 1, "summary": rows}, indent=1) + "\n")
        lines = [f"{row['trial']},{row['metric']},{row['value']}\n" for row in rows]
        (out / "summary.csv").write_text("trial,metric,value\n" + "".join(lines))
        pq.write_table(pa.Table.from_pylist(rows), out / "summary.parquet")
        (out / "index.html").write_text(f"<p>{rows}</p>\n")
        (out / "_SUCCESS").touch()
        self.made.append(out)


class FailingJob:
    """A job that ends with its own error."""

    def __call__(self, results: Results, out: Path) -> None:
        raise SameboxError(
            f"the report job failed: {results.root}/manifest.json: schema is 7, so {out.name} isn't there"
        )


def _rows(name: str, trial: Path) -> list[dict[str, Any]]:
    produced, consumed = (
        pa.concat_tables([pq.read_table(path) for path in sorted(trial.glob(f"{kind}/*.parquet"))])
        for kind in ("produced", "consumed")
    )
    found = {
        "response_latency": _sum_ns(produced["acked_ns"], produced["intended_ns"]),
        "end_to_end_latency": _sum_ns(consumed["received_ns"], consumed["intended_ns"]),
        "received": float(consumed.num_rows),
    }
    return [{"trial": name, "metric": metric, "value": value} for metric, value in found.items()]


def _sum_ns(late: Any, early: Any) -> float:
    return float(sum(late.drop_null().to_pylist()) - sum(early.to_pylist()))
