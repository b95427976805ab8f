"""What holds of everything that any stack registers, whatever its config: rules over recorded resources. It runs no program.

They are what a policy pack of Pulumi's would say. Its Python SDK can't be installed beside this project's: pulumi_policy 1.21.0 needs
protobuf 5, the lock file has 6.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from infra.instance_types import INSTANCE_TYPES
from infra.values import WIDEST_OPERATOR_PREFIX
from tests.infra.recorded_program import Registered

# AWS knows no tags of these, or the provider can't set any
UNTAGGABLE = (
    "pulumi:",
    "samebox:",
    "aws:ec2/route:",
    "aws:ec2/routeTableAssociation:",
    "aws:iam/rolePolicy",
    "aws:scheduler/schedule:",
    "aws:s3/bucketPublicAccessBlock:",
    "aws:s3/bucketOwnershipControls:",
    "aws:s3/bucketServerSideEncryptionConfiguration:",
    "aws:s3/bucketLifecycleConfiguration:",
    "aws:s3/bucketPolicy:",
)
TAGS = ("project", "campaign", "stack", "owner", "expires")
Rule = Callable[[Registered], Iterator[str]]


def let_in_from_a_narrow_network_by_one_port(resource: Registered) -> Iterator[str]:
    """No rule lets half the internet in, or all ports of anything but a group's members; none stands inside its group."""
    inputs = resource.inputs
    if resource.type.endswith((":SecurityGroup", ":DefaultSecurityGroup")) and {"ingress", "egress"} & set(inputs):
        yield "has rules inside itself, which nothing here looks at"
    if not resource.type.endswith(":SecurityGroupIngressRule"):
        return
    if "cidrIpv6" in inputs:
        yield f"lets in {inputs['cidrIpv6']}"
    if "cidrIpv4" in inputs:
        if ipaddress.ip_network(inputs["cidrIpv4"]).prefixlen < WIDEST_OPERATOR_PREFIX:
            yield f"lets in {inputs['cidrIpv4']}"
        if (inputs["ipProtocol"], inputs.get("fromPort"), inputs.get("toPort")) != ("tcp", 22, 22):
            yield "lets in more than SSH from a network"


def lets_nothing_out_to_the_internet(resource: Registered) -> Iterator[str]:
    """What may be reached is a service's list of addresses, or a group's members."""
    networks = {"cidrIpv4", "cidrIpv6"} & set(resource.inputs)
    if resource.type.endswith(":SecurityGroupEgressRule") and networks:
        yield f"lets out by {', '.join(sorted(networks))}"


def says_whose_it_is(resource: Registered) -> Iterator[str]:
    """All that can have tags has ours; so do the volumes of an instance."""
    if resource.type.startswith(UNTAGGABLE):
        return
    for key in ("tags", *(["volumeTags"] if resource.type.endswith(":Instance") else [])):
        lacking = [tag for tag in TAGS if not resource.inputs.get(key, {}).get(tag)]
        if lacking:
            yield f"{key} lack {', '.join(lacking)}"


def is_of_a_known_type(resource: Registered) -> Iterator[str]:
    """Hosts are of types that infra knows the disks of."""
    if resource.type.endswith("ec2/instance:Instance") and resource.inputs["instanceType"] not in INSTANCE_TYPES:
        yield f"is of type {resource.inputs['instanceType']}"


def ends_by_itself(resource: Registered) -> Iterator[str]:
    """A host that shuts down is gone, and its tag says when; a schedule has one time, after which it removes itself."""
    inputs = resource.inputs
    if resource.type.endswith("ec2/instance:Instance"):
        if inputs.get("instanceInitiatedShutdownBehavior") != "terminate":
            yield "is only stopped when it shuts down"
        if not _is_time(inputs.get("tags", {}).get("expires", "")):
            yield "doesn't say when it ends"
    if resource.type.endswith("scheduler/schedule:Schedule"):
        if not _is_time(inputs["scheduleExpression"].removeprefix("at(").removesuffix(")")):
            yield f"has no one time: {inputs['scheduleExpression']}"
        if inputs.get("actionAfterCompletion") != "DELETE":
            yield "stays when it has run"


def keeps_no_secret_open(resource: Registered) -> Iterator[str]:
    """Disks are encrypted, and credentials of a host go to signed requests only."""
    if resource.type.endswith("ec2/instance:Instance"):
        if not resource.inputs.get("rootBlockDevice", {}).get("encrypted"):
            yield "has a root volume that isn't encrypted"
        if resource.inputs.get("metadataOptions", {}).get("httpTokens") != "required":
            yield "hands out credentials to unsigned requests"


RULES: tuple[Rule, ...] = (
    let_in_from_a_narrow_network_by_one_port,
    lets_nothing_out_to_the_internet,
    says_whose_it_is,
    is_of_a_known_type,
    ends_by_itself,
    keeps_no_secret_open,
)


def broken(resources: Sequence[Registered]) -> list[str]:
    """A sentence for every rule that a resource breaks."""
    return [f"{each.type}::{each.name} {said}" for each in resources for rule in RULES for said in rule(each)]


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
