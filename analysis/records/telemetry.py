"""What the machines did: rates from ever-growing counters, per second and over the measure phase. It judges nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from analysis.records.arrow import grouped, pc, table
from analysis.records.counting import NANOSECONDS, Counting, Times, added_up, unchanged
from analysis.records.latencies import second_of

COUNTER = "counter"
GAUGE = "gauge"
MACHINE = "machine"
# how the counters of a network card that its instance type held back end (bandwidth, packets, connections)
ALLOWANCE_EXCEEDED = "_allowance_exceeded"
CPU_MODES = ("user", "system", "iowait", "steal", "idle")
# what the report draws; the rest stays in the records
DRAWN = (*(f"cpu_{mode}_s" for mode in CPU_MODES), "disk_written_bytes", "dirty_bytes", "rss_bytes")
COLUMNS = ("time_ns", "host", "source", "metric", "kind", "value")
SERIES = ("host", "source", "metric")
KEYS = (*SERIES, "kind")


def drawn(samples: pa.Table, times: Times) -> pa.Table:
    """SERIES, kind, time_ns, start_ns, value: the samples of what is drawn, as they are; a rate may lie across two files."""
    if times.start_ns is None:
        samples = samples.slice(0, 0)
    only = samples.filter(pc.is_in(samples["metric"], pa.array(DRAWN)))
    return only.append_column("start_ns", pa.repeat(pa.scalar(times.start_ns, pa.int64()), len(only)))


def rates(samples: pa.Table) -> pa.Table:
    """SERIES, time_ns, start_ns, value: growth per second of each counter since its previous sample; one that fell was reset and
    gives no rate."""
    counters = samples.filter(pc.equal(samples["kind"], COUNTER)).sort_by(
        [(name, "ascending") for name in (*SERIES, "time_ns")]
    )
    if len(counters) < 2:
        return counters.slice(0, 0).select([*SERIES, "time_ns", "start_ns", "value"])
    same = np.ones(len(counters) - 1, bool)
    for name in SERIES:
        column = counters[name]
        same &= pc.equal(column.slice(1), column.slice(0, len(counters) - 1)).to_numpy()
    grown = np.diff(counters["value"].to_numpy())
    elapsed_s = np.diff(counters["time_ns"].to_numpy()) / NANOSECONDS
    usable = same & (grown >= 0) & (elapsed_s > 0)
    later = counters.slice(1).select([*SERIES, "time_ns", "start_ns"]).filter(pa.array(usable))
    return later.append_column("value", pa.array(grown[usable] / elapsed_s[usable]))


def over_time(samples: pa.Table) -> pa.Table:
    """host, source, metric, second, value: rate (counters) or value (gauges), the highest of the second."""
    gauges = samples.filter(pc.equal(samples["kind"], GAUGE)).select([*SERIES, "time_ns", "start_ns", "value"])
    values = pa.concat_tables([rates(samples), gauges])
    start_ns = values["start_ns"][0].as_py() if len(values) else 0
    seconds = second_of(values["time_ns"].to_numpy(), start_ns)
    keys = [*SERIES, "second"]
    timed = values.append_column("second", pa.array(seconds, pa.int64()))
    return added_up(keys, [], ["value"])(timed)


def measured(samples: pa.Table, times: Times) -> pa.Table:
    """SERIES, kind: rows in all, and of those inside the measure phase how many, sum, extremes, and when the first and last were."""
    begin_ns, end_ns = times.measured or (0, -1)
    at, value = samples["time_ns"], samples["value"]
    inside = pc.and_(pc.greater_equal(at, begin_ns), pc.less_equal(at, end_ns))
    of_phase = {"value": pc.if_else(inside, value, None), "time_ns": pc.if_else(inside, at, None)}
    rows = table({**{name: samples[name] for name in KEYS}, **of_phase})
    figures = [([], "count_all"), ("value", "count"), ("value", "sum")]
    extremes = [(name, how) for name in of_phase for how in ("min", "max")]
    found = grouped(rows, KEYS, [*figures, *extremes])
    renamed = {"count_all": "rows", "value_count": "samples"}
    return found.rename_columns([renamed.get(name, name) for name in found.column_names])


def add_measured(tables: pa.Table) -> pa.Table:
    """Adds up what was measured in several files."""
    wanted = [(name, "sum") for name in ("rows", "samples", "value_sum")]
    wanted += [(f"{name}_{how}", how) for name in ("value", "time_ns") for how in ("min", "max")]
    found = grouped(tables, KEYS, wanted)
    return found.rename_columns([*KEYS, *(name for name, _ in wanted)])


def of_measure_phase(added: pa.Table) -> pa.Table:
    """SERIES, kind: rows in all, and inside the measure phase growth, mean, maximum and the seconds sampled."""
    spanned_ns = pc.subtract(added["time_ns_max"], added["time_ns_min"])
    known = pc.if_else(pc.greater(added["samples"], 0), added["samples"], None)
    return table(
        {
            **{name: added[name] for name in (*KEYS, "rows", "samples")},
            "growth": pc.subtract(added["value_max"], added["value_min"]),
            "seconds": pc.divide(spanned_ns.cast(pa.float64()), NANOSECONDS),
            "mean": pc.divide(added["value_sum"], known.cast(pa.float64())),
            "highest": added["value_max"],
        }
    )


OVER_TIME = Counting("telemetry over time", "hosts", COLUMNS, drawn, unchanged, over_time)
OF_MEASURE_PHASE = Counting("telemetry", "hosts", COLUMNS, measured, add_measured, of_measure_phase)
