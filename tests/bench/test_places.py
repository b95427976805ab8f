"""Who takes which place in a block."""

from __future__ import annotations

import random

from bench.campaign.blocks import blocks_of, places_in
from bench.campaign.contestant import plain

PULSAR, KAFKA = plain("pulsar"), plain("kafka")
CONTESTANTS = [(PULSAR, "1"), (KAFKA, "1"), (KAFKA, "2")]


def test_contestants_take_turns_in_aa_blocks() -> None:
    """Each block has all that one of them runs, and then once more; the next block has the next one."""
    blocks = [block for block in blocks_of(3, 3) if block.kind == "A/A"]
    places = [places_in(block, CONTESTANTS, "alternate", random.Random(1)) for block in blocks]
    pulsar, kafka = [(PULSAR, "1")] * 2, [(KAFKA, "1"), (KAFKA, "2")] * 2
    assert places == [pulsar, kafka, pulsar]


def test_every_second_block_is_reversed() -> None:
    """So that none always runs on the warmer disk."""
    places = [places_in(block, CONTESTANTS, "alternate", random.Random(1)) for block in blocks_of(3, 0)]
    assert places == [CONTESTANTS, CONTESTANTS[::-1], CONTESTANTS]
