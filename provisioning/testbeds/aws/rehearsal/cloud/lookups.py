"""Lookups of the provider double: what a program asks AWS for without making anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, is_gone
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties


def _get_ami(aws: Aws, arguments: Properties) -> Properties:
    images = aws.ec2.describe_images(
        Filters=_filters(arguments),
        Owners=arguments.get("owners") or [],
        IncludeDeprecated=bool(arguments.get("includeDeprecated")),
    )["Images"]
    if not images:
        raise LookupError("Your query returned no results. Please change your search criteria and try again.")
    if len(images) > 1 and not arguments.get("mostRecent"):
        raise LookupError("Your query returned more than one result. Please try a more specific search criteria.")
    image = max(images, key=lambda each: str(each["CreationDate"]))
    of_image = {"arn": f"arn:aws:ec2:{aws.region}::image/{image['ImageId']}", "public": bool(image.get("Public"))}
    unasked: Properties = {"blockDeviceMappings": [], "productCodes": [], "stateReason": {}}
    return arguments | _shown(aws, image, "ImageId") | of_image | unasked


def _get_instances(aws: Aws, arguments: Properties) -> Properties:
    tags = arguments.get("instanceTags") or {}
    states = {"Name": "instance-state-name", "Values": arguments.get("instanceStateNames") or ["running"]}
    by_tag = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
    reservations = aws.ec2.describe_instances(Filters=[*_filters(arguments), *by_tag, states])["Reservations"]
    found = [instance for reservation in reservations for instance in reservation["Instances"]]
    return arguments | {
        "id": aws.region,
        "region": aws.region,
        "ids": [each["InstanceId"] for each in found],
        "instanceTags": tags,
        "ipv6Addresses": [],
        "privateIps": [each.get("PrivateIpAddress", "") for each in found],
        "publicIps": [each.get("PublicIpAddress", "") for each in found],
    }


def _get_offerings(aws: Aws, arguments: Properties) -> Properties:
    location_type = arguments.get("locationType") or "region"
    answer = aws.ec2.describe_instance_type_offerings(LocationType=location_type, Filters=_filters(arguments))
    found = answer["InstanceTypeOfferings"]
    lists = {f"{key[0].lower()}{key[1:]}s": key for key in ("InstanceType", "Location", "LocationType")}
    by_name = {name: [each[key] for each in found] for name, key in lists.items()}
    return arguments | {"id": aws.region, "region": aws.region} | by_name


def _get_vpc(aws: Aws, arguments: Properties) -> Properties:
    vpc = _only("EC2 VPC", aws.ec2.describe_vpcs, "Vpcs", VpcIds=[_by_id(arguments)])

    def attribute(name: str) -> bool:
        answer = aws.ec2.describe_vpc_attribute(VpcId=vpc["VpcId"], Attribute=name)
        return bool(answer[name[0].upper() + name[1:]]["Value"])

    switches = {name: attribute(name) for name in ("enableDnsSupport", "enableDnsHostnames")}
    arn = aws.arn("ec2", f"vpc/{vpc['VpcId']}")
    return _shown(aws, vpc, "VpcId") | {"arn": arn, "default": vpc["IsDefault"]} | switches


def _get_subnet(aws: Aws, arguments: Properties) -> Properties:
    subnet = _only("EC2 Subnet", aws.ec2.describe_subnets, "Subnets", SubnetIds=[_by_id(arguments)])
    return _shown(aws, subnet, "SubnetId") | {"arn": subnet["SubnetArn"]}


def _get_route_table(aws: Aws, arguments: Properties) -> Properties:
    """By subnet only where the subnet is associated by itself: one that follows the main table has none, on AWS too."""
    filters = _filters(arguments)
    for name, argument in (("vpc-id", "vpcId"), ("association.subnet-id", "subnetId")):
        if arguments.get(argument):
            filters.append({"Name": name, "Values": [arguments[argument]]})
    table = _only("EC2 Route Table", aws.ec2.describe_route_tables, "RouteTables", Filters=filters)
    # routes to a gateway endpoint aren't shown, as by the real provider
    routes = [
        {"cidrBlock": route.get("DestinationCidrBlock", ""), "gatewayId": route.get("GatewayId", "")}
        for route in table["Routes"]
        if not route.get("GatewayId", "").startswith("vpce-")
    ]
    return arguments | _shown(aws, table, "RouteTableId") | {"routes": routes}


def _get_prefix_list(aws: Aws, arguments: Properties) -> Properties:
    filters = [{"Name": "prefix-list-name", "Values": [arguments["name"]]}]
    found = _only("EC2 Prefix List", aws.ec2.describe_prefix_lists, "PrefixLists", Filters=filters)
    shown = {"name": found["PrefixListName"], "cidrBlocks": found.get("Cidrs", [])}  # moto has none
    return _shown(aws, found, "PrefixListId") | shown


def _filters(arguments: Properties) -> list[dict[str, Any]]:
    return [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]


def _by_id(arguments: Properties) -> str:
    others = {name for name, value in arguments.items() if value} - {"id"}
    if others or not arguments.get("id"):
        raise NotImplementedError(f"the double looks up by id alone, not by {', '.join(sorted(others)) or 'nothing'}")
    return str(arguments["id"])


def _only(what: str, call: Callable[..., Any], answers: str, **asked: Any) -> Any:
    """The one thing that was found. Raises LookupError as the provider says it."""
    try:
        found = call(**asked)[answers]
    except ClientError as error:
        if not is_gone(error):
            raise
        found = []
    if len(found) != 1:
        raise LookupError(
            f"no matching {what} found" if not found else f"multiple {what}s matched; use additional constraints"
        )
    return found[0]


def _shown(aws: Aws, thing: Mapping[str, Any], identity: str) -> Properties:
    """What AWS says of a thing in a word or a number each, under Pulumi's names; with its id and its tags."""
    words = {f"{key[0].lower()}{key[1:]}": value for key, value in thing.items() if isinstance(value, str | int)}
    tags = {tag["Key"]: tag["Value"] for tag in thing.get("Tags", [])}
    return words | {"id": thing[identity], "region": aws.region, "tags": tags}


LOOKUPS: Mapping[str, Callable[[Aws, Properties], Properties]] = {
    "aws:ec2/getAmi:getAmi": _get_ami,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": _get_offerings,
    "aws:ec2/getInstances:getInstances": _get_instances,
    "aws:ec2/getPrefixList:getPrefixList": _get_prefix_list,
    "aws:ec2/getRouteTable:getRouteTable": _get_route_table,
    "aws:ec2/getSubnet:getSubnet": _get_subnet,
    "aws:ec2/getVpc:getVpc": _get_vpc,
}
