"""What can't be believed in a result file, found by invariants that hold for every sound one. Each finding has its evidence.

1. The first window over-reports rates: counters aren't reset after the warm-up, latencies are.
2. The figures of the whole run are corrupt where one of these fails. They come from one read of all histograms, which was repeated on a
   decoding error although reading empties them (upstream issue 369), so that none of them is used then:
   a. the maximum is at least the highest of the windows,
   b. mean and percentiles lie between the lowest and the highest of the windows (true of every mixture, whatever its weights),
   c. the mean is that of the windows, weighted by their rates, but for 10 %,
   (b and c only from six windows on: in a shorter run, what came after the last window weighs)
   d. the percentiles rise, the quantile map rises, ends with the maximum, and agrees with the percentiles.
   Each allows for 1 %: what two significant digits of a histogram cost. A quantile map that doesn't go up to 100 % isn't used.
3. A window's percentiles don't rise: that window isn't used. (Without a sample it has no latency, though its file says 0.)
4. Consumers were paused in some windows: means over the run mix phases.
5. Consumers fell behind, or were still reading what the warm-up had left: end-to-end latencies then say how long the run was.
6. The rate in a name is less than what was sent: it is not the rate of this run.
7. Every window's rates are 0 although messages were acknowledged: rates aren't used.

Exports of samebox count no warm-up: 1 doesn't hold of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from analysis.omb.identity import Known, achieved_per_s
from analysis.omb.layout import (
    BACKLOG,
    CONSUME_RATE,
    END_TO_END,
    PERCENTILES,
    PUBLISH,
    PUBLISH_DELAY,
    PUBLISH_RATE,
    WINDOW_S,
)
from analysis.omb.result_file import Latency, OmbResult

TOLERANCE = 0.01
MEAN_TOLERANCE = 0.10
LEAST_WINDOWS = 6
PAUSED_SHARE = 0.01  # of the publish rate
FIRST_WINDOW, AGGREGATE, MAP = "first-window", "corrupt-aggregate", "incomplete-map"
WINDOW, PAUSED = "corrupt-window", "paused-consumers"
BACKLOGGED, REFUTED_RATE, NO_RATES = "unsteady-backlog", "refuted-rate", "empty-rates"
BACKLOG_SHARE = 0.005  # of the messages sent in the run: how much more or fewer may be unread at its end
_RISING = (*PERCENTILES, "max")
# the messages after the last window are in no window, and may decide what the last thousandth is like
_BOUNDED = ("mean", "p50", "p75", "p95", "p99")


@dataclass(frozen=True)
class Fault:
    """One thing that can't be believed: a code of this file, what is concerned, a sentence, the numbers that show it."""

    fault: str
    concerns: str
    sentence: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


def faults_of(result: OmbResult, identity: Mapping[str, Known]) -> tuple[Fault, ...]:
    """Everything found, in the order of the list above."""
    latencies = result.latencies.values()
    found = (
        _first_window(result),
        *(fault for latency in latencies for fault in _of_the_run(result, latency)),
        *(_of_the_windows(latency) for latency in latencies),
        *(_paused(result), _backlogged(result), _refuted_rate(result, identity), _no_rates(result)),
    )
    return tuple(fault for fault in found if fault)


def usable_windows(result: OmbResult, latency: Latency) -> tuple[int, ...]:
    """The windows, from 0, that have samples of this latency and whose percentiles rise."""
    # a delay of 0 us is one, an end-to-end latency of 0 isn't: there, samples of 0 are dropped
    zero_counts = latency.family == PUBLISH_DELAY
    samples = zip(latency.windows["max"], result.series[PUBLISH_RATE], strict=True)
    has_any = [highest > 0 or (zero_counts and sent > 0) for highest, sent in samples]
    return tuple(index for index in range(result.windows) if has_any[index] and not _falls(latency, index))


def paused_windows(result: OmbResult) -> tuple[int, ...]:
    """The windows, from 0, in which messages were sent and practically none received."""
    rates = zip(result.series[PUBLISH_RATE], result.series[CONSUME_RATE], strict=True)
    return tuple(index for index, (sent, received) in enumerate(rates) if sent > 0 and received < PAUSED_SHARE * sent)


def _first_window(result: OmbResult) -> Fault | None:
    rates = result.series[PUBLISH_RATE]
    if len(rates) < 2 or not any(rates[1:]) or result.own:
        return None
    later = sum(rates[1:]) / (len(rates) - 1)
    ratio = rates[0] / later
    return Fault(
        FIRST_WINDOW,
        "rates of window 1",
        f"Counters aren't reset after the warm-up: window 1 says {rates[0]:,.0f} msg/s, {ratio:.3f} times the mean of the "
        "others; it counts in no rate.",
        {"first_per_s": rates[0], "mean_of_others_per_s": later, "ratio": ratio},
    )


def _of_the_run(result: OmbResult, latency: Latency) -> Iterator[Fault]:
    metric = latency.family.metric
    for sentence, evidence in (*_unlike_windows(result, latency), *_unlike_itself(latency)):
        yield Fault(AGGREGATE, metric, f"The run's {metric} is corrupt: {sentence}.", evidence)
    if not map_is_complete(latency) and latency.aggregate["max"] != 0:
        ends = f"ends at {latency.quantiles[-1][0]:.6g} %" if latency.quantiles else "is empty"
        sentence = f"The quantile map of {metric} {ends}; it isn't used."
        yield Fault(MAP, metric, sentence, {"points": len(latency.quantiles)})


def _of_the_windows(latency: Latency) -> Fault | None:
    metric = latency.family.metric
    falling = [index + 1 for index in range(len(latency.windows["max"])) if _falls(latency, index)]
    if not falling:
        return None
    sentence = f"Percentiles of {metric} don't rise in {len(falling)} windows, the first of them {falling[0]}; they aren't used."
    return Fault(WINDOW, metric, sentence, {"windows": falling})


def _unlike_windows(result: OmbResult, latency: Latency) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where the run's figures contradict those of its windows."""
    aggregate, usable = latency.aggregate, usable_windows(result, latency)
    windows = {name: [values[index] for index in usable] for name, values in latency.windows.items()}
    if not usable:
        if aggregate["max"] > 0 and result.windows >= LEAST_WINDOWS:
            yield (
                f"its maximum is {aggregate['max']:,.3f} ms, and none of {result.windows} windows has a sample",
                {"aggregate_max_ms": aggregate["max"], "windows": result.windows},
            )
        return
    highest = max(windows["max"])
    if aggregate["max"] < highest * (1 - TOLERANCE):
        yield (
            f"its maximum is {aggregate['max']:,.3f} ms, that of a window {highest:,.3f} ms",
            {"aggregate_max_ms": aggregate["max"], "window_max_ms": highest},
        )
    if len(usable) < LEAST_WINDOWS:
        return
    for name in _BOUNDED:
        low, high = min(windows[name]), max(windows[name])
        if not _is_between(low, aggregate[name], high):
            ends = {"lowest_window_ms": low, "highest_window_ms": high}
            yield (
                f"its {name} is {aggregate[name]:,.3f} ms, those of the windows lie from {low:,.3f} to {high:,.3f} ms",
                {"statistic": name, "aggregate_ms": aggregate[name], **ends},
            )
    rates = result.series[CONSUME_RATE if latency.family == END_TO_END else PUBLISH_RATE]
    weights = [rates[index] for index in usable]
    if sum(weights) > 0:
        mean = sum(value * weight for value, weight in zip(windows["mean"], weights, strict=True)) / sum(weights)
        if abs(aggregate["mean"] - mean) > MEAN_TOLERANCE * max(mean, aggregate["mean"]):
            yield (
                f"its mean is {aggregate['mean']:,.3f} ms, that of the windows {mean:,.3f} ms",
                {"aggregate_mean_ms": aggregate["mean"], "windows_mean_ms": mean},
            )


def _unlike_itself(latency: Latency) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where the run's own figures contradict each other."""
    aggregate, quantiles = latency.aggregate, latency.quantiles
    for lower, upper in pairwise(_RISING):
        if aggregate[lower] > aggregate[upper] * (1 + TOLERANCE):
            yield (
                f"its {lower} of {aggregate[lower]:,.3f} ms is above its {upper} of {aggregate[upper]:,.3f} ms",
                {lower: aggregate[lower], upper: aggregate[upper]},
            )
    if not map_is_complete(latency):
        return
    for (at, value), (then, next_value) in pairwise(quantiles):
        if next_value < value:
            yield (
                f"its quantile map falls from {value:,.3f} ms at {at:.6g} % to {next_value:,.3f} ms at {then:.6g} %",
                {"percentile": then, "value_ms": next_value, "before_ms": value},
            )
            return
    last = quantiles[-1][1]
    if abs(last - aggregate["max"]) > TOLERANCE * max(last, aggregate["max"]):
        yield (
            f"its quantile map ends with {last:,.3f} ms, its maximum is {aggregate['max']:,.3f} ms",
            {"last_ms": last, "aggregate_max_ms": aggregate["max"]},
        )
    for name, percentile in PERCENTILES.items():
        low, high = neighbours(quantiles, percentile)
        if not _is_between(low, aggregate[name], high):
            yield (
                f"its {name} is {aggregate[name]:,.3f} ms, its quantile map says {low:,.3f} to {high:,.3f} ms",
                {"statistic": name, "aggregate_ms": aggregate[name], "map_from_ms": low, "map_to_ms": high},
            )


def _is_between(low: float, value: float, high: float) -> bool:
    return low * (1 - TOLERANCE) <= value <= high * (1 + TOLERANCE)


def map_is_complete(latency: Latency) -> bool:
    """Whether the quantile map goes up to 100 %."""
    return bool(latency.quantiles) and latency.quantiles[-1][0] == 100.0


def neighbours(quantiles: tuple[tuple[float, float], ...], percentile: float) -> tuple[float, float]:
    """The map's values just below and at or above a percentile: the percentile itself lies between them."""
    at = bisect_left(quantiles, (percentile, 0.0))
    return (quantiles[at - 1][1] if at else 0.0), quantiles[min(at, len(quantiles) - 1)][1]


def _falls(latency: Latency, index: int) -> bool:
    values = [latency.windows[name][index] for name in _RISING]
    return any(upper < lower * (1 - TOLERANCE) for lower, upper in pairwise(values))


def _paused(result: OmbResult) -> Fault | None:
    paused = paused_windows(result)
    if not paused:
        return None
    return Fault(
        PAUSED,
        "throughput_received",
        f"Practically nothing was received in {len(paused)} of {result.windows} windows: consumers were paused or stalled, "
        "so that figures of the whole run mix phases.",
        {"windows": len(paused), "first": paused[0] + 1, "last": paused[-1] + 1},
    )


def _backlogged(result: OmbResult) -> Fault | None:
    """Where what was unread at the ends of the run differs: the backlog's own series says it, or what was sent and received."""
    sent = sum(result.series[PUBLISH_RATE][1:]) * WINDOW_S
    if END_TO_END.metric not in result.latencies or sent == 0 or paused_windows(result):
        return None
    backlog = result.series.get(BACKLOG)
    grown = backlog[-1] - backlog[0] if backlog else sent - sum(result.series[CONSUME_RATE][1:]) * WINDOW_S
    # without a backlog, more may be received than sent: how many subscriptions there are isn't known
    if abs(grown) <= BACKLOG_SHARE * sent or (grown < 0 and not backlog):
        return None
    how = f"grew by {grown:,.0f}" if grown > 0 else f"shrank by {-grown:,.0f}"
    why = "consumers fell behind" if grown > 0 else "consumers were still reading what the warm-up had left"
    medians = result.latencies[END_TO_END.metric].windows["p50"]
    return Fault(
        BACKLOGGED,
        END_TO_END.metric,
        f"The backlog {how} messages, {abs(grown) / sent:.1%} of what was sent: {why}, so that end-to-end latencies depend on how "
        "long the run was.",
        {"grown_messages": grown, "sent_messages": sent, "first_p50_ms": medians[0], "last_p50_ms": medians[-1]},
    )


def _refuted_rate(result: OmbResult, identity: Mapping[str, Known]) -> Fault | None:
    rate, achieved = identity["rate_per_s"], achieved_per_s(result)
    if rate.value is not None or not rate.others or achieved is None or result.own:
        return None
    source, said = next(iter(rate.others.items()))
    return Fault(
        REFUTED_RATE,
        "rate_per_s",
        f"{source[0].upper()}{source[1:]} says {said:,} msg/s, and {achieved:,.0f} were sent: its rate isn't known.",
        {"named_per_s": said, "achieved_per_s": achieved},
    )


def _no_rates(result: OmbResult) -> Fault | None:
    highest = result.latencies[PUBLISH.metric].aggregate["max"]
    if any(result.series[PUBLISH_RATE]) or highest == 0:
        return None
    return Fault(
        NO_RATES,
        PUBLISH_RATE,
        f"Every one of {result.windows} windows says that nothing was sent, and the longest acknowledgement took {highest:,.3f} ms: "
        "rates aren't used.",
        {"windows": result.windows, "aggregate_max_ms": highest},
    )
