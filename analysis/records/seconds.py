"""What happened in each second of a trial, warm-up included: messages by event, and latencies. For figures, never for a verdict."""

from __future__ import annotations

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
LATENCY_KEYS = ("metric", "subscription", "second", "bucket")
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
    return _latency(RESPONSE, NO_SUBSCRIPTION, rows["intended_ns"], PRODUCED_LATENCIES[RESPONSE](rows), times)


def count_consumed_latency(rows: pa.Table, times: Times) -> pa.Table:
    """The same of the end-to-end latency, by subscription."""
    latency, tables = end_to_end(rows), [NO_LATENCIES]
    for name, theirs in subscriptions(rows):
        columns = [rows["intended_ns"], latency]
        intended, values = columns if theirs is None else (pc.filter(each, theirs) for each in columns)
        tables.append(_latency(END_TO_END, name, intended, values, times))
    return pa.concat_tables(tables)


def _latency(metric: str, subscription: str, intended: Column, values: Column, times: Times) -> pa.Table:
    if times.start_ns is None:
        return NO_LATENCIES
    unknown = pc.is_null(values).to_numpy()
    buckets = coarse_bucket(pc.fill_null(values, 0).to_numpy())
    rows = {
        "second": second_of(intended.to_numpy(), times.start_ns),
        "bucket": pa.array(buckets, pa.int64(), mask=unknown),
        "highest_ns": values,
    }
    counted = grouped(table(rows), ["second", "bucket"], [([], "count_all"), ("highest_ns", "max")])
    columns = {
        "second": counted["second"],
        "bucket": counted["bucket"],
        "samples": counted["count_all"],
        "highest_ns": counted["highest_ns_max"],
    }
    return labelled(columns, metric=metric, subscription=subscription)


def percentiles_of_seconds(counted: pa.Table) -> pa.Table:
    """metric, subscription, second, samples, p50_ns, p99_ns (from 1,000 samples on), max_ns.

    Each value is one that occurred, less than 1 % above the exact percentile. Null where it falls among messages that were never
    acknowledged.
    """
    ordered = counted.sort_by([(name, "ascending") for name in LATENCY_KEYS])  # nulls last
    rows: dict[str, list[Any]] = {name: [] for name in (*LATENCY_KEYS[:3], "samples", *PERCENTILES, "max_ns")}
    groups = ordered.select(list(LATENCY_KEYS[:3])).to_pylist()
    highest = ordered["highest_ns"].to_pylist()
    samples = ordered["samples"].to_numpy()
    starts = [at for at, group in enumerate(groups) if at == 0 or group != groups[at - 1]]
    for start, end in zip(starts, [*starts[1:], len(groups)], strict=True):
        up_to_here = np.cumsum(samples[start:end])
        total = int(up_to_here[-1])
        for name, value in groups[start].items():
            rows[name].append(value)
        rows["samples"].append(total)
        for name, ppm in PERCENTILES.items():
            shown = total * (MILLION - ppm) >= SAMPLES_BEYOND * MILLION
            at = int(np.searchsorted(up_to_here, -(-total * ppm // MILLION)))
            rows[name].append(highest[start + at] if shown else None)
        rows["max_ns"].append(highest[end - 1])
    types = {"metric": pa.string(), "subscription": pa.string()}
    return table({name: pa.array(values, types.get(name, pa.int64())) for name, values in rows.items()})


_NONE = pa.array([], pa.int64())
NO_EVENTS = labelled({"second": _NONE, "messages": _NONE}, event="", subscription="")
NO_LATENCIES = labelled(
    {"second": _NONE, "bucket": _NONE, "samples": _NONE, "highest_ns": _NONE}, metric="", subscription=""
)
ADD_EVENTS = added_up(EVENT_KEYS, sums=["messages"])
ADD_LATENCIES = added_up(LATENCY_KEYS, sums=["samples"], highest=["highest_ns"])
PRODUCED_EVENTS = Counting("events", "produced", tuple(TIME_OF.values()), count_produced_events, ADD_EVENTS)
CONSUMED_EVENTS = Counting("events", "consumed", ("subscription", "received_ns"), count_received_events, ADD_EVENTS)
PRODUCED_LATENCY = Counting(
    "seconds", "produced", PRODUCED_COLUMNS, count_produced_latency,
    ADD_LATENCIES, percentiles_of_seconds,
)  # fmt: skip
CONSUMED_LATENCY = Counting(
    "seconds", "consumed", CONSUMED_COLUMNS, count_consumed_latency,
    ADD_LATENCIES, percentiles_of_seconds,
)  # fmt: skip
