"""How each task of the job that needs Spark runs: with a session of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from analysis.plain_task import run_plain_task
from analysis.session import start_session

Progress = Callable[[str], None]


def run_task(title: str, task: Callable[[SparkSession, Progress], object]) -> int:
    """Starts a session, runs the task, ends the session. Returns 0, or 1 after an AnalysisError, which it prints."""
    started_s = time.monotonic()
    spark = start_session(title)
    try:
        return run_plain_task(
            lambda: task(spark, lambda step: print(f"{time.monotonic() - started_s:6.1f} s  {step}", flush=True))
        )
    finally:
        spark.stop()
