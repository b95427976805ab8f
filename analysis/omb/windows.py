"""A trial's records as the series and histograms of a result of OpenMessaging Benchmark, counted by analysis.records.scan.

Latencies are cut to whole microseconds, as its histograms hold them, and counted by window and value; every percentile is the nearest
rank in those counts. A message belongs to the window of its intended time, so that the run's figures are those of its windows together.
What happened when (acknowledgements, receipts, errors) is counted by when it happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.percentiles import MILLION
from analysis.records.arrow import Column, grouped, labelled, pc, table
from analysis.records.counting import NANOSECONDS, Counting, Times, added_up
from analysis.records.latencies import (
    END_TO_END,
    PRODUCED_COLUMNS,
    PRODUCED_LATENCIES,
    PUBLISH,
    SEND_DELAY,
    end_to_end,
    intended_in,
)

WINDOW_S = 10
WHOLE_RUN = -1  # the window of what is said of all of them together
ACKNOWLEDGED, FAILED, RECEIVED = "acknowledged", "failed", "received"
LATENCIES, EVENTS = "latencies of windows", "events of windows"
KEYS = ("metric", "window", "value_us")


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

    def window_of(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The window of each time: below 0 before the span, from `windows` on after it."""
        return np.floor_divide(times_ns - self.start_ns, WINDOW_S * NANOSECONDS)


def countings(span: Span, quantiles_ppm: Sequence[int]) -> Iterator[Counting]:
    """What is counted of a trial: latencies (rows of `summed_up`) and events (event, window, messages)."""
    add, finish = added_up(KEYS, ["samples"]), partial(summed_up, quantiles_ppm=quantiles_ppm)
    consumed = ("intended_ns", "received_ns")
    yield Counting(LATENCIES, "produced", PRODUCED_COLUMNS, partial(count_produced, span=span), add, finish)
    yield Counting(LATENCIES, "consumed", consumed, partial(count_consumed, span=span), add, finish)
    add_events = added_up(("event", "window"), ["messages"])
    produced = ("intended_ns", "acked_ns", "error")
    yield Counting(EVENTS, "produced", produced, partial(count_produced_events, span=span), add_events)
    yield Counting(EVENTS, "consumed", ("received_ns",), partial(count_received_events, span=span), add_events)


def count_produced(rows: pa.Table, times: Times, *, span: Span) -> pa.Table:
    """metric, window, value_us, samples: of publish latency and send delay."""
    del times
    return pa.concat_tables(
        [_counted(metric, PRODUCED_LATENCIES[metric](rows), rows, span) for metric in (PUBLISH, SEND_DELAY)]
    )


def count_consumed(rows: pa.Table, times: Times, *, span: Span) -> pa.Table:
    """The same of the end-to-end latency, of all subscriptions together."""
    del times
    return _counted(END_TO_END, end_to_end(rows), rows, span)


def _counted(metric: str, latency: Column, rows: pa.Table, span: Span) -> pa.Table:
    # the format has no place for "longer than": a message that was never answered has no latency in it, as there
    measured = pc.and_(intended_in(rows, (span.start_ns, span.end_ns)), pc.is_valid(latency))
    intended_ns, values_ns = (pc.filter(column, measured).to_numpy() for column in (rows["intended_ns"], latency))
    values = {"window": span.window_of(intended_ns), "value_us": np.floor_divide(values_ns, 1000)}
    counted = grouped(table(values), list(values), [([], "count_all")])
    return labelled({**{key: counted[key] for key in values}, "samples": counted["count_all"]}, metric=metric)


def summed_up(counted: pa.Table, quantiles_ppm: Sequence[int]) -> pa.Table:
    """Per metric and window, WHOLE_RUN among them: samples, mean_us, max_us and q<ppm>, the nearest-rank percentiles."""
    whole = counted.set_column(1, "window", pa.repeat(pa.scalar(WHOLE_RUN, pa.int64()), len(counted)))
    every = added_up(KEYS, ["samples"])(pa.concat_tables([counted, whole]))
    rows = []
    for group in grouped(every, KEYS[:2], []).to_pylist():
        of_group = pc.and_(*(pc.equal(every[name], value) for name, value in group.items()))
        rows.append({**group, **_figures(every.filter(of_group).sort_by("value_us"), quantiles_ppm)})
    return pa.Table.from_pylist(rows)


def _figures(ordered: pa.Table, quantiles_ppm: Sequence[int]) -> Mapping[str, Any]:
    values_us, samples = ordered["value_us"].to_numpy(), ordered["samples"].to_numpy()
    up_to_here = np.cumsum(samples)
    total = int(up_to_here[-1])
    return {
        "samples": total,
        "mean_us": int(np.dot(values_us, samples)) / total,
        "max_us": int(values_us[-1]),
        **{
            f"q{ppm}": int(values_us[int(np.searchsorted(up_to_here, -(-total * ppm // MILLION)))])
            for ppm in quantiles_ppm
        },
    }


def count_produced_events(rows: pa.Table, times: Times, *, span: Span) -> pa.Table:
    """event, window, messages: acknowledgements and errors in each window, and before and after the span."""
    del times
    failed = pc.filter(rows["intended_ns"], pc.is_valid(rows["error"]))
    return pa.concat_tables([_happened(ACKNOWLEDGED, rows["acked_ns"], span), _happened(FAILED, failed, span)])


def count_received_events(rows: pa.Table, times: Times, *, span: Span) -> pa.Table:
    """The same of receipts."""
    del times
    return _happened(RECEIVED, rows["received_ns"], span)


def _happened(event: str, times_ns: Column, span: Span) -> pa.Table:
    windows, messages = np.unique(span.window_of(pc.drop_null(times_ns).to_numpy()), return_counts=True)
    name = pa.repeat(pa.scalar(event), len(windows))
    return pa.table(
        {"event": name, "window": pa.array(windows, pa.int64()), "messages": pa.array(messages, pa.int64())}
    )
