"""Placement groups, which moto's EC2 lacks: create, describe, delete."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import added_to

RESOURCE, PREFIX = "placement-group", "pg"
EC2_TYPES = {RESOURCE: PREFIX}
STRATEGIES = ("cluster", "partition", "spread")
FILTERS = {"group-name": "GroupName", "group-arn": "GroupArn", "state": "State", "strategy": "Strategy"}
# what else keeps a group from being deleted, beside its instances: from its backend and name, the ids
HOLDERS: list[Callable[[Any, str], Sequence[str]]] = []


def groups(backend: Any) -> dict[str, dict[str, Any]]:
    """The groups of one account and region, by name; in moto's backend, so that a reset of moto clears them too."""
    found: dict[str, dict[str, Any]] = backend.__dict__.setdefault("placement_groups", {})
    return found


def require_group(backend: Any, name: str) -> dict[str, Any]:
    """The group of a name. Refuses a name that no group has, as EC2 does."""
    if name not in groups(backend):
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    return groups(backend)[name]


def members(backend: Any, group: str) -> list[Any]:
    """The instances in a group that haven't ended."""
    every = (instance for reservation in backend.all_reservations() for instance in reservation.instances)
    return [each for each in every if each.placement.group_name == group and each.state != "terminated"]


@added_to(EC2Response)
def create_placement_group(self: Any) -> ActionResult:
    """CreatePlacementGroup."""
    name, strategy = self._get_param("GroupName"), self._get_param("Strategy") or "cluster"
    if name in groups(self.ec2_backend):
        raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
    if strategy not in STRATEGIES:
        raise EC2ClientError("InvalidParameterValue", f"Value ({strategy}) for parameter strategy is invalid.")
    group = {"GroupName": name, "State": "available", "Strategy": strategy, "GroupId": new_id(PREFIX)}
    group["GroupArn"] = arn(self, RESOURCE, name)
    groups(self.ec2_backend)[name] = group
    return ActionResult({"PlacementGroup": tagged(self, group, RESOURCE, "GroupId")})


@added_to(EC2Response)
def describe_placement_groups(self: Any) -> ActionResult:
    """DescribePlacementGroups: by name, by id, by tag."""
    names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
    chosen = [require_group(self.ec2_backend, name) for name in names] or groups(self.ec2_backend).values()
    chosen = [each for each in chosen if not ids or each["GroupId"] in ids]
    return ActionResult({"PlacementGroups": described(self, chosen, "GroupId", FILTERS)})


@added_to(EC2Response)
def delete_placement_group(self: Any) -> EmptyResult:
    """DeletePlacementGroup: refused while an instance is in it, or capacity is reserved in it."""
    name = self._get_param("GroupName")
    group = require_group(self.ec2_backend, name)
    held = [instance.id for instance in members(self.ec2_backend, name)]
    held += [each for holder in HOLDERS for each in holder(self.ec2_backend, name)]
    if held:
        raise EC2ClientError(
            "InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use by {', '.join(held)}."
        )
    del groups(self.ec2_backend)[name]
    self.ec2_backend.tags.pop(group["GroupId"], None)
    return EmptyResult()


def new_id(prefix: str) -> str:
    """An id as EC2 gives them."""
    return f"{prefix}-{secrets.token_hex(9)[1:]}"


def arn(response: Any, resource: str, name: str) -> str:
    """The name of a thing of the account and region that are asked."""
    return f"arn:{response.partition}:ec2:{response.region}:{response.current_account}:{resource}/{name}"


def tagged(response: Any, thing: dict[str, Any], resource: str, identifier: str) -> dict[str, Any]:
    """What was made, with the tags that the request gives it; `identifier` is the key of its id."""
    response.ec2_backend.create_tags([thing[identifier]], response._parse_tag_specification(resource).get(resource, {}))
    return with_tags(response.ec2_backend, thing, identifier)


def with_tags(backend: Any, thing: dict[str, Any], identifier: str) -> dict[str, Any]:
    """The description of a thing with its tags."""
    tags = backend.tags.get(thing[identifier], {})
    return {**thing, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def described(
    response: Any, things: Sequence[dict[str, Any]], identifier: str, fields: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Those that pass the request's filters, by tag and by `fields`, with their tags."""
    filters = {entry["Name"]: entry["Values"] for entry in response._get_param("Filters", [])}
    shown = [with_tags(response.ec2_backend, each, identifier) for each in things]
    return [each for each in shown if all(_matches(each, name, values, fields) for name, values in filters.items())]


def _matches(thing: dict[str, Any], name: str, values: list[str], fields: Mapping[str, str]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in thing["Tags"]}
    if name.startswith("tag:"):
        return tags.get(name.removeprefix("tag:")) in values
    if name == "tag-key":
        return any(key in values for key in tags)
    if name not in fields:
        raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return thing[fields[name]] in values
