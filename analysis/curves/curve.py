"""Latency against rate: the trials of a ladder's rungs gathered, one curve per contestant and durability level.

What is told of a curve is found in each block by itself, from one trial per rung, and then over blocks: the knee, the highest rate
that was kept, and the highest that kept the goal. The last two are brackets between two rungs: nothing is read in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.bounded import Bounded
from analysis.checks import Check
from analysis.comparison import Exclusion, compared_trials
from analysis.curves.knee import Knee, knee_of
from analysis.curves.over_blocks import OverBlocks, over_blocks
from analysis.evidence import Evidence
from analysis.metrics import Measurement
from analysis.words import MET, NOT_MET, RATE

METRIC = "response_latency_p99"  # what the goal, the knee and the figure are of
METRICS = (RATE, "response_latency_p50", METRIC, "response_latency_p99.9")
KEPT_BY = ("offered-rate", "no-loss")  # outcome checks: acknowledged as it came, and nothing of it lost


@dataclass(frozen=True)
class Point:
    """One trial at one rung. `known`: those of METRICS that it has. `kept`: whether the system kept the rate; None = unknown."""

    evidence: Evidence
    known: dict[str, Bounded]
    kept: bool | None

    @property
    def block(self) -> int:
        return self.evidence.trial.block

    @property
    def rate_per_s(self) -> int:
        return int(self.evidence.trial.workload["rate_per_s"])

    def keeps(self, goal_ms: float) -> bool | None:
        """Whether the rate was kept with a p99 of at most the goal; None = unknown."""
        p99 = self.known.get(METRIC)
        if self.kept is False or (p99 is not None and p99.low > goal_ms):
            return False
        return None if self.kept is None or p99 is None or p99.high > goal_ms else True


@dataclass(frozen=True)
class Rung:
    """One rate: a point per block, in the order of the blocks."""

    rate_per_s: int
    points: tuple[Point, ...]

    def over_blocks(self, metric: str) -> OverBlocks | None:
        """A metric's median and interval."""
        return over_blocks((each.block, each.known.get(metric)) for each in self.points)

    def count(self, kept: bool) -> int:
        """In how many blocks the rate was kept, or wasn't."""
        return sum(each.kept is kept for each in self.points)

    @property
    def is_kept(self) -> bool:
        """Whether it was in more than half of the blocks."""
        return 2 * self.count(True) > len(self.points)


@dataclass(frozen=True)
class Curve:
    """One contestant on one ladder at one durability level; its rungs ascend. `goal_p99_ms`: of the workload, None = none."""

    ladder: str
    level: int
    contestant: str
    goal_p99_ms: float | None
    message_bytes: int
    rungs: tuple[Rung, ...]

    @cached_property
    def knees(self) -> dict[int, Knee]:
        """Block -> its knee, where a rung was kept."""
        found = {}
        for block, points in self._by_block().items():
            kept = {each.rate_per_s: p99 for each in points if each.kept and (p99 := _told(each))}
            failed = [
                each.rate_per_s for each in points if each.kept is False and each.rate_per_s > max(kept, default=0)
            ]
            knee = knee_of([*kept], [*kept.values()], min(failed, default=None))
            if knee is not None:
                found[block] = knee
        return found

    @property
    def knee(self) -> OverBlocks | None:
        """The knee's rate."""
        return over_blocks((block, knee.known) for block, knee in self.knees.items())

    @property
    def highest_kept(self) -> OverBlocks:
        """The highest rate that the system kept."""
        return OverBlocks(
            {block: highest((p.rate_per_s, p.kept) for p in own) for block, own in self._by_block().items()}
        )

    @property
    def at_goal(self) -> OverBlocks | None:
        """The highest rate that kept the goal; None without one."""
        goal = self.goal_p99_ms
        if goal is None:
            return None
        blocks = self._by_block()
        return OverBlocks({block: highest((p.rate_per_s, p.keeps(goal)) for p in own) for block, own in blocks.items()})

    def _by_block(self) -> dict[int, list[Point]]:
        """The points of each block, the lowest rate first."""
        blocks = sorted({point.block for rung in self.rungs for point in rung.points})
        return {block: [p for rung in self.rungs for p in rung.points if p.block == block] for block in blocks}


def curves_of(
    trials: Sequence[Evidence], excluded: Iterable[Exclusion], checks: Iterable[Check], measured: Iterable[Measurement]
) -> list[Curve]:
    """Every ladder, level and contestant with a sound trial, in the order in which they first ran."""
    values: dict[str, dict[str, Bounded]] = {}
    for each in measured:
        if each.metric in METRICS:
            values.setdefault(each.trial, {})[each.metric] = each.known
    verdicts: dict[str, list[str]] = {}
    for check in checks:
        if check.check in KEPT_BY:
            verdicts.setdefault(check.trial, []).append(check.verdict)
    found: dict[tuple[str, int, str], list[Point]] = {}
    for evidence in compared_trials(trials, excluded):
        trial = evidence.trial
        if trial.ladder:
            kept = False if evidence.ended_by_the_system() else _kept(verdicts.get(trial.name, []))
            point = Point(evidence, values.get(trial.name, {}), kept)
            found.setdefault((trial.ladder, trial.level, trial.contestant), []).append(point)
    return [_curve(*key, points) for key, points in found.items()]


def highest(rungs: Iterable[tuple[float, bool | None]]) -> Bounded:
    """Between which rungs the highest rate lies that passes; each with whether it passed (None = unknown), ascending.

    At least the one up to which all passed, and below the one from which on none did: where they alternate, both are told. The lower
    one is the value: it is known to pass.
    """
    known = [(float(rate), passed) for rate, passed in rungs if passed is not None]
    low, high = 0.0, math.inf
    for rate, passed in known:
        if not passed:
            break
        low = rate
    for rate, passed in reversed(known):
        if passed:
            break
        high = rate
    return Bounded(low or None, low, high)


def _curve(ladder: str, level: int, contestant: str, points: Sequence[Point]) -> Curve:
    workload = points[0].evidence.trial.workload
    by_rate: dict[int, list[Point]] = {}
    for each in sorted(points, key=lambda point: (point.rate_per_s, point.block)):
        by_rate.setdefault(each.rate_per_s, []).append(each)
    return Curve(
        ladder,
        level,
        contestant,
        workload["goal_p99_ms"],
        int(workload["message_bytes"]),
        tuple(Rung(rate_per_s, tuple(own)) for rate_per_s, own in by_rate.items()),
    )


def _kept(verdicts: Sequence[str]) -> bool | None:
    if NOT_MET in verdicts:
        return False
    return True if set(verdicts) == {MET} else None


def _told(point: Point) -> float | None:
    """Its p99; None where only a bound is known."""
    p99 = point.known.get(METRIC)
    return None if p99 is None else p99.value
