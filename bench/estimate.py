"""How long a workload's load takes and how much it sends, before it is run. Sums over what the file says; it measures nothing."""

from __future__ import annotations

from bench.workload import Workload

# A search tries about so many rates (doubling from the expected one, halving the bracket, confirming), each for a share of
# the measurement.
SEARCH_TRIES = 9
TRY_SHARE = 1 / 3
LEAST_TRY_S = 5.0
# Readers of a backlog are faster than its writers: in the published campaigns six to twelve times, half as long is for safety.
CATCH_UP_SHARE = 0.5


def sending_s(workload: Workload) -> float:
    """The seconds for which producers send: warm-up, search, backlog (while it is built and while it is read), measurement."""
    return workload.warmup_s + _search_s(workload) + workload.build_s + _catch_up_s(workload) + workload.measure_s


def messages(workload: Workload) -> float:
    """About how many messages are sent."""
    return workload.planned_rate_per_s * sending_s(workload)


def _search_s(workload: Workload) -> float:
    if workload.pacing != "search":
        return 0.0
    return SEARCH_TRIES * max(LEAST_TRY_S, workload.measure_s * TRY_SHARE)


def _catch_up_s(workload: Workload) -> float:
    return min(workload.backlog.catch_up_s, workload.build_s * CATCH_UP_SHARE) if workload.backlog else 0.0
