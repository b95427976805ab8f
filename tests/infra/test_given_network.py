"""A stack in a VPC that is there already: what it makes in it, what it refuses, and that the VPC outlives it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.preflight import EMR_TAG
from infra.settings import InvalidSettings
from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud, local_cloud
from provisioning.testbeds.aws.rehearsal.cloud.lookups import LOOKUPS
from provisioning.testbeds.aws.rehearsal.cloud.schema import lookup_failures
from provisioning.testbeds.aws.rehearsal.cloud.things import buckets, client, things
from tests.infra.project import OPERATOR_CIDR, NewProject
from tests.infra.recorded_program import Recording, preset, record
from tests.infra.test_settings import parsed

ZONE = "us-west-2a"
HOSTS, REPORT = "subnet-0aaaaaaaaaaaaaaaa", "subnet-0bbbbbbbbbbbbbbbb"
KEYS = {"vpcId": "vpc-0123456789abcdef0", "subnetId": HOSTS, "reportSubnetId": REPORT}
FIT: dict[str, Any] = {
    "vpc": {"enableDnsSupport": True, "enableDnsHostnames": True},
    "subnets": {
        HOSTS: {"vpcId": KEYS["vpcId"], "availabilityZone": ZONE, "tags": {}},
        REPORT: {"vpcId": KEYS["vpcId"], "availabilityZone": ZONE, "tags": EMR_TAG},
    },
    "table_of_subnet": True,
    "routes": [{"cidrBlock": "10.0.0.0/16", "gatewayId": "local"}, {"cidrBlock": "0.0.0.0/0", "gatewayId": "igw-0a"}],
}


def recorded(folder: Path, **network: Any) -> Recording:
    """The smoke preset in a given network, which is fit but for what a test says."""
    return record(preset("smoke", folder, **KEYS), network={**copy.deepcopy(FIT), **network})


def changed(subnet: str, **properties: Any) -> dict[str, Any]:
    """The subnets, with these properties of one of them."""
    return {**FIT["subnets"], subnet: {**FIT["subnets"][subnet], **properties}}


def test_in_a_given_network_nothing_is_made_but_security_groups(tmp_path: Path) -> None:
    """Hosts and report stand in its subnets, the groups in its VPC, and S3 is reached by the region's own list of addresses."""
    recording = recorded(tmp_path)
    assert recording.error == ""
    made = {resource.type for resource in recording.resources if resource.type.startswith("aws:ec2/")}
    assert made == {
        f"aws:ec2/{kind}"
        for kind in (
            "instance:Instance",
            "keyPair:KeyPair",
            "placementGroup:PlacementGroup",
            "securityGroup:SecurityGroup",
        )
    }
    assert {each.inputs["subnetId"] for each in recording.of_type("ec2/instance:Instance").values()} == {HOSTS}
    assert {each.inputs["vpcId"] for each in recording.of_type(":SecurityGroup").values()} == {KEYS["vpcId"]}
    lists = [each.inputs.get("prefixListId") for each in recording.of_type(":SecurityGroupEgressRule").values()]
    assert set(filter(None, lists)) == {"pl-68a54001"}
    assert recording.outputs["emr"]["subnet"] == REPORT


def test_a_subnet_may_follow_the_main_route_table(tmp_path: Path) -> None:
    """It has no table of its own to be found by."""
    assert recorded(tmp_path, table_of_subnet=False).error == ""


@pytest.mark.parametrize(
    ("network", "says"),
    [
        ({"vpc": {"enableDnsSupport": True, "enableDnsHostnames": False}}, "DNS support and DNS hostnames must be on"),
        ({"subnets": changed(HOSTS, availabilityZone="us-west-2b")}, f"samebox:subnetId {HOSTS} is in zone us-west-2b"),
        (
            {"subnets": changed(REPORT, vpcId="vpc-0f")},
            f"samebox:reportSubnetId {REPORT} is in vpc-0f, not in samebox:vpcId",
        ),
        (
            {"subnets": changed(REPORT, tags={})},
            f"create-tags --resources {REPORT} --tags Key=for-use-with-amazon-emr-",
        ),
        ({"subnets": {HOSTS: FIT["subnets"][HOSTS]}}, f"samebox:reportSubnetId {REPORT} can't be looked up"),
        ({"routes": FIT["routes"][:1]}, "no route through an internet gateway to 203.0.113.7/32"),
        ({"routes": [{"cidrBlock": "0.0.0.0/0", "natGatewayId": "nat-0"}]}, "the hosts can't be reached by SSH"),
        ({"routes": [{"cidrBlock": "203.0.112.0/24", "gatewayId": "igw-0"}]}, "no route through an internet gateway"),
    ],
)
def test_a_network_that_is_not_fit_is_refused(tmp_path: Path, network: dict[str, Any], says: str) -> None:
    """In preview, with key, id and what to do; nothing is made."""
    recording = recorded(tmp_path, **network)
    assert says in recording.error and "docs/aws.md, A network of your own" in recording.error
    assert not [each for each in recording.resources if each.type.startswith("aws:")]


def test_its_keys_go_together(tmp_path: Path) -> None:
    """Some without the others are refused, each with the command that sets it; ids of other things too."""
    with pytest.raises(InvalidSettings) as refused:
        parsed(tmp_path, vpcId=KEYS["vpcId"])
    assert [each.split()[0] for each in refused.value.problems] == ["samebox:subnetId", "samebox:reportSubnetId"]
    assert all("pulumi config set samebox:" in each for each in refused.value.problems)
    wrong: dict[str, Any] = {**KEYS, "subnetId": KEYS["vpcId"]}
    with pytest.raises(InvalidSettings, match="samebox:subnetId = 'vpc-0123456789abcdef0'"):
        parsed(tmp_path, **wrong)


def network_in(ec2: Any) -> dict[str, str]:
    """A network as somebody else has made it, by the config's keys."""
    vpc = ec2.create_vpc(CidrBlock="10.99.0.0/16")["Vpc"]["VpcId"]
    for attribute in ("EnableDnsSupport", "EnableDnsHostnames"):
        ec2.modify_vpc_attribute(VpcId=vpc, **{attribute: {"Value": True}})
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    main = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
    (table,) = ec2.describe_route_tables(Filters=main)["RouteTables"]
    ec2.create_route(RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    hosts, report = (
        ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=ZONE)["Subnet"]["SubnetId"]
        for cidr in ("10.99.1.0/24", "10.99.2.0/24")
    )
    ec2.create_tags(Resources=[report], Tags=[{"Key": key, "Value": value} for key, value in EMR_TAG.items()])
    private = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=private, SubnetId=report)
    return {"vpcId": vpc, "subnetId": hosts, "reportSubnetId": report}


def look_up(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A lookup of the provider double, whose arguments the SDK's schema has to know."""
    token = f"aws:ec2/{name}:{name}"
    assert not list(lookup_failures(token, arguments))
    return LOOKUPS[token](Aws("us-west-2", {}), arguments)


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A cloud without hosts, reached by the environment."""
    with local_cloud(tmp_path / "cloud", hosts=False) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.mark.integration
def test_the_provider_double_looks_up_a_network(cloud: Cloud) -> None:
    """What is there, as the real provider names it; what isn't, and a subnet that follows the main table, is an error."""
    del cloud  # for its environment
    network = network_in(boto3.client("ec2"))
    vpc, subnet = look_up("getVpc", id=network["vpcId"]), look_up("getSubnet", id=network["reportSubnetId"])
    assert vpc["enableDnsSupport"] is vpc["enableDnsHostnames"] is True
    assert (subnet["vpcId"], subnet["availabilityZone"], subnet["tags"]) == (network["vpcId"], ZONE, EMR_TAG)
    private = look_up("getRouteTable", subnetId=network["reportSubnetId"])
    assert [route["gatewayId"] for route in private["routes"]] == ["local"]
    main = [{"name": "association.main", "values": ["true"]}]
    routes = look_up("getRouteTable", vpcId=network["vpcId"], filters=main)["routes"]
    assert any(route["gatewayId"].startswith("igw-") and route["cidrBlock"] == "0.0.0.0/0" for route in routes)
    assert look_up("getPrefixList", name="com.amazonaws.us-west-2.s3")["id"].startswith("pl-")
    for name, asked in (
        ("getVpc", {"id": "vpc-0123456789abcdef0"}),
        ("getSubnet", {"id": HOSTS}),
        ("getRouteTable", {"subnetId": network["subnetId"]}),
        ("getPrefixList", {"name": "com.amazonaws.us-west-2.nothing"}),
    ):
        with pytest.raises(LookupError, match="no matching EC2"):
            look_up(name, **asked)
    with pytest.raises(NotImplementedError, match="by id alone"):
        look_up("getSubnet", cidrBlock="10.99.1.0/24")


@pytest.mark.integration
@pytest.mark.infra
def test_a_given_network_outlives_its_stacks(new_project: NewProject) -> None:
    """Up and destroy leave it as it was, and the sweep doesn't see it."""
    project = new_project()
    assert OPERATOR_CIDR
    for key, value in network_in(client(project.cloud, "ec2")).items():
        project.set(key, value)
    before = things(project.cloud)
    project.up()
    assert not [each for each in things(project.cloud) - before if each.startswith(("Vpcs", "Subnets", "RouteTables"))]
    assert project.up().changes == {}
    project.destroy()
    assert things(project.cloud) - before == buckets(project.cloud)
    assert before <= things(project.cloud)
    assert project.samebox("sweep").exit_status == 0
