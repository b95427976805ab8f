"""Everything that exists in a cloud, by kind and id, whoever made it and whatever its tags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3

from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud

_ENDED = ("deleted", "deleting", "cancelled")
# service, call, key of its list, key of an entry's id
_LISTS = (
    ("ec2", "describe_vpcs", "Vpcs", "VpcId"),
    ("ec2", "describe_subnets", "Subnets", "SubnetId"),
    ("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("ec2", "describe_route_tables", "RouteTables", "RouteTableId"),
    ("ec2", "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    ("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
    ("ec2", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    ("ec2", "describe_volumes", "Volumes", "VolumeId"),
    ("ec2", "describe_key_pairs", "KeyPairs", "KeyName"),
    ("ec2", "describe_placement_groups", "PlacementGroups", "GroupName"),
    ("ec2", "describe_capacity_reservations", "CapacityReservations", "CapacityReservationId"),
    ("emr", "list_clusters", "Clusters", "Id"),
    ("iam", "list_roles", "Roles", "RoleName"),
    ("iam", "list_instance_profiles", "InstanceProfiles", "InstanceProfileName"),
    ("scheduler", "list_schedule_groups", "ScheduleGroups", "Name"),
    ("scheduler", "list_schedules", "Schedules", "Arn"),
)


def client(cloud: Cloud, service: str, **options: Any) -> Any:
    """A client of one of the cloud's services, whatever this process' environment is."""
    session = boto3.session.Session(
        region_name=cloud.region,
        aws_access_key_id=cloud.environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=cloud.environment["AWS_SECRET_ACCESS_KEY"],
    )
    make: Callable[..., Any] = session.client
    return make(service, endpoint_url=cloud.endpoint, **options)


def things(cloud: Cloud) -> set[str]:
    """All there is, as "kind id"."""
    found = {f"instance {each}" for each in instances(cloud)} | buckets(cloud)
    for service, call, entries, key in _LISTS:
        for entry in getattr(client(cloud, service), call)()[entries]:
            status = entry.get("Status")  # a cluster's holds its state, a volume's is a word
            state = status["State"] if isinstance(status, dict) else entry.get("State", "")
            if state not in _ENDED and not state.startswith("TERMINATED"):
                found.add(f"{entries} {entry[key]}")
    return found


def buckets(cloud: Cloud) -> set[str]:
    """The buckets among them."""
    return {f"bucket {each['Name']}" for each in client(cloud, "s3").list_buckets()["Buckets"]}


def instances(cloud: Cloud) -> dict[str, dict[str, str]]:
    """The instances that haven't ended: id -> tags."""
    reservations = client(cloud, "ec2").describe_instances()["Reservations"]
    return {
        instance["InstanceId"]: {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
        for reservation in reservations
        for instance in reservation["Instances"]
        if instance["State"]["Name"] not in ("terminated", "shutting-down")
    }
