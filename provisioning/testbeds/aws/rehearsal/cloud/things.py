"""Everything that exists in a cloud, by kind and id, whoever made it and whatever its tags. It removes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3

from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud

_ENDED = ("terminated", "shutting-down")
# call, key of its list, key of an entry's id
_EC2 = (
    ("describe_vpcs", "Vpcs", "VpcId"),
    ("describe_subnets", "Subnets", "SubnetId"),
    ("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("describe_route_tables", "RouteTables", "RouteTableId"),
    ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    ("describe_security_groups", "SecurityGroups", "GroupId"),
    ("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    ("describe_volumes", "Volumes", "VolumeId"),
    ("describe_key_pairs", "KeyPairs", "KeyName"),
    ("describe_placement_groups", "PlacementGroups", "GroupName"),
    ("describe_capacity_reservations", "CapacityReservations", "CapacityReservationId"),
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
    return {*_compute(cloud), *_clusters(cloud), *_identities(cloud), *_timers(cloud), *buckets(cloud)}


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
        if instance["State"]["Name"] not in _ENDED
    }


def _compute(cloud: Cloud) -> Iterator[str]:
    ec2 = client(cloud, "ec2")
    for call, entries, key in _EC2:
        for entry in getattr(ec2, call)()[entries]:
            if entry.get("State") not in ("deleted", "deleting", "cancelled"):
                yield f"{entries} {entry[key]}"
    yield from (f"instance {each}" for each in instances(cloud))


def _clusters(cloud: Cloud) -> Iterator[str]:
    listed = client(cloud, "emr").list_clusters()["Clusters"]
    yield from (f"cluster {each['Id']}" for each in listed if not each["Status"]["State"].startswith("TERMINATED"))


def _identities(cloud: Cloud) -> Iterator[str]:
    iam = client(cloud, "iam")
    yield from (f"role {each['RoleName']}" for each in iam.list_roles()["Roles"])
    yield from (f"profile {each['InstanceProfileName']}" for each in iam.list_instance_profiles()["InstanceProfiles"])


def _timers(cloud: Cloud) -> Iterator[str]:
    scheduler = client(cloud, "scheduler")
    yield from (f"schedule group {each['Name']}" for each in scheduler.list_schedule_groups()["ScheduleGroups"])
    yield from (f"schedule {each['GroupName']}/{each['Name']}" for each in scheduler.list_schedules()["Schedules"])
