"""The local cloud: starts, is strict where moto isn't, ends with its parent."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from pulumi.runtime.proto import provider_pb2

from provisioning.testbeds.aws.failures import explain
from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws
from provisioning.testbeds.aws.rehearsal.cloud.lookups import LOOKUPS
from provisioning.testbeds.aws.rehearsal.cloud.provider import AwsDouble
from provisioning.testbeds.aws.rehearsal.cloud.schema import lookup_failures
from provisioning.testbeds.aws.rehearsal.cloud.values import closed
from tests.cloud.faults import Cloud, Faults, local_cloud

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef

pytestmark = pytest.mark.integration
WAIT_S = 120.0
IMAGE_NAME = "al2023-ami-2023*-kernel-6.12-x86_64"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud without hosts."""
    with local_cloud(tmp_path_factory.mktemp("cloud"), hosts=False) as running:
        yield running


def launch(ec2: EC2Client, **options: Any) -> str:
    """One instance; returns its id."""
    image = options.get("ImageId")
    if image is None:
        image = ec2.describe_images(Filters=[{"Name": "name", "Values": [IMAGE_NAME]}])["Images"][0]["ImageId"]
    request: dict[str, Any] = {"ImageId": image, "InstanceType": "i3en.xlarge", "MinCount": 1, "MaxCount": 1} | options
    return str(ec2.run_instances(**request)["Instances"][0]["InstanceId"])


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    """The error code AWS answered with."""
    return str(error.value.response["Error"]["Code"])


def test_placement_group(ec2: EC2Client) -> None:
    """A group is created once, holds instances, is not deleted under them, and is refused when unknown."""
    ec2.create_placement_group(
        GroupName="near",
        Strategy="cluster",
        TagSpecifications=[{"ResourceType": "placement-group", "Tags": [{"Key": "a", "Value": "b"}]}],
    )
    with pytest.raises(ClientError) as twice:
        ec2.create_placement_group(GroupName="near", Strategy="cluster")
    assert code(twice) == "InvalidPlacementGroup.Duplicate"
    instance = launch(ec2, Placement={"GroupName": "near"})
    placed = ec2.describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
    assert placed["Placement"]["GroupName"] == "near"
    with pytest.raises(ClientError) as in_use:
        ec2.delete_placement_group(GroupName="near")
    assert code(in_use) == "InvalidPlacementGroup.InUse"
    by_tag = ec2.describe_placement_groups(Filters=[{"Name": "tag:a", "Values": ["b"]}])["PlacementGroups"]
    assert [group["GroupName"] for group in by_tag] == ["near"]
    ec2.terminate_instances(InstanceIds=[instance])
    ec2.delete_placement_group(GroupName="near")
    with pytest.raises(ClientError) as unknown:
        launch(ec2, Placement={"GroupName": "near"})
    assert code(unknown) == "InvalidPlacementGroup.Unknown"


def test_same_client_token_is_the_same_instance(ec2: EC2Client) -> None:
    """A repeated launch pays once."""
    assert launch(ec2, ClientToken="one") == launch(ec2, ClientToken="one") != launch(ec2, ClientToken="two")


def test_an_instance_takes_its_network_interface_along(ec2: EC2Client) -> None:
    """As on EC2: nothing is left of one that has ended."""
    before = len(ec2.describe_network_interfaces()["NetworkInterfaces"])
    instance = launch(ec2)
    assert len(ec2.describe_network_interfaces()["NetworkInterfaces"]) == before + 1
    ec2.terminate_instances(InstanceIds=[instance])
    assert len(ec2.describe_network_interfaces()["NetworkInterfaces"]) == before


def test_what_does_not_exist_is_refused(ec2: EC2Client) -> None:
    """Instance types and images are checked."""
    with pytest.raises(ClientError) as no_type:
        launch(ec2, InstanceType="i3en.7xlarge")
    assert code(no_type) == "InvalidInstanceType.NotFound"
    with pytest.raises(ClientError) as no_image:
        launch(ec2, ImageId="ami-0123456789abcdef0")
    assert code(no_image) == "InvalidAMIID.NotFound"


def test_an_image_is_deprecated_90_days_after_it_was_made(cloud: Cloud, ec2: EC2Client) -> None:
    """A search finds it no more unless it includes deprecated ones; its id does, and launches it. Once removed, nothing does."""
    by_name: list[FilterTypeDef] = [{"Name": "name", "Values": [IMAGE_NAME]}]
    (fresh,) = ec2.describe_images(Filters=by_name)["Images"]
    image = fresh["ImageId"]
    cloud.inject(Faults(images_age_days=89))
    assert ec2.describe_images(Filters=by_name)["Images"]
    cloud.inject(Faults(images_age_days=91))
    assert not ec2.describe_images(Filters=by_name)["Images"]
    (found,) = ec2.describe_images(Filters=by_name, IncludeDeprecated=True)["Images"]
    assert (found["ImageId"], found["DeprecationTime"][-1]) == (image, "Z")
    assert ec2.describe_images(ImageIds=[image])["Images"]
    assert launch(ec2, ImageId=image)
    cloud.inject(Faults())
    spare = ec2.copy_image(SourceImageId=image, SourceRegion="us-west-2", Name="spare")["ImageId"]
    assert launch(ec2, ImageId=spare)
    ec2.deregister_image(ImageId=spare)
    with pytest.raises(ClientError) as gone:
        launch(ec2, ImageId=spare)
    assert code(gone) == "InvalidAMIID.NotFound"


def test_the_provider_looks_up_what_the_cloud_shows(cloud: Cloud, ec2: EC2Client) -> None:
    """The lookup of an image finds a deprecated one only if told to; that of instances finds the running ones with these tags."""
    (fresh,) = ec2.describe_images(Filters=[{"Name": "name", "Values": [IMAGE_NAME]}])["Images"]
    image = fresh["ImageId"]
    by_id = {"owners": ["amazon", "self"], "filters": [{"name": "image-id", "values": [image]}]}
    assert look_up("getAmi", **by_id)["deprecationTime"].endswith("Z")
    cloud.inject(Faults(images_age_days=91))
    with pytest.raises(LookupError, match="returned no results"):
        look_up("getAmi", **by_id)
    found = look_up("getAmi", **by_id, includeDeprecated=True)
    assert (found["id"], found["architecture"]) == (image, "x86_64")
    cloud.inject(Faults())

    tags = [{"Key": "project", "Value": "samebox"}, {"Key": "campaign", "Value": "looked-up"}]
    instance = launch(ec2, ImageId=image, TagSpecifications=[{"ResourceType": "instance", "Tags": tags}])
    running = {"instanceStateNames": ["pending", "running"], "filters": by_id["filters"]}
    assert look_up("getInstances", instanceTags={"campaign": "looked-up"}, **running)["ids"] == [instance]
    assert look_up("getInstances", instanceTags={"campaign": "another"}, **running)["ids"] == []
    ec2.terminate_instances(InstanceIds=[instance])
    assert look_up("getInstances", instanceTags={"campaign": "looked-up"}, **running)["ids"] == []


def test_the_provider_refuses_an_account_that_is_not_allowed(ec2: EC2Client) -> None:
    """In Configure, before anything is asked; with no account named, all are."""
    del ec2  # for its environment
    account = str(boto3.client("sts").get_caller_identity()["Account"])
    for allowed, refusals in ((None, 0), ([account], 0), (["999999999999", account], 0), (["999999999999"], 1)):
        context, given = Mock(), {"region": "us-west-2", "allowedAccountIds": json.dumps(allowed) if allowed else None}
        context.abort.side_effect = PermissionError
        with suppress(PermissionError):
            AwsDouble().Configure(provider_pb2.ConfigureRequest(args=closed(given)), context)
        assert [each.args[1] for each in context.abort.mock_calls] == [
            f"AWS account ID not allowed: {account}"
        ] * refusals


def look_up(name: str, **arguments: Any) -> dict[str, Any]:
    """A lookup of the provider double, whose arguments the SDK's schema has to know. Raises LookupError as AWS' provider does."""
    token = f"aws:ec2/{name}:{name}"
    assert not list(lookup_failures(token, arguments))
    found: dict[str, Any] = LOOKUPS[token](Aws("us-west-2", {}), arguments)
    return found


def test_a_cluster_holds_its_subnet_and_its_security_groups(ec2: EC2Client) -> None:
    """From its start to its end, as an instance does; then they can go."""
    vpc = ec2.create_vpc(CidrBlock="10.30.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.30.1.0/24")["Subnet"]["SubnetId"]
    primary, core, service, host = (
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"]
        for name in ("primary", "core", "service", "host")
    )
    instance = launch(ec2, SubnetId=subnet, SecurityGroupIds=[host])
    assert refusals_of_deletion(ec2, subnet, host) == ["DependencyViolation"] * 2
    ec2.terminate_instances(InstanceIds=[instance])
    ec2.delete_security_group(GroupId=host)

    iam, emr = boto3.client("iam"), boto3.client("emr")
    iam.create_role(RoleName="service", AssumeRolePolicyDocument="{}")
    iam.create_instance_profile(InstanceProfileName="machine")
    cluster = emr.run_job_flow(
        Name="report",
        ReleaseLabel="emr-7.13.0",
        Instances={
            "MasterInstanceType": "m5.xlarge",
            "InstanceCount": 1,
            "KeepJobFlowAliveWhenNoSteps": True,
            "Ec2SubnetId": subnet,
            "EmrManagedMasterSecurityGroup": primary,
            "EmrManagedSlaveSecurityGroup": core,
            "ServiceAccessSecurityGroup": service,
        },
        JobFlowRole="machine",
        ServiceRole="service",
    )["JobFlowId"]
    await_state(emr, cluster, "WAITING")
    assert refusals_of_deletion(ec2, subnet, primary, core, service) == ["DependencyViolation"] * 4
    emr.terminate_job_flows(JobFlowIds=[cluster])
    await_state(emr, cluster, "TERMINATED")
    assert refusals_of_deletion(ec2, subnet, primary, core, service) == []


def refusals_of_deletion(ec2: EC2Client, subnet: str, *groups: str) -> list[str]:
    """The codes with which AWS refuses to delete a subnet and security groups."""
    calls: list[Any] = [lambda: ec2.delete_subnet(SubnetId=subnet)]
    calls += [partial(ec2.delete_security_group, GroupId=group) for group in groups]
    codes = []
    for call in calls:
        try:
            call()
        except ClientError as error:
            codes.append(error.response["Error"]["Code"])
    return codes


def await_state(emr: Any, cluster: str, wanted: str) -> None:
    """Returns once a cluster is in a state."""
    deadline_s = time.monotonic() + WAIT_S
    while (state := emr.describe_cluster(ClusterId=cluster)["Cluster"]["Status"]["State"]) != wanted:
        assert time.monotonic() < deadline_s, state
        time.sleep(0.1)


def test_capacity_and_quota_are_refused_on_request(cloud: Cloud, ec2: EC2Client) -> None:
    """Injected faults hit the named host only, and end."""

    def launch_host(name: str) -> str:
        return launch(ec2, TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "host", "Value": name}]}])

    cloud.inject(Faults(no_capacity=("broker-1",), quota_exceeded=("broker-2",)))
    with pytest.raises(ClientError) as capacity:
        launch_host("broker-1")
    assert code(capacity) == "InsufficientInstanceCapacity"
    with pytest.raises(ClientError) as quota:
        launch_host("broker-2")
    assert code(quota) == "VcpuLimitExceeded"
    assert launch_host("broker-3")
    cloud.inject(Faults())
    assert launch_host("broker-1")


def test_a_zone_may_lack_a_type(cloud: Cloud, ec2: EC2Client) -> None:
    """What is offered says so, what is launched there is refused with the zones that have it, in words that we know."""
    subnets = ec2.describe_subnets()["Subnets"]
    here, elsewhere = (
        next(each["SubnetId"] for each in subnets if each["AvailabilityZone"] == zone)
        for zone in ("us-west-2a", "us-west-2c")
    )
    cloud.inject(Faults(not_offered={"us-west-2a": ("i3en.xlarge",)}))
    offered = ec2.describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": ["i3en.xlarge"]}]
    )
    zones = {each["Location"] for each in offered["InstanceTypeOfferings"]}
    assert "us-west-2c" in zones
    assert "us-west-2a" not in zones
    with pytest.raises(ClientError) as lacking:
        launch(ec2, SubnetId=here)
    assert explain("pulumi up", "sn", [str(lacking.value)]).kind == "not offered"
    assert "us-west-2c" in str(lacking.value)
    assert launch(ec2, SubnetId=elsewhere)
    assert launch(ec2, SubnetId=here, InstanceType="m5.large")
    cloud.inject(Faults())
    assert launch(ec2, SubnetId=here)


def test_bucket_policies_are_judged_by_their_conditions(ec2: EC2Client) -> None:
    """A statement whose condition isn't met says nothing; one whose condition is, denies; one that can't be judged is an error."""
    del ec2  # for its environment
    s3 = boto3.client("s3", config=Config(retries={"max_attempts": 1}))
    s3.create_bucket(Bucket="judged", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket="judged", Key="a", Body=b"1")

    def deny(**condition: dict[str, str]) -> None:
        statement = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::judged/*"}
        s3.put_bucket_policy(Bucket="judged", Policy=json.dumps({"Statement": [statement | {"Condition": condition}]}))

    deny(Bool={"aws:SecureTransport": "false"})
    assert s3.head_object(Bucket="judged", Key="a")["ContentLength"] == 1
    deny(Bool={"aws:SecureTransport": "true"})
    with pytest.raises(ClientError) as denied:
        s3.head_object(Bucket="judged", Key="a")
    assert code(denied) == "403"
    deny(IpAddress={"aws:SourceIp": "203.0.113.0/24"})
    with pytest.raises(ClientError) as unknown:
        s3.head_object(Bucket="judged", Key="a")
    assert code(unknown) == "500"


def test_it_ends(tmp_path: Path) -> None:
    """Nothing listens afterwards."""
    with local_cloud(tmp_path, hosts=False) as cloud:
        sts = boto3.client(
            "sts",
            endpoint_url=cloud.endpoint,
            region_name=cloud.region,
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
        assert sts.get_caller_identity()["Account"]
    with pytest.raises(EndpointConnectionError):
        sts.get_caller_identity()
