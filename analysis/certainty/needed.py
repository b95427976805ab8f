"""How many blocks would tell two contestants apart, by the scatter of those there are: for whoever must decide whether to run more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.bounded import exactly
from analysis.certainty.interval import FEWEST_BLOCKS
from analysis.certainty.verdict import Ratios, certainties, is_shown

POWER = 0.8  # of the campaigns of so many blocks, the difference is shown in this share
MOST_BLOCKS = 100
FEWEST_SEEN = 3  # blocks, from which there is a scatter to speak of
_TRIED = (*range(FEWEST_BLOCKS, 13), 15, 20, 25, 30, 40, 50, 70, MOST_BLOCKS)
_CAMPAIGNS, _SEED = 100, 11  # drawn for each number of blocks; the same results make the same report


def blocks_needed(ratios: Sequence[float], metrics: int) -> int | None:
    """From how many blocks on a ratio like the median of these would be shown as one of `metrics` compared, if only it differed and
    blocks scatter as these do, one independent of another. None = not with MOST_BLOCKS, or there are too few to say.

    New campaigns are drawn from the ratios around their own median, with replacement; a handful of them knows little of the tails, so
    that this is a first guess.
    """
    if len(ratios) < FEWEST_SEEN or min(ratios) <= 0:
        return None
    low, high = 0, len(_TRIED)
    while low < high:
        middle = (low + high) // 2
        if _share_shown(ratios, _TRIED[middle], metrics) >= POWER:
            high = middle
        else:
            low = middle + 1
    return _TRIED[low] if low < len(_TRIED) else None


def _share_shown(ratios: Sequence[float], blocks: int, metrics: int) -> float:
    """Of campaigns of so many blocks."""
    drawn = np.random.default_rng([_SEED, blocks]).choice(np.asarray(ratios), (_CAMPAIGNS, blocks))
    return float(np.mean([_is_shown(own.tolist(), metrics) for own in drawn]))


def _is_shown(ratios: Sequence[float], metrics: int) -> bool:
    [alone] = certainties([Ratios([exactly(ratio) for ratio in ratios])])
    assert alone.interval is not None, "there are at least as many blocks as it takes"
    assert alone.p is not None
    return is_shown(alone.interval, min(1.0, alone.p * metrics), None)
