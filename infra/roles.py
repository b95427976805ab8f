"""IAM roles: who may take one and what it may do, as small policies. Names are Pulumi's (samebox-...-<random>)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

Statement = Mapping[str, Any]

READ_AND_WRITE = ("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
READ_WRITE_AND_DELETE = (*READ_AND_WRITE, "s3:DeleteObject")


def allow(actions: Sequence[str], resources: Any, condition: Mapping[str, Any] | None = None) -> Statement:
    """One statement of a policy. `resources` may hold outputs."""
    statement: dict[str, Any] = {"Effect": "Allow", "Action": list(actions), "Resource": resources}
    return {**statement, "Condition": condition} if condition else statement


def in_bucket(bucket: aws.s3.Bucket, object_actions: Sequence[str]) -> list[Statement]:
    """Listing one bucket, and these actions on its objects."""
    listing = ("s3:ListBucket", "s3:ListBucketMultipartUploads", "s3:GetBucketLocation")
    return [allow(listing, bucket.arn), allow(object_actions, pulumi.Output.concat(bucket.arn, "/*"))]


def read_results_buckets() -> list[Statement]:
    """Reading the results buckets of all stacks of this account: each of them outlives its stack."""
    of_this_account = {"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}}
    return [
        allow(("s3:ListBucket", "s3:GetBucketLocation"), "arn:aws:s3:::samebox-*", of_this_account),
        allow(("s3:GetObject",), "arn:aws:s3:::samebox-*/*", of_this_account),
    ]


def role(
    name: str,
    *,
    service: str,
    statements: Sequence[Statement],
    tags: Mapping[str, str],
    opts: pulumi.ResourceOptions,
    only_for: Mapping[str, Any] | None = None,
) -> aws.iam.Role:
    """A role that one AWS service may take, with one policy. `only_for` narrows it down to the service's work for one resource."""
    trust: dict[str, Any] = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    if only_for:
        trust["Condition"] = only_for
    made = aws.iam.Role(
        name,
        assume_role_policy=pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [trust]}),
        tags=dict(tags),
        opts=opts,
    )
    aws.iam.RolePolicy(
        name,
        role=made.id,
        policy=pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": list(statements)}),
        opts=opts,
    )
    return made


def instance_profile(
    name: str, role: aws.iam.Role, *, tags: Mapping[str, str], opts: pulumi.ResourceOptions
) -> aws.iam.InstanceProfile:
    """The profile by which EC2 hands a role to an instance."""
    return aws.iam.InstanceProfile(name, role=role.name, tags=dict(tags), opts=opts)
