"""What is looked up before anything is made: the engine's version, the image, the zone, an existing network.

What can't be seen of a network from outside without asking too much, docs/aws.md (A network of your own) says: both subnets need a way
to S3.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulumi
import pulumi.runtime
import pulumi_aws as aws
import yaml

from infra.settings import ANY_ZONE, Settings, zone_pattern

PROJECT_FILE = Path(__file__).resolve().parents[1] / "Pulumi.yaml"
PARAMETER = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-"  # and the architecture
IMAGE_GUIDE = "docs/aws.md, How long an image lives"
NETWORK_GUIDE = "docs/aws.md, A network of your own"
NEXT_STEP = "Choose other types, or another region with an image of its own (docs/aws.md, Config keys)."
EMR_TAG = {"for-use-with-amazon-emr-managed-policies": "true"}  # EMR's managed policy acts on nothing that lacks it


def required_version() -> str:
    """The range of versions, such as >=3.226.0."""
    return str(yaml.safe_load(PROJECT_FILE.read_text())["requiredPulumiVersion"])


def require_engine() -> None:
    """Raises RunError, which Pulumi prints without a traceback, for an engine outside the range.

    An older one leaves a host alone whose generation is raised; a CLI before 3.219 doesn't read `requiredPulumiVersion`.
    """
    try:
        pulumi.runtime.require_pulumi_version(required_version())
    except Exception as error:  # the SDK raises no narrower type
        raise pulumi.RunError(
            f"this program needs Pulumi {required_version()}; install a newer one (https://www.pulumi.com/docs/install/): {error}"
        ) from None


def check_image(settings: Settings, opts: pulumi.InvokeOptions) -> None:
    """Raises RunError, in preview already, for an AMI of another region or processor, or one that is gone. It never takes a newer one.

    A deprecated one is warned of and taken: AWS launches it by its id as before. Hosts that run with the image already need it
    no more: what can't be looked up then is a warning too, so that their end can be moved and their testbed changed.
    """
    ami, region = settings.ami, settings.region
    try:
        found = aws.ec2.get_ami(
            owners=["amazon", "self"],
            include_deprecated=True,
            filters=[aws.ec2.GetAmiFilterArgs(name="image-id", values=[ami])],
            opts=opts,
        )
    except Exception as error:  # the SDK raises no narrower type for an invoke that failed
        problem = _absent(settings) if "no results" in str(error) else f"could not be looked up in {region}: {error}"
        running = _running_with_it(settings, opts)
        if not running:
            raise pulumi.RunError(f"samebox:ami {ami} {problem}") from None
        pulumi.log.warn(f"The {running} hosts that run with samebox:ami {ami} stay as they are, but it {problem}")
        return
    if found.architecture != settings.architecture:
        raise pulumi.RunError(
            f"samebox:ami {ami} is for {found.architecture}; the hosts are {settings.architecture}. Look up one that fits and pin it, "
            f"or choose other types:\n{_how_to_pin(settings)}"
        )
    if found.deprecation_time and datetime.fromisoformat(found.deprecation_time) <= datetime.now(UTC):
        pulumi.log.warn(
            f"samebox:ami {ami} has been deprecated since {found.deprecation_time[:10]}. It still launches, so that measurements "
            f"can be repeated, until its owner removes it ({IMAGE_GUIDE})."
        )


def _running_with_it(settings: Settings, opts: pulumi.InvokeOptions) -> int:
    """How many hosts of this campaign run with the pinned image; 0 where that can't be found out either."""
    try:
        found = aws.ec2.get_instances(
            instance_tags={"project": settings.tags["project"], "campaign": settings.campaign},
            instance_state_names=["pending", "running"],
            filters=[aws.ec2.GetInstancesFilterArgs(name="image-id", values=[settings.ami])],
            opts=opts,
        )
    except Exception:  # as above; what the first lookup said is told then
        return 0
    return len(found.ids)


def _absent(settings: Settings) -> str:
    return (
        f"doesn't exist in {settings.region}, not even as a deprecated image: it belongs to another region (an AMI id is valid in one "
        f"region only), or its owner has removed it ({IMAGE_GUIDE}). Look up the current one and pin it, which replaces every host:\n"
        f"{_how_to_pin(settings)}"
    )


def _how_to_pin(settings: Settings) -> str:
    return (
        f"  aws ssm get-parameter --region {settings.region} --query Parameter.Value --output text "
        f"--name {PARAMETER}{settings.architecture}\n"
        "  pulumi config set samebox:ami AMI"
    )


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
        raise pulumi.RunError(f"the network named in the stack's config can't be used ({NETWORK_GUIDE}):\n{told}")
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
