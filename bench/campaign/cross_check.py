"""Which trials of a campaign are run once more by the systems' own load tools, and which can't be, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.campaign.contestant import Contestant
from bench.campaign.order import TrialSpec
from provisioning.errors import InvalidInput
from systems.deployment import SoftwareStore
from systems.load_tool import none_can
from systems.registry import SYSTEMS, release_of

SUFFIX = "-native"


@dataclass(frozen=True)
class LeftOut:
    """A workload that a contestant's tools can't run, and why. `system`: the contestant's name."""

    system: str
    workload: str
    reason: str


def with_native_trials(trials: Sequence[TrialSpec], *, where: str) -> tuple[TrialSpec, ...]:
    """Each trial, in A/B blocks followed by the same one by the system's own tools if they can run it.

    Raises InvalidInput on equal names.
    """
    found = tuple(_with_native_trial(trials))
    names = [spec.trial for spec in found]
    for spec in trials:
        if names.count(spec.trial) > 1:
            raise InvalidInput(
                f"{where}: workload {spec.workload.name!r}: its trials have the names that cross_check gives to those of another.",
                next_step=f"Give it a name that doesn't end in {SUFFIX!r}.",
            )
    return found


def left_out(trials: Sequence[TrialSpec]) -> tuple[LeftOut, ...]:
    """What stays without a native trial; each system and workload once."""
    reasons = ((spec, _reason(spec)) for spec in trials)
    return tuple(
        dict.fromkeys(LeftOut(spec.contestant.name, spec.workload.name, reason) for spec, reason in reasons if reason)
    )


def cross_check_document(
    trials: Sequence[TrialSpec], store_of: Callable[[Contestant], SoftwareStore]
) -> dict[str, Any]:
    """What the manifest says of a cross-check, beside its trials. `store_of`: where a contestant's software is."""
    tools = {}
    for contestant in dict.fromkeys(spec.contestant for spec in trials):
        tool = SYSTEMS[contestant.system].native_tool
        if tool is None:
            continue
        tools[contestant.name] = {
            "producer": tool.name,
            "consumer": tool.consumer_name,
            "bundles": {each: store_of(contestant).version(each) for each in tool.software},
            "measures": list(tool.measures),
            "cannot_set": list(tool.cannot_set),
        }
    return {"tools": tools, "left_out": [asdict(entry) for entry in left_out(trials)]}


def _with_native_trial(trials: Sequence[TrialSpec]) -> Iterator[TrialSpec]:
    for spec in trials:
        yield spec
        if spec.block_kind == "A/B" and _reason(spec) is None:
            yield replace(spec, trial=f"{spec.trial}{SUFFIX}", generator="native")


def _reason(spec: TrialSpec) -> str | None:
    tool = SYSTEMS[spec.system].native_tool
    if tool is None:
        return f"{spec.system} comes with no load tool"
    release = release_of(spec.system, spec.contestant.version)
    return release.why_no_load_tool or none_can(spec.workload) or tool.cannot(spec.workload)
