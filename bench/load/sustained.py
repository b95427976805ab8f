"""Whether a rate was sustained, by the samples of one run at it. The rule of a throughput search; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy.stats import theilslopes

from bench.load.samples import Sample

ACKNOWLEDGED_SHARE = 0.995
# Consumers fetch in larger pieces than producers send: over a few seconds that alone is half a percent.
RECEIVED_SHARE = 0.99
LATEST_LAG_NS = 100_000_000
# What is on its way at the end of a stretch differs from what was at its beginning, by as much as latency differs: in a step of
# five seconds, a tenth of a second of it would be two percent, and no backlog.
ON_ITS_WAY_S = 0.1
# A hiccup, of which the rate knows nothing, must have been made up for by the end, but for so much.
LATEST_HICCUP_S = 1.0
# Between so many points of a worker's counts slopes are taken: of all of them, in a long run, there would be millions.
POINTS = 200
_LAST_SAMPLES = 3


def median_slope(counted: Sequence[Sample]) -> float:
    """The median of the rates between any two of a worker's counts, per second."""
    points = counted[:: -(-len(counted) // POINTS)]
    return float(theilslopes([point.messages for point in points], [point.at_s for point in points]).slope)


def mean_slope(counted: Sequence[Sample]) -> float:
    """The rate between a worker's first count and its last, per second."""
    first, last = counted[0], counted[-1]
    return (last.messages - first.messages) / (last.at_s - first.at_s)


@dataclass(frozen=True)
class Judgement:
    """Of one run: at which rates messages were acknowledged and received (the slowest subscription), how late sends were at the end.

    The rates are medians over the stretch (Theil and Sen's): a hiccup that is made up for changes nothing, falling behind does.
    `reason` says why the rate isn't sustained; "" if it is.
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
    sent = [sample for sample in inside if sample.role == "producer"]
    acked_per_s = _per_s(sent)
    received: dict[str, list[Sample]] = defaultdict(list)
    for sample in inside:
        if sample.role == "consumer":
            received[sample.subscription or ""].append(sample)
    received_per_s = min((_per_s(own) for own in received.values()), default=None)
    lag_ns = _lag_at_the_end(sent)
    behind_s = (1 - _per_s(sent, of=mean_slope) / rate_per_s) * (to_s - from_s)
    on_its_way_per_s = ON_ITS_WAY_S * rate_per_s / (to_s - from_s)
    reason = ""
    if acked_per_s < ACKNOWLEDGED_SHARE * rate_per_s - on_its_way_per_s:
        reason = f"acknowledged {acked_per_s:,.0f} of {rate_per_s:,} messages a second"
    elif received_per_s is not None and received_per_s < RECEIVED_SHARE * rate_per_s - on_its_way_per_s:
        reason = f"received {received_per_s:,.0f} of {rate_per_s:,} messages a second: a backlog grows"
    elif behind_s > LATEST_HICCUP_S:
        reason = f"acknowledgements were {behind_s:.1f} s behind at the end"
    elif lag_ns > LATEST_LAG_NS:
        reason = f"sends were {lag_ns / 1e6:,.0f} ms late at the end"
    elif errors:
        reason = f"{errors:,} messages were given up or lost"
    return Judgement(acked_per_s, received_per_s, lag_ns / 1e6, reason)


def _per_s(samples: Iterable[Sample], of: Callable[[Sequence[Sample]], float] = median_slope) -> float:
    """Messages a second, each worker by its own counts: they count at different moments."""
    of_worker: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        of_worker[sample.worker].append(sample)
    return sum(of(own) for own in of_worker.values() if own[-1].at_s > own[0].at_s)


def _lag_at_the_end(samples: Sequence[Sample]) -> int:
    """The latest producer's least lag of its last samples: one hiccup is none, falling behind is all of them."""
    of_worker: dict[str, list[int]] = defaultdict(list)
    for sample in samples:
        of_worker[sample.worker].append(sample.lag_ns)
    return max((min(lags[-_LAST_SAMPLES:]) for lags in of_worker.values()), default=0)
