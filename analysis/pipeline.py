"""From records to aggregates, in two looks at each file and a third at few. It knows no verdict and no page.

1. all counts: latencies in buckets and per second, events per second, fingerprints of both sides, order, telemetry
2. where the fingerprints differ: message by message -> loss and duplicates, and what was never answered
3. where the wanted percentiles lie: their values
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from analysis.campaign import Campaign, Trial
from analysis.delivery import Delivery, deliveries, differing_stretches, subscriptions_of
from analysis.faults import looks
from analysis.percentiles import (
    CURVE_QUANTILES,
    TABLE_QUANTILES,
    Percentile,
    histograms_of,
    percentiles_of,
    wanted_ranks,
)
from analysis.population import NO_POPULATIONS, Key, Populations
from analysis.records import buckets, differences, fingerprints, order, seconds, telemetry, values, windows
from analysis.records.files import Records
from analysis.records.order import Ordering, orderings
from analysis.records.scan import Counted, scan
from analysis.thirds import JUDGED_PPM, THIRDS, populations_of_thirds
from analysis.unanswered import populations_of

Progress = Callable[[str], None]
QUANTILES = TABLE_QUANTILES + CURVE_QUANTILES
Row = Mapping[str, Any]
T = TypeVar("T")


class ByTrial(dict[str, list[Row]]):
    """The rows of one counting, of each trial; empty for one that has none. A row knows its trial."""

    def __missing__(self, trial: str) -> list[Row]:
        return []

    @property
    def rows(self) -> list[Row]:
        """Those of all trials."""
        return list(chain.from_iterable(self.values()))


@dataclass(frozen=True)
class Seconds:
    """What is known per second of each trial."""

    latency: ByTrial
    events: ByTrial
    telemetry: ByTrial


@dataclass(frozen=True)
class Aggregates:
    """What is known of all records, small enough for one process. Rows are those of the counting named alike; `thirds`: of response
    latency in the first and last third of the measure phase. `faults`: of analysis.faults, by counting."""

    percentiles: tuple[Percentile, ...]
    thirds: tuple[Percentile, ...]
    seconds: Seconds
    acknowledged: ByTrial
    received: ByTrial
    deliveries: tuple[Delivery, ...]
    orderings: tuple[Ordering, ...]
    windows: ByTrial
    telemetry_measured: ByTrial
    faults: Mapping[str, ByTrial] = field(default_factory=dict)


def count(spark: SparkSession, campaign: Campaign, records: Records, progress: Progress) -> Counted:
    """The first look at the records of all trials. Raises AnalysisError naming a file that can't be read."""
    progress("counting every record")
    first = (
        *(buckets.PRODUCED, buckets.CONSUMED, seconds.PRODUCED_EVENTS, seconds.CONSUMED_EVENTS),
        *(seconds.PRODUCED_LATENCY, seconds.CONSUMED_LATENCY, *fingerprints.countings(_bucket_bits(campaign))),
        *(order.ORDER, telemetry.OVER_TIME, telemetry.OF_MEASURE_PHASE, windows.PRODUCED_WINDOWS),
    )
    return scan(spark, records, {trial.name: (*first, *looks.first_look(trial)) for trial in campaign.trials})


def seconds_of(counted: Counted) -> Seconds:
    """What `count` found per second."""
    return Seconds(*(_by_trial(counted, name) for name in ("seconds", "events", "telemetry over time")))


def aggregate(
    spark: SparkSession,
    campaign: Campaign,
    records: Records,
    counted: Counted,
    known: Seconds,
    progress: Progress,
) -> Aggregates:
    """The other looks, and what follows from all of them; `counted` is what `count` found, `known` its seconds. Raises as that does."""
    acknowledged, received = _by_trial(counted, "acknowledged"), _by_trial(counted, "received")
    subscriptions = subscriptions_of(received.rows, {trial.name: trial.subscriptions for trial in campaign.trials})
    differing = differing_stretches(acknowledged.rows, received.rows, subscriptions)
    compared: Counted = {}
    if differing:
        progress("messages of which acknowledgements and receipts differ")
        bits, trials = _bucket_bits(campaign), {trial.name: trial for trial in campaign.trials}
        sides = {
            name: (*differences.countings(stretches, bits), *looks.second_look(trials[name], stretches, bits))
            for name, stretches in differing.items()
        }
        compared = scan(spark, records, sides)
    delivered = deliveries(acknowledged.rows, received.rows, _by_trial(compared, "differences").rows, subscriptions)
    populations = populations_of(
        campaign.trials,
        acknowledged=acknowledged.rows,
        received=received.rows,
        deliveries=delivered,
        events=known.events,
    )
    progress("exact percentiles")
    of_windows = _by_trial(counted, "windows")
    populations |= populations_of_thirds(of_windows)
    percentiles = exact_percentiles(spark, records, counted, QUANTILES, populations)
    return Aggregates(
        percentiles=tuple(found for found in percentiles if found.metric not in THIRDS),
        thirds=tuple(found for found in percentiles if found.metric in THIRDS),
        seconds=known,
        acknowledged=acknowledged,
        received=received,
        deliveries=tuple(delivered),
        orderings=tuple(orderings(_by_trial(counted, "order").rows)),
        windows=of_windows,
        telemetry_measured=_by_trial(counted, "telemetry"),
        faults={name: _by_trial({**counted, **compared}, name) for name in looks.NAMES},
    )


def exact_percentiles(
    spark: SparkSession,
    records: Records,
    counted: Counted,
    quantiles: Sequence[int],
    populations: Populations = NO_POPULATIONS,
) -> list[Percentile]:
    """Every quantile of each metric of which `counted` has buckets, of thirds those that are judged: files are read once more for the
    values at their ranks.
    """
    histograms = {
        key: histogram
        for (name, trial), counts in counted.items()
        if name == "buckets"
        for key, histogram in histograms_of(trial, counts)
    }
    asked = [
        (_some(histograms, of_thirds), wanted, _some(populations, of_thirds))
        for of_thirds, wanted in ((False, quantiles), (True, JUDGED_PPM))
    ]
    ranks: defaultdict[str, list[values.Wanted]] = defaultdict(list)
    for histograms_asked, wanted, of in asked:
        for trial, found in wanted_ranks(histograms_asked, wanted, of).items():
            ranks[trial] += found
    looked_for = {trial: tuple(values.countings(wanted)) for trial, wanted in ranks.items()}
    rows = _by_trial(scan(spark, records, looked_for), "values").rows
    values_ns = {
        (row["trial"], row["metric"], row["subscription"], row["quantile_ppm"]): row["value_ns"] for row in rows
    }
    return list(chain.from_iterable(percentiles_of(own, values_ns, wanted, of) for own, wanted, of in asked))


def _some(by_key: Mapping[Key, T], of_thirds: bool) -> dict[Key, T]:
    """The entries of the metrics of thirds, or those of all others."""
    return {key: value for key, value in by_key.items() if (key[1] in THIRDS) is of_thirds}


def _by_trial(counted: Counted, counting: str) -> ByTrial:
    return ByTrial(
        {
            trial: [{"trial": trial, **row} for row in counts.to_pylist()]
            for (name, trial), counts in counted.items()
            if name == counting
        }
    )


def _bucket_bits(campaign: Campaign) -> int:
    return fingerprints.bucket_bits(sum(_rows_written(trial) for trial in campaign.trials))


def _rows_written(trial: Trial) -> int:
    """Messages and receipts of a trial, as its writers counted them."""
    written = trial.document["rows"]
    return int(written["produced"]) + int(written["consumed"])
