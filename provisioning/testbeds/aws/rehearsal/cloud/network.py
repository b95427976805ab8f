"""Networks for the provider double: VPC, subnets, routes, gateways, security groups and their rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, Created, Kind, on_creation, retag_ec2
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

ANYWHERE = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}


def _create_vpc(aws: Aws, inputs: Properties) -> Created:
    tags = on_creation("vpc", aws.tags(inputs))
    vpc = aws.ec2.create_vpc(CidrBlock=inputs["cidrBlock"], TagSpecifications=tags)["Vpc"]["VpcId"]
    for name, attribute in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames")):
        if inputs.get(name) is not None:
            aws.ec2.modify_vpc_attribute(VpcId=vpc, **{attribute: {"Value": inputs[name]}})
    return Created(vpc, {"arn": aws.arn("ec2", f"vpc/{vpc}"), "ownerId": aws.account})


def _create_gateway(aws: Aws, inputs: Properties) -> Created:
    tags = on_creation("internet-gateway", aws.tags(inputs))
    gateway = aws.ec2.create_internet_gateway(TagSpecifications=tags)["InternetGateway"]["InternetGatewayId"]
    if inputs.get("vpcId"):
        aws.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=inputs["vpcId"])
    return Created(gateway, {"arn": aws.arn("ec2", f"internet-gateway/{gateway}"), "ownerId": aws.account})


def _delete_gateway(aws: Aws, gateway: str, state: Properties) -> None:
    if state.get("vpcId"):
        aws.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=state["vpcId"])
    aws.ec2.delete_internet_gateway(InternetGatewayId=gateway)


def _create_subnet(aws: Aws, inputs: Properties) -> Created:
    subnet = aws.ec2.create_subnet(
        VpcId=inputs["vpcId"],
        CidrBlock=inputs["cidrBlock"],
        **({"AvailabilityZone": inputs["availabilityZone"]} if inputs.get("availabilityZone") else {}),
        TagSpecifications=on_creation("subnet", aws.tags(inputs)),
    )["Subnet"]
    _map_public_ip(aws, subnet["SubnetId"], inputs)
    outputs = {name: subnet[key] for name, key in (("availabilityZone", "AvailabilityZone"), ("arn", "SubnetArn"))}
    return Created(subnet["SubnetId"], outputs)


def _map_public_ip(aws: Aws, subnet: str, inputs: Properties) -> None:
    wanted = {"Value": bool(inputs.get("mapPublicIpOnLaunch"))}
    aws.ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch=wanted)


def _create_route_table(aws: Aws, inputs: Properties) -> Created:
    if inputs.get("routes"):
        raise NotImplementedError("the double has no routes inside a RouteTable; use aws.ec2.Route")
    tags = on_creation("route-table", aws.tags(inputs))
    table = aws.ec2.create_route_table(VpcId=inputs["vpcId"], TagSpecifications=tags)["RouteTable"]["RouteTableId"]
    return Created(table, {"arn": aws.arn("ec2", f"route-table/{table}"), "ownerId": aws.account})


def _create_route(aws: Aws, inputs: Properties) -> Created:
    table, destination = inputs["routeTableId"], inputs["destinationCidrBlock"]
    aws.ec2.create_route(RouteTableId=table, DestinationCidrBlock=destination, GatewayId=inputs["gatewayId"])
    return Created(f"r-{table}{destination}", {"state": "active", "origin": "CreateRoute"})


def _route_exists(aws: Aws, _: str, state: Properties) -> bool:
    tables = aws.ec2.describe_route_tables(RouteTableIds=[state["routeTableId"]])["RouteTables"]
    return any(
        route.get("DestinationCidrBlock") == state["destinationCidrBlock"]
        for table in tables
        for route in table["Routes"]
    )


def _associate(aws: Aws, inputs: Properties) -> Created:
    made = aws.ec2.associate_route_table(RouteTableId=inputs["routeTableId"], SubnetId=inputs["subnetId"])
    return Created(made["AssociationId"])


def _association_exists(aws: Aws, association: str, state: Properties) -> bool:
    tables = aws.ec2.describe_route_tables(RouteTableIds=[state["routeTableId"]])["RouteTables"]
    return any(each["RouteTableAssociationId"] == association for table in tables for each in table["Associations"])


def _create_endpoint(aws: Aws, inputs: Properties) -> Created:
    endpoint = aws.ec2.create_vpc_endpoint(
        VpcId=inputs["vpcId"],
        ServiceName=inputs["serviceName"],
        VpcEndpointType=inputs.get("vpcEndpointType") or "Gateway",
        RouteTableIds=inputs.get("routeTableIds") or [],
        TagSpecifications=on_creation("vpc-endpoint", aws.tags(inputs)),
    )["VpcEndpoint"]["VpcEndpointId"]
    lists = aws.ec2.describe_prefix_lists(Filters=[{"Name": "prefix-list-name", "Values": [inputs["serviceName"]]}])
    prefix_list = lists["PrefixLists"][0]["PrefixListId"]
    return Created(
        endpoint,
        {"arn": aws.arn("ec2", f"vpc-endpoint/{endpoint}"), "prefixListId": prefix_list, "state": "available"},
    )


def _endpoint_exists(aws: Aws, endpoint: str, _: Properties) -> bool:
    found = aws.ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint])["VpcEndpoints"]
    return any(each["State"] not in ("deleted", "deleting") for each in found)


def _create_group(aws: Aws, inputs: Properties) -> Created:
    if inputs.get("ingress") or inputs.get("egress"):
        raise NotImplementedError("the double has no rules inside a SecurityGroup; use aws.vpc.SecurityGroup*Rule")
    group = aws.ec2.create_security_group(
        GroupName=inputs["name"],
        Description=inputs.get("description") or "Managed by Pulumi",
        VpcId=inputs["vpcId"],
        TagSpecifications=on_creation("security-group", aws.tags(inputs)),
    )["GroupId"]
    # the real provider takes away the rule that lets everything out, which AWS adds
    aws.ec2.revoke_security_group_egress(GroupId=group, IpPermissions=[ANYWHERE])
    return Created(group, {"arn": aws.arn("ec2", f"security-group/{group}"), "ownerId": aws.account})


def _delete_group(aws: Aws, group: str, state: Properties) -> None:
    if state.get("revokeRulesOnDelete"):
        for found in aws.ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"]:
            _revoke_if_there(aws.ec2.revoke_security_group_ingress, group, found["IpPermissions"])
            _revoke_if_there(aws.ec2.revoke_security_group_egress, group, found["IpPermissionsEgress"])
    aws.ec2.delete_security_group(GroupId=group)


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
    if inputs.get("cidrIpv4"):
        permission["IpRanges"] = [{"CidrIp": inputs["cidrIpv4"], **described}]
    if inputs.get("referencedSecurityGroupId"):
        permission["UserIdGroupPairs"] = [{"GroupId": inputs["referencedSecurityGroupId"], **described}]
    if inputs.get("prefixListId"):
        permission["PrefixListIds"] = [{"PrefixListId": inputs["prefixListId"], **described}]
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

    return _tagged(create, exists, delete)


def _tagged(create: Any, exists: Any, delete: Any, **more: Any) -> Kind:
    return Kind(create, exists, delete, retag=retag_ec2, **more)


KINDS: Mapping[str, Kind] = {
    "aws:ec2/vpc:Vpc": _tagged(
        _create_vpc,
        lambda aws, vpc, _: aws.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"],
        lambda aws, vpc, _: aws.ec2.delete_vpc(VpcId=vpc),
    ),
    "aws:ec2/internetGateway:InternetGateway": _tagged(
        _create_gateway,
        lambda aws, gateway, _: aws.ec2.describe_internet_gateways(InternetGatewayIds=[gateway])["InternetGateways"],
        _delete_gateway,
    ),
    "aws:ec2/subnet:Subnet": _tagged(
        _create_subnet,
        lambda aws, subnet, _: aws.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"],
        lambda aws, subnet, _: aws.ec2.delete_subnet(SubnetId=subnet),
        update=_map_public_ip,
        in_place=frozenset({"mapPublicIpOnLaunch"}),
    ),
    "aws:ec2/routeTable:RouteTable": _tagged(
        _create_route_table,
        lambda aws, table, _: aws.ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"],
        lambda aws, table, _: aws.ec2.delete_route_table(RouteTableId=table),
    ),
    "aws:ec2/route:Route": Kind(
        _create_route,
        _route_exists,
        lambda aws, _, state: aws.ec2.delete_route(
            RouteTableId=state["routeTableId"], DestinationCidrBlock=state["destinationCidrBlock"]
        ),
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Kind(
        _associate,
        _association_exists,
        lambda aws, association, _: aws.ec2.disassociate_route_table(AssociationId=association),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _tagged(
        _create_endpoint,
        _endpoint_exists,
        lambda aws, endpoint, _: aws.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint]),
    ),
    "aws:ec2/securityGroup:SecurityGroup": _tagged(
        _create_group,
        lambda aws, group, _: aws.ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"],
        _delete_group,
        auto_named="name",
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("egress"),
}
