"""The latencies and delays of messages, from the columns of records. They are never mixed and never filtered by value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.records.arrow import Column, pc
from analysis.records.counting import NANOSECONDS, Times
from analysis.schema import BUILD, TAIL

RESPONSE = "response_latency"
PUBLISH = "publish_latency"
END_TO_END = "end_to_end_latency"
SEND_DELAY = "send_delay"
CLIENT_DELAY = "client_delay"
PUBLISH_OF_PHASE = {BUILD: "publish_latency_build", TAIL: "publish_latency_tail"}
# response latency in the first and in the last third of the measured phase (analysis.steady_state)
FIRST_THIRD, LAST_THIRD = "response_latency_first_third", "response_latency_last_third"
NO_SUBSCRIPTION = ""  # a producer's own times belong to no subscription
PRODUCED_COLUMNS = ("intended_ns", "sent_ns", "acked_ns", "held_until_ns")
CONSUMED_COLUMNS = ("subscription", "intended_ns", "received_ns")
# What each latency of a producer is, of every message; null: unknown. A message acknowledged before its send call returned has a
# publish latency of 0, never less (docs/records.md). The client's own delay begins when the system let go; null is skipped there.
PRODUCED_LATENCIES: Mapping[str, Callable[[pa.Table], Column]] = {
    RESPONSE: lambda rows: pc.subtract(rows["acked_ns"], rows["intended_ns"]),
    PUBLISH: lambda rows: pc.max_element_wise(pc.subtract(rows["acked_ns"], rows["sent_ns"]), 0, skip_nulls=False),
    SEND_DELAY: lambda rows: pc.subtract(rows["sent_ns"], rows["intended_ns"]),
    CLIENT_DELAY: lambda rows: pc.subtract(
        rows["sent_ns"], pc.max_element_wise(rows["intended_ns"], rows["held_until_ns"])
    ),
}
PRODUCED_METRICS = tuple(PRODUCED_LATENCIES)
# metric, subscription, values in ns of the messages that have one
Samples = Iterator[tuple[str, str, npt.NDArray[np.int64]]]


def end_to_end(consumed: pa.Table) -> Column:
    """End-to-end latency of every receipt; a repeat is a receipt of its own."""
    return pc.subtract(consumed["received_ns"], consumed["intended_ns"])


def intended_in(rows: pa.Table, phase: tuple[int, int] | None) -> Column:
    """Whether the message's intended time lies in a phase: what `phase` says (docs/records.md), at a fraction of its cost."""
    intended = rows["intended_ns"]
    if phase is None:
        return pa.chunked_array([pa.repeat(pa.scalar(False), len(intended))])
    begin_ns, end_ns = phase
    return pc.and_(pc.greater_equal(intended, begin_ns), pc.less(intended, end_ns))


def produced_samples(rows: pa.Table, times: Times, only: Collection[str] = PRODUCED_METRICS) -> Samples:
    """The producers' latencies in the measured phase; publish latency in those that are told apart, and response latency in its
    thirds, too. `only`: of these metrics.
    """
    measured = intended_in(rows, times.measured)
    for metric in only:
        yield metric, NO_SUBSCRIPTION, known(PRODUCED_LATENCIES[metric](rows), measured)
    for metric, phase in times.others.items():
        yield metric, NO_SUBSCRIPTION, known(PRODUCED_LATENCIES[PUBLISH](rows), intended_in(rows, phase))
    for metric, third in times.thirds.items():
        yield metric, NO_SUBSCRIPTION, known(PRODUCED_LATENCIES[RESPONSE](rows), intended_in(rows, third))


def consumed_samples(rows: pa.Table, times: Times) -> Samples:
    """End-to-end latency in the measured phase, of each subscription."""
    latency, measured = end_to_end(rows), intended_in(rows, times.measured)
    for subscription, theirs in subscriptions(rows):
        yield END_TO_END, subscription, known(latency, measured if theirs is None else pc.and_(measured, theirs))


def subscriptions(rows: pa.Table) -> Iterator[tuple[str, Column | None]]:
    """Each subscription with which rows are its; None: all are."""
    names: list[str] = pc.unique(rows["subscription"]).to_pylist()
    for name in sorted(names):
        yield name, None if len(names) == 1 else pc.equal(rows["subscription"], name)


def known(values: Column, wanted: Column) -> npt.NDArray[np.int64]:
    """The values that are known, of the rows that are wanted."""
    found: npt.NDArray[np.int64] = pc.drop_null(pc.filter(values, wanted)).to_numpy()
    return found


def second_of(times_ns: npt.NDArray[np.int64], start_ns: int) -> npt.NDArray[np.int64]:
    """Whole seconds since the trial's load started."""
    return np.floor_divide(times_ns - start_ns, NANOSECONDS)
