"""Placement groups, which moto's EC2 lacks: create, describe, delete. It places nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, EC2_RESOURCE_TO_PREFIX

RESOURCE, PREFIX = "placement-group", "pg"
STRATEGIES = ("cluster", "partition", "spread")
FILTERS = {"group-name": "GroupName", "group-arn": "GroupArn", "state": "State", "strategy": "Strategy"}
# what else keeps a group from being deleted, beside its instances: from its backend and name, the ids
HOLDERS: list[Callable[[Any, str], Sequence[str]]] = []


def install() -> None:
    """Teaches moto's EC2 the calls. The groups live in its backend, so that a reset of moto clears them too."""
    for action in (create_placement_group, describe_placement_groups, delete_placement_group):
        setattr(EC2Response, action.__name__, action)
    # so that its tags are set, changed and found as those of everything else
    EC2_RESOURCE_TO_PREFIX[RESOURCE], EC2_PREFIX_TO_RESOURCE[PREFIX] = PREFIX, RESOURCE


def groups(backend: Any) -> dict[str, dict[str, Any]]:
    """The groups of one account and region, by name."""
    found: dict[str, dict[str, Any]] = backend.__dict__.setdefault("placement_groups", {})
    return found


def require_group(backend: Any, name: str) -> None:
    """Refuses a name that no group has, as EC2 does."""
    if name not in groups(backend):
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")


def create_placement_group(self: Any) -> ActionResult:
    """CreatePlacementGroup."""
    name, strategy = self._get_param("GroupName"), self._get_param("Strategy") or "cluster"
    if name in groups(self.ec2_backend):
        raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
    if strategy not in STRATEGIES:
        raise EC2ClientError("InvalidParameterValue", f"Value ({strategy}) for parameter strategy is invalid.")
    group = {
        "GroupName": name,
        "State": "available",
        "Strategy": strategy,
        "GroupId": f"{PREFIX}-{secrets.token_hex(9)[1:]}",
        "GroupArn": f"arn:{self.partition}:ec2:{self.region}:{self.current_account}:{RESOURCE}/{name}",
    }
    groups(self.ec2_backend)[name] = group
    self.ec2_backend.create_tags([group["GroupId"]], self._parse_tag_specification(RESOURCE).get(RESOURCE, {}))
    return ActionResult({"PlacementGroup": with_tags(self.ec2_backend, group, "GroupId")})


def describe_placement_groups(self: Any) -> ActionResult:
    """DescribePlacementGroups: by name, by id, by tag."""
    for name in self._get_param("GroupNames", []):
        require_group(self.ec2_backend, name)
    names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
    filters = {entry["Name"]: entry["Values"] for entry in self._get_param("Filters", [])}
    found = [
        group
        for group in (with_tags(self.ec2_backend, each, "GroupId") for each in groups(self.ec2_backend).values())
        if (not names or group["GroupName"] in names)
        and (not ids or group["GroupId"] in ids)
        and all(matches(group, name, values, FILTERS) for name, values in filters.items())
    ]
    return ActionResult({"PlacementGroups": found})


def delete_placement_group(self: Any) -> EmptyResult:
    """DeletePlacementGroup: refused while an instance is in it, or capacity is reserved in it."""
    name = self._get_param("GroupName")
    require_group(self.ec2_backend, name)
    members = [
        instance.id
        for reservation in self.ec2_backend.all_reservations()
        for instance in reservation.instances
        if instance.placement.group_name == name and instance.state != "terminated"
    ]
    members += [each for holder in HOLDERS for each in holder(self.ec2_backend, name)]
    if members:
        raise EC2ClientError(
            "InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use by {', '.join(members)}."
        )
    self.ec2_backend.tags.pop(groups(self.ec2_backend).pop(name)["GroupId"], None)
    return EmptyResult()


def with_tags(backend: Any, thing: dict[str, Any], identifier: str) -> dict[str, Any]:
    """The description of a thing with its tags; `identifier` is the key of its id."""
    tags = backend.tags.get(thing[identifier], {})
    return {**thing, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def matches(thing: dict[str, Any], name: str, values: list[str], fields: Mapping[str, str]) -> bool:
    """Whether a described thing passes one filter, of those by tag and of `fields`."""
    tags = {tag["Key"]: tag["Value"] for tag in thing["Tags"]}
    if name.startswith("tag:"):
        return tags.get(name.removeprefix("tag:")) in values
    if name == "tag-key":
        return any(key in values for key in tags)
    if name not in fields:
        raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return thing[fields[name]] in values
