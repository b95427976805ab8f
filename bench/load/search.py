"""Maximum throughput: the highest rate that a system sustains, found by bracketing, then confirmed by a run of full length.

1. runs that aren't judged, at the rate where the search begins, until one is hardly better than the one before: brokers that have
   just been started compile their code as they go
2. double the rate until a step isn't sustained (lower it to a little less than was acknowledged, if the first one isn't)
3. halve the bracket, by ratio, until it is narrow; then try its upper end again, and what failing steps have promised, and go on
   from there if it is sustained now; but not for ever, since the speed of a testbed may wander more than any bracket is wide
4. run the highest sustained rate at full length; if it isn't sustained there, run a little less, some times; where much less was
   acknowledged, half of the way there by ratio, since an overdriven system may do less than it can sustain

A step that fails is tried once more before it counts, unless it was far off: a busy machine is no limit of a system.
Every run is recorded.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from bench.load.bracket import LESS, MOST_RUNS, NARROW, Tried, bracket
from bench.load.load import LoadResult, LoadSpec
from bench.load.search_result import Attempt, Found, Kind, bound_of, failed_above
from bench.load.sustained import judge
from contract.workload import Workload

# Short steps differ by a tenth to either side from one to the next: what comes nearer than that is no better known.
SHORT_STEP_S, NARROW_OF_SHORT_STEPS, MOST_SHORT_STEPS = 10.0, 1.1, 16
MUCH_LESS = 0.5
MOST_CONFIRMATIONS = 4
SHORTEST_STEP_S, LONGEST_STEP_S = 5.0, 30.0
STEP_SHARE = 6  # a step lasts a sixth of the confirmation
STEP_WARMUP_S = 2.0
# After runs that aren't kept, there is no wait for what may be delivered twice.
QUIET_S = 0.2
WARMUP_RUN_S = 15.0
MOST_WARMUPS = 4
HARDLY_BETTER = 1.2


class _Aborted(Exception):
    def __init__(self, load: LoadResult) -> None:
        self.load = load


def find_highest(
    spec: LoadSpec,
    run: Callable[[LoadSpec], LoadResult],
    discard: Callable[[LoadResult], None],
    on_progress: Callable[[str], None] = lambda _text: None,
    before_confirming: Callable[[], None] = lambda: None,
    *,
    octaves_below: float,
) -> Found:
    """Searches up to `spec.workload.rate_per_s`. `run` runs one load; `discard` removes the records of one that isn't kept;
    `before_confirming` is called before each run that may be kept. `octaves_below`: by how many the search begins below the rate
    that is expected, from 0 to 1; by chance, so that no two searches of a campaign step on the same rates.

    A load that a live rule aborts ends the search, and is its result.
    """
    workload, least = spec.workload, spec.workload.producers
    search = _Search(spec, run, discard, on_progress, before_confirming)
    begin_per_s = round(min(workload.planned_rate_per_s, workload.rate_per_s) / 2**octaves_below)
    begin_per_s = max(least, begin_per_s)
    most_runs = most_steps(workload)
    try:
        search.warm_up(begin_per_s)
        bracketed = bracket(
            search.step, begin_per_s, least, workload.rate_per_s, narrow=search.narrow, most_runs=most_runs
        )
        load, rate_per_s = search.confirm(bracketed.rate_per_s or least)
        closed = bracketed.closed
    except _Aborted as aborted:
        load, rate_per_s, closed = aborted.load, None, False
    attempts = search.attempts
    failed_per_s = failed_above(attempts, rate_per_s)
    bounded_by = bound_of(workload, rate_per_s, failed_per_s, attempts)
    return Found(load, rate_per_s, failed_per_s, search.narrow, closed, bounded_by, tuple(attempts))


class _Search:
    """A search under way: its runs so far."""

    def __init__(
        self,
        spec: LoadSpec,
        run: Callable[[LoadSpec], LoadResult],
        discard: Callable[[LoadResult], None],
        on_progress: Callable[[str], None],
        before_confirming: Callable[[], None],
    ) -> None:
        self._spec, self._run, self._discard = spec, run, discard
        self._on_progress, self._before_confirming = on_progress, before_confirming
        self.narrow = tolerance_of(spec.workload)
        self.attempts: list[Attempt] = []

    def warm_up(self, rate_per_s: int) -> None:
        before_per_s = 0.0
        for _ in range(MOST_WARMUPS):
            self._discard(self._attempt("warm-up", rate_per_s))
            judgement = self.attempts[-1].judgement
            if judgement.sustained or judgement.acked_per_s <= HARDLY_BETTER * before_per_s:
                return
            before_per_s = judgement.acked_per_s

    def step(self, rate_per_s: int, tries: int) -> Tried:
        before = len(self.attempts)
        for _ in range(tries):
            self._discard(self._attempt("step", rate_per_s))
            if self.attempts[-1].judgement.sustained or self.attempts[-1].far_off:
                break
        own = [each.judgement for each in self.attempts[before:]]
        return Tried(own[-1].sustained, max(each.acked_per_s for each in own), len(own))

    def confirm(self, rate_per_s: int) -> tuple[LoadResult, int | None]:
        """The last confirmation, and its rate if that was sustained."""
        least = self._spec.workload.producers
        for left in reversed(range(MOST_CONFIRMATIONS)):
            load = self._attempt("confirmation", rate_per_s)
            judgement = self.attempts[-1].judgement
            if judgement.sustained:
                return load, rate_per_s
            if left and rate_per_s > least:
                self._discard(load)
                halfway = math.sqrt(max(judgement.acked_per_s / rate_per_s, MUCH_LESS))
                rate_per_s = max(least, round(rate_per_s * min(halfway, max(LESS, 1 / self.narrow))))
        return load, None

    def _attempt(self, kind: Kind, rate_per_s: int) -> LoadResult:
        """Runs and judges one load. Raises _Aborted."""
        self._on_progress(f"search: {kind} at {rate_per_s:,} msg/s")
        if kind == "confirmation":
            self._before_confirming()
        shape = _SHAPES[kind](self._spec.workload)
        shape = dataclasses.replace(
            shape, pacing="open-loop", rate_per_s=rate_per_s, expected_rate_per_s=None, search_steps=None
        )
        limits = self._spec.limits
        if kind != "confirmation":
            limits = dataclasses.replace(limits, quiet_s=QUIET_S)
        load = self._run(dataclasses.replace(self._spec, workload=shape, sampled=True, limits=limits))
        if load.abort is not None:
            raise _Aborted(load)
        to_s = shape.warmup_s + shape.measure_s
        judgement = judge(load.samples, rate_per_s, from_s=shape.warmup_s, to_s=to_s, errors=_missing(load))
        self.attempts.append(Attempt(kind, rate_per_s, shape.measure_s, judgement))
        return load


def step_of(workload: Workload) -> Workload:
    """The workload for as long as a step lasts."""
    measure_s = min(max(workload.measure_s / STEP_SHARE, SHORTEST_STEP_S), LONGEST_STEP_S)
    return dataclasses.replace(workload, warmup_s=STEP_WARMUP_S, measure_s=measure_s)


def has_short_steps(workload: Workload) -> bool:
    """Whether steps are too short to tell near rates apart."""
    return step_of(workload).measure_s < SHORT_STEP_S


def tolerance_of(workload: Workload) -> float:
    """How near a search is to bring the rate that fails to the one that is sustained, as a ratio."""
    return NARROW_OF_SHORT_STEPS if has_short_steps(workload) else NARROW


def most_steps(workload: Workload) -> int:
    """After how many steps the search takes the best so far; the last one may be tried twice."""
    return workload.search_steps or (MOST_SHORT_STEPS if has_short_steps(workload) else MOST_RUNS)


def warmup_of(workload: Workload) -> Workload:
    """The workload for as long as the run before the first step lasts."""
    return dataclasses.replace(workload, warmup_s=0.0, measure_s=WARMUP_RUN_S)


def _missing(load: LoadResult) -> int:
    """Messages given up by a producer, not answered in the end, or acknowledged and not received when it was over."""
    producers = [worker for worker in load.workers if worker["role"] == "producer"]
    return load.unread + sum(int(one["errors"] or 0) + int(one["unanswered"] or 0) for one in producers)


_SHAPES: dict[Kind, Callable[[Workload], Workload]] = {
    "warm-up": warmup_of,
    "step": step_of,
    "confirmation": lambda workload: workload,
}
