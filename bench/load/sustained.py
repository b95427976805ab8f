"""Whether a rate was sustained, by the samples of one run at it. The rule of a throughput search; pure.

One criterion, for acknowledgements and for receipts, in steps and confirmations of every length: what is behind the schedule grows by
at most GROWTH_SHARE of what is offered. So a rate up to 1 / (1 - GROWTH_SHARE) of what a system can do counts as sustained, whatever
the length of the run: a bias of 1 %, the same for every system, which a ratio of two of them doesn't have. An outage that is made up
costs nothing; of one that isn't, the same share of the run is allowed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median_low
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.load.workers import Sample

GROWTH_SHARE = 0.01
# What is behind at either end of the stretch is the least of so many looks within so long (a fifth of a very short stretch): messages
# come in batches, and a hiccup at the very end can't be told from one that is made up.
END_S, END_SHARE, LOOKS = 1.0, 0.2, 3
# Sends that are late by as much all the time keep up only because they wait: there is nothing left to catch up with.
LATEST_LAG_NS = 100_000_000
FIRST_SAMPLES = 5  # of a producer, two seconds


@dataclass(frozen=True)
class Judgement:
    """Of one run: at which rates messages were acknowledged and received (the slowest subscription), how late sends were at the least.

    The rates are what was offered less what the backlog grew by. `in_flight`: unacknowledged messages in the stretch's first seconds,
    before a backlog grows, of the producer that had most. `reason` says why the rate isn't sustained; "" if it is.
    """

    acked_per_s: float
    received_per_s: float | None
    lag_ms: float
    in_flight: int
    reason: str

    @property
    def sustained(self) -> bool:
        """Whether the system kept up with the rate."""
        return not self.reason

    def to_json(self) -> dict[str, Any]:
        """As trial.json carries it."""
        return {**asdict(self), "sustained": self.sustained}


def judge(samples: Sequence[Sample], rate_per_s: int, *, from_s: float, to_s: float, errors: int) -> Judgement:
    """Judges the stretch from `from_s` to `to_s` of a run that offered `rate_per_s`. `errors`: messages given up, or lost."""
    sent = [sample for sample in samples if sample.role == "producer"]
    received: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.role == "consumer":
            received[sample.subscription or ""].append(sample)
    acked_per_s = kept_up_per_s(sent, rate_per_s, from_s, to_s)
    received_per_s = min((kept_up_per_s(own, rate_per_s, from_s, to_s) for own in received.values()), default=None)
    stretch = _of_worker(sample for sample in sent if from_s <= sample.at_s <= to_s)
    # late once is a hiccup, late all the time is how it is
    lag_ns = max((min(each.lag_ns for each in own) for own in stretch.values()), default=0)
    in_flight = max((median_low(each.in_flight for each in own[:FIRST_SAMPLES]) for own in stretch.values()), default=0)
    least_per_s = (1 - GROWTH_SHARE) * rate_per_s
    lost = f"{errors:,} messages were given up or lost" if errors else ""
    reason = ""
    if acked_per_s < least_per_s:
        reason = f"acknowledged {acked_per_s:,.0f} of {rate_per_s:,} messages a second" + (f"; {lost}" if lost else "")
    elif received_per_s is not None and received_per_s < least_per_s:
        reason = f"received {received_per_s:,.0f} of {rate_per_s:,} messages a second: a backlog grows"
    elif lag_ns > LATEST_LAG_NS:
        reason = f"sends were {lag_ns / 1e6:,.0f} ms late all the time"
    elif lost:
        reason = lost
    return Judgement(acked_per_s, received_per_s, lag_ns / 1e6, in_flight, reason)


def kept_up_per_s(samples: Iterable[Sample], rate_per_s: int, from_s: float, to_s: float) -> float:
    """The rate at which what was offered in the stretch was also counted by the workers, between its first moments and its last."""
    end_s = min(END_S, END_SHARE * (to_s - from_s))
    first_s, last_s = np.linspace(from_s, from_s + end_s, LOOKS), np.linspace(to_s - end_s, to_s, LOOKS)
    at_s = np.concatenate([first_s, last_s])
    behind = rate_per_s * (at_s - from_s) - _counted(samples, at_s)
    grown = float(behind[LOOKS:].min() - behind[:LOOKS].min())
    return rate_per_s - grown / (to_s - end_s - from_s)


def _counted(samples: Iterable[Sample], at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What the workers had counted together at these moments. Each counts at its own: between two it is taken to go on evenly."""
    messages = np.zeros(len(at_s))
    for own in _of_worker(samples).values():
        messages += np.interp(at_s, [each.at_s for each in own], [each.messages for each in own], left=0.0)
    return messages


def _of_worker(samples: Iterable[Sample]) -> Mapping[str, list[Sample]]:
    found: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        found[sample.worker].append(sample)
    return found
