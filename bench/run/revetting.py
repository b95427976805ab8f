"""The probes of a long campaign's disks, between its trials: when they are planned, and taking one.

A probe never stands between trials that are compared with one another: only where the next trial is the first of its workload
and promise in a block. What is planned depends on the estimates of the whole campaign, so that a resumed one has the same plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.campaign.order import TrialSpec
from bench.progress import Reporter, Step
from bench.results.folder import Results, write_json
from bench.run.equipped import Equipped
from bench.run.trial import steps_of
from provisioning.document import read_document
from provisioning.hosts import daemons
from provisioning.reset.reset import reset
from provisioning.vetting import Thresholds, probe_again

AGAIN_SCHEMA = 1
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
    """One before the first trial, one wherever `every_h` hours have passed since the last one, one after the last trial.

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
    """What is left to do, in order. A probe whose time has passed (the trial after it is finished) isn't made up for."""
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


def take_probe(
    planned: PlannedProbe, equipped: Equipped, thresholds: Thresholds, results: Results, reporter: Reporter
) -> None:
    """Resets the hosts as before any trial, probes them, and writes the document. Raises HostsFailed, ResetError.

    The campaign's first probe is what all others are compared with. A run that is cut off in one leaves no document, and the next
    takes the probe anew.
    """
    reporter.step(planned.step.title)
    hosts = equipped.hosts
    cleaned = reset(hosts, lambda: daemons.kill_everything(hosts), drop_caches=equipped.drop_caches)
    names = results.probed()
    first = read_document(results.probe_file(names[0])) if names else None
    found = probe_again(
        hosts, thresholds, first, progress=lambda done, of, text: reporter.detail(f"{text} ({done}/{of})")
    )
    for sentence in sorted({verdict.sentence for verdict in found.verdicts if verdict.verdict == "warn"}):
        reporter.notice(f"warning: {sentence}")
    document = {
        "schema": AGAIN_SCHEMA,
        "name": planned.name,
        "after": list(planned.after),
        "before": list(planned.before),
        "compared_with": names[0] if names else None,
        **found.document,
        "reset": cleaned.as_observation(),
    }
    write_json(results.probe_file(planned.name), document)
