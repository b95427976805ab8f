"""What `samebox plan` and a cross-check make of A/A blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.certainty.interval import FEWEST_BLOCKS as OF_THE_REPORT
from bench.campaign.blocks import blocks_of
from bench.campaign.campaign_file import load_campaign
from bench.campaign.cross_check import with_native_trials
from bench.campaign.order import order_of
from bench.cli.plan import FEWEST_BLOCKS, plan
from tests.bench.test_campaign import GOOD, write

TOO_FEW = "Too few A/A blocks for a noise band of every pair: it takes aa_blocks = 6"


def test_plan_tells_which_trials_are_of_aa_blocks(tmp_path: Path) -> None:
    """In the table and in the count, and that two are too few."""
    file = write(tmp_path, GOOD.replace("blocks = 2", "blocks = 2\naa_blocks = 2"))
    told = CliRunner().invoke(plan, [str(file)], standalone_mode=False, catch_exceptions=False).output
    assert "2.1 A/A" in told
    assert "8 trials in 2 blocks and 2 A/A blocks" in told
    assert TOO_FEW in told
    assert FEWEST_BLOCKS == OF_THE_REPORT


@pytest.mark.parametrize("aa_blocks", [0, 6])
def test_enough_or_none_is_no_reason_to_speak(tmp_path: Path, aa_blocks: int) -> None:
    """As many A/A blocks as blocks, and at least 6; or none asked for."""
    file = write(tmp_path, GOOD.replace("blocks = 2", f"blocks = 2\naa_blocks = {aa_blocks}"))
    told = CliRunner().invoke(plan, [str(file)], standalone_mode=False, catch_exceptions=False).output
    assert "Too few" not in told


def test_aa_blocks_are_not_cross_checked(tmp_path: Path) -> None:
    """Their trials run once: they measure noise, not the load generator."""
    file = write(tmp_path, GOOD.replace("blocks = 2", "blocks = 1\naa_blocks = 1\ncross_check = true"))
    trials = with_native_trials(order_of(load_campaign(file)), where="here")
    assert [(spec.block_kind, spec.generator) for spec in trials] == [
        ("A/B", "samebox"),
        ("A/B", "native"),
        ("A/B", "samebox"),
        ("A/B", "native"),
        ("A/A", "samebox"),
        ("A/A", "samebox"),
    ]


def test_every_block_has_its_own_number() -> None:
    """Whatever the two counts are, all are there once, in order."""
    for blocks in range(1, 8):
        for aa_blocks in range(8):
            found = blocks_of(blocks, aa_blocks)
            assert [block.number for block in found] == list(range(1, blocks + aa_blocks + 1))
            for kind, count in (("A/B", blocks), ("A/A", aa_blocks)):
                assert [block.turn for block in found if block.kind == kind] == list(range(1, count + 1))
