"""A Spark session for this job: quiet, without a web page, and on one machine reachable from that machine only."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from analysis.errors import run_plain_task

Progress = Callable[[str], None]

# each trial is small next to what Spark's defaults are made for; a cluster's own configuration goes first
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",  # counts come to the driver in columns
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    # a record that can't be read is an error, never a smaller sample
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
_ONE_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",  # replanning costs more than it saves on counts
}


def start_session(application: str) -> SparkSession:
    """The session that spark-submit configured, completed by this job's defaults; local[*] if nothing names a master."""
    SparkContext._ensure_initialized()  # only a running JVM knows what spark-submit and spark-defaults.conf say
    conf = SparkConf()
    conf.setIfMissing("spark.master", "local[*]")
    on_one_machine = str(conf.get("spark.master")).startswith("local")
    if on_one_machine:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need the packages that this process has
    for key, value in {**_DEFAULTS, **(_ONE_MACHINE if on_one_machine else {})}.items():
        conf.setIfMissing(key, value)
    return SparkSession.builder.appName(application).config(conf=conf).getOrCreate()


def run_task(session: Callable[[], SparkSession], task: Callable[[SparkSession, Progress], object]) -> int:
    """Waits for the session, runs the task, ends the session. Returns 0, or 1 after an AnalysisError, which it prints."""
    started_s = time.monotonic()
    spark = session()
    try:
        return run_plain_task(
            lambda: task(spark, lambda step: print(f"{time.monotonic() - started_s:6.1f} s  {step}", flush=True))
        )
    finally:
        spark.stop()
