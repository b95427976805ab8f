"""Where a testbed stands: its zone, and a network that is there already, looked up and found fit for it.

What can't be seen from outside without asking too much, docs/aws.md (A network of your own) says: both subnets need a way to S3.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from infra.settings import ANY_ZONE, Settings, zone_pattern

GUIDE = "docs/aws.md, A network of your own"
NEXT_STEP = "Choose other types, or another region with an image of its own (docs/aws.md, Config keys)."
EMR_TAG = {"for-use-with-amazon-emr-managed-policies": "true"}  # EMR's managed policy acts on nothing that lacks it


def choose_zone(settings: Settings, opts: pulumi.InvokeOptions) -> str:
    """The zone that the config names or, for `any`, the first that has all its types, however many machines of them are free there.

    What is chosen for `any` holds for a stack that has no subnets yet, and for no other. Raises RunError if no zone of the region
    has all types, with those that have each.
    """
    if settings.availability_zone != ANY_ZONE:
        return settings.availability_zone
    offered = {kind: _zones_with(kind, settings.region, opts) for kind in settings.instance_types}
    whole = sorted(frozenset.intersection(*offered.values()))
    if not whole:
        each = "\n".join(f"  {kind}: {', '.join(sorted(zones)) or 'none'}" for kind, zones in offered.items())
        raise pulumi.RunError(
            f"samebox:availabilityZone {ANY_ZONE}: no zone of {settings.region} offers all types. Zones by type:\n{each}\n{NEXT_STEP}"
        )
    return whole[0]


def _zones_with(kind: str, region: str, opts: pulumi.InvokeOptions) -> frozenset[str]:
    """The region's own zones that have a type; local zones have no cluster placement groups."""
    found = aws.ec2.get_instance_type_offerings(
        location_type="availability-zone",
        filters=[aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="instance-type", values=[kind])],
        opts=opts,
    )
    return frozenset(each for each in found.locations if re.fullmatch(zone_pattern(region), each))


@dataclass(frozen=True)
class GivenNetwork:
    """Ids of what stays when the testbed goes, and of the list of S3's addresses."""

    vpc_id: str
    hosts_subnet_id: str
    report_subnet_id: str
    s3_prefix_list_id: str


def given_network(settings: Settings, opts: pulumi.InvokeOptions) -> GivenNetwork | None:
    """The network that the config names; None if it names none. Raises RunError, in preview already, with all that is wrong with it."""
    if not settings.vpc_id:
        return None
    try:
        problems = list(_problems(settings, opts))
        prefix_list = _found(
            "S3's addresses", aws.ec2.get_prefix_list, opts, name=f"com.amazonaws.{settings.region}.s3"
        )
    except _NotFound as error:
        problems = [str(error)]
    if problems:
        told = "\n".join(f"  {problem}" for problem in problems)
        raise pulumi.RunError(f"the network named in the stack's config can't be used ({GUIDE}):\n{told}")
    return GivenNetwork(settings.vpc_id, settings.subnet_id, settings.report_subnet_id, prefix_list.id)


class _NotFound(Exception):
    """A lookup found nothing, or was refused."""


def _found(key: str, look_up: Callable[..., Any], opts: pulumi.InvokeOptions, **named: Any) -> Any:
    try:
        return look_up(**named, opts=opts)
    except Exception as error:  # the SDK raises no narrower type for an invoke that failed
        what = ", ".join(str(value) for value in named.values() if isinstance(value, str))
        raise _NotFound(f"{key} {what} can't be looked up: {error}") from None


def _problems(settings: Settings, opts: pulumi.InvokeOptions) -> Iterator[str]:
    vpc = _found("samebox:vpcId", aws.ec2.get_vpc, opts, id=settings.vpc_id)
    if not (vpc.enable_dns_support and vpc.enable_dns_hostnames):
        yield f"samebox:vpcId {settings.vpc_id}: DNS support and DNS hostnames must be on, which EMR needs"
    for key, subnet_id in (("subnetId", settings.subnet_id), ("reportSubnetId", settings.report_subnet_id)):
        subnet = _found(f"samebox:{key}", aws.ec2.get_subnet, opts, id=subnet_id)
        if subnet.vpc_id != settings.vpc_id:
            yield f"samebox:{key} {subnet_id} is in {subnet.vpc_id}, not in samebox:vpcId {settings.vpc_id}"
        if subnet.availability_zone != settings.availability_zone:
            yield (
                f"samebox:{key} {subnet_id} is in zone {subnet.availability_zone}; samebox:availabilityZone is"
                f" {settings.availability_zone}"
            )
        if key == "reportSubnetId":
            yield from _lacks_tag(subnet_id, subnet.tags or {})
    table = _route_table(settings, opts)
    if not any(_leads_to_operator(route, settings.operator_cidr) for route in table.routes):
        yield (
            f"samebox:subnetId {settings.subnet_id}: its route table {table.route_table_id} has no route through an internet gateway"
            f" to {settings.operator_cidr}, so the hosts can't be reached by SSH"
        )


def _lacks_tag(subnet_id: str, tags: Mapping[str, str]) -> Iterator[str]:
    if not EMR_TAG.items() <= tags.items():
        ((name, value),) = EMR_TAG.items()
        yield (
            f"samebox:reportSubnetId {subnet_id} lacks the tag {name}={value}, without which EMR's service role may not use it."
            f" Its owner can add it: aws ec2 create-tags --resources {subnet_id} --tags Key={name},Value={value}"
        )


def _route_table(settings: Settings, opts: pulumi.InvokeOptions) -> Any:
    """The subnet's own route table, or else the VPC's main one, which then is its."""
    try:
        return _found(
            "the route table of samebox:subnetId", aws.ec2.get_route_table, opts, subnet_id=settings.subnet_id
        )
    except _NotFound:
        main = [aws.ec2.GetRouteTableFilterArgs(name="association.main", values=["true"])]
        return _found("the main route table of", aws.ec2.get_route_table, opts, vpc_id=settings.vpc_id, filters=main)


def _leads_to_operator(route: Any, operator_cidr: str) -> bool:
    if not (route.cidr_block and str(route.gateway_id).startswith("igw-")):
        return False
    return ipaddress.IPv4Network(operator_cidr, strict=False).subnet_of(ipaddress.IPv4Network(route.cidr_block))
