"""The real report job, in this process and in a Spark session that is there already."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.application import make_report
from analysis.errors import AnalysisError
from bench.results.folder import Results
from provisioning.errors import SameboxError


@dataclass(frozen=True)
class InThisProcess:
    """Makes reports as `bench.report.here.remake_report` does, without starting a JVM for each."""

    spark: SparkSession

    def __call__(self, results: Results, out: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="report-") as scratch:
            try:
                make_report(
                    self.spark,
                    str(results.root.resolve()),
                    out=str(out.resolve()),
                    scratch=Path(scratch),
                    progress=_quiet,
                )
            except AnalysisError as error:
                raise SameboxError(f"the report job failed: {error}") from None


def _quiet(_step: str) -> None:
    pass
