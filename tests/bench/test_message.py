"""The message names itself, has the size asked for, and compresses as far as the workload says."""

from __future__ import annotations

import zlib

import pytest

from bench.worker.message import MARK_BYTES, bodies, message_maker, read_headers, run_mark
from contract.message import HEADER_BYTES


def test_a_message_is_read_back_from_its_header() -> None:
    """Producer, run, sequence and intended time survive."""
    make = message_maker(100, 0.5, seed=1, producer=3, run=0xFFFFFFFF)
    message = make(2**40, 1_800_000_000_123_456_789)
    assert len(message) == 100
    (header,) = read_headers(message[:HEADER_BYTES])
    assert (header["producer"], header["run"], header["sequence"], header["intended_ns"]) == (
        3, 0xFFFFFFFF, 2**40, 1_800_000_000_123_456_789,
    )  # fmt: skip


def test_foreign_messages_are_told_apart() -> None:
    """Another producer's message of the run is ours; another run's, another layout, noise and nothing at all are not."""
    ours, of_another_producer = (message_maker(32, 0, seed=1, producer=each, run=5)(0, 1) for each in (0, 1))
    other_run = message_maker(32, 0, seed=1, producer=0, run=6)(0, 1)
    other_layout = ours[:4] + b"\x01" + ours[5:]
    messages = (ours, of_another_producer, other_run, other_layout, bytes(32), b"")
    assert [each[:MARK_BYTES] == run_mark(5) for each in messages] == [True, True, False, False, False, False]


def test_bodies_are_seeded() -> None:
    """The same seed and producer send the same bytes; another producer sends others."""
    first, again, other = (message_maker(1024, 0, seed=1, producer=p, run=1)(9, 9)[32:] for p in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_the_compressible_share_is_what_compresses(share: float) -> None:
    """A batch of messages shrinks to the random share, headers aside; the pool's repeats don't make it shrink more."""
    make = message_maker(4096, share, seed=1, producer=0, run=1)
    batch = b"".join(make(sequence, sequence) for sequence in range(64))
    assert len(zlib.compress(batch, 6)) / len(batch) == pytest.approx(1 - share, abs=0.03)


def test_a_workload_may_say_how_many_bodies_there_are() -> None:
    """As many as asked for, each its own, in turn."""
    made = bodies(100, 0.5, seed=1, producer=0, pool=3)
    assert len(set(made)) == len(made) == 3
    make = message_maker(132, 0.5, seed=1, producer=0, run=7, pool=3)
    assert make(0, 5)[32:] == make(3, 9)[32:] == made[0]
