"""How far a healthy disk may lie from its fleet: the deviation that a stated share of healthy fleets exceeds. Pure.

Figures are taken to scatter log-normally, alike for a rate and for a latency: between disks by `between`, between the repeats
on one disk by `within`, every disk and figure by itself. A disk is compared with the median of the others in its fleet, so
that it moves what it is compared with by nothing. Bonferroni's correction over disks and figures makes the share an upper
bound whatever depends on what. docs/vetting.md has the rates and the power that follow, by simulation of the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Scatter:
    """Relative standard deviations of a figure: between healthy disks of one type, and between repeats on one disk."""

    between: float
    within: float

    def __post_init__(self) -> None:
        if self.between < 0 or self.within <= 0:
            raise ValueError("between must be zero or more, within above zero: no two repeats are the same")


def deviation_bound(scatter: Scatter, *, disks: int, repeats: int, tests: int, rate: float, averaged: int = 1) -> float:
    """The log-deviation from the median of the `disks` - 1 others that at most the share `rate` of healthy fleets exceeds.

    `tests`: comparisons in a fleet. `averaged`: how many figures of a disk the deviation is the mean of.
    """
    own = scatter.between**2 + scatter.within**2 * _median_variance(repeats)
    deviation = math.sqrt(own * (1 + _median_variance(disks - 1)) / averaged)
    return NormalDist().inv_cdf(1 - rate / tests) * deviation


def log_worse(measured: float, expected: float, *, higher_is_better: bool) -> float:
    """By how much `measured` is worse than `expected`, as a logarithm; negative = better."""
    worse = math.log(expected / measured)
    return worse if higher_is_better else -worse


def share_of(log_deviation: float, *, higher_is_better: bool) -> float:
    """A log-deviation as people say it: a rate lower by this share, a latency higher by it."""
    return 1 - math.exp(-log_deviation) if higher_is_better else math.exp(log_deviation) - 1


def _median_variance(count: int) -> float:
    """Variance of the median of `count` normal values of variance 1, exact for one, within 2.5 % (odd) or above it (even)."""
    return math.pi / (2 * (count + math.pi / 2 - 1))
