"""Many metrics at once: p-values corrected by Benjamini and Hochberg, and what so many metrics on so few blocks can show at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from analysis.certainty.interval import FEWEST_BLOCKS, TOO_FEW_BLOCKS, smallest_p

FALSE_SHARE = 0.05  # of the differences that are called, on the average, at most so many aren't there


def corrected(p_values: ArrayLike) -> Any:
    """The corrected p-values in the same order, along the last axis: the smallest share of false calls at which each is one."""
    return false_discovery_control(p_values, axis=-1, method="bh")


@dataclass(frozen=True)
class Reach:
    """What a report can show. `metrics`: how many are tested together (rows of at least 6 blocks); `blocks`: the most of a row.

    `p`, `corrected_p`: the smallest possible ones of a row that differs alone. `together`: how many rows must reach p to be called.
    `blocks_needed`: from how many blocks on one row alone can be called. The last four are None where nothing can be tested.
    """

    metrics: int
    blocks: int
    p: float | None
    corrected_p: float | None
    together: int | None
    blocks_needed: int | None

    @property
    def sentence(self) -> str:
        """In words."""
        if self.p is None or self.corrected_p is None:
            return f"Nothing can be called a difference: {TOO_FEW_BLOCKS}."
        said = f"With {self.blocks} blocks the smallest p is {self.p:.2g}"
        if self.metrics == 1:
            return f"{said}: the one metric tested can be called."
        said += f"; after correction over {self.metrics} metrics that is {self.corrected_p:.2g}"
        if self.together == 1:
            return f"{said}, so one of them alone can be called."
        if self.together is not None and self.together <= self.metrics:
            said += f": none alone can be called, only {self.together} or more of them that all reach it"
        else:
            said += ": none can be called"
        return f"{said}. To call one of them {self.blocks_needed} blocks are needed."


def reach_of(blocks_by_row: Sequence[int]) -> Reach:
    """Of a report whose comparisons have so many blocks each."""
    tested = [blocks for blocks in blocks_by_row if blocks >= FEWEST_BLOCKS]
    most = max(blocks_by_row, default=0)
    if not tested:
        return Reach(0, most, None, None, None, None)
    p = smallest_p(most)
    together = math.ceil(round(len(tested) * p / FALSE_SHARE, 9))
    return Reach(
        metrics=len(tested),
        blocks=most,
        p=p,
        corrected_p=min(1.0, p * len(tested)),
        together=max(1, together),
        blocks_needed=blocks_needed(len(tested)),
    )


def blocks_needed(metrics: int) -> int:
    """From how many blocks on one metric alone can be called among so many."""
    blocks = FEWEST_BLOCKS
    while smallest_p(blocks) * metrics > FALSE_SHARE:
        blocks += 1
    return blocks
