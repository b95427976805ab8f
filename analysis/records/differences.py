"""Which messages were acknowledged and not received, received twice, or received and never acknowledged: message by message, in the
few stretches of sequence numbers in which the fingerprints of both sides differ (analysis.records.fingerprints)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.records.arrow import grouped, labelled, parts, pc, schema
from analysis.records.counting import Counting, Times, unchanged
from analysis.records.fingerprints import sequence_bucket
from analysis.records.latencies import intended_in

EXAMPLES = 5
MESSAGE = ("subscription", "producer", "sequence")
COUNTS = ("lost", "duplicates", "repeats_of_measure", "unacknowledged_received")
# subscription, producer, number of the stretch
Stretch = tuple[str, int, int]
# subscription -> producer -> numbers of its stretches
Wanted = dict[str, dict[int, list[int]]]
SIDES = schema(
    subscription=pa.string(),
    producer=pa.int32(),
    sequence=pa.int64(),
    stretch=pa.int64(),
    expected=pa.int64(),
    receipts=pa.int64(),
    measured=pa.bool_(),
)
FIRST_LOST = pa.list_(pa.struct([pa.field("producer", pa.int32()), pa.field("sequence", pa.int64())]))


def countings(stretches: Sequence[Stretch], bits: int) -> Iterator[Counting]:
    """What compares both sides of these stretches of a trial, of `bits` bits each."""
    produced = ("producer", "sequence", "acked_ns")
    consumed = ("subscription", "producer", "sequence", "intended_ns")
    wanted = wanted_of(stretches)
    for kind, columns, count in (("produced", produced, _acknowledged), ("consumed", consumed, _received)):
        yield Counting(
            "differences", kind, columns, partial(count, wanted=wanted, bits=bits), unchanged, compared, "stretch"
        )


def wanted_of(stretches: Sequence[Stretch]) -> Wanted:
    """The stretches by subscription and producer."""
    wanted: Wanted = {}
    for subscription, producer, number in sorted(stretches):
        wanted.setdefault(subscription, {}).setdefault(producer, []).append(number)
    return wanted


def _acknowledged(rows: pa.Table, times: Times, *, wanted: Wanted, bits: int) -> pa.Table:
    """What each subscription was to receive, in these stretches."""
    del times
    acknowledged = rows.filter(pc.is_valid(rows["acked_ns"]))
    tables = [
        _side(inside(acknowledged, numbers_of, bits), bits, subscription=subscription, expected=1)
        for subscription, numbers_of in wanted.items()
    ]
    return pa.concat_tables([SIDES.empty_table(), *tables])


def _received(rows: pa.Table, times: Times, *, wanted: Wanted, bits: int) -> pa.Table:
    """What each subscription received in these stretches."""
    tables = []
    for subscription, numbers_of in wanted.items():
        theirs = inside(rows.filter(pc.equal(rows["subscription"], subscription)), numbers_of, bits)
        measured = intended_in(theirs, times.measured)
        tables.append(_side(theirs, bits, subscription=subscription, receipts=1, measured=measured))
    return pa.concat_tables([SIDES.empty_table(), *tables])


def inside(rows: pa.Table, numbers_of: Mapping[int, Sequence[int]], bits: int) -> pa.Table:
    """The rows of these stretches of their producers."""
    numbers = sequence_bucket(rows["sequence"], bits)
    found = np.zeros(len(rows), bool)
    for producer, own in numbers_of.items():
        in_stretch = pc.is_in(numbers, pa.array(own, pa.int64()))
        found |= pc.and_(pc.equal(rows["producer"], producer), in_stretch).to_numpy()
    return rows.filter(pa.array(found))


def _side(
    rows: pa.Table, bits: int, *, subscription: str, expected: int = 0, receipts: int = 0, measured: Any = False
) -> pa.Table:
    size = len(rows)
    columns = {
        "producer": rows["producer"],
        "sequence": rows["sequence"],
        "stretch": sequence_bucket(rows["sequence"], bits),
        "expected": pa.repeat(expected, size),
        "receipts": pa.repeat(receipts, size),
        "measured": pa.repeat(measured, size) if isinstance(measured, bool) else measured,
    }
    return labelled(columns, subscription=subscription).cast(SIDES)


def compared(sides: pa.Table) -> pa.Table:
    """Per subscription: lost, duplicates, repeats_of_measure, unacknowledged_received, and the first lost messages as examples."""
    of_message = grouped(sides, MESSAGE, [("expected", "max"), ("receipts", "sum"), ("measured", "max")])
    rows = [
        {"subscription": subscription, **_differences(messages)}
        for subscription, messages in parts(of_message, "subscription")
    ]
    counted = schema(subscription=pa.string(), **{name: pa.int64() for name in COUNTS}, examples=FIRST_LOST)
    return pa.Table.from_pylist(rows, counted)


def _differences(messages: pa.Table) -> dict[str, Any]:
    """Of the messages of one subscription: how many receipts each had, and whether one was expected."""
    expected, receipts = messages["expected_max"], messages["receipts_sum"]
    lost = pc.equal(receipts, 0)
    repeats = pc.max_element_wise(pc.subtract(receipts, 1), 0)
    first = messages.filter(lost).sort_by([("producer", "ascending"), ("sequence", "ascending")]).slice(0, EXAMPLES)
    counts = {
        "lost": lost,
        "duplicates": repeats,
        "repeats_of_measure": pc.multiply(repeats, messages["measured_max"].cast(pa.int64())),
        "unacknowledged_received": pc.equal(expected, 0),
    }
    return {
        **{name: pc.sum(counts[name]).as_py() for name in COUNTS},
        "examples": first.select(["producer", "sequence"]).to_pylist(),
    }
