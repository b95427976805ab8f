"""Whether a rate was sustained, by the samples of one run at it. The rule of a throughput search; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.load.samples import Sample

ACKNOWLEDGED_SHARE = 0.995
# Consumers fetch in larger pieces than producers send: over a few seconds that alone is half a percent.
RECEIVED_SHARE = 0.99
LATEST_LAG_NS = 100_000_000
# What is on its way at the end of a stretch differs from what was at its beginning, by as much as latency differs: in a step of
# five seconds, a tenth of a second of it would be two percent, and no backlog.
ON_ITS_WAY_S = 0.1
# A hiccup of a busy machine is no limit, as long as it costs no more than a tenth of the stretch, and at most a second.
HICCUP_SHARE, LONGEST_HICCUP_S = 0.1, 1.0
# Counts are looked at so often, but not more often than so many times: slopes are taken between any two.
LOOK_EVERY_S, MOST_LOOKS = 0.5, 200
_LAST_SAMPLES = 3


@dataclass(frozen=True)
class Course:
    """What workers counted together over a stretch: totals at evenly spaced moments."""

    at_s: npt.NDArray[np.float64]
    messages: npt.NDArray[np.float64]

    def median_per_s(self) -> float:
        """The median of the rates between any two moments (the estimate of Theil and Sen): what a short hiccup doesn't change."""
        first, second = np.triu_indices(len(self.at_s), 1)
        return float(np.median((self.messages[second] - self.messages[first]) / (self.at_s[second] - self.at_s[first])))

    def short_s(self, rate_per_s: int) -> float:
        """By how much of its time it fell short of the rate, from end to end."""
        seconds = self.at_s[-1] - self.at_s[0]
        return float(seconds - (self.messages[-1] - self.messages[0]) / rate_per_s)


@dataclass(frozen=True)
class Judgement:
    """Of one run: at which rates messages were acknowledged and received (the slowest subscription), how late sends were at the end.

    The rates are medians over the stretch (`Course`), not means.
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
    sent = [sample for sample in samples if sample.role == "producer"]
    received: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.role == "consumer":
            received[sample.subscription or ""].append(sample)
    acknowledged = course_of(sent, from_s, to_s)
    slowest = min((course_of(own, from_s, to_s) for own in received.values()), key=Course.median_per_s, default=None)
    acked_per_s = acknowledged.median_per_s()
    received_per_s = None if slowest is None else slowest.median_per_s()
    lag_ns = _lag_at_the_end([sample for sample in sent if from_s <= sample.at_s <= to_s])
    on_its_way_per_s = ON_ITS_WAY_S * rate_per_s / (to_s - from_s)
    hiccup_s = min(HICCUP_SHARE * (to_s - from_s), LONGEST_HICCUP_S)
    acked_short_s = acknowledged.short_s(rate_per_s)
    received_short_s = 0.0 if slowest is None else slowest.short_s(rate_per_s)
    reason = ""
    if acked_per_s < ACKNOWLEDGED_SHARE * rate_per_s - on_its_way_per_s:
        reason = f"acknowledged {acked_per_s:,.0f} of {rate_per_s:,} messages a second"
    elif received_per_s is not None and received_per_s < RECEIVED_SHARE * rate_per_s - on_its_way_per_s:
        reason = f"received {received_per_s:,.0f} of {rate_per_s:,} messages a second: a backlog grows"
    elif acked_short_s > hiccup_s:
        reason = f"acknowledgements fell {acked_short_s:.1f} s behind, of {hiccup_s:g} s allowed"
    elif received_short_s > hiccup_s:
        reason = f"receipts fell {received_short_s:.1f} s behind, of {hiccup_s:g} s allowed"
    elif lag_ns > LATEST_LAG_NS:
        reason = f"sends were {lag_ns / 1e6:,.0f} ms late at the end"
    elif errors:
        reason = f"{errors:,} messages were given up or lost"
    return Judgement(acked_per_s, received_per_s, lag_ns / 1e6, reason)


def course_of(samples: Iterable[Sample], from_s: float, to_s: float) -> Course:
    """The workers' counts added up. Each counts at moments of its own: between two of them it is taken to go on evenly."""
    of_worker: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        of_worker[sample.worker].append(sample)
    looks = min(MOST_LOOKS, max(2, round((to_s - from_s) / LOOK_EVERY_S) + 1))
    at_s: npt.NDArray[np.float64] = np.linspace(from_s, to_s, looks, dtype=np.float64)
    messages = np.zeros(looks)
    for own in of_worker.values():
        messages += np.interp(at_s, [each.at_s for each in own], [each.messages for each in own], left=0.0)
    return Course(at_s, messages)


def _lag_at_the_end(samples: Sequence[Sample]) -> int:
    """The latest producer's least lag of its last samples: one hiccup is none, falling behind is all of them."""
    of_worker: dict[str, list[int]] = defaultdict(list)
    for sample in samples:
        of_worker[sample.worker].append(sample.lag_ns)
    return max((min(lags[-_LAST_SAMPLES:]) for lags in of_worker.values()), default=0)
