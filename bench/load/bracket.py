"""Closing in on the highest sustained rate, rate by rate; running and judging a rate is the caller's business."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

NARROW = 1.025  # the tolerance: the rate that fails over the one that is sustained, at most
TRIES = 2
LESS = 0.95  # than a rate that was too high
DOWN = 0.85  # a rate that failed is lowered at least to this share, at most to a half
MOST_RUNS = 28


@dataclass(frozen=True)
class Tried:
    """What trying a rate showed: whether it was sustained, how much was acknowledged at best, in how many runs."""

    sustained: bool
    acked_per_s: float
    runs: int


@dataclass(frozen=True)
class Bracketed:
    """The highest rate that was sustained; None: not even the least one. `closed`: near one that isn't, or at the bound."""

    rate_per_s: int | None
    closed: bool


def bracket(
    step: Callable[[int, int], Tried],
    begin: int,
    least: int,
    most: int,
    *,
    narrow: float = NARROW,
    most_runs: int = MOST_RUNS,
) -> Bracketed:
    """Looks for the highest rate from `least` to `most` that is sustained, to within `narrow`, in about `most_runs` runs.

    `step` is given a rate and how often to try it. What failed first may only have come too early: the lowest rate that failed
    is believed when it fails at the end, too. And what is sustained needn't end at the first rate that isn't (at a higher one
    batches are fuller, and cost less): if a rate that failed got more acknowledged than the lowest one that fails is, a little
    less than that is tried before the search ends. Where a testbed's own speed wanders, nothing closes: then the highest
    sustained rate so far is what there is, or, without one, the next to be tried.
    """
    low: int | None = None
    high: int | None = None
    promise, runs = 0.0, 0
    rate = max(least, min(begin, most))
    while runs < most_runs:
        tried = step(rate, TRIES)
        runs += tried.runs
        if tried.sustained:
            low = rate
            if rate == most:
                return Bracketed(low, closed=True)
        else:
            high, promise = rate, max(promise, tried.acked_per_s)
            if rate == least:
                return Bracketed(None, closed=True)
        if low is None:
            rate = max(least, rate // 2, round(min(tried.acked_per_s * LESS, rate * DOWN)))
        elif high is None:
            rate = min(most, rate * 2)
        elif high > low * narrow and high - low > 1:
            rate = round(math.sqrt(low * high))
        else:
            found = None
            for again in (high, min(most, round(promise * LESS))):
                if found is None and again >= high:
                    tried = step(again, 1)
                    runs += tried.runs
                    found = again if tried.sustained else None
            if found is None:
                return Bracketed(low, closed=True)
            low, high, promise = found, None, 0.0
            if low == most:
                return Bracketed(low, closed=True)
            rate = min(most, low * 2)
    return Bracketed(rate if low is None else low, closed=False)
