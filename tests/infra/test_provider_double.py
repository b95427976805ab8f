"""The provider double refuses what the real provider refuses, and what it doesn't support itself. No cloud, no engine."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi._types import input_type_types
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2

from provisioning.testbeds.aws.rehearsal.cloud.provider import KINDS, AwsDouble
from provisioning.testbeds.aws.rehearsal.cloud.schema import arguments_class
from provisioning.testbeds.aws.rehearsal.cloud.values import UNKNOWN, closed, opened

INSTANCE = "aws:ec2/instance:Instance"
GOOD_INSTANCE: dict[str, Any] = {
    "ami": "ami-0d53cc9bd365ad65b",
    "instanceType": "i3en.6xlarge",
    "subnetId": UNKNOWN,
    "vpcSecurityGroupIds": [UNKNOWN],
    "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
    "rootBlockDevice": {"volumeType": "gp3", "volumeSize": 100, "throughput": 500, "tags": {"volumeType": "mine"}},
    "tags": {"strategy": "any word will do"},
}


def check(token: str, inputs: dict[str, Any], olds: dict[str, Any] | None = None, seed: bytes = b"seed") -> Any:
    """The double's answer to a Check of one resource called `thing`."""
    urn = f"urn:pulumi:stack::samebox::samebox:infra:Fleet${token}::thing"
    request = provider_pb2.CheckRequest(urn=urn, news=closed(inputs), olds=closed(olds or {}), randomSeed=seed)
    return AwsDouble().Check(request, None)


def reasons(token: str, inputs: dict[str, Any]) -> list[str]:
    """Why the double refuses these inputs."""
    return [failure.reason for failure in check(token, inputs).failures]


def test_what_the_provider_takes_passes() -> None:
    """A right instance, with ids that aren't known yet, is accepted unchanged."""
    answer = check(INSTANCE, GOOD_INSTANCE)
    assert not answer.failures
    assert opened(answer.inputs) == GOOD_INSTANCE


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"instancetype": "i3en.xlarge"}, "instancetype: isn't a known property; did you mean instanceType"),
        ({"rootBlockDevice": {"size": 5}}, "rootBlockDevice.size: isn't a known property"),
        ({"instanceType": "i3en.7xlarge"}, "instanceType: 'i3en.7xlarge' doesn't exist; did you mean i3en."),
        (
            {"rootBlockDevice": {"volumeType": "gp5"}},
            "rootBlockDevice.volumeType: 'gp5' doesn't exist in AWS's VolumeType",
        ),
        ({"metadataOptions": {"httpTokens": "yes"}}, "metadataOptions.httpTokens: 'yes' doesn't exist"),
        ({"instanceInitiatedShutdownBehavior": "end"}, "instanceInitiatedShutdownBehavior: 'end' doesn't exist"),
        ({"ami": 5}, "ami: must be str, not 5"),
        ({"monitoring": "true"}, "monitoring: must be bool, not 'true'"),
        ({"vpcSecurityGroupIds": ["sg-1", 2]}, "vpcSecurityGroupIds[1]: must be str, not 2"),
        ({"tags": {"generation": 2}}, "tags.generation: must be str, not 2"),
        ({"ami": None}, "ami: is required and missing"),
        (
            {"rootBlockDevice": {"volumeType": "gp3", "throughput": 1000}},
            "rootBlockDevice.throughput: 1000 MiB/s at 3000 iops",
        ),
        (
            {"rootBlockDevice": {"volumeType": "gp2", "throughput": 500}},
            "rootBlockDevice.throughput: is for volumeType gp3",
        ),
    ],
)
def test_a_wrong_instance_is_refused(change: dict[str, Any], reason: str) -> None:
    """Unknown properties, values that don't exist, wrong types and missing ones each fail with the property's path."""
    found = reasons(INSTANCE, GOOD_INSTANCE | change)
    assert len(found) == 1
    assert found[0].startswith(reason)


@pytest.mark.parametrize(
    ("token", "inputs", "reason"),
    [
        ("aws:ec2/instanc:Instanc", {}, "pulumi_aws has no resource type aws:ec2/instanc:Instanc"),
        ("aws:ec3/instance:Instance", {}, "pulumi_aws has no module ec3"),
        ("aws:sqs/queue:Queue", {}, "the provider double doesn't support aws:sqs/queue:Queue"),
        ("aws:ec2/placementGroup:PlacementGroup", {}, "strategy: is required and missing"),
        ("aws:ec2/placementGroup:PlacementGroup", {"strategy": "near"}, "strategy: 'near' doesn't exist"),
        ("aws:iam/role:Role", {"assumeRolePolicy": "{"}, "assumeRolePolicy: isn't JSON"),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.1/16"}, "cidrBlock: 10.0.0.1/16 has host bits set"),
        (
            "aws:scheduler/schedule:Schedule",
            {"scheduleExpression": "at(x)", "flexibleTimeWindow": {"mode": "OFF"}, "target": {"arn": "arn:x"}},
            "target.roleArn: is required and missing",
        ),
    ],
)
def test_other_wrong_resources_are_refused(token: str, inputs: dict[str, Any], reason: str) -> None:
    """Unknown types, missing and wrong properties of other types."""
    found = reasons(token, inputs)
    assert len(found) == 1
    assert found[0].startswith(reason)


def test_a_secret_is_checked_like_any_value() -> None:
    """What is secret has to be right too, and is opened for that."""
    wrapped = {rpc._special_sig_key: rpc._special_secret_sig, "value": 5}
    assert reasons(INSTANCE, GOOD_INSTANCE | {"userData": wrapped}) == ["userData: must be str, not 5"]


def test_names_are_given_once() -> None:
    """A name that the program leaves open has a random end, stays over updates, and differs in a replacement."""
    token, inputs = "aws:ec2/placementGroup:PlacementGroup", {"strategy": "cluster"}
    first = opened(check(token, inputs).inputs)
    assert first["name"].startswith("thing-") and len(first["name"]) == len("thing-") + 7
    assert opened(check(token, inputs, olds=first, seed=b"other").inputs)["name"] == first["name"]
    assert opened(check(token, inputs, seed=b"other").inputs)["name"] != first["name"]


def test_a_change_replaces_unless_it_is_learnt_in_place() -> None:
    """Tags change in place, another image is another instance."""
    urn = f"urn:pulumi:stack::samebox::{INSTANCE}::thing"

    def diff(**changes: Any) -> Any:
        request = provider_pb2.DiffRequest(
            urn=urn, old_inputs=closed(GOOD_INSTANCE), news=closed(GOOD_INSTANCE | changes)
        )
        return AwsDouble().Diff(request, None)

    assert diff().changes == provider_pb2.DiffResponse.DIFF_NONE
    assert list(diff(tags={"expires": "later"}).diffs) == ["tags"]
    assert not diff(tags={"expires": "later"}).replaces
    assert list(diff(ami="ami-1").replaces) == ["ami"]
    disk = GOOD_INSTANCE["rootBlockDevice"]
    assert not diff(rootBlockDevice={**disk, "tags": {}}).replaces
    assert list(diff(rootBlockDevice={**disk, "encrypted": True}).replaces) == ["rootBlockDevice.encrypted"]


def test_a_wrong_lookup_is_refused() -> None:
    """Lookups are checked against the SDK's functions."""

    def failures(token: str, arguments: dict[str, Any]) -> list[str]:
        request = provider_pb2.InvokeRequest(tok=token, args=closed(arguments))
        return [each.reason for each in AwsDouble().Invoke(request, None).failures]

    assert failures("aws:ec2/getAmi:getAmi", {"owner": ["amazon"]})[0].startswith("owner: isn't a known property")
    assert failures("aws:ec2/getAmi:getAmi", {"filters": [{"name": "image-id"}]}) == [
        "filters[0].values: is required and missing"
    ]
    assert failures("aws:ec2/getAm:getAm", {}) == ["pulumi_aws has no function for aws:ec2/getAm:getAm"]
    assert failures("aws:ec2/getEips:getEips", {}) == ["the provider double doesn't support aws:ec2/getEips:getEips"]


def test_every_type_it_knows_is_one_of_the_sdk() -> None:
    """The registry holds no type, and no property changed in place, that the SDK doesn't have."""
    for token, kind in KINDS.items():
        properties = set(input_type_types(arguments_class(token)))
        assert {path.split(".")[0] for path in kind.in_place} <= properties, token
        assert {kind.auto_named} - {""} <= properties, token
        assert (kind.retag is not None) == ("tags" in properties), token
