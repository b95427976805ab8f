"""Contestants against each other: one ratio per block, then the median over blocks. It compares trials, never windows or messages.

A contestant is a system, or a system with its journal bypassed.

Only sound trials are compared; what is left out is listed with its reason. A system's outcomes are counted over all its trials
first: leaving out the trials in which a system failed would flatter it. How certain a ratio is depends on the number of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from analysis.checks import EXCLUDED, INVALID, NOT_MET, OUTCOME, UNKNOWN, Check, validity_of
from analysis.evidence import Evidence
from analysis.metrics import Measurement

BLOCKS_FOR_AN_INTERVAL = 6
TOO_FEW_BLOCKS = "with fewer than 6 blocks no 95 % interval is possible"
HEADLINES = (
    "throughput_achieved",
    "catch_up_time",
    "drain_rate",
    "drain_rate_peak",
    "publish_latency_p50",
    "publish_latency_p99",
    "response_latency_p50",
    "response_latency_p99",
    "end_to_end_latency_p50",
    "end_to_end_latency_p99",
)
Cell = tuple[str, int]


@dataclass(frozen=True)
class BlockRatio:
    """One metric of two contestants in one block, and first / second."""

    block: int
    first: float
    second: float

    @property
    def ratio(self) -> float:
        return self.first / self.second


@dataclass(frozen=True)
class Comparison:
    """One metric of two contestants over the blocks of one cell (workload and durability level)."""

    cell: Cell
    first: str
    second: str
    metric: str
    unit: str
    ratios: tuple[BlockRatio, ...]

    @property
    def blocks(self) -> int:
        return len({entry.block for entry in self.ratios})

    @property
    def median(self) -> float:
        return median(entry.ratio for entry in self.ratios)

    @property
    def lowest(self) -> float:
        return min(entry.ratio for entry in self.ratios)

    @property
    def highest(self) -> float:
        return max(entry.ratio for entry in self.ratios)

    @property
    def certainty(self) -> str:
        """What the number of blocks allows to be said."""
        if self.blocks < BLOCKS_FOR_AN_INTERVAL:
            return TOO_FEW_BLOCKS
        return "the range is of the blocks' own values, not an interval of confidence"


@dataclass(frozen=True)
class ContestantOutcome:
    """How a contestant's trials came out: every trial counts, sound or not."""

    contestant: str
    trials: int
    all_met: int
    not_met: Mapping[str, int]  # check -> trials
    unknown: Mapping[str, int]
    excluded: int


@dataclass(frozen=True)
class Exclusion:
    """A trial that isn't compared, and why."""

    trial: str
    validity: str
    reasons: tuple[str, ...]


def count_outcomes(trials: Sequence[Evidence], checks: Sequence[Check]) -> list[ContestantOutcome]:
    """Per contestant: trials, trials that met everything, and how many failed each outcome check."""
    contestants = dict.fromkeys(evidence.trial.contestant for evidence in trials)
    return [_outcome(one, [e.trial.name for e in trials if e.trial.contestant == one], checks) for one in contestants]


def excluded_trials(trials: Sequence[Evidence], checks: Sequence[Check]) -> list[Exclusion]:
    """Trials whose validity is invalid or unknown, with the sentences of the checks that made them so."""
    found = []
    for evidence in trials:
        validity = validity_of(checks, evidence.trial.name)
        if validity in EXCLUDED:
            blamed = [c for c in checks if c.trial == evidence.trial.name and c.verdict in (INVALID, UNKNOWN)]
            reasons = tuple(f"{c.check} {c.verdict}: {c.sentence}" for c in blamed if c.axis != OUTCOME)
            found.append(Exclusion(evidence.trial.name, validity, reasons or ("no validity check was declared",)))
    return found


def compare(trials: Sequence[Evidence], checks: Sequence[Check], measured: Iterable[Measurement]) -> list[Comparison]:
    """Every headline metric of every pair of contestants, per cell. Pairs are formed inside a block only."""
    sound = [e for e in trials if validity_of(checks, e.trial.name) not in EXCLUDED]
    values = {(m.trial, m.metric): m for m in measured}
    names = sorted({m.metric for m in values.values() if m.metric.split("[")[0] in HEADLINES}, key=_headline_order)
    contestants = list(dict.fromkeys(e.trial.contestant for e in trials))
    found = []
    for cell in dict.fromkeys(e.trial.cell for e in sound):
        for first, second in combinations(contestants, 2):
            pairs = list(_pairs([e for e in sound if e.trial.cell == cell], first, second))
            for name in names:
                ratios = tuple(_ratios(pairs, values, name))
                if ratios:
                    unit = next(m.unit for m in values.values() if m.metric == name)
                    found.append(Comparison(cell, first, second, name, unit, ratios))
    return found


def _pairs(trials: Sequence[Evidence], first: str, second: str) -> Iterator[tuple[int, str, str]]:
    """(block, trial of the first contestant, trial of the second): in a block's order, first with first, second with second."""
    for block in sorted({evidence.trial.block for evidence in trials}):
        inside = sorted((e.trial for e in trials if e.trial.block == block), key=lambda trial: trial.position)
        ours = [trial.name for trial in inside if trial.contestant == first]
        theirs = [trial.name for trial in inside if trial.contestant == second]
        for one, other in zip(ours, theirs, strict=False):
            yield block, one, other


def _ratios(
    pairs: Iterable[tuple[int, str, str]], values: Mapping[tuple[str, str], Measurement], metric: str
) -> Iterator[BlockRatio]:
    for block, one, other in pairs:
        first, second = values.get((one, metric)), values.get((other, metric))
        if first and second and first.value > 0 and second.value > 0:
            yield BlockRatio(block, first.value, second.value)


def _headline_order(name: str) -> tuple[int, str]:
    return HEADLINES.index(name.split("[")[0]), name


def _outcome(contestant: str, names: list[str], checks: Sequence[Check]) -> ContestantOutcome:
    outcomes = [check for check in checks if check.trial in names and check.axis == OUTCOME]
    flawed = {check.trial for check in outcomes if check.verdict in (NOT_MET, UNKNOWN)}
    declared = {check.trial for check in outcomes}
    return ContestantOutcome(
        contestant=contestant,
        trials=len(names),
        all_met=len(declared - flawed),
        not_met=_count(check.check for check in outcomes if check.verdict == NOT_MET),
        unknown=_count(check.check for check in outcomes if check.verdict == UNKNOWN),
        excluded=sum(validity_of(checks, name) in EXCLUDED for name in names),
    )


def _count(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts
