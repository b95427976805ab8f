"""When a long campaign's disks are probed again, among its trials: a pure function of the plan. It probes nothing.

A probe never stands between trials that are compared with one another: only where the next trial is the first of its workload
and promise in a block. What is planned depends on the estimates of the whole campaign, so that a resumed one has the same plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.campaign.campaign import TrialSpec
from bench.progress import Step
from bench.run.trial import steps_of

# Three repeats of 1 GiB written and read and 5,000 flushes on two disks, with a reset before and pauses between.
PROBE_S = 60.0
HOUR_S = 3600.0


@dataclass(frozen=True)
class PlannedProbe:
    """`before`: the trials up to the next probe, `after`: those since the last one. The first is after none, the last before none."""

    name: str
    after: tuple[str, ...]
    before: tuple[str, ...]

    @property
    def step(self) -> Step:
        """As the progress shows it."""
        where = f"before {self.before[0]}" if self.before else "after the last trial"
        return Step(f"disks probed again, {where}", PROBE_S)


def planned_probes(trials: Sequence[TrialSpec], every_h: float) -> tuple[PlannedProbe, ...]:
    """One before the first trial, one wherever so many hours or more have passed since the last one, one after the last trial.

    None in a campaign that is estimated to take less than `every_h` hours.
    """
    seconds = [sum(step.estimate_s for step in steps_of(spec)) for spec in trials]
    if not trials or sum(seconds) < every_h * HOUR_S:
        return ()
    stretches: list[list[str]] = []
    since_s = 0.0
    for spec, taken_s in zip(trials, seconds, strict=True):
        first_of_its_kind = spec.position == 1 and spec.generator == "samebox"
        if not stretches or (first_of_its_kind and since_s >= every_h * HOUR_S):
            stretches.append([])
            since_s = 0.0
        stretches[-1].append(spec.trial)
        since_s += taken_s
    ends = [(), *(tuple(stretch) for stretch in stretches), ()]
    return tuple(PlannedProbe(f"{number:02d}", after, before) for number, (after, before) in enumerate(pairwise(ends)))


def agenda(
    trials: Sequence[TrialSpec], every_h: float, finished: Sequence[str], probed: Sequence[str]
) -> list[PlannedProbe | TrialSpec]:
    """What is left to do, in order. A probe whose time has passed (the trial after it is finished) isn't taken any more."""
    planned = planned_probes(trials, every_h)
    at = {probe.before[0]: probe for probe in planned if probe.before}
    left: list[PlannedProbe | TrialSpec] = []
    for spec in trials:
        if spec.trial in finished:
            continue
        probe = at.get(spec.trial)
        if probe is not None and probe.name not in probed:
            left.append(probe)
        left.append(spec)
    if planned and planned[-1].name not in probed:
        left.append(planned[-1])
    return left
