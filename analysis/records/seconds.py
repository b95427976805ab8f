"""What happened in each second of a trial, warm-up included: messages by event, and latencies. For figures, never for a verdict."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.percentiles import MILLION, SAMPLES_BEYOND
from analysis.records.arrow import Column, grouped, labelled, pc, table
from analysis.records.counting import Counting, Times, added_up
from analysis.records.latencies import (
    CONSUMED_COLUMNS,
    END_TO_END,
    NO_SUBSCRIPTION,
    PRODUCED_COLUMNS,
    PRODUCED_LATENCIES,
    RESPONSE,
    end_to_end,
    second_of,
    subscriptions,
)

SCHEDULED = "scheduled"
SENT = "sent"
ACKNOWLEDGED = "acknowledged"
RECEIVED = "received"
TIME_OF = {SCHEDULED: "intended_ns", SENT: "sent_ns", ACKNOWLEDGED: "acked_ns"}
BUCKETS_PER_E = 128  # per factor e: each is 0.8 % wide
EVENT_KEYS = ("event", "subscription", "second")
SECOND = "second"
PERCENTILES = {"p50_ns": 500_000, "p99_ns": 990_000}


def count_produced_events(rows: pa.Table, times: Times) -> pa.Table:
    """event, subscription (none), second, messages: what was scheduled, sent, acknowledged in each second."""
    happened = [(event, NO_SUBSCRIPTION, rows[column]) for event, column in TIME_OF.items()]
    return _events(happened, times)


def count_received_events(rows: pa.Table, times: Times) -> pa.Table:
    """The same of receipts, by subscription."""
    of_subscriptions = [
        (RECEIVED, name, rows["received_ns"] if theirs is None else pc.filter(rows["received_ns"], theirs))
        for name, theirs in subscriptions(rows)
    ]
    return _events(of_subscriptions, times)


def _events(happened: list[tuple[str, str, Column]], times: Times) -> pa.Table:
    if times.start_ns is None:
        return NO_EVENTS
    tables = [NO_EVENTS]
    for event, subscription, times_ns in happened:
        seconds, messages = np.unique(second_of(pc.drop_null(times_ns).to_numpy(), times.start_ns), return_counts=True)
        columns = {"second": pa.array(seconds, pa.int64()), "messages": pa.array(messages, pa.int64())}
        tables.append(labelled(columns, event=event, subscription=subscription))
    return pa.concat_tables(tables)


def coarse_bucket(values_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A bucket number that grows with the value. Times can be negative by the error between two clocks."""
    size = np.floor(np.log(np.abs(values_ns) + 1.0) * BUCKETS_PER_E).astype(np.int64)
    return np.where(values_ns < 0, -size, size)


def count_produced_latency(rows: pa.Table, times: Times) -> pa.Table:
    """metric, subscription, second, bucket, samples, highest_ns: response latency. Second of the intended time; null: unanswered."""
    return _of_seconds(RESPONSE, NO_SUBSCRIPTION, rows["intended_ns"], PRODUCED_LATENCIES[RESPONSE](rows), times)


def count_consumed_latency(rows: pa.Table, times: Times) -> pa.Table:
    """The same of the end-to-end latency, by subscription."""
    latency, tables = end_to_end(rows), [NO_LATENCIES]
    for name, theirs in subscriptions(rows):
        columns = [rows["intended_ns"], latency]
        intended, values = columns if theirs is None else (pc.filter(each, theirs) for each in columns)
        tables.append(_of_seconds(END_TO_END, name, intended, values, times))
    return pa.concat_tables(tables)


def _of_seconds(metric: str, subscription: str, intended: Column, values: Column, times: Times) -> pa.Table:
    if times.start_ns is None:
        return NO_LATENCIES
    return latencies_by(SECOND, second_of(intended.to_numpy(), times.start_ns), values, metric, subscription)


def latencies_by(
    part: str, parts_of: npt.NDArray[np.int64], values: Column, metric: str, subscription: str
) -> pa.Table:
    """metric, subscription, `part`, bucket, samples, highest_ns: the values of each part of time, whose numbers are `parts_of`."""
    unknown = pc.is_null(values).to_numpy()
    buckets = coarse_bucket(pc.fill_null(values, 0).to_numpy())
    rows = {
        part: parts_of,
        "bucket": pa.array(buckets, pa.int64(), mask=unknown),
        "highest_ns": values,
    }
    counted = grouped(table(rows), [part, "bucket"], [([], "count_all"), ("highest_ns", "max")])
    columns = {
        part: counted[part],
        "bucket": counted["bucket"],
        "samples": counted["count_all"],
        "highest_ns": counted["highest_ns_max"],
    }
    return labelled(columns, metric=metric, subscription=subscription)


def latency_keys(part: str) -> tuple[str, ...]:
    """What tells the rows of `latencies_by` apart."""
    return ("metric", "subscription", part, "bucket")


def percentiles_by(part: str, counted: pa.Table) -> pa.Table:
    """metric, subscription, `part`, samples, p50_ns, p99_ns (from 1,000 samples on), max_ns.

    Each value is one that occurred, less than 1 % above the exact percentile. Null where it falls among messages that were never
    acknowledged.
    """
    keys = latency_keys(part)
    ordered = counted.sort_by([(name, "ascending") for name in keys]).combine_chunks()  # nulls last
    groups, highest, samples = ordered.select(list(keys[:3])), ordered["highest_ns"], ordered["samples"].to_numpy()
    starts = _starts(groups)
    rows: dict[str, list[Any]] = {**groups.take(starts).to_pydict(), "samples": [], "max_ns": []}
    rows |= {name: [] for name in PERCENTILES}
    for start, end in itertools.pairwise([*starts.tolist(), len(ordered)]):
        up_to_here = np.cumsum(samples[start:end])
        total = int(up_to_here[-1])
        rows["samples"].append(total)
        for name, ppm in PERCENTILES.items():
            shown = total * (MILLION - ppm) >= SAMPLES_BEYOND * MILLION
            at = int(np.searchsorted(up_to_here, -(-total * ppm // MILLION)))
            rows[name].append(highest[start + at].as_py() if shown else None)
        rows["max_ns"].append(highest[end - 1].as_py())
    types = {"metric": pa.string(), "subscription": pa.string()}
    return table({name: pa.array(values, types.get(name, pa.int64())) for name, values in rows.items()})


def _starts(groups: pa.Table) -> npt.NDArray[np.int64]:
    """Where each group of equal rows begins, of rows in order."""
    differs = np.ones(len(groups), bool)
    differs[1:] = False
    for name in groups.column_names:
        numbers = groups[name].combine_chunks().dictionary_encode().indices.to_numpy()
        differs[1:] |= numbers[1:] != numbers[:-1]
    return np.flatnonzero(differs)


def no_latencies(part: str) -> pa.Table:
    """`latencies_by` of nothing."""
    columns = {part: _NONE, "bucket": _NONE, "samples": _NONE, "highest_ns": _NONE}
    return labelled(columns, metric="", subscription="")


_NONE = pa.array([], pa.int64())
NO_EVENTS = labelled({"second": _NONE, "messages": _NONE}, event="", subscription="")
NO_LATENCIES = no_latencies(SECOND)
ADD_EVENTS = added_up(EVENT_KEYS, sums=["messages"])
ADD_LATENCIES = added_up(latency_keys(SECOND), sums=["samples"], highest=["highest_ns"])
PRODUCED_EVENTS = Counting("events", "produced", tuple(TIME_OF.values()), count_produced_events, ADD_EVENTS)
CONSUMED_EVENTS = Counting("events", "consumed", ("subscription", "received_ns"), count_received_events, ADD_EVENTS)
PRODUCED_LATENCY = Counting(
    "seconds", "produced", PRODUCED_COLUMNS, count_produced_latency,
    ADD_LATENCIES, partial(percentiles_by, SECOND),
)  # fmt: skip
CONSUMED_LATENCY = Counting(
    "seconds", "consumed", CONSUMED_COLUMNS, count_consumed_latency,
    ADD_LATENCIES, partial(percentiles_by, SECOND),
)  # fmt: skip
