"""Which messages of a trial were never answered, and for how long they were waited for: from counts, for all of its latencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.campaign import NANOSECONDS, Side, Trial
from analysis.delivery import Delivery
from analysis.population import Key, Population
from analysis.records.latencies import END_TO_END, NO_SUBSCRIPTION, PUBLISH, PUBLISH_OF_PHASE, RESPONSE, SEND_DELAY
from analysis.records.seconds import SCHEDULED


def populations_of(
    trials: Iterable[Trial],
    *,
    acknowledged: Sequence[Any],
    received: Sequence[Any],
    deliveries: Sequence[Delivery],
    events: Mapping[str, Sequence[Any]],
) -> dict[Key, Population]:
    """Of every latency of every trial with messages in its measured phase. The rows are those of the aggregates of these names,
    `events` by trial.
    """
    scheduled: Counter[tuple[str, str]] = Counter()
    for row in acknowledged:
        scheduled[row["trial"], row["phase"]] += row["scheduled"]
    receipts: Counter[tuple[str, str]] = Counter()
    for row in received:
        receipts[row["trial"], row["subscription"]] += row["received_of_measure"]
    return {
        (trial.name, metric, subscription): population
        for trial in trials
        for metric, subscription, population in _of_trial(
            trial,
            scheduled,
            receipts,
            [one for one in deliveries if one.trial == trial.name],
            [row for row in events.get(trial.name, ()) if row["event"] == SCHEDULED],
        )
    }


def _of_trial(
    trial: Trial,
    scheduled: Mapping[tuple[str, str], int],
    receipts: Mapping[tuple[str, str], int],
    deliveries: Sequence[Delivery],
    seconds: Sequence[Any],
) -> Iterator[tuple[str, str, Population]]:
    for phase, metric in PUBLISH_OF_PHASE.items():
        if messages := scheduled[trial.name, phase]:
            yield metric, NO_SUBSCRIPTION, Population(messages)
    messages = scheduled[trial.name, trial.measured_phase]
    if not messages:
        return
    waits = _waits(trial, seconds, "producers")
    yield RESPONSE, NO_SUBSCRIPTION, Population(messages, waits)
    yield SEND_DELAY, NO_SUBSCRIPTION, Population(messages, waits)
    # publish latency begins when a message is sent, and when the unanswered ones were isn't in the counts
    yield PUBLISH, NO_SUBSCRIPTION, Population(messages)
    waits = _waits(trial, seconds, "consumers")
    for each in deliveries:
        # a repeat is a receipt of its own, and stands for no message that is missing
        received = receipts[trial.name, each.subscription] - each.repeats_of_measure
        if received < messages:
            yield END_TO_END, each.subscription, Population(messages + each.repeats_of_measure, waits)


def _waits(trial: Trial, seconds: Sequence[Any], who: Side) -> tuple[tuple[int, int], ...]:
    """How long the messages of the measured phase were waited for, by whole seconds of their intended time."""
    bounds_ns, start_ns = trial.measured_ns(), trial.start_ns
    if bounds_ns is None or start_ns is None:
        return ()
    until_ns = trial.watched_until_ns(who)
    waits = []
    for row in sorted(seconds, key=lambda row: -row["second"]):
        began_ns = start_ns + row["second"] * NANOSECONDS
        ended_ns = min(began_ns + NANOSECONDS, bounds_ns[1])
        if began_ns < bounds_ns[1] and ended_ns > bounds_ns[0]:
            waits.append((max(0, until_ns - ended_ns), int(row["messages"])))
    return tuple(waits)
