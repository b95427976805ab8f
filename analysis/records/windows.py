"""Response latency in each window of the measured phase: what says whether its last third is like its first (analysis.steady_state)."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.records.arrow import pc
from analysis.records.counting import Counting, Times, added_up
from analysis.records.latencies import NO_SUBSCRIPTION, PRODUCED_LATENCIES, RESPONSE, intended_in
from analysis.records.seconds import latencies_by, latency_keys, no_latencies, percentiles_by

WINDOWS = 15  # of equal length, by intended time; three divides it
WINDOW = "window"


def thirds_ns(measured_ns: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first and the last third of a phase: a third of its windows each."""
    begin_ns, end_ns = measured_ns
    length_ns = end_ns - begin_ns
    return (begin_ns, begin_ns - -length_ns // 3), (begin_ns - -2 * length_ns // 3, end_ns)


def window_of(intended_ns: npt.NDArray[np.int64], measured_ns: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Numbers of windows, from 0, of times in the phase."""
    begin_ns, end_ns = measured_ns
    return (intended_ns - begin_ns) * WINDOWS // (end_ns - begin_ns)


def count_windows(rows: pa.Table, times: Times) -> pa.Table:
    """metric, subscription, window, bucket, samples, highest_ns: response latency, where thirds are told. Null bucket: unanswered."""
    if times.measured is None or not times.thirds:
        return no_latencies(WINDOW)
    measured = intended_in(rows, times.measured)
    intended, values = (pc.filter(each, measured) for each in (rows["intended_ns"], PRODUCED_LATENCIES[RESPONSE](rows)))
    numbers = window_of(intended.to_numpy(), times.measured)
    return latencies_by(WINDOW, numbers, values, RESPONSE, NO_SUBSCRIPTION)


PRODUCED_WINDOWS = Counting(
    "windows", "produced", ("intended_ns", "acked_ns"), count_windows,
    added_up(latency_keys(WINDOW), sums=["samples"], highest=["highest_ns"]), partial(percentiles_by, WINDOW),
)  # fmt: skip
