"""The result of a throughput search: its runs, the bracket that holds the highest sustained rate, and what bounded it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.load.load import LoadResult
from bench.load.sustained import Judgement
from contract.workload import Workload

Kind = Literal["warm-up", "step", "confirmation"]
# "rate_per_s": the workload's bound was sustained; "steps": no rate failed in as many as there may be
BoundedBy = Literal["system", "client-window", "rate_per_s", "steps"]
FAR_OFF = 0.8  # less of a rate acknowledged than this is no hiccup
FULL_SHARE = 0.9  # of the window: what is in flight is looked at twice a second only


@dataclass(frozen=True)
class Attempt:
    """One run of a search."""

    kind: Kind
    rate_per_s: int
    seconds: float
    judgement: Judgement

    @property
    def far_off(self) -> bool:
        """Whether it failed by so much that another try is pointless."""
        return not self.judgement.sustained and self.judgement.acked_per_s < FAR_OFF * self.rate_per_s

    def to_json(self) -> dict[str, Any]:
        """As trial.json carries it."""
        return {"kind": self.kind, "rate_per_s": self.rate_per_s, "seconds": self.seconds, **self.judgement.to_json()}


@dataclass(frozen=True)
class Found:
    """`load` is the last confirmation's: the trial's records. `rate_per_s`: the confirmed one; None = none was sustained.

    `failed_per_s`: the lowest rate above it that failed for good; None = none did. The highest sustained rate lies between the two.
    `tolerance`: how near the steps were to bring them, as a ratio; `closed`: whether they did before there were too many of them.
    `bounded_by`: what kept the rate from being higher; None where none was sustained.
    """

    load: LoadResult
    rate_per_s: int | None
    failed_per_s: int | None
    tolerance: float
    closed: bool
    bounded_by: BoundedBy | None
    attempts: tuple[Attempt, ...]

    def to_json(self) -> dict[str, Any]:
        """As trial.json carries it."""
        return {
            "rate_per_s": self.rate_per_s,
            "failed_per_s": self.failed_per_s,
            "tolerance": self.tolerance,
            "closed": self.closed,
            "bounded_by": self.bounded_by,
            "attempts": [attempt.to_json() for attempt in self.attempts],
        }


def failed_above(attempts: Iterable[Attempt], rate_per_s: int | None) -> int | None:
    """The lowest rate above `rate_per_s` that failed for good: when it was tried last, and twice or by far. None = there is none.

    One narrow failure may be a hiccup of the machine, and what failed early may have been sustained later.
    """
    of_rate: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.kind != "warm-up" and attempt.rate_per_s > (rate_per_s or 0):
            of_rate.setdefault(attempt.rate_per_s, []).append(attempt)
    return min((rate for rate, own in of_rate.items() if _failed_for_good(own)), default=None)


def _failed_for_good(own: Sequence[Attempt]) -> bool:
    failures = sum(not attempt.judgement.sustained for attempt in own)
    return not own[-1].judgement.sustained and (failures > 1 or own[-1].far_off)


def bound_of(
    workload: Workload, rate_per_s: int | None, failed_per_s: int | None, attempts: Iterable[Attempt]
) -> BoundedBy | None:
    """What kept a confirmed rate from being higher.

    In flight = rate x latency: where the rate that failed would fill the window even at the latency of the one that was sustained, a
    larger window might have let it through.
    """
    if rate_per_s is None:
        return None
    if rate_per_s == workload.rate_per_s:
        return "rate_per_s"
    if failed_per_s is None:
        return "steps"
    at_the_rate = [each for each in attempts if each.rate_per_s == rate_per_s and each.kind != "warm-up"]
    in_flight = min(each.judgement.in_flight for each in at_the_rate if each.judgement.sustained)
    full = in_flight * failed_per_s / rate_per_s >= FULL_SHARE * workload.in_flight
    return "client-window" if full else "system"
