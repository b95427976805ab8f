"""Loss and duplicates, in tables of a few rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from analysis.delivery import Delivery, deliveries, differing_stretches, subscriptions_of
from analysis.records import differences
from analysis.records.fingerprints import MOST_BUCKETS, SEQUENCE_BITS, bucket_bits, countings
from tests.analysis.records.tables import ALWAYS, consumed, produced


def sent(acked: Mapping[int, bool]) -> pa.Table:
    """Messages of one producer: sequence -> whether it was acknowledged."""
    return produced(
        {"sequence": n, "intended_ns": 1, "sent_ns": 1, "acked_ns": 2 if is_acked else None}
        for n, is_acked in acked.items()
    )


def got(sequences: Iterable[int]) -> pa.Table:
    """Receipts of one subscription."""
    return consumed({"sequence": n, "intended_ns": n, "received_ns": 3} for n in sequences)


def fingerprints(rows: pa.Table, side: int, bits: int) -> list[dict[str, Any]]:
    """Those of producers (side 0) or consumers (1)."""
    counted = countings(bits)[side].count(rows, ALWAYS)
    return [{"trial": "t", **row} for row in counted.to_pylist()]


def audit(
    messages: pa.Table, receipts: pa.Table, *, subscriptions: int = 1, bits: int = SEQUENCE_BITS
) -> list[Delivery]:
    """What the report says of these records of one trial."""
    acknowledged, received = fingerprints(messages, 0, bits), fingerprints(receipts, 1, bits)
    names = subscriptions_of(received, {"t": subscriptions})
    rows = []
    for stretches in differing_stretches(acknowledged, received, names).values():
        of_producers, of_consumers = differences.countings(stretches, bits)
        sides = [of_producers.count(messages, ALWAYS), of_consumers.count(receipts, ALWAYS)]
        rows = [{"trial": "t", **row} for row in of_producers.finish(pa.concat_tables(sides)).to_pylist()]
    return deliveries(acknowledged, received, rows, names)


def test_loss_duplicates_and_surplus_are_found_exactly() -> None:
    """One lost, one received three times, one received though never acknowledged; over two sequence buckets."""
    messages = sent({0: True, 1: True, 2: True, 3: False, 4096: True, 4097: True})
    receipts = got([0, 2, 2, 2, 3, 4096])
    assert audit(messages, receipts) == [Delivery("t", "s", 5, 6, 2, 2, 1, ("0/1", "0/4097"), 2)]


def test_larger_buckets_find_the_same() -> None:
    """A campaign of many rows has larger buckets, so that the driver holds no more of them; nothing else changes."""
    messages = sent({0: True, 1: True, 2: True, 3: False, 4096: True, 4097: True})
    receipts = got([0, 2, 2, 2, 3, 4096])
    assert audit(messages, receipts, bits=19) == [Delivery("t", "s", 5, 6, 2, 2, 1, ("0/1", "0/4097"), 2)]
    assert bucket_bits(200_000_000) == SEQUENCE_BITS
    many = 100_000_000_000
    assert MOST_BUCKETS / 2 < many >> bucket_bits(many) <= MOST_BUCKETS


def test_a_loss_made_up_for_by_a_duplicate_is_found() -> None:
    """Counts agree, so only the hashes can tell."""
    assert audit(sent({0: True, 1: True}), got([0, 0])) == [Delivery("t", "s", 2, 2, 1, 1, 0, ("0/1",), 1)]


def test_agreeing_buckets_need_no_second_look() -> None:
    """When everything arrived once, no bucket is compared message by message."""
    acknowledged = fingerprints(sent(dict.fromkeys(range(5000), True)), 0, SEQUENCE_BITS)
    received = fingerprints(got(range(5000)), 1, SEQUENCE_BITS)
    assert len(received) == 2
    assert differing_stretches(acknowledged, received, {"t": ["s"]}) == {}


def test_a_subscription_that_received_nothing_lost_everything() -> None:
    """Two subscriptions were asked for and one never shows up in the records."""
    seen, silent = audit(sent({0: True, 1: True}), got([0, 1]), subscriptions=2)
    assert (silent.subscription, silent.lost, silent.received) == ("(silent 1)", 2, 0)
    assert (seen.subscription, seen.lost) == ("s", 0)


def test_only_what_differs_is_compared() -> None:
    """Messages of other stretches, and of other producers in stretches of the same number, are left alone."""
    stretches = [("s", 0, 1)]
    of_producers, of_consumers = differences.countings(stretches, SEQUENCE_BITS)
    messages = produced({"producer": n, "sequence": at, "acked_ns": 1} for n in (0, 1) for at in (5, 4096, 4097))
    receipts = consumed({"producer": 0, "sequence": at} for at in (5, 4097))
    sides = pa.concat_tables([of_producers.count(messages, ALWAYS), of_consumers.count(receipts, ALWAYS)])
    assert sorted(zip(sides["producer"].to_pylist(), sides["sequence"].to_pylist(), strict=True)) == [
        (0, 4096), (0, 4097), (0, 4097),
    ]  # fmt: skip
    (found,) = of_producers.finish(sides).to_pylist()
    assert (found["lost"], found["examples"]) == (1, [{"producer": 0, "sequence": 4096}])
