"""Ratios of blocks as tests name them: each is known."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.bounded import exactly
from analysis.certainty.verdict import Ratios


def exact_ratios(blocks: Sequence[float], aa_blocks: Sequence[float] = ()) -> Ratios:
    """One metric's ratios of A/B and of A/A blocks."""
    return Ratios([exactly(each) for each in blocks], [exactly(each) for each in aa_blocks])
