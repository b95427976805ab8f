"""Whether messages arrived in the order they were sent, in tables of a few rows."""

from __future__ import annotations

import pyarrow as pa

from analysis.records.order import ORDER, Ordering, orderings
from tests.analysis.records.tables import ALWAYS, consumed


def _stretches(
    sequences: list[int], *, file: str = "a", consumer: int = 0, at: int = 0, partition: int = 0
) -> pa.Table:
    """The receipts of one file, one after another."""
    rows = [
        {"consumer": consumer, "file": file, "partition": partition, "sequence": sequence, "received_ns": at + n}
        for n, sequence in enumerate(sequences)
    ]
    return ORDER.count(consumed(rows), ALWAYS)


def _merged(*stretches: pa.Table) -> list[Ordering]:
    steps = ORDER.finish(ORDER.merge(pa.concat_tables(stretches)))
    return orderings({"trial": "t", **row} for row in steps.to_pylist())


def test_steps_back_are_counted_inside_a_stretch() -> None:
    """3 then 2, and 9 then 4: two steps back, the deeper by five; a repeat is no step back."""
    (found,) = _merged(_stretches([1, 3, 2, 2, 9, 4, 5]))
    assert (found.steps_back, found.deepest_step, found.worst) == (2, 5, "producer 0, partition 0")


def test_a_step_back_between_two_files_is_counted() -> None:
    """The second file begins below the first one's end."""
    (found,) = _merged(_stretches([5, 6], file="b", at=100), _stretches([1, 9]))
    assert (found.steps_back, found.deepest_step) == (1, 4)


def test_a_partition_handed_to_another_consumer_keeps_its_order() -> None:
    """The first consumer's messages came before the second one's, whatever their files are called."""
    (found,) = _merged(_stretches([1, 2], file="b", consumer=1), _stretches([3, 4], at=50))
    assert found.steps_back == 0


def test_consumers_that_share_a_partition_are_not_set_against_each_other() -> None:
    """Nothing says which of two simultaneous receipts came first."""
    assert _merged(_stretches([1, 9]), _stretches([2, 8], file="b", consumer=1, at=1))[0].steps_back == 0


def test_files_of_the_same_instant_are_merged_in_the_order_of_their_names() -> None:
    """A clock that stood still doesn't make a step back."""
    assert _merged(_stretches([3, 4], file="b"), _stretches([1, 2], file="a"))[0].steps_back == 0


def test_parts_of_a_file_keep_its_order_though_its_clock_went_back() -> None:
    """A file that is read in parts has the steps back that it has in one: none here, one between the parts there."""
    assert _merged(_stretches([1, 2], at=100), _stretches([3, 4], at=50))[0].steps_back == 0
    assert _merged(_stretches([3, 4], at=100), _stretches([1, 2], at=50))[0].steps_back == 1


def test_partitions_and_files_that_are_read_together_keep_apart() -> None:
    """Rows of two partitions in turn, and of a second file behind them: no step back but the one inside a partition."""
    rows = [
        {"file": file, "partition": partition, "sequence": sequence, "received_ns": at}
        for at, (file, partition, sequence) in enumerate(
            [("a", 0, 5), ("a", 1, 1), ("a", 0, 6), ("a", 1, 2), ("b", 0, 7), ("b", 1, 9), ("b", 1, 8)]
        )
    ]
    (found,) = _merged(ORDER.count(consumed(rows), ALWAYS))
    assert (found.steps_back, found.deepest_step, found.worst) == (1, 1, "producer 0, partition 1")
