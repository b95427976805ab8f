"""The three latencies and the send delay, one row per sample. They are never mixed and never filtered by value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.campaign import NANOSECONDS, Trial
from analysis.load import Records
from analysis.schema import BUILD, TAIL

RESPONSE = "response_latency"
PUBLISH = "publish_latency"
END_TO_END = "end_to_end_latency"
SEND_DELAY = "send_delay"
CLIENT_DELAY = "client_delay"
PUBLISH_OF_PHASE = {BUILD: "publish_latency_build", TAIL: "publish_latency_tail"}
NO_SUBSCRIPTION = ""  # a producer's own times belong to no subscription; null keys don't join


def second_of(time_ns: Column) -> Column:
    """Whole seconds since the trial's load started."""
    return F.floor((time_ns - F.col("start_ns")) / F.lit(NANOSECONDS)).cast("int")


@dataclass(frozen=True)
class Series:
    """One metric of one trial. `samples`: subscription (only where a sample belongs to one), measured, second, value_ns.

    `value_ns` is null of a message that was never acknowledged (or, of the send delay, never sent).
    """

    trial: str
    metric: str
    samples: DataFrame

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell its samples apart."""
        return ("subscription",) if "subscription" in self.samples.columns else ()

    def named(self, counts: DataFrame) -> DataFrame:
        """Adds what is constant in the series to what was counted of it: trial, metric, and no subscription where there is none.

        After the counting: a constant among the keys is hashed for every sample, and that was half of the time.
        """
        constant = {"trial": self.trial, "metric": self.metric}
        if not self.keys:
            constant["subscription"] = NO_SUBSCRIPTION
        return counts.withColumns({name: F.lit(value) for name, value in constant.items()})


def produced_latencies(produced: DataFrame) -> dict[str, DataFrame]:
    """Response latency, publish latency, send delay and what of it is the client's own, of every message, by metric.

    A message acknowledged before its send call returned has a publish latency of 0, never less (docs/records.md).
    """
    waited_ns = F.col("acked_ns") - F.col("sent_ns")
    values_ns = {
        RESPONSE: F.col("acked_ns") - F.col("intended_ns"),
        PUBLISH: F.when(waited_ns < F.lit(0), F.lit(0)).when(waited_ns >= F.lit(0), waited_ns),
        SEND_DELAY: F.col("sent_ns") - F.col("intended_ns"),
        CLIENT_DELAY: F.col("sent_ns") - F.greatest("intended_ns", "held_until_ns"),
    }
    samples = {metric: _samples(produced, value_ns) for metric, value_ns in values_ns.items()}
    # a message that was never sent has no client's part: its system may have held it to the end
    return {**samples, CLIENT_DELAY: samples[CLIENT_DELAY].where(F.col("value_ns").isNotNull())}


def consumed_latencies(consumed: DataFrame) -> DataFrame:
    """End-to-end latency of every receipt, per subscription; a repeat is a receipt of its own."""
    return _samples(consumed, F.col("received_ns") - F.col("intended_ns"), "subscription")


def all_latencies(records: Records) -> list[Series]:
    """Every sample of every trial."""
    of_producers = [
        Series(trial, metric, samples)
        for trial, produced in records.produced.of_trial.items()
        for metric, samples in produced_latencies(produced).items()
    ]
    of_consumers = [
        Series(trial, END_TO_END, consumed_latencies(consumed)) for trial, consumed in records.consumed.of_trial.items()
    ]
    return of_producers + of_consumers


def phase_latencies(records: Records, trials: Iterable[Trial]) -> list[Series]:
    """Publish latency while a backlog was built and after it was read; what the drain was like are the trial's own figures."""
    found = []
    for trial in trials:
        for phase, metric in PUBLISH_OF_PHASE.items():
            bounds_ns, produced = trial.phase_ns(phase), records.produced.of_trial.get(trial.name)
            if bounds_ns is not None and produced is not None:
                bounded = dict(zip(("measure_start_ns", "measure_end_ns"), map(F.lit, bounds_ns), strict=True))
                samples = produced_latencies(produced.withColumns(bounded))[PUBLISH]
                found.append(Series(trial.name, metric, samples))
    return found


def in_measure_phase() -> Column:
    """Whether the message's intended time lies in the measure phase: what `phase` says (docs/records.md).

    Comparing names would cost as much as all else in a scan, and by the times Spark skips what it needn't read.
    """
    intended_ns = F.col("intended_ns")
    return (intended_ns >= F.col("measure_start_ns")) & (intended_ns < F.col("measure_end_ns"))


def _samples(rows: DataFrame, value_ns: Column, *keys: str) -> DataFrame:
    return rows.select(
        *keys,
        in_measure_phase().alias("measured"),
        second_of(F.col("intended_ns")).alias("second"),
        value_ns.alias("value_ns"),
    )
