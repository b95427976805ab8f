"""How certain each comparison of one report is: interval, p-value, correction over all of them, noise band, and a verdict in words.

Interval and p-value allow for blocks that follow one another as far as these blocks can't exclude it (`serial`): the interval holds
the exact one and that of the drift, the p-value is the larger of both.

A difference is shown when all of these hold; otherwise the values stand, and no difference is shown:
1. there are at least 6 blocks
2. the p-value, corrected over all comparisons of the report, is at most 5 %
3. the interval lies wholly outside the A/A noise band, where there is one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from analysis.bounded import Bounded
from analysis.certainty.bootstrap import bootstrap_interval
from analysis.certainty.interval import TOO_FEW_BLOCKS, Interval, NoiseBand, exact_interval, noise_band, p_value
from analysis.certainty.serial import SerialCorrelation, allowed, allowing_p, serial_correlation, widened
from analysis.formatting import ratios

FALSE_SHARE = 0.05  # of the differences that are called, at most so many on average aren't there
TOO_FEW, SHOWN, NOT_SHOWN = "too few blocks", "difference shown", "no difference shown"


@dataclass(frozen=True)
class Ratios:
    """Of one metric of two contestants: a ratio per A/B block, and of each A/A block of either one the ratio of its two runs.

    `blocks` are in the order in which they ran.
    """

    blocks: Sequence[Bounded]
    aa_blocks: Sequence[Bounded] = ()

    @property
    def ends(self) -> tuple[list[float], list[float]]:
        """Lower and upper bounds of the A/B blocks' ratios."""
        return [each.low for each in self.blocks], [each.high for each in self.blocks]

    @property
    def band(self) -> NoiseBand | None:
        """What the A/A blocks say."""
        return noise_band(
            [each.low for each in self.aa_blocks], [each.high for each in self.aa_blocks], len(self.blocks)
        )


@dataclass(frozen=True)
class Certainty:
    """`interval`, `p` and `corrected_p` are None with fewer than 6 blocks; `band` is None without enough A/A blocks; `bootstrap` is
    None at those numbers of blocks at which it isn't good enough.

    `verdict`: TOO_FEW, SHOWN or NOT_SHOWN; `why`: what made it so, a clause without a full stop. `serial`: how far blocks follow one
    another; `allowed`: the correlation that `interval` and `p` allow for; `if_independent`: the exact interval, which holds without.
    """

    interval: Interval | None
    band: NoiseBand | None
    verdict: str
    why: str
    p: float | None
    corrected_p: float | None
    bootstrap: Interval | None = None
    if_independent: Interval | None = None
    serial: SerialCorrelation | None = None
    allowed: float | None = None


@dataclass(frozen=True)
class _Tested:
    """A comparison of at least 6 blocks, before the correction."""

    exact: Interval
    serial: SerialCorrelation
    allowed: float
    interval: Interval
    p: float


def certainties(found: Sequence[Ratios]) -> list[Certainty]:
    """One for each, in their order. What has too few blocks isn't tested, and doesn't count in the correction."""
    serials = [serial_correlation(*each.ends) for each in found]
    known = [each for each in serials if each]
    rhos = iter(allowed([each.estimate for each in known], [each.at_most for each in known]).tolist() if known else [])
    tested = [_tested(each, one, next(rhos)) if one else None for each, one in zip(found, serials, strict=True)]
    raw = [each.p for each in tested if each]
    after = iter([float(p) for p in corrected(raw)] if raw else [])
    return [
        _judged(each, alone, next(after)) if alone else _too_few(each)
        for each, alone in zip(found, tested, strict=True)
    ]


def corrected(p_values: ArrayLike) -> Any:
    """The corrected p-values in the same order, along the last axis: the smallest share of false calls at which each is one."""
    return false_discovery_control(p_values, axis=-1, method="bh")


def printed_interval(lows: Sequence[float], highs: Sequence[float]) -> Interval | None:
    """The interval of one comparison by itself, from its blocks in their order; None with fewer than 6 of them."""
    exact, serial = exact_interval(lows, highs), serial_correlation(lows, highs)
    if exact is None or serial is None:
        return None
    return widened(exact, lows, highs, float(allowed([serial.estimate], [serial.at_most])[0]))


def is_shown(interval: Interval, corrected_p: float, band: NoiseBand | None) -> bool:
    """The rule."""
    return corrected_p <= FALSE_SHARE and not (band is not None and band.touches(interval))


def _tested(ratios: Ratios, serial: SerialCorrelation, rho: float) -> _Tested:
    lows, highs = ratios.ends
    exact = exact_interval(lows, highs)
    assert exact is not None, "there is a serial correlation from as many blocks on"
    interval = widened(exact, lows, highs, rho)
    return _Tested(exact, serial, rho, interval, max(p_value(lows, highs), allowing_p(lows, highs, rho)))


def _too_few(found: Ratios) -> Certainty:
    return Certainty(None, found.band, TOO_FEW, TOO_FEW_BLOCKS, None, None)


def _judged(found: Ratios, alone: _Tested, corrected_p: float) -> Certainty:
    verdict = SHOWN if is_shown(alone.interval, corrected_p, found.band) else NOT_SHOWN
    exact = [each.low for each in found.blocks if each.is_exact]
    return Certainty(
        *(alone.interval, found.band, verdict, _why(alone, verdict, corrected_p, found.band), alone.p, corrected_p),
        bootstrap=bootstrap_interval(exact) if len(exact) == len(found.blocks) else None,
        if_independent=alone.exact,
        serial=alone.serial,
        allowed=alone.allowed,
    )


def _why(alone: _Tested, verdict: str, corrected_p: float, band: NoiseBand | None) -> str:
    if alone.exact.includes_one:
        return "the interval includes 1"
    if alone.interval.includes_one:
        return f"the interval includes 1, as these blocks may follow one another (a correlation of {alone.allowed:.2f} isn't excluded)"
    if corrected_p > FALSE_SHARE:
        return f"not after the correction for many metrics (p = {corrected_p:.2g})"
    if band is None:
        return "the interval excludes 1"
    where = "reaches into" if verdict == NOT_SHOWN else "is outside"
    return f"the interval {where} the noise band, {ratios(band.low, band.high)}"
