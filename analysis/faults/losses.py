"""Which acknowledged messages were lost, and which arrived twice, by fault: message by message, in the stretches of sequence numbers
in which what was acknowledged and what was received differ (analysis.records.fingerprints)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.faults.occurrence import Belonging
from analysis.faults.sends import fault_of
from analysis.records.arrow import grouped, labelled, parts, pc, schema
from analysis.records.counting import Counting, Times, unchanged
from analysis.records.differences import MESSAGE, Stretch, Wanted, inside, wanted_of
from analysis.records.fingerprints import sequence_bucket

NAME = "fault losses"
LOST, REPEATED, STORED_UNACKNOWLEDGED = "lost", "repeated", "stored unacknowledged"
MOST_ROWS = 20  # lost messages, told one by one for each place to merge
_TIMES = ("intended_ns", "acked_ns", "partition")
SIDES = schema(
    subscription=pa.string(),
    producer=pa.int32(),
    sequence=pa.int64(),
    stretch=pa.int64(),
    produced=pa.int64(),
    receipts=pa.int64(),
    **{name: pa.int64() for name in _TIMES},
)
LOSSES = schema(
    subscription=pa.string(),
    fault=pa.int64(),
    what=pa.string(),
    messages=pa.int64(),
    rows=pa.list_(
        pa.struct(
            [
                pa.field("producer", pa.int32()),
                pa.field("sequence", pa.int64()),
                *(pa.field(name, pa.int64()) for name in _TIMES),
            ]
        )
    ),
)


def countings(stretches: Sequence[Stretch], bits: int, belonging: Belonging) -> Iterator[Counting]:
    """What compares both sides of these stretches of a trial, of `bits` bits each."""
    wanted = wanted_of(stretches)
    finish = partial(losses, belonging=belonging)
    produced = ("producer", "sequence", "partition", "intended_ns", "acked_ns")
    consumed = ("subscription", "producer", "sequence", "intended_ns")
    for kind, columns, count in (("produced", produced, _produced), ("consumed", consumed, _consumed)):
        yield Counting(NAME, kind, columns, partial(count, wanted=wanted, bits=bits), unchanged, finish, "stretch")


def _produced(rows: pa.Table, times: Times, *, wanted: Wanted, bits: int) -> pa.Table:
    """What was sent, once for each subscription."""
    del times
    tables = [
        _side(inside(rows, numbers_of, bits), bits, subscription=name, produced=1)
        for name, numbers_of in wanted.items()
    ]
    return pa.concat_tables([SIDES.empty_table(), *tables])


def _consumed(rows: pa.Table, times: Times, *, wanted: Wanted, bits: int) -> pa.Table:
    """What each subscription received."""
    del times
    tables = []
    for name, numbers_of in wanted.items():
        own = inside(rows.filter(pc.equal(rows["subscription"], name)), numbers_of, bits)
        tables.append(_side(own, bits, subscription=name, receipts=1))
    return pa.concat_tables([SIDES.empty_table(), *tables])


def _side(rows: pa.Table, bits: int, *, subscription: str, produced: int = 0, receipts: int = 0) -> pa.Table:
    size, unknown = len(rows), pa.nulls(len(rows), pa.int64())
    columns = {
        "producer": rows["producer"],
        "sequence": rows["sequence"],
        "stretch": sequence_bucket(rows["sequence"], bits),
        "produced": pa.repeat(produced, size),
        "receipts": pa.repeat(receipts, size),
        **{name: rows[name] if name in rows.column_names else unknown for name in _TIMES},
    }
    return labelled(columns, subscription=subscription).cast(SIDES)


def losses(sides: pa.Table, *, belonging: Belonging) -> pa.Table:
    """LOSSES: how many messages were lost, repeated (receipts beyond the first), or stored though never acknowledged, by fault. A lost
    message belongs to a fault by when it was acknowledged, others by when they were due; the first lost ones are told by themselves.
    """
    figures = [("produced", "max"), ("receipts", "sum"), *((name, "max") for name in _TIMES)]
    found = grouped(sides, MESSAGE, figures)
    messages = found.rename_columns([*MESSAGE, *(name for name, _ in figures)])
    rows = [row for name, own in parts(messages, "subscription") for row in _of_subscription(name, own, belonging)]
    return pa.Table.from_pylist(rows, LOSSES)


def _of_subscription(name: str, messages: pa.Table, belonging: Belonging) -> Iterator[dict[str, Any]]:
    acked, receipts = pc.is_valid(messages["acked_ns"]), messages["receipts"]
    selected: Mapping[str, tuple[Any, str]] = {
        LOST: (pc.and_(acked, pc.equal(receipts, 0)), "acked_ns"),
        REPEATED: (pc.greater(receipts, 1), "intended_ns"),
        STORED_UNACKNOWLEDGED: (pc.and_(pc.invert(acked), pc.greater(receipts, 0)), "intended_ns"),
    }
    for what, (held, time) in selected.items():
        own = messages.filter(held).sort_by([("producer", "ascending"), ("sequence", "ascending")])
        faults = fault_of(own[time].to_numpy(), belonging)
        for number in np.unique(faults).tolist():
            its = own.filter(pa.array(faults == number))
            counted = len(its) if what != REPEATED else pc.sum(pc.subtract(its["receipts"], 1)).as_py()
            told = its.slice(0, MOST_ROWS).select(["producer", "sequence", *_TIMES]).to_pylist() if what == LOST else []
            yield {"subscription": name, "fault": number, "what": what, "messages": counted, "rows": told}
