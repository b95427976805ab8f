"""What the machines did: rates from ever-growing counters, per second and over the measure phase."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.campaign import NANOSECONDS
from analysis.latencies import second_of

COUNTER = "counter"
GAUGE = "gauge"
MACHINE = "machine"
# how the counters of a network card that its instance type held back end (bandwidth, packets, connections)
ALLOWANCE_EXCEEDED = "_allowance_exceeded"
CPU_MODES = ("user", "system", "iowait", "steal", "idle")
# what the report draws; the rest stays in the records
DRAWN = (*(f"cpu_{mode}_s" for mode in CPU_MODES), "disk_written_bytes", "dirty_bytes", "rss_bytes")


def counter_rates(hosts: DataFrame) -> DataFrame:
    """Growth per second of each counter since its previous sample; a counter that fell was reset and gives no rate."""
    series = Window.partitionBy("trial", "host", "source", "metric").orderBy("time_ns")
    grown = F.col("value") - F.lag("value").over(series)
    elapsed_s = (F.col("time_ns") - F.lag("time_ns").over(series)) / F.lit(NANOSECONDS)
    counters = hosts.where(F.col("kind") == F.lit(COUNTER)).withColumns({"grown": grown, "elapsed_s": elapsed_s})
    usable = counters.where((F.col("grown") >= F.lit(0)) & (F.col("elapsed_s") > F.lit(0)))
    return usable.select(
        "trial", "host", "source", "metric", "time_ns", "start_ns", (F.col("grown") / F.col("elapsed_s")).alias("value")
    )


def gauges(hosts: DataFrame) -> DataFrame:
    """The samples of the gauges, as they are."""
    only = hosts.where(F.col("kind") == F.lit(GAUGE))
    return only.select("trial", "host", "source", "metric", "time_ns", "start_ns", "value")


def telemetry_over_time(hosts: DataFrame) -> DataFrame:
    """Per trial, host, source, metric and second: rate (counters) or value (gauges) of what the report draws."""
    drawn = hosts.where(F.col("metric").isin(*DRAWN))
    values = drawn.transform(counter_rates).unionByName(drawn.transform(gauges))
    timed = values.where(F.col("start_ns").isNotNull()).withColumn("second", second_of(F.col("time_ns")))
    return timed.groupBy("trial", "host", "source", "metric", "second").agg(F.max("value").alias("value"))


def telemetry_of_measure_phase(hosts: DataFrame) -> DataFrame:
    """Per trial, host, source and metric: rows in all, and inside the measure phase growth, mean, maximum and the seconds sampled."""
    measured = F.col("time_ns").between(F.col("measure_start_ns"), F.col("measure_end_ns"))
    value = F.when(measured, F.col("value"))
    return hosts.groupBy("trial", "host", "source", "metric", "kind").agg(
        F.count("*").alias("rows"),
        F.count(value).alias("samples"),
        (F.max(value) - F.min(value)).alias("growth"),
        (
            (F.max(F.when(measured, F.col("time_ns"))) - F.min(F.when(measured, F.col("time_ns")))) / F.lit(NANOSECONDS)
        ).alias("seconds"),
        F.mean(value).alias("mean"),
        F.max(value).alias("highest"),
    )
