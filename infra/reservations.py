"""Capacity that is reserved for the hosts that stand side by side, before any of them is launched. It launches nothing.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html
"""

from __future__ import annotations

from collections import Counter

import pulumi
import pulumi_aws as aws

from infra.settings import Settings

PLATFORM = "Linux/UNIX"  # what Amazon Linux is to EC2


def reserve(
    name: str,
    settings: Settings,
    placement: aws.ec2.PlacementGroup,
    zone: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> list[aws.ec2.CapacityReservation]:
    """One reservation for each instance type, of all hosts of it in the placement group: AWS gives all of a reservation or nothing.

    It is open, so every host of the type launched into this group runs in it, and nothing else does. A host that is replaced is
    launched while the old one still fills its place; a targeted launch would be refused then, an open one runs on demand.
    """
    counts: Counter[str] = Counter()
    for group in settings.side_by_side.values():
        counts[group.instance_type] += group.count
    return [
        aws.ec2.CapacityReservation(
            f"{name}-{kind}",
            instance_type=kind,
            instance_count=count,
            instance_platform=PLATFORM,
            instance_match_criteria="open",
            availability_zone=zone,
            placement_group_arn=placement.arn,
            # one that is forgotten isn't paid for ever: it ends with the hosts
            end_date_type="limited",
            end_date=settings.expires,
            tags={**settings.tags, "Name": f"{name}-{settings.campaign}-{kind}"},
            opts=opts,
        )
        for kind, count in counts.items()
        if count
    ]
