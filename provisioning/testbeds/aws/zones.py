"""The zones of a region that have what a testbed is made of. It says nothing of how much is free there."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.readiness.planned import Planned
from provisioning.testbeds.aws.session import session
from provisioning.testbeds.aws.shape import ANY_ZONE

Offered = Mapping[str, frozenset[str]]


def offered_zones(opened: boto3.session.Session, region: str, types: Collection[str]) -> Offered:
    """Instance type -> the region's own zones that have it. Raises botocore's errors."""
    filters: Any = [{"Name": "instance-type", "Values": sorted(types)}]
    pages = (
        opened.client("ec2")
        .get_paginator("describe_instance_type_offerings")
        .paginate(LocationType="availability-zone", Filters=filters)
    )
    found: dict[str, set[str]] = {kind: set() for kind in types}
    for page in pages:
        for each in page["InstanceTypeOfferings"]:
            # a local zone has no cluster placement groups
            if re.fullmatch(rf"{region}[a-z]", each["Location"]):
                found[each["InstanceType"]].add(each["Location"])
    return {kind: frozenset(zones) for kind, zones in found.items()}


def zones_with_all(offered: Offered) -> tuple[str, ...]:
    """Those that have every type, by name: the order in which the Pulumi program, too, looks at them."""
    return tuple(sorted(frozenset.intersection(*offered.values())))


def zones_to_try(planned: Planned) -> tuple[str, ...]:
    """Where the stack's config says `any`, the zones with all its types; none where it names a zone. Raises MissingRequirement."""
    if planned.zone != ANY_ZONE:
        return ()
    region = planned.shape.region
    try:
        return zones_with_all(offered_zones(session(region), region, planned.types))
    except (BotoCoreError, ClientError) as error:
        raise MissingRequirement(
            f"samebox:availabilityZone is {ANY_ZONE}, and AWS doesn't say which zones have the stack's types: {error}",
            next_step=planned.set_command("availabilityZone", f"{region}a"),
        ) from None
