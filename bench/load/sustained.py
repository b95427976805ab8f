"""Whether a rate was sustained, by the samples of one run at it. The rule of a throughput search; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.load.samples import Sample

ACKNOWLEDGED_SHARE = 0.995
# Consumers fetch in larger pieces than producers send: over a few seconds that alone is half a percent.
RECEIVED_SHARE = 0.99
LATEST_LAG_NS = 100_000_000
# What is on its way at the end of a stretch differs from what was at its beginning, by as much as latency differs: in a step of
# five seconds, a tenth of a second of it would be two percent, and no backlog.
ON_ITS_WAY_S = 0.1
_LAST_SAMPLES = 3


@dataclass(frozen=True)
class Judgement:
    """Of one run: what was acknowledged and received a second (the slowest subscription), how late sends were at the end.

    `reason` says why it isn't sustained; "" if it is.
    """

    acked_per_s: float
    received_per_s: float | None
    lag_ms: float
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
    inside = [sample for sample in samples if from_s <= sample.at_s <= to_s]
    acked_per_s = _per_s(sample for sample in inside if sample.role == "producer")
    received: dict[str, list[Sample]] = defaultdict(list)
    for sample in inside:
        if sample.role == "consumer":
            received[sample.subscription or ""].append(sample)
    received_per_s = min((_per_s(own) for own in received.values()), default=None)
    lag_ns = _lag_at_the_end([sample for sample in inside if sample.role == "producer"])
    on_its_way_per_s = ON_ITS_WAY_S * rate_per_s / (to_s - from_s)
    reason = ""
    if acked_per_s < ACKNOWLEDGED_SHARE * rate_per_s - on_its_way_per_s:
        reason = f"acknowledged {acked_per_s:,.0f} of {rate_per_s:,} messages a second"
    elif received_per_s is not None and received_per_s < RECEIVED_SHARE * rate_per_s - on_its_way_per_s:
        reason = f"received {received_per_s:,.0f} of {rate_per_s:,} messages a second: a backlog grows"
    elif lag_ns > LATEST_LAG_NS:
        reason = f"sends were {lag_ns / 1e6:,.0f} ms late at the end"
    elif errors:
        reason = f"{errors:,} messages were given up or lost"
    return Judgement(acked_per_s, received_per_s, lag_ns / 1e6, reason)


def _per_s(samples: Iterable[Sample]) -> float:
    """Messages a second, each worker by its own first and last count: they count at different moments."""
    of_worker: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        of_worker[sample.worker].append(sample)
    total = 0.0
    for own in of_worker.values():
        first, last = own[0], own[-1]
        if last.at_s > first.at_s:
            total += (last.messages - first.messages) / (last.at_s - first.at_s)
    return total


def _lag_at_the_end(samples: Sequence[Sample]) -> int:
    """The latest producer's least lag of its last samples: one hiccup is none, falling behind is all of them."""
    of_worker: dict[str, list[int]] = defaultdict(list)
    for sample in samples:
        of_worker[sample.worker].append(sample.lag_ns)
    return max((min(lags[-_LAST_SAMPLES:]) for lags in of_worker.values()), default=0)
