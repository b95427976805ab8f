"""How long a workload's load takes and how much it sends, before it is run. Sums over what the file says; it measures nothing."""

from __future__ import annotations

from bench.load.search import most_steps, step_of, warmup_of
from contract.workload import Workload

# A search that expects a quarter of what it finds, and begins up to an octave below that: three runs until the brokers are warm, two
# or three doublings, one that fails, three to five halvings of the bracket, every second of which is tried again, and the bracket's
# upper end once more (10 steps where they are short, 14 where they are not); one search in five has a confirmation that fails. Its
# steps are at twice the rate that is expected, on the average.
SEARCH_WARMUPS = 3
SEARCH_STEPS = 12
SEARCH_CONFIRMATIONS = 1.2
SEARCH_RISES = 2
SEARCH_FINDS = 4
# Once a load, workers connect and in the end leave; around each of its runs they get their jobs, and consumers drain.
CONNECT_S = 4.0
AROUND_A_RUN_S = 3.5
# Readers of a backlog are faster than its writers: in the published campaigns six to twelve times; half as long is for safety.
CATCH_UP_SHARE = 0.5


def sending_s(workload: Workload) -> float:
    """The seconds for which producers send: warm-up, search, backlog (while it is built and while it is read), measurement."""
    if workload.pacing != "search":
        return _run_s(workload)
    steps_s = SEARCH_WARMUPS * _run_s(warmup_of(workload)) + _search_steps(workload) * _run_s(step_of(workload))
    return steps_s + SEARCH_CONFIRMATIONS * _run_s(workload)


def load_s(workload: Workload) -> float:
    """The seconds that the load takes, from the first worker to the last."""
    searching = workload.pacing == "search"
    runs = SEARCH_WARMUPS + _search_steps(workload) + SEARCH_CONFIRMATIONS if searching else 1
    return sending_s(workload) + CONNECT_S + runs * AROUND_A_RUN_S


def messages(workload: Workload) -> float:
    """About how many messages are sent."""
    return _rate_per_s(workload, SEARCH_RISES) * sending_s(workload)


def messages_kept(workload: Workload) -> float:
    """About how many of them are in the trial's records: of a search only the last run is."""
    return _rate_per_s(workload, SEARCH_FINDS) * _run_s(workload)


def _search_steps(workload: Workload) -> int:
    return min(SEARCH_STEPS, most_steps(workload))


def _rate_per_s(workload: Workload, search_factor: int) -> int:
    factor = search_factor if workload.pacing == "search" else 1
    return min(factor * workload.planned_rate_per_s, workload.rate_per_s)


def _run_s(workload: Workload) -> float:
    catch_up_s = min(workload.backlog.catch_up_s, workload.build_s * CATCH_UP_SHARE) if workload.backlog else 0.0
    return workload.warmup_s + workload.build_s + catch_up_s + workload.measure_s
