"""Buckets for the provider double, and the settings that are resources of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, Created, Kind, tag_list
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

PUBLIC_ACCESS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def _create_bucket(aws: Aws, inputs: Properties) -> Created:
    name = inputs["bucket"]
    where = {} if aws.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
    aws.s3.create_bucket(Bucket=name, **where)
    tags = aws.tags(inputs)
    if tags:
        aws.s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": tag_list(tags)})
    return Created(
        name,
        {
            "arn": f"arn:aws:s3:::{name}",
            "bucketDomainName": f"{name}.s3.amazonaws.com",
            "bucketRegionalDomainName": f"{name}.s3.{aws.region}.amazonaws.com",
            "bucketRegion": aws.region,
        },
    )


def _capitalised(value: Any) -> Any:
    """Properties as S3 spells them: abortIncompleteMultipartUpload -> AbortIncompleteMultipartUpload."""
    if isinstance(value, dict):
        return {key[0].upper() + key[1:]: _capitalised(each) for key, each in value.items()}
    return [_capitalised(each) for each in value] if isinstance(value, list) else value


def _setting(put: Any, get: str, delete: str, *, in_place: tuple[str, ...]) -> Kind:
    """A setting of a bucket: put with `put`, found by the call `get`, removed by the call `delete`."""

    def create(aws: Aws, inputs: Properties) -> Created:
        put(aws, inputs["bucket"], inputs)
        return Created(inputs["bucket"])

    return Kind(
        create,
        lambda aws, bucket, _: getattr(aws.s3, get)(Bucket=bucket),
        lambda aws, bucket, _: getattr(aws.s3, delete)(Bucket=bucket),
        update=put,
        in_place=frozenset(in_place),
    )


def _put_public_access(aws: Aws, bucket: str, inputs: Properties) -> None:
    wanted = {name[0].upper() + name[1:]: bool(inputs.get(name)) for name in PUBLIC_ACCESS}
    aws.s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=wanted)


def _put_ownership(aws: Aws, bucket: str, inputs: Properties) -> None:
    rules = [{"ObjectOwnership": inputs["rule"]["objectOwnership"]}]
    aws.s3.put_bucket_ownership_controls(Bucket=bucket, OwnershipControls={"Rules": rules})


def _put_encryption(aws: Aws, bucket: str, inputs: Properties) -> None:
    rules = []
    for rule in inputs["rules"]:
        default = rule["applyServerSideEncryptionByDefault"]
        algorithm: dict[str, Any] = {"SSEAlgorithm": default["sseAlgorithm"]}
        if default.get("kmsMasterKeyId"):
            algorithm["KMSMasterKeyID"] = default["kmsMasterKeyId"]
        rules.append({"ApplyServerSideEncryptionByDefault": algorithm})
    aws.s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": rules})


def _put_lifecycle(aws: Aws, bucket: str, inputs: Properties) -> None:
    rules = []
    for rule in inputs["rules"]:
        spelt = {key: value for key, value in _capitalised(rule).items() if value is not None}
        spelt["ID"] = spelt.pop("Id")
        rules.append({"Filter": {"Prefix": ""}, **{key: value for key, value in spelt.items() if value != {}}})
    aws.s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})


def _put_policy(aws: Aws, bucket: str, inputs: Properties) -> None:
    aws.s3.put_bucket_policy(Bucket=bucket, Policy=inputs["policy"])


KINDS: Mapping[str, Kind] = {
    "aws:s3/bucket:Bucket": Kind(
        _create_bucket,
        lambda aws, name, _: aws.s3.head_bucket(Bucket=name),
        lambda aws, name, _: aws.s3.delete_bucket(Bucket=name),
        retag=lambda aws, name, _, tags: aws.s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": tag_list(tags)}),
        auto_named="bucket",
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _setting(
        _put_public_access, "get_public_access_block", "delete_public_access_block", in_place=PUBLIC_ACCESS
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _setting(
        _put_ownership,
        "get_bucket_ownership_controls",
        "delete_bucket_ownership_controls",
        in_place=("rule.objectOwnership",),
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _setting(
        _put_encryption, "get_bucket_encryption", "delete_bucket_encryption", in_place=("rules",)
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _setting(
        _put_lifecycle, "get_bucket_lifecycle_configuration", "delete_bucket_lifecycle", in_place=("rules",)
    ),
    "aws:s3/bucketPolicy:BucketPolicy": _setting(
        _put_policy, "get_bucket_policy", "delete_bucket_policy", in_place=("policy",)
    ),
}
