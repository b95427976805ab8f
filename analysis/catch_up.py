"""How a backlog was read: how fast, and when its readers had caught up. Computed from messages per second.

A reader has caught up at the end of the first second, counted from the start of the drain, at which no more is unread than half
a second's worth of messages (the 2020 report's rule: 100,000 at 200,000 a second), or than the workload lets stay unread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from analysis.campaign import NANOSECONDS, Trial
from analysis.schema import DRAIN

UNREAD_S = 0.5
CATCH_UP = "catch-up"


@dataclass(frozen=True)
class CatchUp:
    """One subscription of a backlog. Rates in messages a second, of its receipts.

    `backlog_messages`: unread when the drain began. `caught_up_s`: from then on; None if it never did. `mean_per_s`: until it had
    caught up, else until the records end; `peak_per_s`: the highest whole second.
    """

    trial: str
    subscription: str
    backlog_messages: int
    caught_up_s: float | None
    mean_per_s: float
    peak_per_s: int


def catch_ups(trial: Trial, acknowledged: Iterable[Any], received: Iterable[Any]) -> list[CatchUp]:
    """One per subscription of the backlog. `acknowledged`: rows (second, messages); `received`: rows (subscription, second,
    messages); seconds since the load began."""
    drain, start_ns = trial.phase_ns(DRAIN), trial.start_ns
    if drain is None or start_ns is None:
        return []
    drain_s = (drain[0] - start_ns) / NANOSECONDS
    workload, backlog = trial.workload, trial.workload["backlog"]
    left_over = (1 - float(backlog["drained_share"])) * float(backlog["size_bytes"]) / float(workload["message_bytes"])
    unread = max(1.0, UNREAD_S * float(workload["rate_per_s"]), left_over)
    acked: Counter[int] = Counter()
    for row in acknowledged:
        acked[row["second"]] += row["messages"]
    got: dict[str, Counter[int]] = {}
    for row in received:
        if str(row["subscription"]).startswith(CATCH_UP):
            got.setdefault(row["subscription"], Counter())[row["second"]] += row["messages"]
    return [_catch_up(trial.name, name, acked, counts, drain_s, unread) for name, counts in sorted(got.items())]


def _catch_up(
    trial: str, subscription: str, acked: Counter[int], got: Counter[int], drain_s: float, unread: float
) -> CatchUp:
    seconds = range(int(drain_s), max([*acked, *got], default=int(drain_s)) + 1)
    # the second in which the drain begins may have begun before it: what was acknowledged until then is the backlog
    backlog = sum(messages for second, messages in acked.items() if second < seconds[0])
    left, received, peak = backlog, 0, 0
    for second in seconds:
        left += acked[second] - got[second]
        received += got[second]
        peak = max(peak, got[second])
        if left <= unread:
            caught_up_s = max(second + 1 - drain_s, 0.0)
            return CatchUp(trial, subscription, backlog, caught_up_s, received / max(caught_up_s, 1e-9), peak)
    return CatchUp(trial, subscription, backlog, None, received / max(seconds[-1] + 1 - drain_s, 1e-9), peak)
