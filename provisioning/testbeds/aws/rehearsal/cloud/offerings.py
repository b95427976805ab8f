"""Which zone has which instance type, where a test takes one away: what is told of it, and what a launch there is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import injected

_moto_describe = EC2Response.describe_instance_type_offerings


def install(state_dir: Path) -> None:
    """Puts this DescribeInstanceTypeOfferings in the place of moto's."""

    def describe_instance_type_offerings(self: Any) -> ActionResult:
        found: Any = _moto_describe(self).result
        lacking = injected(state_dir).not_offered
        every = found["InstanceTypeOfferings"]
        kept = [each for each in every if each["InstanceType"] not in lacking.get(each["Location"], ())]
        return ActionResult({"InstanceTypeOfferings": kept})

    EC2Response.describe_instance_type_offerings = describe_instance_type_offerings  # type: ignore[method-assign]


def require_offered(state_dir: Path, ec2: Any, kind: str, zone: str) -> None:
    """Refuses a launch of a type in a zone that lacks it, and names the zones that have it, as EC2 does."""
    lacking = injected(state_dir).not_offered
    if kind not in lacking.get(zone, ()):
        return
    offered = ec2.describe_instance_type_offerings("availability-zone", {"instance-type": [kind]})
    zones = sorted(each["Location"] for each in offered if kind not in lacking.get(each["Location"], ()))
    raise EC2ClientError(
        "Unsupported",
        f"Your requested instance type ({kind}) is not supported in your requested Availability Zone ({zone}). Please retry your "
        f"request by not specifying an Availability Zone or choosing {', '.join(zones)}.",
    )
