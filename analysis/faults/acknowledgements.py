"""Gaps without acknowledgements, and debt: what is due and not acknowledged, acknowledged and not received.

A window is looked at in steps of a millisecond (longer ones where it lasts longer than MOST_STEPS of them). Of each step the first and
the last acknowledgement are kept, so that a gap of a step or more is known to the nanosecond: its ends lie in two steps. Debt is what
it is at the end of each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.faults.occurrence import Window
from analysis.records.arrow import grouped, labelled, pc, schema, table
from analysis.records.counting import Counting, Times
from analysis.records.latencies import NO_SUBSCRIPTION, subscriptions

NAME = "fault acknowledgements"
STEP_NS = 1_000_000
MOST_STEPS = 1_000_000
STEPS_OF_PARTITION = 10  # as many times as long is a step in which one partition is looked at
ALL = -1  # partitions
KEYS = ("window", "subscription", "partition", "step")
SUMS = ("due", "never", "acknowledged", "received")
STEPS = schema(
    window=pa.int64(),
    subscription=pa.string(),
    partition=pa.int64(),
    step=pa.int64(),
    **{name: pa.int64() for name in SUMS},
    first_ns=pa.int64(),
    last_ns=pa.int64(),
)
FOUND = schema(
    window=pa.int64(),
    subscription=pa.string(),
    partition=pa.int64(),
    step_ns=pa.int64(),
    gap_from_ns=pa.int64(),
    gap_to_ns=pa.int64(),
    last_ns=pa.int64(),
    highest=pa.int64(),
    highest_to_pay=pa.int64(),
    height_ns=pa.int64(),
    paid_ns=pa.int64(),
)
_EXTREMES = {"first_ns": "min", "last_ns": "max"}
Ints = npt.NDArray[np.int64]


def step_ns_of(window: Window, partition: int = ALL) -> int:
    """How long a step is: the shortest power of ten milliseconds that makes no more than MOST_STEPS of the window."""
    step_ns = STEP_NS
    while (window.end_ns - window.begin_ns) // step_ns > MOST_STEPS:
        step_ns *= 10
    return step_ns if partition == ALL else step_ns * STEPS_OF_PARTITION


def _step_of(times_ns: Ints, window: Window, step_ns: int) -> Ints:
    """The step of each time; one below the first for all before the window, one above the last for all after it."""
    steps = -(-(window.end_ns - window.begin_ns) // step_ns)
    found: Ints = np.floor_divide(times_ns - window.begin_ns, step_ns)
    found[times_ns >= window.end_ns] = steps
    return np.clip(found, -1, steps)


def count_produced(rows: pa.Table, times: Times, *, windows: Sequence[Window]) -> pa.Table:
    """STEPS: what was due, and what was acknowledged when; of each partition only the latter."""
    del times
    acked = rows.filter(pc.is_valid(rows["acked_ns"]))
    acked_ns, partitions = acked["acked_ns"].to_numpy(), acked["partition"].to_numpy().astype(np.int64)
    intended_ns = rows["intended_ns"].to_numpy()
    never = pc.is_null(rows["acked_ns"]).to_numpy().astype(np.int64)
    tables = [STEPS.empty_table()]
    for window in windows:
        step_ns = step_ns_of(window)
        due_at = _step_of(intended_ns, window, step_ns)
        tables.append(_rows(window, ALL, due_at, due=np.ones(len(rows), np.int64), never=never))
        acked_at = _step_of(acked_ns, window, step_ns)
        tables.append(_rows(window, ALL, acked_at, acknowledged=np.ones(len(acked), np.int64), at_ns=acked_ns))
        acked_at = _step_of(acked_ns, window, step_ns * STEPS_OF_PARTITION)
        tables.append(_rows(window, partitions, acked_at, at_ns=acked_ns))
    return merge(pa.concat_tables(tables))


def count_consumed(rows: pa.Table, times: Times, *, windows: Sequence[Window]) -> pa.Table:
    """STEPS: what was received when, by subscription."""
    del times
    tables = [STEPS.empty_table()]
    for name, theirs in subscriptions(rows):
        received_ns = (rows["received_ns"] if theirs is None else pc.filter(rows["received_ns"], theirs)).to_numpy()
        for window in windows:
            at = _step_of(received_ns, window, step_ns_of(window))
            tables.append(_rows(window, ALL, at, subscription=name, received=np.ones(len(at), np.int64)))
    return merge(pa.concat_tables(tables))


def _rows(
    window: Window,
    partition: int | Ints,
    steps: Ints,
    subscription: str = NO_SUBSCRIPTION,
    at_ns: Any = None,
    **sums: Ints,
) -> pa.Table:
    """STEPS of these messages, each once: first by numbers alone, which takes a third of the time."""
    keys = {"partition": np.broadcast_to(np.asarray(partition, np.int64), len(steps)), "step": steps}
    times = {} if at_ns is None else {"first_ns": at_ns, "last_ns": at_ns}
    wanted = [*((name, "sum") for name in sums), *((name, _EXTREMES[name]) for name in times)]
    added = grouped(table({**keys, **sums, **times}), list(keys), wanted)
    size = len(added)
    columns = {
        "window": pa.repeat(window.number, size),
        **{name: added[name] for name in keys},
        **{name: added[f"{name}_sum"] if name in sums else pa.repeat(0, size) for name in SUMS},
        **{name: added[f"{name}_{how}"] if times else pa.nulls(size, pa.int64()) for name, how in _EXTREMES.items()},
    }
    return labelled(columns, subscription=subscription).select(STEPS.names).cast(STEPS)


def merge(steps: pa.Table) -> pa.Table:
    """Steps of several files as one."""
    wanted = [*((name, "sum") for name in SUMS), *_EXTREMES.items()]
    added = grouped(steps, KEYS, wanted)
    columns = {name: added[name] for name in KEYS}
    columns |= {name: added[f"{name}_{how}"] for name, how in wanted}
    return table(columns).cast(STEPS)


def found_in(steps: pa.Table, *, windows: Sequence[Window]) -> pa.Table:
    """FOUND: of each window the longest gap, of ALL partitions and of each; and, with no partition, the debt: what was due and not
    acknowledged, and of each subscription what was acknowledged and not received.

    The first of `windows` is the BAND: debt is paid once it is no higher than at most in it.
    """
    rows: list[dict[str, Any]] = []
    levels: dict[str, int] = {}
    for window in windows:
        own = steps.filter(pc.equal(steps["window"], window.number)).sort_by([("step", "ascending")])
        produced = own.filter(pc.equal(own["subscription"], NO_SUBSCRIPTION))
        everything = produced.filter(pc.equal(produced["partition"], ALL))
        for partition in sorted(pc.unique(produced["partition"]).to_pylist()):
            of_partition = produced.filter(pc.equal(produced["partition"], partition))
            gap = _gap(of_partition, window, step_ns_of(window, partition))
            rows.append({"window": window.number, "subscription": NO_SUBSCRIPTION, "partition": partition, **gap})
        for name in sorted({NO_SUBSCRIPTION, *pc.unique(own["subscription"]).to_pylist()}):
            received = own.filter(pc.equal(own["subscription"], name))
            debts = _due(everything, window) if name == NO_SUBSCRIPTION else _unreceived(everything, received, window)
            found = _paid(*debts, window, levels.get(name))
            levels.setdefault(name, found["highest_to_pay"] or 0)
            rows.append({"window": window.number, "subscription": name, **found})
    return pa.Table.from_pylist(rows, FOUND)


def _gap(steps: pa.Table, window: Window, step_ns: int) -> dict[str, Any]:
    """The longest gap between two acknowledgements of which some part is in the window, the first of the longest; where a fault begins
    at its end, of those that ended before. And the last acknowledgement before the window's end, if that is all that is known.
    """
    happened = steps.filter(pc.is_valid(steps["first_ns"]))
    first_ns, last_ns = (happened[name].to_numpy() for name in ("first_ns", "last_ns"))
    if not len(first_ns) or first_ns[0] >= window.begin_ns:  # nothing came before: the gap is known from here on
        first_ns, last_ns = np.append(window.begin_ns, first_ns), np.append(window.begin_ns, last_ns)
    until_ns = first_ns[1:] if window.followed else last_ns[:-1]
    inside = (first_ns[1:] > window.begin_ns) & (until_ns < window.end_ns)
    lengths = np.where(inside, first_ns[1:] - last_ns[:-1], -1)
    at = int(lengths.argmax()) if inside.any() else None
    before_end = last_ns[last_ns < window.end_ns]
    return {
        "step_ns": step_ns,
        "gap_from_ns": None if at is None else int(last_ns[at]),
        "gap_to_ns": None if at is None else int(first_ns[at + 1]),
        "last_ns": int(before_end[-1]) if window.followed or last_ns[-1] < window.end_ns else None,
    }


def _due(steps: pa.Table, window: Window) -> tuple[Ints, Ints]:
    """What was due and not acknowledged; and what of it is to pay: what never was acknowledged can't be."""
    due, never, acked = (_by_step(steps, name, window) for name in ("due", "never", "acknowledged"))
    debt = np.cumsum(due - acked)[:-1]
    return debt, debt - np.cumsum(never)[:-1]


def _unreceived(produced: pa.Table, received: pa.Table, window: Window) -> tuple[Ints, Ints]:
    """What was acknowledged, less what was received; and what of it is to pay: what is missing in the end can't be."""
    debt = np.cumsum(_by_step(produced, "acknowledged", window) - _by_step(received, "received", window))
    return np.maximum(0, debt[:-1]), np.maximum(0, debt[:-1] - max(0, int(debt[-1])))


def _by_step(steps: pa.Table, name: str, window: Window) -> Ints:
    """One number per step: first all before the window, then the window's, then all after it."""
    found = np.zeros(-(-(window.end_ns - window.begin_ns) // step_ns_of(window)) + 2, np.int64)
    np.add.at(found, steps["step"].to_numpy() + 1, steps[name].to_numpy())
    return found


def _paid(debt: Ints, to_pay: Ints, window: Window, level: int | None) -> dict[str, int | None]:
    """The highest debt, what was to pay at its height, and when no more than `level` was, after that; None = not within the window."""
    at, step_ns = int(to_pay.argmax()), step_ns_of(window)
    low = np.flatnonzero(to_pay[at:] <= level) if level is not None else np.empty(0, np.int64)
    return {
        "step_ns": step_ns,
        "highest": int(debt.max()),
        "highest_to_pay": int(to_pay[at]),
        "height_ns": window.begin_ns + at * step_ns,
        "paid_ns": min(window.end_ns, window.begin_ns + (at + int(low[0])) * step_ns) if len(low) else None,
    }


def countings(windows: Sequence[Window]) -> tuple[Counting, Counting]:
    """Of one trial: both sides come together in one table."""
    finish = partial(found_in, windows=windows)
    return (
        Counting(
            NAME,
            "produced",
            ("partition", "intended_ns", "acked_ns"),
            partial(count_produced, windows=windows),
            merge,
            finish,
        ),
        Counting(
            NAME, "consumed", ("subscription", "received_ns"), partial(count_consumed, windows=windows), merge, finish
        ),
    )
