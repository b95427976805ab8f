"""Which trials of a campaign are run once more by the systems' own load tools, and which can't be, and why. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.campaign import TrialSpec
from bench.native.tool import none_can
from bench.systems import SYSTEMS
from provisioning.deployment import SoftwareStore
from provisioning.errors import InvalidInput

SUFFIX = "-native"


@dataclass(frozen=True)
class LeftOut:
    """A workload that a system's tools can't run, and why."""

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
                f"{where}: workload {spec.workload.name!r}: with cross_check, trials of another workload are called so too.",
                next_step=f"Give it a name that doesn't end in {SUFFIX!r}.",
            )
    return found


def left_out(trials: Sequence[TrialSpec]) -> tuple[LeftOut, ...]:
    """What stays without a native trial; each system and workload once."""
    reasons = ((spec, _reason(spec)) for spec in trials)
    return tuple(dict.fromkeys(LeftOut(spec.system, spec.workload.name, reason) for spec, reason in reasons if reason))


def cross_check_document(trials: Sequence[TrialSpec], store: SoftwareStore) -> dict[str, Any]:
    """What the manifest says of a cross-check, beside its trials."""
    tools = {}
    for name in dict.fromkeys(spec.system for spec in trials):
        tool = SYSTEMS[name].native_tool
        tools[name] = {
            "producer": tool.name,
            "consumer": tool.consumer_name,
            "bundles": {bundle: store.version(bundle) for bundle in tool.bundles},
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
    return none_can(spec.workload) or SYSTEMS[spec.system].native_tool.cannot(spec.workload)
