"""ARNs in one account and region: that of the rehearsal's cloud."""

from __future__ import annotations

ACCOUNT = "123456789012"
REGION = "us-west-2"


def ec2_arn(kind: str, name: str) -> str:
    """An image belongs to no account of ours."""
    return f"arn:aws:ec2:{REGION}:{'' if kind == 'image' else ACCOUNT}:{kind}/{name}"


def iam_arn(kind: str, name: str) -> str:
    """IAM is the same in every region."""
    return f"arn:aws:iam::{ACCOUNT}:{kind}/{name}"


def s3_arn(bucket: str, key: str = "") -> str:
    """A bucket, or an object in it."""
    return f"arn:aws:s3:::{bucket}" + (f"/{key}" if key else "")


def schedule_arn(group: str, name: str = "") -> str:
    """A group of schedules, or one of its schedules."""
    return f"arn:aws:scheduler:{REGION}:{ACCOUNT}:" + (
        f"schedule/{group}/{name}" if name else f"schedule-group/{group}"
    )


def cluster_arn(name: str) -> str:
    """An EMR cluster."""
    return f"arn:aws:elasticmapreduce:{REGION}:{ACCOUNT}:cluster/{name}"


def quota_arn(service: str, code: str) -> str:
    """A quota of Service Quotas."""
    return f"arn:aws:servicequotas:{REGION}:{ACCOUNT}:{service}/{code}"
