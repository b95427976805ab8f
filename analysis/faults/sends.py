"""What became of messages by the fault that they belong to: sends that failed, messages never acknowledged; and steps back in order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.faults.occurrence import Belonging
from analysis.records import order
from analysis.records.arrow import grouped, pc, schema, table
from analysis.records.counting import Counting, Times, added_up

SENDS, STEPS_BACK = "fault sends", "fault order"
OUTSIDE = -1  # of no fault
COUNTED = ("scheduled", "failed", "unanswered")
_SENDS = schema(fault=pa.int64(), **{name: pa.int64() for name in COUNTED})


def fault_of(times_ns: Any, belonging: Belonging) -> npt.NDArray[np.int64]:
    """The number of the fault that each time belongs to, or OUTSIDE."""
    numbers = np.array([OUTSIDE, *belonging.numbers], np.int64)
    starts_ns = np.array(belonging.starts_ns, np.int64)
    found: npt.NDArray[np.int64] = numbers[np.searchsorted(starts_ns, times_ns, side="right")]
    return found


def count_sends(rows: pa.Table, times: Times, *, belonging: Belonging) -> pa.Table:
    """fault, and of its messages by intended time: scheduled, failed (the client reported an error), unanswered (nothing came)."""
    del times
    unacked, failed = pc.is_null(rows["acked_ns"]), pc.is_valid(rows["error"])
    of_rows = table(
        {
            "fault": fault_of(rows["intended_ns"].to_numpy(), belonging),
            "scheduled": np.ones(len(rows), np.int64),
            "failed": pc.and_(unacked, failed).cast(pa.int64()),
            "unanswered": pc.and_(unacked, pc.invert(failed)).cast(pa.int64()),
        }
    )
    return _ADD(of_rows.cast(_SENDS))


def count_stretches(rows: pa.Table, times: Times, *, belonging: Belonging) -> pa.Table:
    """Those of analysis.records.order, of what was received while each fault was the last one."""
    faults = fault_of(rows["received_ns"].to_numpy(), belonging)
    tables = []
    for number in np.unique(faults).tolist():
        own = faults == number
        stretches = order.count_stretches(rows if own.all() else rows.filter(pa.array(own)), times)
        tables.append(stretches.append_column("fault", pa.repeat(pa.scalar(number, pa.int64()), len(stretches))))
    return pa.concat_tables(tables)


def steps_back(stretches: pa.Table) -> pa.Table:
    """subscription, fault, steps_back."""
    tables = [_STEPS.empty_table()]
    for number in pc.unique(stretches["fault"]).to_pylist():
        own = order.steps_back(stretches.filter(pc.equal(stretches["fault"], number)))
        added = grouped(own, ["subscription"], [("steps_back", "sum")])
        columns = {"subscription": added["subscription"], "fault": pa.repeat(number, len(added))}
        tables.append(table({**columns, "steps_back": added["steps_back_sum"]}).cast(_STEPS))
    return pa.concat_tables(tables)


def countings(belonging: Belonging) -> tuple[Counting, Counting]:
    """Of one trial."""
    sent = partial(count_sends, belonging=belonging)
    received = partial(count_stretches, belonging=belonging)
    return (
        Counting(SENDS, "produced", ("intended_ns", "acked_ns", "error"), sent, _ADD),
        Counting(STEPS_BACK, "consumed", order.COLUMNS, received, pa.Table.combine_chunks, steps_back),
    )


_STEPS = schema(subscription=pa.string(), fault=pa.int64(), steps_back=pa.int64())
_ADD = added_up(["fault"], COUNTED)
