"""Is every planned trial there, once, as it was planned, and did they run one after another in that order?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from bench.campaign.definition import completed_workload
from bench.campaign.order import TrialSpec
from bench.verify.difference import Difference
from bench.verify.documents import LARGEST_NS
from bench.verify.order import Planned
from contract import results_folder as layout

S = 1_000_000_000
BETWEEN_CLOCKS_NS = 60 * S  # steps are timed by the operator's clock, loads and samples by those of the hosts
LOAD = "load"


@dataclass(frozen=True)
class Recorded:
    """A trial that is there: its trial.json, its entry in the manifest's order, and what follows from the campaign (None: unknown)."""

    name: str
    document: Mapping[str, Any]
    entry: Mapping[str, Any]
    spec: TrialSpec | None

    @property
    def completed(self) -> bool:
        """Whether it wasn't ended early: then everything that was written must be there."""
        return self.document.get("abort") is None

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """From the beginning of its first step to the end of its last one."""
        steps = self.document.get("steps") or []
        return (int(steps[0]["started_ns"]), int(steps[-1]["ended_ns"])) if steps else None

    @property
    def length_is_fixed(self) -> bool:
        """Whether its schedule ends when it was to, and not when a backlog has been read or latency is steady."""
        workload = self.document["workload"]
        return not workload.get("backlog") and workload.get("warmup", "fixed") == "fixed"

    def watched_until_ns(self, who: Literal["producers", "consumers"]) -> int:
        """Until when producers (consumers) took notice of what came; if that isn't recorded, until its last step ended."""
        watched = self.document["observations"].get("watched_until_ns")
        span = self.span_ns
        return int(watched[who]) if watched else (span[1] if span else LARGEST_NS)

    def step_ns(self, name: str) -> tuple[int, int] | None:
        """Beginning and end of a step; None: it didn't get there."""
        steps = (each for each in self.document.get("steps") or [] if each["name"] == name)
        return next(((int(each["started_ns"]), int(each["ended_ns"])) for each in steps), None)


def recorded_trials(
    manifest: Mapping[str, Any], planned: Planned, documents: Mapping[str, Mapping[str, Any]]
) -> list[Recorded]:
    """The planned trials that are there, in the manifest's order. `documents`: the trial.json of each that is."""
    entries = {str(entry["trial"]): entry for entry in manifest["order"]}
    return [
        Recorded(name, documents[name], entry, planned.trials.get(name))
        for name, entry in entries.items()
        if name in documents
    ]


def trial_differences(
    manifest: Mapping[str, Any], trials: Sequence[Recorded], there: Sequence[str]
) -> Iterator[Difference]:
    """Trials that are missing or too many, and what of a trial.json contradicts the manifest. `there`: all that have a trial.json."""
    names = [str(entry["trial"]) for entry in manifest["order"]]
    for name in dict.fromkeys(names):
        if name not in there:
            yield Difference("trial", name, "planned, and not there")
    for name in there:
        if name not in names:
            yield Difference("trial", name, "there, and not planned")
    for trial in trials:
        yield from (Difference("trial", trial.name, said) for said in _wrong(trial, manifest))


def time_differences(manifest: Mapping[str, Any], trials: Sequence[Recorded]) -> Iterator[Difference]:
    """Steps inside a trial, phases inside its load, and trials one after another as planned."""
    before, before_ns = layout.MANIFEST, int(manifest["created_ns"])
    for trial in trials:
        yield from (Difference("times", trial.name, said) for said in _wrong_times(trial))
        if trial.span_ns is None:
            continue
        began_ns, ended_ns = trial.span_ns
        if began_ns < before_ns:
            yield Difference(
                "times",
                trial.name,
                f"it began {(before_ns - began_ns) / S:,.3f} s before {before} was done, which comes first",
            )
        before, before_ns = trial.name, ended_ns


def _wrong(trial: Recorded, manifest: Mapping[str, Any]) -> Iterator[str]:
    """In which a trial.json isn't what was planned, on the hosts and with the software that the manifest names."""
    document, entry = trial.document, trial.entry
    said = {
        **{key: document.get(key) for key in ("trial", "block", "position", "system", "experiment", "contestant")},
        "block_kind": document.get("block_kind", "A/B"),
        "generator": document.get("generator", "samebox"),
        "durability": document["durability"].get("name"),
        "workload": document["workload"].get("name"),
        "campaign": document.get("campaign"),
    }
    planned = {
        "block_kind": "A/B",
        "generator": "samebox",
        "contestant": None,
        "campaign": manifest["campaign"],
        **entry,
    }
    for key, value in said.items():
        if planned.get(key) != value:
            yield f"its {key} is {value!r}, and {planned.get(key)!r} was planned"
    if trial.spec is not None:
        asked = json.loads(json.dumps(asdict(trial.spec.workload)))
        run = completed_workload(document["workload"])
        for key in sorted(key for key in asked.keys() | run.keys() if asked.get(key) != run.get(key)):
            yield f"its workload's {key} is {run.get(key)!r}, and {asked.get(key)!r} was planned"
    software = manifest["software"].get(entry.get("contestant", entry["system"]))
    if software is not None and document.get("version") != software["version"]:
        yield f"its version is {document.get('version')!r}, and the manifest's software is {software['version']!r}"
    yield from _wrong_hosts(document, manifest)


def _wrong_hosts(document: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    planned = {(host["name"], host["instance_id"]) for host in manifest["testbed"]["hosts"]}
    ran = {(host["name"], host["instance_id"]) for host in document["hosts"]}
    if planned and ran != planned:
        yield f"it ran on other hosts than the testbed's: {', '.join(sorted(name for name, _ in ran ^ planned))}"
    orders = manifest.get("host_orders")
    if orders is not None and document.get("host_order") not in (None, orders.get(str(document["block"]))):
        yield "its hosts stood in another order than that of its block"
    names, daemons = {name for name, _ in ran}, document["observations"].get("daemons") or []
    for what, those in (("a daemon", daemons), ("a worker", document["observations"].get("workers") or [])):
        if strangers := sorted({str(each["host"]) for each in those} - names):
            yield f"{what} ran on {strangers[0]}, which isn't one of its hosts"


def about_within(first_ns: int, last_ns: int, span_ns: tuple[int, int]) -> bool:
    """Whether times of hosts lie in a span of the operator's."""
    return first_ns >= span_ns[0] - BETWEEN_CLOCKS_NS and last_ns <= span_ns[1] + BETWEEN_CLOCKS_NS


def _wrong_times(trial: Recorded) -> Iterator[str]:
    document = trial.document
    steps, phases = document.get("steps") or [], document["phases"]
    for step in steps:
        if step["ended_ns"] < step["started_ns"]:
            yield f"its step {step['name']} ended before it began"
    for one, other in pairwise(steps):
        if other["started_ns"] < one["ended_ns"]:
            yield f"its steps {one['name']} and {other['name']} overlap"
    for one, other in pairwise(phases):
        if other["start_ns"] != one["end_ns"]:
            yield f"its phase {other['name']} doesn't begin where {one['name']} ends"
    load = trial.step_ns(LOAD)
    if phases and load and not about_within(phases[0]["start_ns"], phases[-1]["end_ns"], load):
        yield "its phases aren't within its load"
    workload = document["workload"]
    if trial.completed and trial.length_is_fixed and workload.get("pacing") == "open-loop":
        for phase in phases:
            asked_s, lasted_ns = workload.get(f"{phase['name']}_s"), phase["end_ns"] - phase["start_ns"]
            if asked_s is not None and lasted_ns != round(asked_s * S):
                yield f"its phase {phase['name']} lasted {lasted_ns / S:g} s, and {asked_s:g} s were asked for"
