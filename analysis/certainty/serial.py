"""How far the ratios of neighbouring blocks follow one another, and an interval that allows for it.

A system whose disk or host wanders over hours gives neighbouring blocks that are alike: n of them say less than n independent ones,
and their own scatter doesn't show it. The model is the simplest one with that property, AR(1): each block's log ratio keeps the share
rho of the last one's deviation. How large rho may be is estimated; what a few blocks can't exclude is allowed for, up to MOST_ALLOWED.

Given rho, the mean of the log ratios over its standard error is Student's t, stretched: the scatter inside a campaign is
too small by a known factor, and has fewer degrees of freedom (Satterthwaite's). Both are exact moments of the AR(1)'s covariance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter
from scipy.stats import t

from analysis.certainty.interval import CONFIDENCE, FEWEST_BLOCKS, Interval

# What fewer than some 15 blocks can hardly exclude has to be assumed. From here on no number of blocks that anybody runs would do.
MOST_ALLOWED = 0.8
_GRID = (*(round(0.05 * step, 2) for step in range(19)), 0.92, 0.95)
_SIMULATED, _SEED = 4000, 5  # series of each rho; the same results make the same report
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SerialCorrelation:
    """Of one metric's log ratios, in the order of their blocks; `lag1` is None where all are equal, or one has no bound.

    `lag1`: as computed, which is too low for so few blocks. `estimate`: the rho that gives half of such campaigns a lower one.
    `at_most`: the rho that gives 5 % of them one as low: what isn't excluded. `p`: how often independent blocks give a lag1 as high.
    """

    lag1: float | None
    estimate: float
    at_most: float
    p: float


@dataclass(frozen=True)
class Student:
    """The t statistic of the mean of AR(1) values, divided by `stretch`, is Student's with `freedom` degrees of freedom."""

    stretch: float
    freedom: float


def serial_correlation(lows: Sequence[float], highs: Sequence[float] | None = None) -> SerialCorrelation | None:
    """Of ratios in the order of their blocks; None with fewer than 6.

    The ratios' lower and upper bounds, between which the middle is taken; without `highs` they are known exactly.
    """
    highs = lows if highs is None else highs
    if len(lows) < FEWEST_BLOCKS:
        return None
    if min(lows) <= 0 or math.isinf(max(highs)):
        return SerialCorrelation(None, 0.0, MOST_ALLOWED, 1.0)
    logs = (np.log(lows) + np.log(highs)) / 2
    if np.ptp(logs) == 0:
        return SerialCorrelation(None, 0.0, MOST_ALLOWED, 1.0)
    found = lag1(logs)
    estimate, at_most = estimates(found, len(lows))
    return SerialCorrelation(float(found), float(estimate), float(at_most), float(independent_p(found, len(lows))))


def estimates(found: Floats, blocks: int) -> tuple[Floats, Floats]:
    """`SerialCorrelation.estimate` and `at_most` of campaigns of so many blocks with these lag1."""
    known = _quantiles(blocks)
    return np.interp(found, known.middle, _GRID), np.interp(found, known.low, _GRID)


def independent_p(found: Floats, blocks: int) -> Floats:
    """`SerialCorrelation.p`: how often so many independent blocks give a lag1 as high."""
    lag1s = _quantiles(blocks).of_independent
    p: Floats = 1 - np.searchsorted(lag1s, found) / len(lag1s)
    return p


def allowed(estimate: ArrayLike, at_most: ArrayLike) -> Floats:
    """The rho that each comparison of a report allows for, along the last axis.

    It is all that its own blocks or those of all together leave open, up to MOST_ALLOWED or, where it looks like more, to that.
    """
    own = np.asarray(at_most, dtype=float)
    left_open = np.maximum(own, own.mean(axis=-1, keepdims=True))
    found: Floats = np.minimum(left_open, np.maximum(MOST_ALLOWED, estimate))
    return found


def lag1(values: Floats) -> Floats:
    """The lag-1 autocorrelation along the last axis."""
    from_mean = values - values.mean(axis=-1, keepdims=True)
    found: Floats = (from_mean[..., 1:] * from_mean[..., :-1]).sum(axis=-1) / (from_mean**2).sum(axis=-1)
    return found


def allowing_interval(lows: Sequence[float], highs: Sequence[float], rho: float) -> tuple[float, float]:
    """Where the typical ratio lies with CONFIDENCE if the blocks' log ratios are an AR(1) of `rho`.

    Each block's ratio lies between its low and its high, which are usually equal; a high may be infinite and a low zero.
    """
    student = student_of(len(lows), rho)
    reach = student.stretch * float(t.ppf((1 + CONFIDENCE) / 2, student.freedom))
    low, high = _mean_and_error(lows), _mean_and_error(highs)
    return (
        math.exp(low[0] - reach * low[1]) if math.isfinite(low[0]) else 0.0,
        math.exp(high[0] + reach * high[1]) if math.isfinite(high[0]) else math.inf,
    )


def widened(exact: Interval, lows: Sequence[float], highs: Sequence[float], rho: float) -> Interval:
    """The exact interval of these blocks, as wide as they may need it if their log ratios are an AR(1) of `rho`."""
    if min(lows) == max(highs):
        return exact  # without any scatter, also where a logarithm doesn't exist
    low, high = allowing_interval(lows, highs, rho)
    return Interval(min(exact.low, low), max(exact.high, high), CONFIDENCE)


def allowing_p(lows: Sequence[float], highs: Sequence[float], rho: float) -> float:
    """How often two equals give ratios whose mean is so far from 1, if the blocks' log ratios are an AR(1) of `rho`."""
    student = student_of(len(lows), rho)
    (low, of_low), (high, of_high) = _mean_and_error(lows), _mean_and_error(highs)
    distance, error = (low, of_low) if low > 0 else (-high, of_high)
    if distance <= 0 or not math.isfinite(distance):
        return 1.0
    return float(2 * t.sf(distance / (error * student.stretch), student.freedom)) if error else 0.0


@cache
def student_of(blocks: int, rho: float) -> Student:
    """Of so many blocks whose values are an AR(1) of `rho`."""
    covariance = rho ** np.abs(np.subtract.outer(np.arange(blocks), np.arange(blocks))).astype(float)
    residual = covariance - covariance.mean(
        axis=0
    )  # times the centring matrix: its trace is what the scatter is on the average
    scatter = float(np.trace(residual))
    return Student(
        stretch=math.sqrt(blocks * (blocks - 1) * float(covariance.mean()) / scatter),
        freedom=scatter**2 / float((residual * residual.T).sum()),
    )


def _mean_and_error(ratios: Sequence[float]) -> tuple[float, float]:
    """The mean of the logarithms, and its standard error if they were independent; (an infinity, 0) where one has no logarithm."""
    if min(ratios) <= 0:
        return -math.inf, 0.0
    if math.isinf(max(ratios)):
        return math.inf, 0.0
    logs = np.log(np.asarray(ratios, dtype=float))
    return float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(len(logs))


@dataclass(frozen=True)
class _Lag1s:
    """Of simulated campaigns: the lag1's median and 5 % quantile for each rho of the grid, and all its values for rho 0, ascending."""

    middle: Floats
    low: Floats
    of_independent: Floats


@cache
def _quantiles(blocks: int) -> _Lag1s:
    fresh = np.random.default_rng(_SEED).standard_normal((_SIMULATED, blocks))
    by_rho = [lag1(_following(fresh, rho)) for rho in _GRID]
    middle, low = (
        np.maximum.accumulate([np.quantile(each, share) for each in by_rho]) for share in (0.5, 1 - CONFIDENCE)
    )
    return _Lag1s(middle, low, np.sort(by_rho[0]))


def _following(fresh: Floats, rho: float) -> Floats:
    """An AR(1) of standard normal values along axis 1."""
    share = math.sqrt(1 - rho**2)
    first = fresh[:, :1]  # of the series' own distribution, not of its innovations
    rest, _ = lfilter([share], [1.0, -rho], fresh[:, 1:], axis=1, zi=rho * first)
    series: Floats = np.hstack([first, rest])
    return series
