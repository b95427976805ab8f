"""Which of the things that a sweep found belong to no stack: what an `up` that was killed made and didn't record. It asks nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from provisioning.testbeds.aws.found import Found, LeftAlone
from provisioning.testbeds.aws.leftovers import CLUSTER, Leftover

# what hangs on something a stack knows is no orphan, although no state has it: root volumes, the cluster of a report that is being made
HANGING: Mapping[str, str] = {
    "instance": "machine of EMR cluster {holder}",
    CLUSTER: "makes a report in {holder}",
}
ATTACHED = "attached to {holder}"


def only_orphans(found: Found, known: Mapping[str, str]) -> Found:
    """The same without what is known, or hangs on what is known, or holds results; those are left alone, with their reasons.

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
    """Why it is no orphan; empty if it is one."""
    if leftover.id in known:
        return f"known to stack {known[leftover.id]}"
    stack = _stack_of_holder(leftover, things, known)
    if stack:
        how = HANGING.get(leftover.kind, ATTACHED).format(holder=leftover.holder)
        return f"{how} of stack {stack}"
    return "holds results" if leftover.kept and not leftover.empty else ""


def _stack_of_holder(leftover: Leftover, things: Mapping[str, Leftover], known: Mapping[str, str]) -> str:
    """The stack that knows what it hangs on, directly or not; empty if none does."""
    if not leftover.holder:
        return ""
    if leftover.holder in known:
        return known[leftover.holder]
    holder = things.get(leftover.holder)
    return _stack_of_holder(holder, things, known) if holder else ""
