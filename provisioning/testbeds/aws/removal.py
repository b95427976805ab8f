"""How each kind of leftover is deleted: one function a kind. Raises what AWS answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from provisioning.testbeds.aws.leftovers import BUCKET, CLUSTER
from provisioning.testbeds.aws.session import Region

# Hosts and clusters first: while one lives, nothing that it uses is touched, least of all the schedule that would end it.
# Reserved capacity with them: a place that a host has left costs as much as the host did.
COMPUTE = (CLUSTER, "instance", "capacity reservation")


def _endpoint(region: Region, endpoint_id: str) -> None:
    answer = region.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])
    for failed in answer.get("Unsuccessful") or ():  # told, not raised
        raise ClientError({"Error": failed["Error"]}, "DeleteVpcEndpoints")


def _security_group(region: Region, group_id: str) -> None:
    """Its rules first: two groups that name one another can't be deleted otherwise."""
    ec2 = region.client("ec2")
    filters = [{"Name": "group-id", "Values": [group_id]}]
    rules = list(region.items("ec2", "describe_security_group_rules", "SecurityGroupRules[]", Filters=filters))
    for egress, revoke in ((False, ec2.revoke_security_group_ingress), (True, ec2.revoke_security_group_egress)):
        ids = [rule["SecurityGroupRuleId"] for rule in rules if rule["IsEgress"] is egress]
        if ids:
            revoke(GroupId=group_id, SecurityGroupRuleIds=ids)
    ec2.delete_security_group(GroupId=group_id)


def _route_table(region: Region, table_id: str) -> None:
    ec2 = region.client("ec2")
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    for association in table["Associations"]:
        ec2.disassociate_route_table(AssociationId=association["RouteTableAssociationId"])
    ec2.delete_route_table(RouteTableId=table_id)


def _internet_gateway(region: Region, gateway_id: str) -> None:
    ec2 = region.client("ec2")
    (gateway,) = ec2.describe_internet_gateways(InternetGatewayIds=[gateway_id])["InternetGateways"]
    for attachment in gateway["Attachments"]:
        ec2.detach_internet_gateway(InternetGatewayId=gateway_id, VpcId=attachment["VpcId"])
    ec2.delete_internet_gateway(InternetGatewayId=gateway_id)


def _instance_profile(region: Region, name: str) -> None:
    iam = region.client("iam")
    for role in iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]["Roles"]:
        iam.remove_role_from_instance_profile(InstanceProfileName=name, RoleName=role["RoleName"])
    iam.delete_instance_profile(InstanceProfileName=name)


def _role(region: Region, name: str) -> None:
    iam = region.client("iam")
    profiles = "InstanceProfiles[].InstanceProfileName"
    for profile in list(region.items("iam", "list_instance_profiles_for_role", profiles, RoleName=name)):
        iam.remove_role_from_instance_profile(InstanceProfileName=profile, RoleName=name)
    attached = "AttachedPolicies[].PolicyArn"
    for arn in list(region.items("iam", "list_attached_role_policies", attached, RoleName=name)):
        iam.detach_role_policy(RoleName=name, PolicyArn=arn)
    for policy in list(region.items("iam", "list_role_policies", "PolicyNames[]", RoleName=name)):
        iam.delete_role_policy(RoleName=name, PolicyName=policy)
    iam.delete_role(RoleName=name)


def _policy(region: Region, arn: str) -> None:
    iam = region.client("iam")
    old = "Versions[?!IsDefaultVersion].VersionId"
    for version in list(region.items("iam", "list_policy_versions", old, PolicyArn=arn)):
        iam.delete_policy_version(PolicyArn=arn, VersionId=version)
    iam.delete_policy(PolicyArn=arn)


def _ec2(operation: str, parameter: str, *, many: bool = False) -> Callable[[Region, str], None]:
    """A kind that one call of EC2 deletes."""

    def delete(region: Region, identifier: str) -> None:
        arguments: dict[str, Any] = {parameter: [identifier] if many else identifier}
        getattr(region.client("ec2"), operation)(**arguments)

    return delete


# in the order in which they are deleted: compute, then what hangs on something before that
REMOVERS: Mapping[str, Callable[[Region, str], None]] = {
    CLUSTER: lambda region, cluster: region.client("emr").terminate_job_flows(JobFlowIds=[cluster]),
    "instance": _ec2("terminate_instances", "InstanceIds", many=True),
    "capacity reservation": _ec2("cancel_capacity_reservation", "CapacityReservationId"),
    "volume": _ec2("delete_volume", "VolumeId"),
    "network interface": _ec2("delete_network_interface", "NetworkInterfaceId"),
    "elastic address": _ec2("release_address", "AllocationId"),
    "VPC endpoint": _endpoint,
    "placement group": _ec2("delete_placement_group", "GroupName"),
    "key pair": _ec2("delete_key_pair", "KeyName"),
    "security group": _security_group,
    "route table": _route_table,
    "internet gateway": _internet_gateway,
    "subnet": _ec2("delete_subnet", "SubnetId"),
    "VPC": _ec2("delete_vpc", "VpcId"),
    "schedule group": lambda region, name: region.client("scheduler").delete_schedule_group(Name=name),
    "instance profile": _instance_profile,
    "IAM role": _role,
    "IAM policy": _policy,
    # refused by S3 if an object has come in meanwhile: none is ever deleted
    BUCKET: lambda region, name: region.client("s3").delete_bucket(Bucket=name),
}
