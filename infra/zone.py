"""Which zone a testbed stands in: the one that the config names or, for `any`, the first that has all its types. It makes nothing.

That a zone has a type says nothing of how many machines of it are free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from infra.settings import ANY_ZONE, Settings, zone_pattern

NEXT_STEP = "Set other types, or another region with an image of its own (docs/aws.md, Config keys)."


@dataclass(frozen=True)
class Zone:
    """`settled`: the config names it. One that isn't holds for a stack that has no subnets yet, and for no other."""

    name: str
    settled: bool


def choose_zone(settings: Settings, opts: pulumi.InvokeOptions) -> Zone:
    """Raises RunError if no zone of the region has all types, with those that have each."""
    if settings.availability_zone != ANY_ZONE:
        return Zone(settings.availability_zone, settled=True)
    offered = {kind: _zones_with(kind, settings.region, opts) for kind in settings.instance_types}
    whole = sorted(frozenset.intersection(*offered.values()))
    if not whole:
        each = "\n".join(f"  {kind}: {', '.join(sorted(zones)) or 'none'}" for kind, zones in offered.items())
        raise pulumi.RunError(
            f"samebox:availabilityZone {ANY_ZONE}: no zone of {settings.region} has all types. Zones that have\n{each}\n{NEXT_STEP}"
        )
    return Zone(whole[0], settled=False)


def _zones_with(kind: str, region: str, opts: pulumi.InvokeOptions) -> frozenset[str]:
    """The region's own zones that have a type; local zones have no cluster placement groups."""
    found = aws.ec2.get_instance_type_offerings(
        location_type="availability-zone",
        filters=[aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="instance-type", values=[kind])],
        opts=opts,
    )
    return frozenset(each for each in found.locations if re.fullmatch(zone_pattern(region), each))
