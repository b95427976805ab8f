"""Networks for the provider double: VPC, subnets, routes, gateways, security groups and their rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, ByCalls, Created, Kind, on_creation, retag_ec2
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

ANYWHERE = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}


def _set_vpc_attributes(aws: Aws, vpc: str, inputs: Properties) -> None:
    for name, attribute in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames")):
        if inputs.get(name) is not None:
            aws.ec2.modify_vpc_attribute(VpcId=vpc, **{attribute: {"Value": inputs[name]}})


def _attach_gateway(aws: Aws, gateway: str, inputs: Properties) -> None:
    if inputs.get("vpcId"):
        aws.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=inputs["vpcId"])


def _detach_gateway(aws: Aws, gateway: str, state: Properties) -> None:
    if state.get("vpcId"):
        aws.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=state["vpcId"])


def _map_public_ip(aws: Aws, subnet: str, inputs: Properties) -> None:
    wanted = {"Value": bool(inputs.get("mapPublicIpOnLaunch"))}
    aws.ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch=wanted)


def _prefix_list(aws: Aws, _: str, inputs: Properties) -> Properties:
    lists = aws.ec2.describe_prefix_lists(Filters=[{"Name": "prefix-list-name", "Values": [inputs["serviceName"]]}])
    return {"prefixListId": lists["PrefixLists"][0]["PrefixListId"], "state": "available"}


def _tables(aws: Aws, state: Properties) -> Any:
    return aws.ec2.describe_route_tables(RouteTableIds=[state["routeTableId"]])["RouteTables"]


def _create_route(aws: Aws, inputs: Properties) -> Created:
    aws.call("ec2", "create_route", inputs)
    made = f"r-{inputs['routeTableId']}{inputs['destinationCidrBlock']}"
    return Created(made, {"state": "active", "origin": "CreateRoute"})


def _route_exists(aws: Aws, _: str, state: Properties) -> bool:
    routes = [route for table in _tables(aws, state) for route in table["Routes"]]
    return any(route.get("DestinationCidrBlock") == state["destinationCidrBlock"] for route in routes)


def _associate(aws: Aws, inputs: Properties) -> Created:
    return Created(aws.call("ec2", "associate_route_table", inputs)["AssociationId"])


def _association_exists(aws: Aws, association: str, state: Properties) -> bool:
    associations = [each for table in _tables(aws, state) for each in table["Associations"]]
    return any(each["RouteTableAssociationId"] == association for each in associations)


def _close(aws: Aws, group: str, _: Properties) -> None:
    """The real provider takes away the rule that lets everything out, which AWS adds."""
    aws.ec2.revoke_security_group_egress(GroupId=group, IpPermissions=[ANYWHERE])


def _revoke_rules(aws: Aws, group: str, state: Properties) -> None:
    if state.get("revokeRulesOnDelete"):
        for found in aws.ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"]:
            _revoke_if_there(aws.ec2.revoke_security_group_ingress, group, found["IpPermissions"])
            _revoke_if_there(aws.ec2.revoke_security_group_egress, group, found["IpPermissionsEgress"])


def _revoke_if_there(revoke: Any, group: str, permissions: Sequence[Any]) -> None:
    """A rule goes with the group that it names, and EMR's groups, which name each other, are deleted at the same time."""
    if not permissions:
        return
    try:
        revoke(GroupId=group, IpPermissions=permissions)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("InvalidPermission.NotFound", "InvalidGroup.NotFound"):
            raise


def _permission(inputs: Properties) -> dict[str, Any]:
    described = {"Description": inputs["description"]} if inputs.get("description") else {}
    permission: dict[str, Any] = {"IpProtocol": inputs["ipProtocol"]}
    if inputs.get("fromPort") is not None:
        permission |= {"FromPort": inputs["fromPort"], "ToPort": inputs["toPort"]}
    for name, sources, source in (
        ("cidrIpv4", "IpRanges", "CidrIp"),
        ("referencedSecurityGroupId", "UserIdGroupPairs", "GroupId"),
        ("prefixListId", "PrefixListIds", "PrefixListId"),
    ):
        if inputs.get(name):
            permission[sources] = [{source: inputs[name], **described}]
    return permission


def _rule(direction: str) -> Kind:
    """A rule of its own, of one direction: ingress or egress."""

    def create(aws: Aws, inputs: Properties) -> Created:
        made = getattr(aws.ec2, f"authorize_security_group_{direction}")(
            GroupId=inputs["securityGroupId"],
            IpPermissions=[_permission(inputs)],
            TagSpecifications=on_creation("security-group-rule", aws.tags(inputs)),
        )
        rule = made["SecurityGroupRules"][0]["SecurityGroupRuleId"]
        return Created(rule, {"securityGroupRuleId": rule, "arn": aws.arn("ec2", f"security-group-rule/{rule}")})

    def exists(aws: Aws, rule: str, _: Properties) -> bool:
        return bool(aws.ec2.describe_security_group_rules(SecurityGroupRuleIds=[rule])["SecurityGroupRules"])

    def delete(aws: Aws, _: str, state: Properties) -> None:
        revoke = getattr(aws.ec2, f"revoke_security_group_{direction}")
        revoke(GroupId=state["securityGroupId"], IpPermissions=[_permission(state)])

    return Kind(create, exists, delete, retag=retag_ec2)


KINDS: Mapping[str, Kind] = {
    "aws:ec2/route:Route": Kind(
        _create_route, _route_exists, lambda aws, _, state: aws.call("ec2", "delete_route", state)
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Kind(
        _associate,
        _association_exists,
        lambda aws, association, _: aws.ec2.disassociate_route_table(AssociationId=association),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("egress"),
} | {
    row.token: row.kind
    for row in (
        ByCalls("aws:ec2/vpc:Vpc", then=_set_vpc_attributes),
        ByCalls("aws:ec2/internetGateway:InternetGateway", then=_attach_gateway, before_deletion=_detach_gateway),
        ByCalls(
            "aws:ec2/subnet:Subnet",
            outputs={"availabilityZone": "AvailabilityZone"},
            then=_map_public_ip,
            update=_map_public_ip,
            in_place={"mapPublicIpOnLaunch"},
        ),
        ByCalls("aws:ec2/routeTable:RouteTable", unlearnt={"routes": "aws.ec2.Route"}),
        ByCalls("aws:ec2/vpcEndpoint:VpcEndpoint", delete="delete_vpc_endpoints", then=_prefix_list),
        ByCalls(
            "aws:ec2/securityGroup:SecurityGroup",
            "GroupId",
            names={"GroupName": "name"},
            defaults={"description": "Managed by Pulumi"},
            unlearnt=dict.fromkeys(("ingress", "egress"), "aws.vpc.SecurityGroup*Rule"),
            then=_close,
            before_deletion=_revoke_rules,
            auto_named="name",
        ),
    )
}
