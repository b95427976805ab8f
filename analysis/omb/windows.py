"""A trial's records as the series and histograms of a result of OpenMessaging Benchmark: exact counts on Spark, shuffled as counts.

Latencies are cut to whole microseconds, as its histograms hold them, and counted by window and value; every percentile is the nearest
rank in those counts. A message belongs to the window of its intended time, so that the run's figures are those of its windows together.
What happened when (acknowledgements, receipts, errors) is counted by when it happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.campaign import NANOSECONDS
from analysis.latencies import END_TO_END, PUBLISH, SEND_DELAY, consumed_latencies, produced_latencies
from analysis.percentiles import MILLION

WINDOW_S = 10
WHOLE_RUN = -1  # the window of what is said of all of them together
ACKNOWLEDGED, FAILED, RECEIVED = "acknowledged", "failed", "received"


@dataclass(frozen=True)
class Span:
    """What is exported of a trial: from `start_ns` to `end_ns`, in windows of ten seconds, the last one perhaps shorter."""

    start_ns: int
    end_ns: int

    @property
    def windows(self) -> int:
        """How many there are."""
        return -(-(self.end_ns - self.start_ns) // (WINDOW_S * NANOSECONDS))

    def seconds(self, window: int) -> float:
        """How long a window is."""
        return min(float(WINDOW_S), (self.end_ns - self.start_ns) / NANOSECONDS - window * WINDOW_S)

    def window_of(self, time_ns: Column) -> Column:
        """The window of a time: below 0 before the span, from `windows` on after it."""
        return F.floor((time_ns - F.lit(self.start_ns)) / F.lit(WINDOW_S * NANOSECONDS)).cast("int")

    def bound(self, rows: DataFrame) -> DataFrame:
        """The rows with this span for their trial's measured phase."""
        times_ns = {"start_ns": self.start_ns, "measure_start_ns": self.start_ns, "measure_end_ns": self.end_ns}
        return rows.withColumns({name: F.lit(time_ns).cast("long") for name, time_ns in times_ns.items()})


def counted_latencies(produced: DataFrame, consumed: DataFrame | None, span: Span) -> DataFrame:
    """Samples of each metric per window, WHOLE_RUN among them, and value: metric, window, value_us, samples."""
    latencies = produced_latencies(span.bound(produced))
    series = {metric: latencies[metric] for metric in (PUBLISH, SEND_DELAY)}
    if consumed is not None:
        series[END_TO_END] = consumed_latencies(span.bound(consumed))
    counted = reduce(DataFrame.unionByName, [_counted(metric, samples) for metric, samples in series.items()])
    # each count goes to its window and to the whole run, so that the records are read once
    twice = counted.withColumn("window", F.explode(F.array("window", F.lit(WHOLE_RUN))))
    return twice.groupBy("metric", "window", "value_us").agg(F.sum("samples").alias("samples"))


def _counted(metric: str, samples: DataFrame) -> DataFrame:
    # the format has no place for "longer than": a message that was never answered has no latency in it, as there
    measured = samples.where(F.col("measured") & F.col("value_ns").isNotNull()).select(
        F.floor(F.col("second") / F.lit(WINDOW_S)).cast("int").alias("window"),
        F.floor(F.col("value_ns") / F.lit(1000)).cast("long").alias("value_us"),
    )
    counts = measured.groupBy("window", "value_us").agg(F.count("*").alias("samples"))
    return counts.select(F.lit(metric).alias("metric"), "window", "value_us", "samples")


def summed_up(counted: DataFrame, quantiles_ppm: Sequence[int]) -> DataFrame:
    """Per metric and window: samples, mean_us, max_us and q<ppm>, the nearest-rank percentiles; of rows as counted_latencies makes."""
    group = Window.partitionBy("metric", "window")
    up_to_here = group.orderBy("value_us").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    everything = group.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    ranked = counted.withColumns(
        {"rank": F.sum("samples").over(up_to_here), "total": F.sum("samples").over(everything)}
    )
    return ranked.groupBy("metric", "window").agg(
        F.sum("samples").alias("samples"),
        (F.sum(F.col("value_us") * F.col("samples")) / F.sum("samples")).alias("mean_us"),
        F.max("value_us").alias("max_us"),
        *(_at(quantile_ppm).alias(f"q{quantile_ppm}") for quantile_ppm in quantiles_ppm),
    )


def _at(quantile_ppm: int) -> Column:
    reached = F.col("rank") * F.lit(MILLION) >= F.col("total") * F.lit(quantile_ppm)
    return F.min(F.when(reached, F.col("value_us")))


def counted_events(produced: DataFrame, consumed: DataFrame | None, span: Span) -> DataFrame:
    """What happened in each window, before and after the span, too: event, window, messages."""
    times_ns = {
        ACKNOWLEDGED: produced.select(F.col("acked_ns").alias("time_ns")),
        FAILED: produced.where(F.col("error").isNotNull()).select(F.col("intended_ns").alias("time_ns")),
    }
    if consumed is not None:
        times_ns[RECEIVED] = consumed.select(F.col("received_ns").alias("time_ns"))
    return reduce(DataFrame.unionByName, [_happened(event, times, span) for event, times in times_ns.items()])


def _happened(event: str, times: DataFrame, span: Span) -> DataFrame:
    windows = times.where(F.col("time_ns").isNotNull()).select(span.window_of(F.col("time_ns")).alias("window"))
    counts = windows.groupBy("window").agg(F.count("*").alias("messages"))
    return counts.select(F.lit(event).alias("event"), "window", "messages")
