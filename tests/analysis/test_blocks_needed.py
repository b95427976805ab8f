"""How many blocks would tell two contestants apart, by the scatter of those there are."""

from __future__ import annotations

import numpy as np

from analysis.bounded import exactly
from analysis.certainty.needed import MOST_BLOCKS, blocks_needed
from analysis.certainty.verdict import NOT_SHOWN, SHOWN, Ratios, certainties


def blocks(ratio: float, scatter: float, count: int, seed: int = 1) -> list[float]:
    """Ratios of blocks whose logarithms scatter like this."""
    logs = np.random.default_rng(seed).normal(np.log(ratio), scatter, count)
    return [float(each) for each in np.exp(logs)]


def test_less_scatter_needs_fewer_blocks() -> None:
    """And so does a larger ratio, and a report that compares less."""
    usual = blocks_needed(blocks(1.1, 0.05, 10), metrics=7)
    assert usual is not None
    for fewer in (
        blocks_needed(blocks(1.1, 0.02, 10), metrics=7),
        blocks_needed(blocks(1.5, 0.05, 10), metrics=7),
        blocks_needed(blocks(1.1, 0.05, 10), metrics=1),
    ):
        assert fewer is not None
        assert fewer < usual


def test_equals_are_never_told_apart() -> None:
    """Whatever number of blocks is drawn: a median that is 1 but for chance needs more than anybody runs."""
    scatter = blocks(1.0, 0.05, 10)
    assert blocks_needed([*scatter, *(1 / ratio for ratio in scatter)], metrics=1) is None


def test_so_many_blocks_do_show_it() -> None:
    """In most campaigns drawn anew from what was seen; and half as many blocks don't."""
    seen = blocks(1.1, 0.05, 12)
    needed = blocks_needed(seen, metrics=1)
    assert needed is not None
    assert needed < MOST_BLOCKS

    def shown(count: int) -> float:
        drawn = np.random.default_rng(7).choice(seen, (60, count)).tolist()
        verdicts = [certainties([Ratios([exactly(ratio) for ratio in own])])[0].verdict for own in drawn]
        assert set(verdicts) <= {SHOWN, NOT_SHOWN, "too few blocks"}
        return verdicts.count(SHOWN) / len(verdicts)

    assert shown(needed) > 0.65
    assert shown(needed // 2) < 0.65


def test_two_blocks_have_no_scatter_to_speak_of() -> None:
    """Nor has a ratio of nothing a logarithm."""
    assert blocks_needed([1.1, 1.2], metrics=1) is None
    assert blocks_needed([0.0, 1.1, 1.2, 1.3], metrics=1) is None
