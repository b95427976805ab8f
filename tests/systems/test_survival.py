"""What the makers of each system say of faults: about levels that it has, with where they say it."""

from __future__ import annotations

from typing import get_args

import pytest

from bench.campaign.system_settings import makers_words
from contract.survival import DOES, Extent
from systems.registry import SYSTEMS


@pytest.mark.parametrize("system", SYSTEMS)
def test_makers_words_are_about_what_there_is(system: str) -> None:
    """Levels of the system, faults that can be asked for, and a source for each; something of a kill of one, too."""
    words = SYSTEMS[system].survival
    assert {"fewer than a quorum"} <= {word.extent for word in words if "kill" in word.do}
    for word in words:
        assert set(word.durability) <= set(SYSTEMS[system].levels)
        assert set(word.do) <= set(DOES)
        assert word.extent in get_args(Extent)
        assert word.what and word.source


def test_a_manifest_has_the_words_about_the_levels_that_run_alone() -> None:
    """Of two levels of one word, the one that is run."""
    found = makers_words([("kafka", "2"), ("nats", "1")])
    assert {(word["system"], *word["durability"]) for word in found} == {("kafka", "2"), ("nats", "1")}
