"""Which of the things that a sweep found belong to no stack: what an `up` that was killed made and didn't record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from provisioning.testbeds.aws.leftovers import CLUSTER, Leftover
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.sweep import Found, LeftAlone

Resource = Mapping[str, Any]
PROVIDERS = "pulumi:providers:"


def only_orphans(found: Found, known: Mapping[str, str]) -> Found:
    """The same without what is known, or belongs to what is known, or holds results; those are left alone, with their reasons.

    `known` maps ids to the stack whose state has them.
    """
    things = {leftover.id: leftover for leftover in found.leftovers}
    reasons = {each: reason for each in found.leftovers if (reason := _why_not(each, things, known))}
    return replace(
        found,
        leftovers=tuple(each for each in found.leftovers if each not in reasons),
        left_alone=tuple(LeftAlone(each, reason, each.id in known) for each, reason in reasons.items()),
    )


def _why_not(leftover: Leftover, things: Mapping[str, Leftover], known: Mapping[str, str]) -> str:
    """Why it is no orphan; empty if it is one.

    What belongs to something that a stack knows is none, although no state has it: root volumes, the cluster of a running report.
    """
    if leftover.id in known:
        return f"known to stack {known[leftover.id]}"
    if stack := _stack_of_holder(leftover, things, known):
        hanging = {"instance": "machine of EMR cluster", CLUSTER: "makes a report in"}
        return f"{hanging.get(leftover.kind, 'attached to')} {leftover.holder} of stack {stack}"
    return "holds results" if leftover.kept and not leftover.empty else ""


def _stack_of_holder(leftover: Leftover, things: Mapping[str, Leftover], known: Mapping[str, str]) -> str:
    """The stack that knows what it belongs to, directly or not; empty if none does."""
    if not leftover.holder:
        return ""
    if leftover.holder in known:
        return known[leftover.holder]
    holder = things.get(leftover.holder)
    return _stack_of_holder(holder, things, known) if holder else ""


def known_ids(stack: Stack, campaign: str) -> dict[str, str]:
    """Everything of a campaign that the states of the project's stacks have, by id and by ARN: which stack it is of.

    Two stacks may have the same campaign. To be called after listing what exists: the state then has whatever an update had made
    by that time. Raises StackFailed "lock" while such a stack is being changed, or was cut off: its state is behind.
    """
    known = ids_of(stack, _settled(stack, stack.resources()))
    for name, count in stack.resource_counts().items():
        other = stack.sibling(name)
        if count and other.config_file != stack.config_file:
            resources = other.resources()
            if any(_campaign(each) == campaign for each in resources):
                known = ids_of(other, _settled(other, resources)) | known
    return known


def ids_of(stack: Stack, resources: Sequence[Resource]) -> dict[str, str]:
    """What the cloud calls a stack's resources, ids and ARNs -> the stack's name."""
    found = ((each.get("id"), (each.get("outputs") or {}).get("arn")) for each in resources)
    return dict.fromkeys((str(each) for pair in found for each in pair if each), stack.name)


def _settled(stack: Stack, resources: Sequence[Resource]) -> Sequence[Resource]:
    """The state while nobody changes the stack. Every backend has its own locks: taking one, for nothing, is what all have in common.

    A provider's entry is refreshed, which asks nothing of the cloud. A stack without entries has made nothing yet.
    """
    provider = next((str(each["urn"]) for each in resources if str(each["type"]).startswith(PROVIDERS)), None)
    if provider is None:
        return resources
    stack.refresh(provider)
    return stack.resources()


def _campaign(resource: Resource) -> str | None:
    tags = (resource.get("inputs") or {}).get("tags")
    return tags.get("campaign") if isinstance(tags, Mapping) else None
