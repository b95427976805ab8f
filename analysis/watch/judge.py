"""What a watch's history shows. A version that looks worse is only suspected; new blocks decide, and they alone.

1. A change point of a series, for the worse, makes its version suspected of being worse than the version before it.
2. A suspicion is confirmed by a round of its own: anchor, the version before, and the suspected one in the same blocks.
3. A regression is shown where that round shows it by the report's own rule: at least 6 blocks, an interval that allows for blocks which
   depend on one another, a p-value corrected over everything that the round was to confirm, and the worse side of 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.bounded import Bounded, median_of
from analysis.certainty.verdict import SHOWN, TOO_FEW, Certainty, Ratios, certainties
from analysis.watch.recorded import HIGHER_IS_BETTER
from analysis.watch.series import Series, all_series, ratios_in
from contract.watch_history import History, Round, Suspicion

REGRESSION, NOT_CONFIRMED = "regression shown", "not confirmed"


@dataclass(frozen=True)
class Finding:
    """What a round says of one suspicion in one metric. `ratio`: the suspected version over the one before; None without a block that
    has both.
    """

    campaign: str
    before: str
    version: str
    metric: str
    verdict: str
    ratio: Bounded | None
    certainty: Certainty
    blocks: int


@dataclass(frozen=True)
class Judged:
    """A history judged. `open`: suspicions that no round was run for."""

    history: History
    series: tuple[Series, ...]
    open: tuple[Suspicion, ...]
    findings: tuple[Finding, ...]


def judge(history: History) -> Judged:
    """All series of a history, and what its rounds have confirmed."""
    series = tuple(all_series(history))
    findings = tuple(finding for each in history.rounds for finding in _findings(each))
    return Judged(history, series, tuple(_open(history, series)), findings)


def _open(history: History, series: Sequence[Series]) -> Iterator[Suspicion]:
    found: dict[tuple[str, str], list[str]] = {}
    for each in series:
        for before, version, _ in each.worse:
            found.setdefault((before, version), []).append(each.metric)
    for (before, version), metrics in found.items():
        if (before, version) not in history.judged:
            yield Suspicion(before, version, tuple(metrics))


def _findings(one: Round) -> Iterator[Finding]:
    asked = [(each, metric) for each in one.confirms for metric in each.metrics]
    ratios = [tuple(ratios_in(one, metric, each.version, each.before)) for each, metric in asked]
    certain = certainties([Ratios(own) for own in ratios])
    for (each, metric), own, certainty in zip(asked, ratios, certain, strict=True):
        ratio = median_of(own) if own else None
        yield Finding(
            *(one.campaign, each.before, each.version, metric, _verdict(metric, ratio, certainty)),
            *(ratio, certainty, len(own)),
        )


def _verdict(metric: str, ratio: Bounded | None, certainty: Certainty) -> str:
    if certainty.verdict == TOO_FEW:
        return TOO_FEW
    assert ratio is not None, "what has blocks has a ratio"
    worse = ratio.high < 1 if metric in HIGHER_IS_BETTER else ratio.low > 1
    return REGRESSION if certainty.verdict == SHOWN and worse else NOT_CONFIRMED
