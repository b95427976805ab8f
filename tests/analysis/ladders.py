"""Made-up trials of a ladder: contestants of a known capacity, whose p99 is that of M/M/1 behind a constant delay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.bounded import Bounded, exactly
from analysis.campaign import Trial
from analysis.checks import Check
from analysis.comparison import excluded_trials
from analysis.curves.curve import METRIC, Curve, curves_of
from analysis.curves.document import Ladder, ladders_of
from analysis.evidence import Counts, DaemonUse, Evidence
from analysis.metrics import Measurement
from analysis.words import RATE
from tests.analysis.synthetic_results import Plan, Shape, trial_document

RATES = (1000, 2000, 4000, 6000, 8000, 9500, 12000)
CAPACITY_PER_S, BASE_MS, QUEUE_MS = 10_000, 4.0, 1.0
KNEE_PER_S = CAPACITY_PER_S * 2 / 3  # sqrt(4) / (sqrt(4) + sqrt(1))
STEADY = (1.0,) * 6
SCATTER = (1.0, 1.1, 0.92, 1.06, 0.96, 1.03)  # from block to block
NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {})


@dataclass
class LadderWorld:
    """Trials with their checks and measurements, contestant by contestant."""

    goal_p99_ms: float | None = 20.0
    name: str = "curve"
    trials: list[Evidence] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    measured: list[Measurement] = field(default_factory=list)

    def climb(
        self,
        system: str,
        *,
        capacity_per_s: float = CAPACITY_PER_S,
        rates: Sequence[int] = RATES,
        scatter: Sequence[float] = STEADY,
        base_ms: float = BASE_MS,
        broker_cores: float = 0.5,
    ) -> None:
        """A trial per rate and block; a block's latencies are all longer by its factor."""
        for block, factor in enumerate(scatter, start=1):
            for rate in rates:
                kept = rate < capacity_per_s
                p99 = (
                    base_ms + QUEUE_MS / (1 - rate / capacity_per_s) - QUEUE_MS
                    if kept
                    else 4000.0 * rate / capacity_per_s
                )
                self.trial(
                    system, block, rate, factor * p99, kept=kept, achieved=min(rate, capacity_per_s), cores=broker_cores
                )

    def trial(
        self,
        system: str,
        block: int,
        rate: int,
        p99: float | Bounded,
        *,
        kept: bool = True,
        lost: bool = False,
        achieved: float | None = None,
        cores: float = 0.5,
        validity: str = "valid",
        **changes: Any,
    ) -> None:
        """One trial at one rung."""
        name = f"b{block:02}-1-{system}-l1-{self.name}-{rate}"
        document = trial_document(Plan(name, block, 1, system), Shape(), 0, {}, 0) | changes
        rung = {"name": f"{self.name}-{rate}", "rate_per_s": rate, "ladder": self.name, "goal_p99_ms": self.goal_p99_ms}
        trial = Trial(name, document | {"workload": {**document["workload"], **rung}})
        daemons = tuple(DaemonUse(f"broker-{number}", "broker", None, None, None, cores) for number in (1, 2, 3))
        self.trials.append(Evidence(trial, (trial,), NOTHING, (), (), (), (), daemons))
        self.checks += [
            Check(name, "steal", "validity", validity, "Stolen."),
            Check(name, "offered-rate", "outcome", "met" if kept else "not met", "Offered."),
            Check(name, "no-loss", "outcome", "not met" if lost else "met", "Lost."),
        ]
        known = p99 if isinstance(p99, Bounded) else exactly(p99)
        told: Mapping[str, Bounded] = {
            RATE: exactly(rate if achieved is None else achieved),
            "response_latency_p50": exactly(known.low / 2),
            METRIC: known,
            "response_latency_p99.9": exactly(2 * known.low),
        }
        self.measured += [
            Measurement(name, metric, "ms", value, 1000) for metric, value in told.items() if math.isfinite(value.low)
        ]

    def curves(self) -> dict[str, Curve]:
        """Contestant -> its curve."""
        found = curves_of(self.trials, excluded_trials(self.trials, self.checks), self.checks, self.measured)
        return {curve.contestant: curve for curve in found}

    def ladder(self, prices: Mapping[str, float] = {}) -> Ladder:
        """The only one."""
        (found,) = ladders_of(self.curves().values(), prices)
        return found
