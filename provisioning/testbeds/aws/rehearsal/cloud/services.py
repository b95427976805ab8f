"""What isn't EC2's, for the provider double: buckets and their settings, roles and their policies, schedules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, ByCalls, Created, Kind, tag_list
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

PUBLIC_ACCESS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
OF_ROLE = {"RoleName": "role", "PolicyName": "name", "PolicyDocument": "policy"}


def _create_bucket(aws: Aws, inputs: Properties) -> Created:
    name = inputs["bucket"]
    where = {} if aws.region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
    aws.s3.create_bucket(Bucket=name, **where)
    if aws.tags(inputs):
        _tag_bucket(aws, name, {}, aws.tags(inputs))
    return Created(
        name,
        {
            "arn": f"arn:aws:s3:::{name}",
            "bucketDomainName": f"{name}.s3.amazonaws.com",
            "bucketRegionalDomainName": f"{name}.s3.{aws.region}.amazonaws.com",
            "bucketRegion": aws.region,
        },
    )


def _tag_bucket(aws: Aws, name: str, _: Properties, tags: Mapping[str, str]) -> None:
    aws.s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": tag_list(tags)})


def _setting(what: str, asked: Callable[[Properties], Properties], *in_place: str, delete: str = "") -> Kind:
    """A setting of a bucket, which has calls of its own to put, get and delete it; `asked` makes the put's parameters of the inputs."""

    def put(aws: Aws, bucket: str, inputs: Properties) -> None:
        aws.call("s3", f"put_{what}", asked(inputs), Bucket=bucket)

    def create(aws: Aws, inputs: Properties) -> Created:
        put(aws, inputs["bucket"], inputs)
        return Created(inputs["bucket"])

    return Kind(
        create,
        lambda aws, bucket, _: getattr(aws.s3, f"get_{what}")(Bucket=bucket),
        lambda aws, bucket, _: getattr(aws.s3, delete or f"delete_{what}")(Bucket=bucket),
        update=put,
        in_place=frozenset(in_place),
    )


def _lifecycle(inputs: Properties) -> Properties:
    """A filter is compulsory, and an empty one takes in everything."""
    given = [{name: value for name, value in rule.items() if value not in (None, {})} for rule in inputs["rules"]]
    return {"lifecycleConfiguration": {"rules": [{"filter": {"prefix": ""}, **rule} for rule in given]}}


def _update_role(aws: Aws, name: str, inputs: Properties) -> None:
    """As the real provider: only what differs, for each is a permission of its own."""
    found = aws.iam.get_role(RoleName=name)["Role"]
    if found["AssumeRolePolicyDocument"] != json.loads(inputs["assumeRolePolicy"]):
        aws.iam.update_assume_role_policy(RoleName=name, PolicyDocument=inputs["assumeRolePolicy"])
    if found.get("Description", "") != (inputs.get("description") or ""):
        aws.iam.update_role_description(RoleName=name, Description=inputs.get("description") or "")


def _is_attached(aws: Aws, _: str, state: Properties) -> bool:
    attached = aws.iam.list_attached_role_policies(RoleName=state["role"])["AttachedPolicies"]
    return any(each["PolicyArn"] == state["policyArn"] for each in attached)


def _attach(aws: Aws, inputs: Properties) -> Created:
    aws.call("iam", "attach_role_policy", inputs, OF_ROLE)
    return Created(f"{inputs['role']}/{inputs['policyArn']}")


def _fill_profile(aws: Aws, name: str, inputs: Properties) -> None:
    if inputs.get("role"):
        aws.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=inputs["role"])


def _empty_profile(aws: Aws, name: str, state: Properties) -> None:
    if state.get("role"):
        aws.iam.remove_role_from_instance_profile(InstanceProfileName=name, RoleName=state["role"])


KINDS: Mapping[str, Kind] = {
    "aws:s3/bucket:Bucket": Kind(
        _create_bucket,
        lambda aws, name, _: aws.s3.head_bucket(Bucket=name),
        lambda aws, name, _: aws.s3.delete_bucket(Bucket=name),
        retag=_tag_bucket,
        auto_named="bucket",
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _setting(
        "public_access_block",
        lambda inputs: {"publicAccessBlockConfiguration": {name: bool(inputs.get(name)) for name in PUBLIC_ACCESS}},
        *PUBLIC_ACCESS,
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _setting(
        "bucket_ownership_controls",
        lambda inputs: {"ownershipControls": {"rules": [inputs["rule"]]}},
        "rule.objectOwnership",
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _setting(
        "bucket_encryption", lambda inputs: {"serverSideEncryptionConfiguration": {"rules": inputs["rules"]}}, "rules"
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _setting(
        "bucket_lifecycle_configuration", _lifecycle, "rules", delete="delete_bucket_lifecycle"
    ),
    "aws:s3/bucketPolicy:BucketPolicy": _setting(
        "bucket_policy", lambda inputs: {"policy": inputs["policy"]}, "policy"
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Kind(
        _attach, _is_attached, lambda aws, _, state: aws.call("iam", "detach_role_policy", state, OF_ROLE)
    ),
} | {
    row.token: row.kind
    for row in (
        ByCalls(
            "aws:iam/role:Role",
            "RoleName",
            names={"RoleName": "name", "AssumeRolePolicyDocument": "assumeRolePolicy"},
            outputs={"arn": "Arn", "uniqueId": "RoleId"},
            update=_update_role,
            in_place={"assumeRolePolicy", "description"},
            auto_named="name",
        ),
        ByCalls(
            "aws:iam/rolePolicy:RolePolicy",
            lambda inputs: f"{inputs['role']}:{inputs['name']}",
            create="put_role_policy",
            update="put_role_policy",
            names=OF_ROLE,
            tagged=False,
            in_place={"policy"},
            auto_named="name",
        ),
        ByCalls(
            "aws:iam/instanceProfile:InstanceProfile",
            "InstanceProfileName",
            names={"InstanceProfileName": "name"},
            outputs={"arn": "Arn", "uniqueId": "InstanceProfileId"},
            then=_fill_profile,
            before_deletion=_empty_profile,
            auto_named="name",
        ),
        ByCalls(
            "aws:scheduler/scheduleGroup:ScheduleGroup", "Name", outputs={"arn": "ScheduleGroupArn"}, auto_named="name"
        ),
        ByCalls(
            "aws:scheduler/schedule:Schedule",
            lambda inputs: f"{inputs['groupName']}/{inputs['name']}",
            defaults={"groupName": "default", "state": "ENABLED"},
            outputs={"arn": "ScheduleArn"},
            update="update_schedule",
            tagged=False,
            in_place={
                *("scheduleExpression", "scheduleExpressionTimezone", "actionAfterCompletion", "state", "description"),
                *("flexibleTimeWindow.mode", "flexibleTimeWindow.maximumWindowInMinutes"),
                *("target.arn", "target.roleArn", "target.input"),
            },
            auto_named="name",
        ),
    )
}
