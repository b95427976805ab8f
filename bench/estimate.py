"""How long a workload's load takes and how much it sends, before it is run. Sums over what the file says; it measures nothing."""

from __future__ import annotations

from bench.load.search import step_of
from bench.workload import Workload

# A search from a rate that is about right: two doublings, four halvings of the bracket, every second of which is tried twice,
# and one confirmation that fails beside the one that counts.
SEARCH_STEPS = 10
SEARCH_CONFIRMATIONS = 2
# Around each run of a load: workers connect before it; consumers drain, and all end, after it.
AROUND_A_RUN_S = 6.0
# Readers of a backlog are faster than its writers: in the published campaigns six to twelve times; half as long is for safety.
CATCH_UP_SHARE = 0.5


def sending_s(workload: Workload) -> float:
    """The seconds for which producers send: warm-up, search, backlog (while it is built and while it is read), measurement."""
    once_s = workload.warmup_s + workload.build_s + _catch_up_s(workload) + workload.measure_s
    if workload.pacing != "search":
        return once_s
    step = step_of(workload)
    return SEARCH_STEPS * (step.warmup_s + step.measure_s) + SEARCH_CONFIRMATIONS * once_s


def load_s(workload: Workload) -> float:
    """The seconds that the load takes, from the first worker to the last."""
    runs = SEARCH_STEPS + SEARCH_CONFIRMATIONS if workload.pacing == "search" else 1
    return sending_s(workload) + runs * AROUND_A_RUN_S


def messages(workload: Workload) -> float:
    """About how many messages are sent."""
    return workload.planned_rate_per_s * sending_s(workload)


def _catch_up_s(workload: Workload) -> float:
    return min(workload.backlog.catch_up_s, workload.build_s * CATCH_UP_SHARE) if workload.backlog else 0.0
