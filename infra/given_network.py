"""A network that is there already, looked up and found fit for a testbed. It changes nothing in it.

What can't be seen from outside without asking too much, docs/aws.md (A network of your own) says: both subnets need a way to S3.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from infra.settings import Settings

GUIDE = "docs/aws.md, A network of your own"
EMR_TAG = {"for-use-with-amazon-emr-managed-policies": "true"}  # EMR's managed policy acts on nothing that lacks it


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
        raise pulumi.RunError(f"the network that the stack's config names can't be used ({GUIDE}):\n{told}")
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
            f" to {settings.operator_cidr}, so nobody reaches the hosts by SSH"
        )


def _lacks_tag(subnet_id: str, tags: Mapping[str, str]) -> Iterator[str]:
    if not EMR_TAG.items() <= tags.items():
        ((name, value),) = EMR_TAG.items()
        yield (
            f"samebox:reportSubnetId {subnet_id} lacks the tag {name}={value}, without which EMR's service role may not use it."
            f" Whose subnet it is types: aws ec2 create-tags --resources {subnet_id} --tags Key={name},Value={value}"
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
