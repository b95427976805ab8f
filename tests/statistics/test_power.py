"""How large must a ratio be to be seen? For information, and that more blocks see more."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from analysis.certainty.verdict import FALSE_SHARE
from tests.statistics.rules import intervals, p_values, printed
from tests.statistics.tables import show
from tests.statistics.worlds import Floats

SEED = 3
SEEN_IN = 0.8
RATIOS = [float(ratio) for ratio in np.exp(np.arange(0.005, 2.0, 0.005))]
SCATTERS = (0.02, 0.05, 0.1, 0.2)


def test_what_ratio_can_be_seen(size: Any) -> None:
    """The smallest that 80 % of campaigns show, by how far the ratios of blocks scatter; never less of it with more blocks."""
    rows, least = [], {}
    for blocks in sorted({size.blocks[0], 10, size.blocks[-1]}):
        for metrics in (1, 10):
            found = [_smallest(size, scatter, blocks, metrics, aa) for scatter in SCATTERS for aa in (False, True)]
            least.update({(blocks, metrics, scatter): seen for scatter, seen in zip(SCATTERS, found[::2], strict=True)})
            name = f"{blocks} blocks, {'one metric' if metrics == 1 else 'one of ten'}"
            rows.append([name, *("none" if seen is None else f"{seen:.2f}" for seen in found)])
    columns = [f"{scatter:.0%}{aa}" for scatter in SCATTERS for aa in ("", ", A/A")]
    show(
        "The ratio that 80 % of campaigns show, by how far blocks scatter (A/A: with as many A/A blocks)",
        ["", *columns],
        rows,
    )
    assert least[6, 10, 0.05] is None
    for scatter in SCATTERS:
        few, many = least[6, 1, scatter], least[10, 1, scatter]
        assert few is not None
        assert many is not None
        assert 1 < many < few


def _smallest(size: Any, scatter: float, blocks: int, metrics: int, with_aa: bool) -> float | None:
    """Among `metrics`, of which no other shows anything."""
    random = np.random.default_rng(SEED)
    shape = (size.campaigns, blocks, 1)
    ab, aa = (np.exp(random.normal(0, scatter, shape)) for _ in range(2))
    if p_values(np.full((1, blocks), 2.0))[0] * metrics > FALSE_SHARE:
        return None
    aa_low, aa_high = intervals(aa)
    band: Floats | float = np.maximum(aa_high, 1 / aa_low) if with_aa else 0.0

    def share(ratio: float) -> float:
        found = printed(ab * ratio)
        return float(np.mean((found.p * metrics <= FALSE_SHARE) & (found.low > band)))

    at = bisect_left(RATIOS, True, key=lambda ratio: share(ratio) >= SEEN_IN)
    return RATIOS[at] if at < len(RATIOS) else None
