"""From records to aggregates: a few Spark actions over some trials at a time.

1. coarse counts per second -> latency over time; events -> throughput over time
2. fingerprints of what was acknowledged and received -> loss and duplicates, and what was never answered
3. bucket counts of every latency -> where percentiles lie -> exact percentiles (second scan, few rows)
4. stretches of files -> order
5. telemetry -> over time, and over the measure phase
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pyspark.sql import SparkSession

from analysis.audit import Delivery, acknowledged_fingerprints, audit_delivery, bucket_bits, received_fingerprints
from analysis.campaign import Campaign, Trial
from analysis.latencies import all_latencies, phase_latencies
from analysis.load import Records
from analysis.order import Ordering, orderings, steps_back, stretches
from analysis.percentiles import CURVE_QUANTILES, TABLE_QUANTILES, Percentile, exact_percentiles
from analysis.telemetry import telemetry_of_measure_phase, telemetry_over_time
from analysis.timeline import latency_over_time, throughput_over_time
from analysis.unanswered import populations_of

Progress = Callable[[str], None]
# each trial has scans and code of its own; a plan with those of a hundred is more than a driver on one machine can hold
TRIALS_AT_ONCE = 6


@dataclass(frozen=True)
class Aggregates:
    """What Spark hands over, small enough for one process. Rows are as the step named alike describes them."""

    percentiles: tuple[Percentile, ...]
    latency_seconds: tuple[Any, ...]
    throughput_seconds: tuple[Any, ...]
    acknowledged: tuple[Any, ...]
    received: tuple[Any, ...]
    deliveries: tuple[Delivery, ...]
    orderings: tuple[Ordering, ...]
    telemetry_seconds: tuple[Any, ...]
    telemetry_measured: tuple[Any, ...]


def aggregate(spark: SparkSession, campaign: Campaign, records: Records, progress: Progress) -> Aggregates:
    """Runs every step over all trials of the campaign, TRIALS_AT_ONCE at a time."""
    bits = bucket_bits(sum(_rows_written(trial) for trial in campaign.trials))
    found = []
    for first in range(0, len(campaign.trials), TRIALS_AT_ONCE):
        part = campaign.trials[first : first + TRIALS_AT_ONCE]
        telling = _telling(progress, first + 1, len(part), len(campaign.trials))
        found.append(_aggregate(spark, part, records.of([trial.name for trial in part]), bits, telling))
    return Aggregates(
        **{each.name: tuple(row for part in found for row in getattr(part, each.name)) for each in fields(Aggregates)}
    )


def _aggregate(
    spark: SparkSession, trials: Sequence[Trial], records: Records, bits: int, progress: Progress
) -> Aggregates:
    produced, consumed, hosts = (rows.together() for rows in (records.produced, records.consumed, records.hosts))
    latencies = all_latencies(records) + phase_latencies(records, trials)
    progress("latency and throughput over time")
    latency_seconds = latency_over_time(latencies).collect() if latencies else []
    throughput_seconds = throughput_over_time(produced, consumed).collect()
    progress("loss and duplicates")
    acknowledged = produced.transform(acknowledged_fingerprints, bits).collect()
    received = consumed.transform(received_fingerprints, bits).collect()
    deliveries = audit_delivery(
        spark,
        produced,
        consumed,
        acknowledged=acknowledged,
        received=received,
        subscription_counts={trial.name: trial.subscriptions for trial in trials},
        bits=bits,
    )
    progress("exact percentiles")
    populations = populations_of(
        trials,
        acknowledged=acknowledged,
        received=received,
        deliveries=deliveries,
        throughput_seconds=throughput_seconds,
    )
    percentiles = exact_percentiles(spark, latencies, TABLE_QUANTILES + CURVE_QUANTILES, populations)
    progress("order")
    steps = records.consumed.placed().transform(stretches).transform(steps_back).collect()
    progress("telemetry")
    return Aggregates(
        percentiles=tuple(percentiles),
        latency_seconds=tuple(latency_seconds),
        throughput_seconds=tuple(throughput_seconds),
        acknowledged=tuple(acknowledged),
        received=tuple(received),
        deliveries=tuple(deliveries),
        orderings=tuple(orderings(steps)),
        telemetry_seconds=tuple(hosts.transform(telemetry_over_time).collect()),
        telemetry_measured=tuple(hosts.transform(telemetry_of_measure_phase).collect()),
    )


def _telling(progress: Progress, first: int, count: int, of: int) -> Progress:
    which = f"trials {first} to {first + count - 1} of {of}"
    return lambda step: progress(f"{step}: {which}")


def _rows_written(trial: Trial) -> int:
    """Messages and receipts of a trial, as its writers counted them."""
    written = trial.document["rows"]
    return int(written["produced"]) + int(written["consumed"])
