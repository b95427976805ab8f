"""Capacity that is reserved before hosts are launched: what the program registers, and what the local cloud makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.things import client, instances
from tests.cloud.faults import Cloud, Faults, local_cloud
from tests.infra.project import NewProject, Project, moment
from tests.infra.recorded_program import preset, record

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

RESERVATION, INSTANCE = "ec2/capacityReservation:CapacityReservation", "ec2/instance:Instance"


def test_nothing_is_reserved_unasked(tmp_path: Path) -> None:
    """A reservation costs where its hosts fail to come."""
    assert not record(preset("smoke", tmp_path)).of_type(RESERVATION)


def test_one_reservation_for_each_type_that_stands_side_by_side(tmp_path: Path) -> None:
    """For all its hosts at once, in the placement group, until the hosts end; every host waits for all of them."""
    recording = record(preset("sn2022", tmp_path, reserveCapacity=True), stack="sn2022")
    made = recording.of_type(RESERVATION)
    assert {name: each.inputs["instanceCount"] for name, each in made.items()} == {
        "samebox-i3en.6xlarge": 3,
        "samebox-m5n.8xlarge": 4,
    }
    for each in made.values():
        assert each.inputs["placementGroupArn"] == "arn:aws:mock:::samebox"
        assert each.inputs["availabilityZone"] == "us-west-2a"
        assert (each.inputs["instanceMatchCriteria"], each.inputs["instancePlatform"]) == ("open", "Linux/UNIX")
        assert (each.inputs["endDateType"], each.inputs["endDate"]) == (
            "limited",
            recording.outputs["inventory"]["expires"],
        )
        assert each.inputs["tags"]["project"] == "samebox"
    for host in recording.of_type(INSTANCE).values():
        assert sum(RESERVATION in urn for urn in host.dependencies) == len(made)
        assert "capacityReservationSpecification" not in host.inputs  # a targeted successor would find no place free


def test_brokers_and_clients_of_one_type_share_a_reservation(tmp_path: Path) -> None:
    """AWS gives all of it or nothing."""
    config = preset("smoke", tmp_path, reserveCapacity=True)
    config["clients"] = {**config["clients"], "instanceType": "i3en.large", "count": 2}
    (made,) = record(config).of_type(RESERVATION).values()
    assert made.inputs["instanceCount"] == 5


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """A cloud without hosts."""
    with local_cloud(tmp_path / "cloud", hosts=False) as running:
        yield running


def reserve(ec2: EC2Client, **changes: Any) -> str:
    """Two places for brokers in group `near`; the reservation's id."""
    groups = ec2.describe_placement_groups(GroupNames=["near"])["PlacementGroups"]
    asked: dict[str, Any] = {
        "InstanceType": "i3en.large",
        "InstancePlatform": "Linux/UNIX",
        "InstanceCount": 2,
        "AvailabilityZone": "us-west-2a",
        "PlacementGroupArn": groups[0]["GroupArn"],
        "InstanceMatchCriteria": "open",
        "EndDateType": "limited",
        "EndDate": datetime.now(UTC) + timedelta(hours=5),
        **changes,
    }
    return str(ec2.create_capacity_reservation(**asked)["CapacityReservation"]["CapacityReservationId"])


def launch(ec2: EC2Client) -> str:
    """One broker in group `near`; its id."""
    made = ec2.run_instances(
        ImageId="ami-0d53cc9bd365ad65b",
        InstanceType="i3en.large",
        MinCount=1,
        MaxCount=1,
        Placement={"GroupName": "near", "AvailabilityZone": "us-west-2a"},
    )
    return str(made["Instances"][0]["InstanceId"])


def refusal(error: pytest.ExceptionInfo[ClientError]) -> str:
    """The code that AWS answered with."""
    return str(error.value.response["Error"]["Code"])


@pytest.mark.integration
def test_what_is_reserved_can_be_launched_in_a_full_zone(cloud: Cloud, ec2: EC2Client) -> None:
    """As many as were reserved, and no more; a full zone gives no reservation; what it holds can't be deleted under it."""
    ec2.create_placement_group(GroupName="near", Strategy="cluster")
    reserved = reserve(ec2)
    cloud.inject(Faults(full_zones=("us-west-2a",)))
    hosts = [launch(ec2), launch(ec2)]
    (found,) = ec2.describe_capacity_reservations()["CapacityReservations"]
    assert (found["TotalInstanceCount"], found["AvailableInstanceCount"]) == (2, 0)
    attempts: tuple[Callable[[EC2Client], str], ...] = (launch, reserve)
    for asked in attempts:
        with pytest.raises(ClientError) as full:
            asked(ec2)
        assert refusal(full) == "InsufficientInstanceCapacity"
    ec2.terminate_instances(InstanceIds=hosts)
    with pytest.raises(ClientError) as in_use:
        ec2.delete_placement_group(GroupName="near")
    assert refusal(in_use) == "InvalidPlacementGroup.InUse"
    ec2.cancel_capacity_reservation(CapacityReservationId=reserved)
    ec2.delete_placement_group(GroupName="near")


@pytest.mark.integration
def test_a_reservation_that_makes_no_sense_is_refused(ec2: EC2Client) -> None:
    """One of a burstable type, in another zone than its group stands in, without an end, or for a group that isn't there."""
    ec2.create_placement_group(GroupName="near", Strategy="cluster")
    reserve(ec2)
    senseless: tuple[dict[str, Any], ...] = (
        {"InstanceType": "t3.medium"},
        {"AvailabilityZone": "us-west-2b"},
        {"EndDateType": "unlimited"},
        {"EndDate": datetime.now(UTC) - timedelta(hours=1)},
        {"PlacementGroupArn": "arn:aws:ec2:us-west-2:123456789012:placement-group/far"},
    )
    for changes in senseless:
        with pytest.raises(ClientError):
            reserve(ec2, **changes)


def reserved(project: Project) -> dict[str, tuple[int, int]]:
    """Instance type -> places, and those that are free, of what is reserved now."""
    found = client(project.cloud, "ec2").describe_capacity_reservations()["CapacityReservations"]
    return {
        each["InstanceType"]: (each["TotalInstanceCount"], each["AvailableInstanceCount"])
        for each in found
        if each["State"] == "active"
    }


@pytest.mark.integration
@pytest.mark.infra
def test_hosts_fill_what_is_reserved_and_it_ends_with_them(new_project: NewProject) -> None:
    """Proven by a zone that is full to all others; a host is replaced beside it; a later end moves its end; destroy cancels it."""
    project = new_project()
    project.set("reserveCapacity", "true")
    project.up()
    assert reserved(project) == {"i3en.large": (3, 0), "m5n.large": (1, 0)}
    assert project.up().changes == {}
    project.set("generations.broker-2", 2)
    assert project.up().changes["replace"] == 1
    project.set("expires", moment(datetime.now(UTC) + timedelta(hours=9)))
    assert "replace" not in project.up().changes
    project.destroy()
    assert reserved(project) == {}


@pytest.mark.integration
@pytest.mark.infra
def test_where_nothing_can_be_reserved_no_host_is_launched(new_project: NewProject) -> None:
    """The refusal comes before anything is paid but what was reserved already; later the same command goes on."""
    project = new_project()
    project.set("reserveCapacity", "true")
    project.cloud.inject(Faults(full_zones=("us-west-2a",)))
    refused = project.up(exit_status=None)
    assert refused.exit_status != 0 and "InsufficientInstanceCapacity" in refused.output
    assert instances(project.cloud) == {}
    project.cloud.inject(Faults())
    project.up()
    assert len(instances(project.cloud)) == 5
    project.destroy()
