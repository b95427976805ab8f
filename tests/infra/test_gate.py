"""The local cloud refuses as AWS refuses: by the operator's policy, for too many requests, for credentials that have ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.things import client
from provisioning.testbeds.aws.rehearsal.iam.reference import REGION
from tests.cloud.faults import Cloud, Faults, local_cloud
from tests.infra.permissions.needs import POLICY_FILE, REGION_PLACEHOLDER

pytestmark = pytest.mark.integration
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKwDc4oU0tXQ4zjJ3mZmD4pT8J8pNTBqS7Bnq2i8YJrY"
SERVICES = {
    "ec2": "describe_vpcs",
    "emr": "list_clusters",
    "iam": "list_roles",
    "resourcegroupstaggingapi": "get_resources",
    "s3": "list_buckets",
    "scheduler": "list_schedule_groups",
    "sts": "get_caller_identity",
}


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """A cloud without hosts."""
    with local_cloud(tmp_path, hosts=False) as running:
        yield running


def policy(*, without: str = "") -> str:
    """The operator's, for the cloud's region, as JSON."""
    document = json.loads(POLICY_FILE.read_text().replace(REGION_PLACEHOLDER, REGION))
    document["Statement"] = [each for each in document["Statement"] if each["Sid"] != without]
    return json.dumps(document)


def refused(call: Any, **arguments: Any) -> str:
    """The code that AWS refuses a call with."""
    with pytest.raises(ClientError) as error:
        call(**arguments)
    return str(error.value.response["Error"]["Code"])


def test_the_operator_may_do_what_the_policy_says(cloud: Cloud) -> None:
    """What is tagged as ours, what is named as ours; and in each protocol AWS's own word for no."""
    ec2, s3, iam, emr = (client(cloud, name) for name in ("ec2", "s3", "iam", "emr"))
    strange = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    cloud.hold_operator_to(policy())
    tags = [{"ResourceType": "vpc", "Tags": [{"Key": "project", "Value": "samebox"}]}]
    ours = ec2.create_vpc(CidrBlock="10.2.0.0/16", TagSpecifications=tags)["Vpc"]["VpcId"]
    ec2.delete_vpc(VpcId=ours)
    assert refused(ec2.delete_vpc, VpcId=strange) == "UnauthorizedOperation"

    where = {"LocationConstraint": cloud.region}
    s3.create_bucket(Bucket="samebox-mine", CreateBucketConfiguration=where)
    s3.put_object(Bucket="samebox-mine", Key="a/b", Body=b"1")
    assert refused(s3.create_bucket, Bucket="others", CreateBucketConfiguration=where) == "AccessDenied"
    assert refused(s3.head_object, Bucket="others", Key="a") == "403"
    assert [each["Name"] for each in s3.list_buckets()["Buckets"]] == ["samebox-mine"]
    iam.create_role(RoleName="samebox-a", AssumeRolePolicyDocument="{}")
    assert refused(iam.create_role, RoleName="a", AssumeRolePolicyDocument="{}") == "AccessDenied"
    assert emr.list_clusters()["Clusters"] == []
    protect = {"JobFlowIds": ["j-ABC"], "TerminationProtected": True}
    assert refused(emr.set_termination_protection, **protect) == "AccessDeniedException"


def test_the_simulator_answers_what_the_calls_would_be_answered(cloud: Cloud) -> None:
    """By the policy in force; where there is none, everybody may do everything."""
    iam = client(cloud, "iam")

    def decision(resource: str) -> str:
        simulated = iam.simulate_principal_policy(
            PolicySourceArn="arn:aws:iam::123456789012:user/operator",
            ActionNames=["iam:PassRole"],
            ResourceArns=[resource],
            ContextEntries=[
                {
                    "ContextKeyName": "iam:PassedToService",
                    "ContextKeyValues": ["ec2.amazonaws.com"],
                    "ContextKeyType": "string",
                }
            ],
        )
        return str(simulated["EvaluationResults"][0]["EvalDecision"])

    ours, others = (f"arn:aws:iam::123456789012:role/{name}" for name in ("samebox-a", "admin"))
    assert (decision(ours), decision(others)) == ("allowed", "allowed")
    cloud.hold_operator_to(policy())
    assert (decision(ours), decision(others)) == ("allowed", "implicitDeny")
    cloud.hold_operator_to(policy(without="HandRolesToServices"))
    assert decision(ours) == "implicitDeny"


def test_what_a_call_names_indirectly_is_known(cloud: Cloud) -> None:
    """An association stands for its route table and its subnet, a key pair's name for the pair."""
    ec2 = client(cloud, "ec2")
    cloud.hold_operator_to(policy())

    def tagged(kind: str) -> list[dict[str, object]]:
        return [{"ResourceType": kind, "Tags": [{"Key": "project", "Value": "samebox"}]}]

    vpc = ec2.create_vpc(CidrBlock="10.2.0.0/16", TagSpecifications=tagged("vpc"))["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.2.1.0/24", TagSpecifications=tagged("subnet"))["Subnet"]
    table = ec2.create_route_table(VpcId=vpc, TagSpecifications=tagged("route-table"))["RouteTable"]["RouteTableId"]
    association = ec2.associate_route_table(RouteTableId=table, SubnetId=subnet["SubnetId"])["AssociationId"]
    ec2.disassociate_route_table(AssociationId=association)
    key = {"PublicKeyMaterial": PUBLIC_KEY.encode(), "TagSpecifications": tagged("key-pair")}
    ec2.import_key_pair(KeyName="ours", **key)
    ec2.delete_key_pair(KeyName="ours")


def test_a_statement_less_is_denied(cloud: Cloud) -> None:
    """With the action and the resource in AWS's sentence."""
    cloud.hold_operator_to(policy(without="Look"))
    with pytest.raises(ClientError, match=r"is not authorized to perform: ec2:DescribeVpcs on resource: \*"):
        client(cloud, "ec2").describe_vpcs()


def test_ended_credentials_end_everything_but_the_machines(cloud: Cloud) -> None:
    """Whatever service is asked; and with new ones it goes on."""
    cloud.inject(Faults(credentials_expired=True))
    codes = {name: refused(getattr(client(cloud, name), call)) for name, call in SERVICES.items()}
    assert codes["ec2"] == "RequestExpired"
    assert {code.removesuffix("Exception") for name, code in codes.items() if name != "ec2"} == {"ExpiredToken"}
    cloud.inject(Faults())
    for name, call in SERVICES.items():
        getattr(client(cloud, name), call)()


def test_the_first_calls_are_too_many(cloud: Cloud) -> None:
    """As many as were asked for, of that action alone."""
    once: Any = Config(retries={"total_max_attempts": 1})
    ec2 = client(cloud, "ec2", config=once)
    cloud.inject(Faults(throttled={"ec2:DescribeVpcs": 2}))
    assert [refused(ec2.describe_vpcs) for _ in range(2)] == ["RequestLimitExceeded"] * 2
    assert ec2.describe_vpcs()["Vpcs"]
    assert ec2.describe_subnets()["Subnets"]
