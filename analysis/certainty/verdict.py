"""How certain each comparison of one report is: interval, p-value, correction over all of them, noise band, and a verdict in words.

A difference is shown when all of these hold; otherwise the values stand, and no difference is shown:
1. there are at least 6 blocks
2. the p-value, corrected over all comparisons of the report, is at most 5 %
3. the interval lies wholly outside the A/A noise band, where there is one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.bounded import Bounded, exactly
from analysis.certainty.bootstrap import bootstrap_interval
from analysis.certainty.correction import FALSE_SHARE, corrected
from analysis.certainty.interval import TOO_FEW_BLOCKS, Interval, exact_interval, p_value
from analysis.certainty.noise_band import NoiseBand, noise_band
from analysis.formatting import ratios

TOO_FEW, SHOWN, NOT_SHOWN = "too few blocks", "difference shown", "no difference shown"


@dataclass(frozen=True)
class Ratios:
    """Of one metric of two contestants: a ratio per A/B block, and of each A/A block of either one the ratio of its two runs."""

    blocks: Sequence[Bounded]
    aa_blocks: Sequence[Bounded] = ()

    @classmethod
    def exactly(cls, blocks: Sequence[float], aa_blocks: Sequence[float] = ()) -> Ratios:
        """Of ratios that are all known."""
        return cls([exactly(each) for each in blocks], [exactly(each) for each in aa_blocks])

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

    `verdict`: TOO_FEW, SHOWN or NOT_SHOWN; `why`: what made it so, a clause without a full stop.
    """

    interval: Interval | None
    band: NoiseBand | None
    verdict: str
    why: str
    p: float | None
    corrected_p: float | None
    bootstrap: Interval | None = None


def certainties(found: Sequence[Ratios]) -> list[Certainty]:
    """One for each, in their order. What has too few blocks isn't tested, and doesn't count in the correction."""
    intervals = [exact_interval(*each.ends) for each in found]
    tested = [p_value(*each.ends) for each, interval in zip(found, intervals, strict=True) if interval]
    after = iter([float(p) for p in corrected(tested)] if tested else [])
    raw = iter(tested)
    return [
        _judged(each, interval, next(raw), next(after)) if interval else _too_few(each)
        for each, interval in zip(found, intervals, strict=True)
    ]


def is_shown(interval: Interval, corrected_p: float, band: NoiseBand | None) -> bool:
    """The rule."""
    return corrected_p <= FALSE_SHARE and not (band is not None and band.touches(interval))


def _too_few(found: Ratios) -> Certainty:
    return Certainty(None, found.band, TOO_FEW, TOO_FEW_BLOCKS, None, None)


def _judged(found: Ratios, interval: Interval, p: float, corrected_p: float) -> Certainty:
    band = found.band
    verdict = SHOWN if is_shown(interval, corrected_p, band) else NOT_SHOWN
    if interval.includes_one:
        why = "the interval includes 1"
    elif corrected_p > FALSE_SHARE:
        why = f"not after the correction for many metrics (p = {corrected_p:.2g})"
    elif band is None:
        why = "the interval excludes 1"
    else:
        where = "reaches into" if verdict == NOT_SHOWN else "is outside"
        why = f"the interval {where} the noise band, {ratios(band.low, band.high)}"
    exact = [each.low for each in found.blocks if each.is_exact]
    bootstrap = bootstrap_interval(exact) if len(exact) == len(found.blocks) else None
    return Certainty(interval, band, verdict, why, p, corrected_p, bootstrap)
