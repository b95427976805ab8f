"""What became of the messages of each stretch of sequence numbers, and whether both sides mean the same ones by a sum of hashes.

A stretch is 4,096 sequence numbers of a producer, or more in a campaign of so many messages that its counts would be too many for the
driver (`bucket_bits`). Stretches in which the two sides differ are looked at message by message (analysis.records.differences).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.records.arrow import Column, grouped, pc, plain, table
from analysis.records.counting import Counting, Times, added_up
from analysis.records.latencies import intended_in

SEQUENCE_BITS = 12  # messages per bucket: 4,096
MOST_SEQUENCE_BITS = 21
MOST_BUCKETS = 200_000  # that the driver is to hold, of both sides together
HASH_BITS_DROPPED = 24  # sums of 40-bit hashes can't overflow a long, not even of the largest bucket received thrice
PRODUCED_KEYS = ("producer", "phase", "sequence_bucket")
CONSUMED_KEYS = ("subscription", "producer", "sequence_bucket")
PRODUCED_SUMS = (
    *("scheduled", "sent", "acknowledged", "sent_unacknowledged", "acknowledged_in_window", "acknowledged_on_time"),
    *(
        "acknowledged_late",
        "carried_in",
        "behind_at_start",
        "behind_at_end",
        "impossible_times",
        "errors",
        "fingerprint",
    ),
)
CONSUMED_SUMS = ("received", "received_in_window", "received_of_measure", "fingerprint")


def bucket_bits(rows: int) -> int:
    """How many bits of a sequence number lie inside a bucket, for a campaign of so many produced and consumed rows."""
    bits = SEQUENCE_BITS
    while rows >> bits > MOST_BUCKETS and bits < MOST_SEQUENCE_BITS:
        bits += 1
    return bits


def count_acknowledged(rows: pa.Table, times: Times, *, bits: int) -> pa.Table:
    """Per producer, phase and sequence bucket: what was scheduled, sent, acknowledged and when, and the latter's fingerprint."""
    intended, sent_ns, acked_ns = rows["intended_ns"], rows["sent_ns"], rows["acked_ns"]
    sent, acked = pc.is_valid(sent_ns), pc.is_valid(acked_ns)
    # without a measured phase nothing is in, before or behind it
    begin, end = (pa.scalar(each, pa.int64()) for each in times.measured or (None, None))
    due_before, due_by_end = pc.less(intended, begin), pc.less(intended, end)
    before, by_end = pc.less(acked_ns, begin), pc.less(acked_ns, end)
    due_in = pc.and_kleene(due_by_end, pc.invert(due_before))
    impossible = pc.or_kleene(pc.less(sent_ns, intended), pc.less(acked_ns, intended))
    of_rows = {
        "sent": sent,
        "acknowledged": acked,
        "sent_unacknowledged": pc.and_(sent, pc.invert(acked)),
        "acknowledged_in_window": pc.and_kleene(pc.invert(before), by_end),
        "acknowledged_on_time": pc.and_kleene(due_in, by_end),
        "acknowledged_late": pc.and_kleene(due_in, pc.invert(by_end)),
        "carried_in": pc.and_kleene(due_before, pc.and_kleene(acked, pc.invert(before))),
        "behind_at_start": pc.and_kleene(due_before, pc.or_kleene(pc.invert(acked), pc.invert(before))),
        "behind_at_end": pc.and_kleene(due_by_end, pc.or_kleene(pc.invert(acked), pc.invert(by_end))),
        "impossible_times": impossible,
        "errors": pc.is_valid(rows["error"]),
    }
    hashes = np.where(acked.to_numpy(), hashed(rows["sequence"].to_numpy()), 0)
    counted = table(
        {
            "producer": rows["producer"],
            "phase": rows["phase"],
            "sequence_bucket": sequence_bucket(rows["sequence"], bits),
            **{name: _counted(held) for name, held in of_rows.items()},
            "fingerprint": hashes,
            "highest_sequence": rows["sequence"],
        }
    )
    return _grouped(counted, PRODUCED_KEYS, "scheduled", ["highest_sequence"])


def count_received(rows: pa.Table, times: Times, *, bits: int) -> pa.Table:
    """Per subscription, producer and sequence bucket: receipts and their fingerprint."""
    received_ns = rows["received_ns"]
    begin, end = (pa.scalar(each, pa.int64()) for each in times.measured or (None, None))
    in_window = pc.and_kleene(pc.greater_equal(received_ns, begin), pc.less(received_ns, end))
    counted = table(
        {
            "subscription": rows["subscription"],
            "producer": rows["producer"],
            "sequence_bucket": sequence_bucket(rows["sequence"], bits),
            "received_in_window": _counted(in_window),
            "received_of_measure": _counted(intended_in(rows, times.measured)),
            "fingerprint": hashed(rows["sequence"].to_numpy()),
        }
    )
    return _grouped(counted, CONSUMED_KEYS, "received", [])


def countings(bits: int) -> tuple[Counting, Counting]:
    """Both sides, with buckets of so many bits."""
    produced = ("producer", "sequence", "intended_ns", "sent_ns", "acked_ns", "error", "phase")
    consumed = ("subscription", "producer", "sequence", "intended_ns", "received_ns")
    return (
        Counting(
            "acknowledged", "produced", produced, partial(count_acknowledged, bits=bits),
            added_up(PRODUCED_KEYS, PRODUCED_SUMS, ["highest_sequence"]),
        ),
        Counting(
            "received", "consumed", consumed, partial(count_received, bits=bits), added_up(CONSUMED_KEYS, CONSUMED_SUMS)
        ),
    )  # fmt: skip


def sequence_bucket(sequences: Column, bits: int) -> Any:
    """The bucket of each sequence number."""
    return pc.shift_right(sequences, bits)


def hashed(sequences: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """40 well-mixed bits of each sequence number (the finalizer of SplitMix64, Steele, Lea and Flood 2014)."""
    mixed = sequences.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(HASH_BITS_DROPPED)).astype(np.int64)


def _counted(held: Any) -> Any:
    """1 where it holds, 0 where it doesn't or isn't known."""
    return pc.fill_null(held, False).cast(pa.uint8())


def _grouped(counted: pa.Table, keys: tuple[str, ...], rows: str, highest: list[str]) -> pa.Table:
    sums = [name for name in counted.column_names if name not in (*keys, *highest)]
    wanted = [([], "count_all"), *((name, "sum") for name in sums), *((name, "max") for name in highest)]
    found = grouped(counted, keys, wanted)
    return table(
        {
            **{name: found[name].cast(plain(found[name].type)) for name in keys},
            rows: found["count_all"],
            **{name: found[f"{name}_sum"].cast(pa.int64()) for name in sums},
            **{name: found[f"{name}_max"] for name in highest},
        }
    )
