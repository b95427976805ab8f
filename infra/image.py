"""The check that the pinned AMI exists in the stack's region and fits the hosts. It never looks for a newer one."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws

ARCHITECTURE = "x86_64"
PARAMETER = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"


def check_image(ami: str, region: str, opts: pulumi.InvokeOptions) -> None:
    """Raises RunError for an AMI of another region or of another processor, in preview already."""
    try:
        found = aws.ec2.get_ami(
            owners=["amazon", "self"],
            filters=[aws.ec2.GetAmiFilterArgs(name="image-id", values=[ami])],
            opts=opts,
        )
    except Exception as error:  # the SDK raises no narrower type for an invoke that failed
        if "no results" not in str(error):
            raise pulumi.RunError(f"samebox:ami {ami} could not be looked up in {region}: {error}") from None
        raise pulumi.RunError(
            f"samebox:ami {ami} doesn't exist in {region}; AMI ids hold for one region only. Look up today's and pin it:\n"
            f"  aws ssm get-parameter --region {region} --query Parameter.Value --output text --name {PARAMETER}\n"
            "  pulumi config set samebox:ami AMI"
        ) from None
    if found.architecture != ARCHITECTURE:
        raise pulumi.RunError(
            f"samebox:ami {ami} is for {found.architecture}; the hosts are {ARCHITECTURE}. Pin one that is."
        )
