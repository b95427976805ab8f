"""Ladders against brokers of a known capacity: are knee, goal and capacity where the report says, as often as it says?"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from analysis.bounded import Bounded, median_of
from analysis.certainty.interval import CONFIDENCE, Interval, exact_interval
from analysis.curves.curve import highest
from analysis.curves.knee import MODEL_ERROR, fitted, knee_of
from tests.statistics.queues import QUEUES, RUNGS, Climb, Queue, climb
from tests.statistics.rules import standard_error
from tests.statistics.tables import per_cent, show

BLOCKS, MORE_BLOCKS = 6, 20
CAMPAIGNS = {"short": 20, "whole": 500}
TIMES = 2  # in how many campaigns each simulated block is, never twice in one
GOAL = 3.0  # times the delay and the service
WITHIN = 0.05
# rungs of other ladders, for the curve's own error: lowest, highest, how many
LADDERS = ((0.1, 0.97, 8), (0.2, 0.95, 6), (0.4, 0.97, 6), (0.1, 0.97, 6))


@dataclass(frozen=True)
class Campaigns:
    """How many campaigns of BLOCKS are drawn, and from which blocks of each queue."""

    count: int
    blocks: Mapping[Queue, Sequence[Climb]]

    def intervals(self, known: Sequence[Bounded], blocks: int = BLOCKS) -> list[tuple[Bounded, Interval]]:
        """The median and the interval of each campaign of so many blocks; a value for each simulated block."""
        found = []
        for turn in range(TIMES):
            drawn = [known[at] for at in np.random.default_rng(turn).permutation(len(known))]
            for at in range(0, len(drawn) - blocks + 1, blocks):
                own = drawn[at : at + blocks]
                interval = exact_interval([each.low for each in own], [each.high for each in own])
                assert interval is not None
                found.append((median_of(own), interval))
        return found

    def holds(self, known: Sequence[Bounded], truth: float, blocks: int = BLOCKS) -> float:
        """In which share of the campaigns the interval holds the truth."""
        return float(np.mean([each.low <= truth <= each.high for _, each in self.intervals(known, blocks)]))

    @property
    def least_held(self) -> float:
        """The level, less three standard errors."""
        return CONFIDENCE - 3 * standard_error(CONFIDENCE, self.count)


@pytest.fixture(scope="module", params=[pytest.param("short"), pytest.param("whole", marks=pytest.mark.statistics)])
def simulated(request: pytest.FixtureRequest) -> Campaigns:
    """As many as asked for."""
    count = CAMPAIGNS[request.param]
    blocks = {}
    for queue in QUEUES:
        random = np.random.default_rng(zlib.crc32(queue.name.encode()))
        blocks[queue] = [climb(queue, random) for _ in range(count * BLOCKS // TIMES)]
    return Campaigns(count, blocks)


def _goal(queue: Queue) -> float:
    return GOAL * (queue.delay + 1)


def test_the_knee_is_where_it_is(simulated: Campaigns) -> None:
    """The median knee is within 5 % of the true one, which the interval of 6 blocks, and of 20, holds in at least 95 % of campaigns."""
    rows, wrong = [], []
    for queue, climbs in simulated.blocks.items():
        found = [knee_of(each.kept, each.latencies, each.failed) for each in climbs]
        known = [each.known for each in found if each is not None]
        assert len(known) == len(climbs)
        campaigns = simulated.intervals(known)
        told = np.array([median.value for median, _ in campaigns if median.value is not None]) / queue.knee
        off, within = float(np.median(told)) - 1, float(np.mean(np.abs(told - 1) <= WITHIN))
        held = [simulated.holds(known, queue.knee, blocks) for blocks in (BLOCKS, MORE_BLOCKS)]
        wide = float(np.median([each.high / each.low for _, each in campaigns]))
        shares = map(per_cent, (len(told) / len(campaigns), within, *held))
        rows.append([queue.name, f"{queue.knee:.3f}", f"{100 * off:+.1f} %", *shares, f"{wide:.2f}"])
        if abs(off) > WITHIN or min(held) < simulated.least_held:
            wrong.append(queue.name)
    columns = (
        "queue",
        "true knee",
        "median off by",
        "told",
        "within 5 %",
        "held",
        f"of {MORE_BLOCKS} blocks",
        "high / low",
    )
    show(f"Knees: {simulated.count} campaigns of {BLOCKS} blocks", columns, rows)
    assert not wrong


def test_the_highest_rates_are_where_they_are(simulated: Campaigns) -> None:
    """The interval of the highest rate kept holds the capacity, that of the goal the rate at which the true p99 is the goal."""
    rows, wrong = [], []
    for queue, climbs in simulated.blocks.items():
        goal, kept, at_goal = _goal(queue), [], []
        for each in climbs:
            failed = [(rate, False) for rate in RUNGS[len(each.kept) :]]
            kept.append(highest([*((rate, True) for rate in each.kept), *failed]))
            passed = [(rate, p99 <= goal) for rate, p99 in zip(each.kept, each.latencies, strict=True)]
            at_goal.append(highest([*passed, *failed]))
        truth = queue.rate_of(goal)
        held = simulated.holds(kept, 1.0), simulated.holds(at_goal, truth)
        rows.append([queue.name, per_cent(held[0]), f"{truth:.3f}", per_cent(held[1])])
        if min(held) < simulated.least_held:
            wrong.append(queue.name)
    columns = ("queue", "capacity held", "true rate at the goal", "held")
    show(f"Highest rates: {simulated.count} campaigns of {BLOCKS} blocks", columns, rows)
    assert not wrong


def test_the_curve_is_off_by_no_more_than_it_says() -> None:
    """On rungs whose latencies are exact, its knee is off by at most the error that is allowed for in each block's."""
    rows = []
    for queue in QUEUES:
        off = []
        for low, high, count in LADDERS:
            rungs = [float(rate) for rate in np.geomspace(low, high, count)]
            off.append(fitted(rungs, [queue.latency(rate) for rate in rungs], 1.05).knee_per_s / queue.knee - 1)
        rows.append([queue.name, *(f"{100 * each:+.1f} %" for each in off)])
        assert max(map(abs, off)) <= MODEL_ERROR, queue.name
    columns = ("queue", *(f"{count} rungs from {low} to {high}" for low, high, count in LADDERS))
    show("The curve's own error where latencies are exact", columns, rows)
