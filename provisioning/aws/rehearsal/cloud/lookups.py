"""Lookups of the provider double: what a program asks AWS for without making anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from provisioning.aws.rehearsal.cloud.kinds import Aws
from provisioning.aws.rehearsal.cloud.values import Properties


def _get_ami(aws: Aws, arguments: Properties) -> Properties:
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]
    images = aws.ec2.describe_images(
        Filters=filters,
        Owners=arguments.get("owners") or [],
        IncludeDeprecated=bool(arguments.get("includeDeprecated")),
    )["Images"]
    if not images:
        raise LookupError("Your query returned no results. Please change your search criteria and try again.")
    if len(images) > 1 and not arguments.get("mostRecent"):
        raise LookupError("Your query returned more than one result. Please try a more specific search criteria.")
    image = max(images, key=lambda each: str(each["CreationDate"]))
    same_name = (
        "Architecture CreationDate DeprecationTime Description Hypervisor ImageId ImageLocation ImageType Name OwnerId PlatformDetails "
        "RootDeviceName RootDeviceType SriovNetSupport State VirtualizationType"
    )
    found = {name[0].lower() + name[1:]: image.get(name, "") for name in same_name.split()}
    return {
        **arguments,
        **found,
        "id": image["ImageId"],
        "arn": f"arn:aws:ec2:{aws.region}::image/{image['ImageId']}",
        "public": bool(image.get("Public")),
        "region": aws.region,
        "tags": {tag["Key"]: tag["Value"] for tag in image.get("Tags", [])},
        "blockDeviceMappings": [],
        "productCodes": [],
        "stateReason": {},
    }


def _get_instances(aws: Aws, arguments: Properties) -> Properties:
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]
    filters += [
        {"Name": f"tag:{key}", "Values": [value]} for key, value in (arguments.get("instanceTags") or {}).items()
    ]
    filters.append({"Name": "instance-state-name", "Values": arguments.get("instanceStateNames") or ["running"]})
    found = [
        instance
        for reservation in aws.ec2.describe_instances(Filters=filters)["Reservations"]
        for instance in reservation["Instances"]
    ]
    return {
        **arguments,
        "id": aws.region,
        "region": aws.region,
        "ids": [each["InstanceId"] for each in found],
        "instanceTags": arguments.get("instanceTags") or {},
        "ipv6Addresses": [],
        "privateIps": [each.get("PrivateIpAddress", "") for each in found],
        "publicIps": [each.get("PublicIpAddress", "") for each in found],
    }


def _get_offerings(aws: Aws, arguments: Properties) -> Properties:
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]
    location_type = arguments.get("locationType") or "region"
    found = aws.ec2.describe_instance_type_offerings(LocationType=location_type, Filters=filters)[
        "InstanceTypeOfferings"
    ]
    return {
        **arguments,
        "id": aws.region,
        "region": aws.region,
        "instanceTypes": [each["InstanceType"] for each in found],
        "locations": [each["Location"] for each in found],
        "locationTypes": [each["LocationType"] for each in found],
    }


LOOKUPS: Mapping[str, Callable[[Aws, Properties], Properties]] = {
    "aws:ec2/getAmi:getAmi": _get_ami,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": _get_offerings,
    "aws:ec2/getInstances:getInstances": _get_instances,
}
