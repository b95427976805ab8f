"""What the states of a project's stacks know of the cloud. It changes nothing there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provisioning.testbeds.aws.stack import Stack

Resource = Mapping[str, Any]
PROVIDERS = "pulumi:providers:"


def known_ids(stack: Stack, campaign: str) -> dict[str, str]:
    """Everything of a campaign that a stack of the project has made, by id and by ARN: which stack it is of.

    Two stacks may have the same campaign. To be asked after what exists was listed: what an update had made by then, the state knows.
    Raises StackFailed "lock" while such a stack is being changed, or was cut off: its state is behind.
    """
    known = _ids(stack, _settled(stack, stack.resources()))
    for name, count in stack.resource_counts().items():
        other = stack.sibling(name)
        if count and other.config_file != stack.config_file:
            resources = other.resources()
            if any(_campaign(each) == campaign for each in resources):
                known = _ids(other, _settled(other, resources)) | known
    return known


def ids(resources: Sequence[Resource]) -> frozenset[str]:
    """What the cloud calls them: ids, and ARNs where they have one."""
    found = ((each.get("id"), (each.get("outputs") or {}).get("arn")) for each in resources)
    return frozenset(str(each) for pair in found for each in pair if each)


def _ids(stack: Stack, resources: Sequence[Resource]) -> dict[str, str]:
    return dict.fromkeys(ids(resources), stack.name)


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
