"""Who may do what, for the provider double: roles, their policies, and instance profiles."""

from __future__ import annotations

import json
from collections.abc import Mapping

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, Created, Kind, tag_list
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties


def _create_role(aws: Aws, inputs: Properties) -> Created:
    role = aws.iam.create_role(
        RoleName=inputs["name"],
        AssumeRolePolicyDocument=inputs["assumeRolePolicy"],
        Description=inputs.get("description") or "",
        Tags=tag_list(aws.tags(inputs)),
    )["Role"]
    return Created(inputs["name"], {"arn": role["Arn"], "uniqueId": role["RoleId"]})


def _update_role(aws: Aws, name: str, inputs: Properties) -> None:
    """As the real provider: only what differs, for each is a permission of its own."""
    found = aws.iam.get_role(RoleName=name)["Role"]
    if found["AssumeRolePolicyDocument"] != json.loads(inputs["assumeRolePolicy"]):
        aws.iam.update_assume_role_policy(RoleName=name, PolicyDocument=inputs["assumeRolePolicy"])
    if found.get("Description", "") != (inputs.get("description") or ""):
        aws.iam.update_role_description(RoleName=name, Description=inputs.get("description") or "")


def _retag_role(aws: Aws, name: str, state: Properties, tags: Mapping[str, str]) -> None:
    removed = set(state.get("tagsAll") or {}) - set(tags)
    if removed:
        aws.iam.untag_role(RoleName=name, TagKeys=sorted(removed))
    aws.iam.tag_role(RoleName=name, Tags=tag_list(tags))


def _create_policy(aws: Aws, inputs: Properties) -> Created:
    aws.iam.put_role_policy(RoleName=inputs["role"], PolicyName=inputs["name"], PolicyDocument=inputs["policy"])
    return Created(f"{inputs['role']}:{inputs['name']}")


def _update_policy(aws: Aws, policy: str, inputs: Properties) -> None:
    role, name = policy.split(":")
    aws.iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=inputs["policy"])


def _attach(aws: Aws, inputs: Properties) -> Created:
    aws.iam.attach_role_policy(RoleName=inputs["role"], PolicyArn=inputs["policyArn"])
    return Created(f"{inputs['role']}/{inputs['policyArn']}")


def _attachment_exists(aws: Aws, _: str, state: Properties) -> bool:
    attached = aws.iam.list_attached_role_policies(RoleName=state["role"])["AttachedPolicies"]
    return any(each["PolicyArn"] == state["policyArn"] for each in attached)


def _create_profile(aws: Aws, inputs: Properties) -> Created:
    name = inputs["name"]
    profile = aws.iam.create_instance_profile(InstanceProfileName=name, Tags=tag_list(aws.tags(inputs)))
    if inputs.get("role"):
        aws.iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=inputs["role"])
    made = profile["InstanceProfile"]
    return Created(name, {"arn": made["Arn"], "uniqueId": made["InstanceProfileId"]})


def _delete_profile(aws: Aws, name: str, state: Properties) -> None:
    if state.get("role"):
        aws.iam.remove_role_from_instance_profile(InstanceProfileName=name, RoleName=state["role"])
    aws.iam.delete_instance_profile(InstanceProfileName=name)


def _retag_profile(aws: Aws, name: str, state: Properties, tags: Mapping[str, str]) -> None:
    removed = set(state.get("tagsAll") or {}) - set(tags)
    if removed:
        aws.iam.untag_instance_profile(InstanceProfileName=name, TagKeys=sorted(removed))
    aws.iam.tag_instance_profile(InstanceProfileName=name, Tags=tag_list(tags))


KINDS: Mapping[str, Kind] = {
    "aws:iam/role:Role": Kind(
        _create_role,
        lambda aws, name, _: aws.iam.get_role(RoleName=name),
        lambda aws, name, _: aws.iam.delete_role(RoleName=name),
        update=_update_role,
        retag=_retag_role,
        in_place=frozenset({"assumeRolePolicy", "description"}),
        auto_named="name",
    ),
    "aws:iam/rolePolicy:RolePolicy": Kind(
        _create_policy,
        lambda aws, _, state: aws.iam.get_role_policy(RoleName=state["role"], PolicyName=state["name"]),
        lambda aws, _, state: aws.iam.delete_role_policy(RoleName=state["role"], PolicyName=state["name"]),
        update=_update_policy,
        in_place=frozenset({"policy"}),
        auto_named="name",
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Kind(
        _attach,
        _attachment_exists,
        lambda aws, _, state: aws.iam.detach_role_policy(RoleName=state["role"], PolicyArn=state["policyArn"]),
    ),
    "aws:iam/instanceProfile:InstanceProfile": Kind(
        _create_profile,
        lambda aws, name, _: aws.iam.get_instance_profile(InstanceProfileName=name),
        _delete_profile,
        retag=_retag_profile,
        auto_named="name",
    ),
}
