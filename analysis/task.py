"""How each task of the job runs on Spark: the only place that prints, or turns an error into an exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from analysis.errors import AnalysisError
from analysis.session import start_session

Progress = Callable[[str], None]


def run_task(title: str, task: Callable[[SparkSession, Progress], object]) -> int:
    """Starts a session, runs the task, ends the session. Returns 0, or 1 after an AnalysisError, which it prints."""
    started_s = time.monotonic()
    spark = start_session(title)
    try:
        task(spark, lambda step: print(f"{time.monotonic() - started_s:6.1f} s  {step}", flush=True))
    except AnalysisError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.next_step:
            print(f"next: {error.next_step}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
    return 0
