"""Contestants against each other: one ratio per block, then the median over blocks. It compares trials, never windows or messages.

A contestant is a system, or a system in one of its variants. Trials of A/A blocks, in which a contestant meets itself, are in
no ratio of two: they say how far two equals differ.

Only sound trials are compared; what is left out is listed with its reason. A system's outcomes are counted over all its trials
first: leaving out the trials in which a system failed would flatter it. How certain a ratio is, `analysis.certainty` works out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from analysis.bounded import Bounded, median_of, range_of
from analysis.certainty.verdict import Certainty, Ratios, certainties
from analysis.checks import Check, validity_of
from analysis.evidence import Evidence
from analysis.faults.measures import comparable
from analysis.metrics import Measurement
from analysis.words import EXCLUDED, HEADLINES, INVALID, NOT_MET, OUTCOME, RATE, UNKNOWN

Cell = tuple[str, int]


@dataclass(frozen=True)
class BlockRatio:
    """One metric of two contestants in one block, and first / second."""

    block: int
    first: Bounded
    second: Bounded

    @property
    def ratio(self) -> Bounded:
        return self.first.over(self.second)


@dataclass(frozen=True)
class Pairing:
    """One metric of two contestants in the blocks of one cell (workload and durability level).

    `aa_ratios`: of each A/A block of either contestant, the run in the first place over the one in the second.
    """

    cell: Cell
    first: str
    second: str
    metric: str
    unit: str
    ratios: tuple[BlockRatio, ...]
    aa_ratios: tuple[BlockRatio, ...]


@dataclass(frozen=True)
class Comparison(Pairing):
    """A pairing, and how certain its median ratio is among all those of the report."""

    certainty: Certainty

    @property
    def blocks(self) -> int:
        return len(self.ratios)

    @property
    def median(self) -> Bounded:
        return median_of(entry.ratio for entry in self.ratios)

    @property
    def range(self) -> Bounded:
        """From the smallest to the largest ratio of a block."""
        return range_of(entry.ratio for entry in self.ratios)

    @property
    def typical(self) -> BlockRatio | None:
        """A block whose own ratio is the median; of an even number of blocks there need be none."""
        middle = self.median.value
        return next((entry for entry in self.ratios if middle is not None and entry.ratio.value == middle), None)


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


def compared_trials(trials: Iterable[Evidence], excluded: Iterable[Exclusion]) -> list[Evidence]:
    """The trials that count where contestants are compared: sound, and of no A/A block."""
    left_out = {each.trial for each in excluded}
    return [each for each in trials if each.trial.name not in left_out and not each.trial.is_aa]


def compare(trials: Sequence[Evidence], checks: Sequence[Check], measured: Iterable[Measurement]) -> list[Comparison]:
    """Every headline metric of every pair of contestants, per cell. Pairs are formed inside a block only."""
    found = list(_pairings(trials, checks, measured))
    ratios = [Ratios([e.ratio for e in each.ratios], [e.ratio for e in each.aa_ratios]) for each in found]
    return [
        Comparison(**vars(pairing), certainty=certainty)
        for pairing, certainty in zip(found, certainties(ratios), strict=True)
    ]


def _pairings(
    trials: Sequence[Evidence], checks: Sequence[Check], measured: Iterable[Measurement]
) -> Iterator[Pairing]:
    sound = [e for e in trials if validity_of(checks, e.trial.name) not in EXCLUDED]
    values = {(m.trial, m.metric): m for m in measured}
    units = {m.metric: m.unit for m in values.values() if m.metric.split("[")[0] in HEADLINES}
    contestants = list(dict.fromkeys(e.trial.contestant for e in trials if not e.trial.is_aa))
    for cell in dict.fromkeys(e.trial.cell for e in sound if not e.trial.is_aa):
        compared = [e for e in sound if e.trial.cell == cell and not e.trial.is_aa]
        noise = [e for e in sound if e.trial.cell == cell and e.trial.is_aa]
        for first, second in combinations(contestants, 2):
            pairs = list(_pairs(compared, first, second))
            aa_pairs = [*_pairs(noise, first, first), *_pairs(noise, second, second)]
            # where each ran as fast as it could, they had unlike loads, and latencies under unlike loads say nothing
            same_load = all(e.trial.has_offered_rate for e in compared)
            for name in sorted(units if same_load else units.keys() & {RATE}, key=_headline_order):
                ratios = tuple(_ratios(pairs, values, name))
                if ratios:
                    aa_ratios = tuple(sorted(_ratios(aa_pairs, values, name), key=lambda entry: entry.block))
                    yield Pairing(cell, first, second, name, units[name], ratios, aa_ratios)


def _pairs(trials: Sequence[Evidence], first: str, second: str) -> Iterator[tuple[int, str, str]]:
    """(block, trial of the first contestant, trial of the second), once per block; of a contestant with itself, as they ran."""
    for block in sorted({evidence.trial.block for evidence in trials}):
        inside = sorted((e.trial for e in trials if e.trial.block == block), key=lambda trial: trial.position)
        ours = [trial.name for trial in inside if trial.contestant == first]
        theirs = [trial.name for trial in inside if trial.contestant == second]
        if ours and theirs and ours[0] != theirs[-1]:
            yield block, ours[0], theirs[-1]


def _ratios(
    pairs: Iterable[tuple[int, str, str]], values: Mapping[tuple[str, str], Measurement], metric: str
) -> Iterator[BlockRatio]:
    for block, one, other in pairs:
        first, second = (
            comparable(metric, found.known) if (found := values.get((name, metric))) else None for name in (one, other)
        )
        if first and second and min(first.high, second.high) > 0:
            yield BlockRatio(block, first, second)


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
        not_met=dict(Counter(check.check for check in outcomes if check.verdict == NOT_MET)),
        unknown=dict(Counter(check.check for check in outcomes if check.verdict == UNKNOWN)),
        excluded=sum(validity_of(checks, name) in EXCLUDED for name in names),
    )
