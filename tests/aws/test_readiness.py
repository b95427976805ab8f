"""`samebox doctor --stack`: each line met, not met and not known; nothing is created, and nothing that AWS refuses is a traceback."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml
from botocore.credentials import Credentials
from botocore.stub import ANY, Stubber
from click.testing import CliRunner
from moto import mock_aws
from moto.iam.responses import IamResponse

from bench.checkout import CHECKOUT
from bench.cli import doctor
from infra.instance_types import INSTANCE_TYPES
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.testbeds.aws.readiness import account, here, looks, machines
from provisioning.testbeds.aws.readiness.planned import Answer, Planned, planned
from provisioning.testbeds.aws.rehearsal.cloud.corrections import simulate_principal_policy
from provisioning.testbeds.aws.rehearsal.iam.policy import Ask
from provisioning.testbeds.aws.session import Region
from provisioning.testbeds.finding import Finding
from tests.infra.permissions.needs import operator_policy

REGION = "us-west-2"
AMI = "ami-0d53cc9bd365ad65b"
REFUSED = "User is not authorized"
Scripted = tuple[str, Mapping[str, Any] | str]  # a client's method, and what it answers: a response, or an error's code
Make = Callable[..., Planned]


class Session:
    """A session whose scripted services answer what a test says, checked against AWS's own shapes; all others are moto's."""

    def __init__(self, scripts: Mapping[str, list[Scripted]], credentials: Credentials | None = None) -> None:
        self._scripts, self._credentials = scripts, credentials
        self._real = boto3.session.Session(region_name=REGION)
        self._clients: dict[str, Any] = {}

    def get_credentials(self) -> Credentials | None:
        """Those of the test."""
        return self._credentials

    def client(self, service: str) -> Any:
        """One client of each service, so that a script is gone through once."""
        if service not in self._clients:
            opened: Any = self._real.client(service)  # type: ignore[call-overload]
            self._clients[service] = opened
            if service in self._scripts:
                stubber = Stubber(opened)
                for method, answer in self._scripts[service]:
                    if isinstance(answer, str):
                        stubber.add_client_error(method, answer, REFUSED)
                    else:
                        stubber.add_response(method, dict(answer))
                stubber.activate()
        return self._clients[service]


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch, few_images: None) -> Iterator[None]:
    """moto in this process, with the simulator of policies that it lacks."""
    del few_images
    monkeypatch.setattr(IamResponse, "simulate_principal_policy", simulate_principal_policy, raising=False)
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CREDENTIAL_EXPIRATION"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        yield


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """The smoke preset as stack sn in a project of its own, with what its operator says of himself, and a test's changes."""
    (tmp_path / "infra").symlink_to(CHECKOUT / "infra")
    (tmp_path / "Pulumi.yaml").write_text((CHECKOUT / "Pulumi.yaml").read_text())
    (tmp_path / "key").write_text("private")
    (tmp_path / "key.pub").write_text("ssh-ed25519 AAAAC3Nz\n")

    def made(*, needs_s: float | None = None, **changes: Any) -> Planned:
        document = yaml.safe_load((CHECKOUT / "infra/presets/smoke.yaml").read_text())
        own = {"owner": "me", "operatorCidr": "203.0.113.7/32", "identityFile": str(tmp_path / "key"), **changes}
        document["config"] |= {f"samebox:{key}": value for key, value in own.items()}
        (tmp_path / "Pulumi.sn.yaml").write_text(yaml.safe_dump(document))
        return planned(tmp_path, "sn", needs_s=needs_s)

    return made


def region(session: Any) -> Region:
    """The stack's region, asked through a session of the test's."""
    return Region(session, REGION)


def look(at: Callable[[Planned, Region], Answer], stack: Planned, **scripts: list[Scripted]) -> Answer:
    """One look, with scripted services (service_quotas for service-quotas)."""
    return at(stack, region(Session({name.replace("_", "-"): script for name, script in scripts.items()})))


# The stack's config.


def test_a_config_that_is_sound_needs_neither_times_nor_seed(make: Make) -> None:
    """`samebox campaign aws` sets them; what an earlier run left of them is no problem either."""
    assert here.look_at_config(make()).met is True
    left = {"created": "2026-01-01T00:00:00Z", "expires": "2026-01-02T00:00:00Z", "hostKeySeed": {"secure": "v1:abc"}}
    assert here.look_at_config(make(**left)).met is True


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"operatorCidr": "0.0.0.0/0"}, "lets the whole internet"),
        ({"hostKeySeed": "5a" * 32}, "is stored in plain text"),
        ({"owner": ""}, "samebox:owner is missing. Set it: pulumi config set samebox:owner"),
        ({"availabilityZone": "eu-central-1a"}, "isn't a zone of region us-west-2"),
    ],
)
def test_a_wrong_config_is_told_as_preview_tells_it(make: Make, changes: Mapping[str, Any], says: str) -> None:
    """By the Pulumi program's own reader, with what to type."""
    found = here.look_at_config(make(**changes))
    assert (found.met, found.found) == (False, "Pulumi.sn.yaml can't be used")
    assert says in found.next_step


def test_a_key_that_ec2_does_not_take_is_a_wrong_config(make: Make, tmp_path: Path) -> None:
    """ImportKeyPair would refuse it in the middle of `up`."""
    (tmp_path / "key.pub").write_text("ecdsa-sha2-nistp256 AAAAE2Vj\n")
    found = here.look_at_config(make())
    assert found.met is False
    assert "EC2 takes ssh-ed25519 and ssh-rsa only" in found.next_step


def test_a_preset_is_not_yet_a_stack() -> None:
    """It can be looked at all the same; first comes the copy of it, then what it lacks."""
    found = here.look_at_config(planned(CHECKOUT / "infra/..", "smoke"))
    if not (CHECKOUT / "Pulumi.smoke.yaml").is_file():  # somebody's own
        assert found.met is False
        assert found.next_step.startswith("cp infra/presets/smoke.yaml Pulumi.smoke.yaml\nsamebox:owner is missing")


def test_short_probes_are_told_with_what_they_leave_open(make: Make) -> None:
    """Each type's own are told by their size; probes that nobody has described are missing."""
    assert here.look_at_probes(make()).found == "64 GiB 3 times on each disk of i3en.large"
    short = here.look_at_probes(make(probes="short"))
    assert (
        short.met is True
        and "1 GiB 3 times" in short.found
        and "nothing of the rate at which they go on" in short.found
    )
    unknown = here.look_at_probes(make(probes="shortest"))
    assert unknown.met is False and "'shortest': no such profile of probes. Valid: medium" in unknown.found


def test_a_config_that_nobody_can_judge_is_not_known(make: Make, tmp_path: Path) -> None:
    """The program isn't there: said, not raised."""
    stack = make()
    (tmp_path / "infra").unlink()
    found = here.look_at_config(stack)
    assert found.met is None
    assert "infra" in found.found


# This machine, and room on the cluster.


def test_room_for_the_report_is_told_or_refused(make: Make) -> None:
    """With the sizes; a type without room is refused by name."""
    found = here.look_at_room(make())
    assert found.met is True
    assert found.found.startswith("2 x m5.xlarge: driver 4,096 MiB")
    found = here.look_at_room(make(reportInstanceType="t3.medium"))
    assert found.met is False
    assert "t3.medium" in found.found


@pytest.mark.parametrize(("version", "met"), [("v3.300.0", True), ("v3.100.0", False), (None, False)])
def test_the_pulumi_on_the_path(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str | None, met: bool
) -> None:
    """New enough, too old, not there."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    if version:
        (tmp_path / "bin" / "pulumi").write_text(f"#!/bin/sh\necho {version}\n")
        (tmp_path / "bin" / "pulumi").chmod(0o755)
    found = here.look_at_pulumi(make())
    assert found.met is met
    assert (version or "not on the PATH") in found.found
    assert met or "pulumi.com" in found.next_step


# Who asks.


def test_who_asks(make: Make) -> None:
    """Account and identity, so that the wrong account is seen."""
    assert look(account.look_at_identity, make()).found.startswith("account 123456789012, arn:aws:")


def temporary(method: str) -> Session:
    """Credentials with a token, got in some way."""
    return Session({}, Credentials("id", "secret", "token", method=method))


def test_credentials_that_say_no_end(make: Make) -> None:
    """Keys have none; some are renewed; of others nobody knows."""
    for session, met in {
        Session({}, Credentials("id", "secret")): True,
        temporary("assume-role"): True,
        temporary("sso"): None,
        temporary("env"): None,
    }.items():
        found = account.look_at_credentials(make(), region(session))
        assert found.met is met
        assert (found.next_step != "") == (met is None)


@pytest.mark.parametrize(("needs_h", "met"), [(None, True), (1.5, True), (2.5, False)])
def test_credentials_that_end(make: Make, monkeypatch: pytest.MonkeyPatch, needs_h: float | None, met: bool) -> None:
    """In two hours, as the environment says: compared with the campaign's time where there is one."""
    end = datetime.now(UTC) + timedelta(hours=2, seconds=30)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "token",
        "AWS_CREDENTIAL_EXPIRATION": end.isoformat(),
    }.items():
        monkeypatch.setenv(name, value)
    needs_s = None if needs_h is None else needs_h * 3600
    found = account.look_at_credentials(make(needs_s=needs_s), region(boto3.session.Session(region_name=REGION)))
    assert found.met is met
    assert "in 2.0 h" in found.found
    assert (f"takes {needs_h:.1f} h" if needs_h else "--campaign FILE") in found.found


# The quota.


def quota(value: float) -> list[Scripted]:
    """What Service Quotas answers."""
    return [("get_service_quota", {"Quota": {"QuotaCode": account.STANDARD_QUOTA, "Value": value}})]


def launch(kind: str, **tags: str) -> None:
    """One running instance."""
    ec2 = boto3.client("ec2", region_name=REGION)
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    specification: Any = [
        {"ResourceType": "instance", "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
    ]
    kinds: Any = kind
    ec2.run_instances(
        ImageId=image, InstanceType=kinds, MinCount=1, MaxCount=1, TagSpecifications=specification if tags else []
    )


def test_the_quota_less_what_others_run(make: Make) -> None:
    """smoke asks for 18, as docs/aws.md says; this campaign's own hosts and other families don't count."""
    launch("m5.xlarge")
    launch("i3en.large", project="samebox", campaign="smoke")
    launch("g4dn.xlarge")
    found = look(account.look_at_quota, make(), service_quotas=quota(22))
    assert (found.met, found.found) == (True, "18 needed; quota 22, of which 4 are running")
    found = look(account.look_at_quota, make(), service_quotas=quota(21))
    assert found.met is False
    assert found.next_step.startswith("Ask for 22: Service Quotas, Amazon EC2, L-1216C47A")


COUNTED = ("m5.xlarge", "im4gn.large", "is4gen.large", "t3.small", "z1d.large")
NOT_COUNTED = ("inf2.xlarge", "trn1.2xlarge", "mac2.metal", "hpc7a.12xlarge", "u-6tb1.metal", "p4d.24xlarge")


@pytest.mark.parametrize(
    ("kind", "counts"), [*((kind, True) for kind in COUNTED), *((kind, False) for kind in NOT_COUNTED)]
)
def test_which_types_are_of_the_standard_quota(kind: str, counts: bool) -> None:
    """https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html"""
    assert (account.STANDARD.match(kind) is not None) is counts


def test_every_type_that_settings_accept_is_of_that_quota() -> None:
    """Of another one nobody would be told."""
    assert all(account.STANDARD.match(kind) for kind in INSTANCE_TYPES)


# Zone, launch, image.


def offered(zones: Mapping[str, str]) -> list[Scripted]:
    """Each type in the zones whose letters are given."""
    found = [
        {"InstanceType": kind, "LocationType": "availability-zone", "Location": f"{REGION}{letter}"}
        for kind, letters in zones.items()
        for letter in letters
    ]
    return [("describe_instance_type_offerings", {"InstanceTypeOfferings": found})]


def test_types_that_the_zone_has_or_lacks(make: Make) -> None:
    """The zones that have all of them are named, with the command; or that none has."""
    everywhere = {"i3en.large": "abc", "m5.xlarge": "abc", "m5n.large": "abc", "t3.medium": "abc"}
    assert look(machines.look_at_offerings, make(), ec2=offered(everywhere)).met is True
    found = look(machines.look_at_offerings, make(), ec2=offered({**everywhere, "i3en.large": "bc", "m5n.large": "cd"}))
    assert found.met is False
    assert found.found == (
        "us-west-2a lacks i3en.large (is in us-west-2b, us-west-2c); m5n.large (is in us-west-2c, us-west-2d)"
    )
    assert "pulumi config set --stack sn samebox:availabilityZone us-west-2c" in found.next_step
    found = look(machines.look_at_offerings, make(), ec2=offered({**everywhere, "m5n.large": ""}))
    assert "m5n.large (is in no zone of the region)" in found.found
    assert "another region" in found.next_step


def test_where_any_zone_will_do_one_with_all_types_is_enough(make: Make) -> None:
    """Those that have them are named; where none has, each type's zones are; a local zone is no zone of the region."""
    stack = make(availabilityZone="any")
    zones = {"i3en.large": "bcd", "m5n.large": "cab", "t3.medium": "abcd", "m5.xlarge": "abc"}
    found = look(machines.look_at_offerings, stack, ec2=offered(zones))
    assert (found.met, found.found) == (
        True,
        "us-west-2b, us-west-2c have i3en.large, m5.xlarge, m5n.large, t3.medium; the first is tried first",
    )
    found = look(machines.look_at_offerings, stack, ec2=offered({**zones, "m5n.large": "a"}))
    assert found.met is False
    assert found.found.startswith("no zone has them all: i3en.large (is in us-west-2b, us-west-2c, us-west-2d); ")
    assert look(machines.look_at_launching, stack).found.startswith(
        "i3en.large, m5n.large, t3.medium in a zone of the region"
    )
    elsewhere = [{"InstanceType": "i3en.large", "LocationType": "availability-zone", "Location": "us-west-2-lax-1a"}]
    script: list[Scripted] = [("describe_instance_type_offerings", {"InstanceTypeOfferings": elsewhere})]
    found = look(machines.look_at_offerings, stack, ec2=script)
    assert "i3en.large (is in no zone of the region)" in found.found


def test_the_zones_of_a_stack_are_tried_by_name(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None where the config names one; without permission to ask, what to set instead."""
    monkeypatch.chdir(tmp_path)
    make()
    assert doctor.zones_of("sn") == ()
    make(availabilityZone="any")
    answers = offered(dict.fromkeys(("i3en.large", "m5n.large", "t3.medium", "m5.xlarge"), "cab"))
    monkeypatch.setattr("provisioning.testbeds.aws.readiness.machines.session", lambda _: Session({"ec2": answers}))
    assert doctor.zones_of("sn") == ("us-west-2a", "us-west-2b", "us-west-2c")
    denied: list[Scripted] = [("describe_instance_type_offerings", "UnauthorizedOperation")]
    monkeypatch.setattr("provisioning.testbeds.aws.readiness.machines.session", lambda _: Session({"ec2": denied}))
    with pytest.raises(MissingRequirement, match="doesn't say which zones") as raised:
        doctor.zones_of("sn")
    assert "availabilityZone us-west-2a" in raised.value.next_step


def test_a_launch_that_would_succeed_launches_nothing(make: Make) -> None:
    """moto's dry run, as AWS's, ends in an error that means yes."""
    found = look(machines.look_at_launching, make())
    assert found.met is True
    assert found.found.startswith("i3en.large, m5n.large, t3.medium in us-west-2a")
    assert boto3.client("ec2", region_name=REGION).describe_instances()["Reservations"] == []


@pytest.mark.parametrize(("code", "met"), [("DryRunOperation", True), ("UnauthorizedOperation", False)])
def test_what_is_to_be_reserved_is_tried_too(make: Make, code: str, met: bool) -> None:
    """Once, for the brokers' type: a policy that was handed out before reservations were made lacks the permission."""
    session = Session({})
    ec2: Any = session.client("ec2")
    with Stubber(ec2) as stubber:
        for _ in range(3):
            stubber.add_client_error("run_instances", "DryRunOperation")
        asked = {
            "InstanceType": "i3en.large",
            "InstancePlatform": "Linux/UNIX",
            "InstanceCount": 3,
            "AvailabilityZone": "us-west-2a",
            "TagSpecifications": ANY,
            "DryRun": True,
        }
        stubber.add_client_error("create_capacity_reservation", code, REFUSED, expected_params=asked)
        found = machines.look_at_launching(make(reserveCapacity=True), region(session))
    assert found.met is met
    assert ("capacity for i3en.large" in found.found) and (met or "ec2:CreateCapacityReservation" in found.next_step)


@pytest.mark.parametrize(
    ("code", "message", "met", "says"),
    [
        (
            "UnauthorizedOperation",
            "Not yours. Encoded authorization failure message: xYz",
            False,
            "Allow ec2:RunInstances",
        ),
        ("Unsupported", "Not in this zone.", False, "As the message says"),
        ("VPCIdNotSpecified", "No default VPC for this user.", None, ""),
        ("MissingInput", "No subnets found for the default VPC 'vpc-1'. Please specify a subnet.", None, ""),
        ("InvalidInput", "No default subnet for availability zone: 'us-west-2a'.", None, ""),
        ("RequestLimitExceeded", "Slow down.", None, ""),
    ],
)
def test_a_launch_that_would_fail(make: Make, code: str, message: str, met: bool | None, says: str) -> None:
    """The one type that AWS refuses is quoted; what AWS couldn't try isn't called a refusal."""
    session = Session({})
    with Stubber(session.client("ec2")) as stubber:
        for each in ("DryRunOperation", code, "DryRunOperation"):
            stubber.add_client_error("run_instances", each, message)
        found = machines.look_at_launching(make(), region(session))
    assert found.met is met
    assert f"m5n.large: {code}: {message.partition(' Encoded')[0]}" in found.found
    assert "i3en.large" not in found.found and "xYz" not in found.found
    assert found.next_step.startswith(says)


def image(**changes: Any) -> list[Scripted]:
    """One image as EC2 describes it."""
    described = {"ImageId": AMI, "Name": "al2023", "Architecture": "x86_64", "State": "available", **changes}
    return [("describe_images", {"Images": [described]})]


@pytest.mark.parametrize(
    ("answer", "met", "says"),
    [
        (image(), True, "(al2023)"),
        (image(DeprecationTime="2099-01-01T00:00:00.000Z"), True, "to be deprecated on 2099-01-01"),
        (image(DeprecationTime="2020-01-01T00:00:00.000Z"), True, "deprecated since 2020-01-01: it launches"),
        (image(Architecture="arm64"), False, "is for arm64; the hosts are x86_64"),
        ([("describe_images", {"Images": []})], False, "doesn't exist in us-west-2"),
    ],
)
def test_the_image(make: Make, answer: list[Scripted], met: bool, says: str) -> None:
    """There, deprecated or to be so on a date, of another processor, gone."""
    found = look(machines.look_at_image, make(), ec2=answer)
    assert found.met is met
    assert says in found.found


def test_the_image_is_for_the_types_that_the_hosts_have(make: Make) -> None:
    """Graviton hosts need one for arm64; hosts of two kinds find none."""
    size = {"count": 1, "rootVolumeGib": 30, "rootThroughputMibPerS": 125}
    graviton = {"brokers": {**size, "instanceType": "i4g.large"}, "clients": {**size, "instanceType": "c6gn.large"}}
    planned = make(**graviton, metadata={**size, "instanceType": "m6g.large"})
    assert look(machines.look_at_image, planned, ec2=image(Architecture="arm64")).met is True
    assert "the hosts are arm64" in look(machines.look_at_image, planned, ec2=image()).found
    mixed = look(machines.look_at_image, make(**graviton), ec2=image(Architecture="arm64"))
    assert (mixed.met, "the hosts are arm64 and x86_64" in mixed.found) == (False, True)


# EMR.


def test_the_release_of_emr(make: Make) -> None:
    """Known, or not any more."""
    assert look(machines.look_at_release, make()).met is True
    gone: list[Scripted] = [("list_release_labels", {"ReleaseLabels": ["emr-7.13.1"]})]
    found = look(machines.look_at_release, make(), emr=gone)
    assert (found.met, found.found) == (False, "us-west-2 has no emr-7.13.0")


def test_the_type_of_the_cluster(make: Make) -> None:
    """Looked for on every page of the list."""
    pages: list[Scripted] = [
        ("list_supported_instance_types", {"SupportedInstanceTypes": [{"Type": "m4.large"}], "Marker": "next"}),
        ("list_supported_instance_types", {"SupportedInstanceTypes": [{"Type": "m5.xlarge"}]}),
    ]
    assert look(machines.look_at_type, make(), emr=pages).met is True
    found = look(
        machines.look_at_type, make(), emr=[(pages[1][0], {"SupportedInstanceTypes": [{"Type": "c1.medium"}]})]
    )
    assert found.met is False
    assert "reportInstanceType m5.xlarge" in found.next_step


# All of it.

REFUSALS: dict[str, tuple[str, str, str]] = {
    # need -> the service and method that AWS refuses, and the permission to be named
    "vCPUs": ("service-quotas", "get_service_quota", "servicequotas:GetServiceQuota"),
    "types offered in the zone": ("ec2", "describe_instance_type_offerings", "ec2:DescribeInstanceTypeOfferings"),
    "image": ("ec2", "describe_images", "ec2:DescribeImages"),
    "EMR release": ("emr", "list_release_labels", "elasticmapreduce:ListReleaseLabels"),
    "EMR has the report's type": (
        "emr",
        "list_supported_instance_types",
        "elasticmapreduce:ListSupportedInstanceTypes",
    ),
}


@pytest.mark.parametrize("need", REFUSALS)
def test_what_aws_refuses_is_not_known(make: Make, monkeypatch: pytest.MonkeyPatch, need: str) -> None:
    """The line names the permission; no other line suffers."""
    service, method, action = REFUSALS[need]
    monkeypatch.setattr(looks, "AT_AWS", {need: looks.AT_AWS[need]})
    monkeypatch.setattr(looks, "session", lambda _: Session({service: [(method, "AccessDeniedException")]}))
    found = {each.need: each for each in looks.look_around(make())}
    assert found[need].met is None
    assert found[need].found.startswith("not known: AWS refused")
    assert found[need].found.endswith(REFUSED)
    assert f"Allow {action} " in found[need].next_step
    assert found["config of the stack"].met is True


def test_another_error_of_aws_is_quoted_and_not_known(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that the region doesn't know, a service that is down: no traceback, no permission to ask for."""
    refusing = Session({"service-quotas": [("get_service_quota", "TooManyRequestsException")]})
    monkeypatch.setattr(looks, "session", lambda _: refusing)
    monkeypatch.setattr(looks, "AT_AWS", {"vCPUs": account.look_at_quota})
    found = looks.look_around(make())[-1]
    assert (found.met, found.next_step) == (None, "")
    assert "answered GetServiceQuota with TooManyRequestsException" in found.found


def test_every_permission_that_is_named_is_in_the_operators_policy() -> None:
    """The advice is true."""
    assert all(operator_policy(REGION).allowing(Ask(action)) for action in looks.ACTIONS.values())


@pytest.mark.parametrize(
    ("listed", "met", "says"),
    [
        ('[{"name": "aws", "kind": "resource", "version": "%s"}]', True, "%s, as the SDK is"),
        (
            '[{"name": "aws", "kind": "resource", "version": "6.1.0"}]',
            True,
            "%s isn't installed yet (6.1.0 is): Pulumi fetches",
        ),
        (
            '[{"name": "aws", "kind": "language", "version": "%s"}]',
            True,
            "or `pulumi plugin install resource aws v%s` now",
        ),
        ("no JSON", None, "not known: "),
    ],
)
def test_the_plugin_is_told_before_pulumi_fetches_it(
    listed: str, met: bool | None, says: str, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it isn't there yet fails nothing; what Pulumi doesn't say isn't known."""
    pinned = importlib.metadata.version("pulumi_aws")
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    answer = listed.replace("%s", pinned)
    program.write_text(f"#!/bin/sh\ncase $1 in version) echo v3.259.0;; plugin) echo '{answer}';; esac\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    found = here.look_at_plugin(make())
    assert found.met is met and says.replace("%s", pinned) in found.found


def test_the_account_is_the_one_that_the_stack_is_for(make: Make) -> None:
    """Credentials of another account aren't met, and the line says which they should be of; without the key any will do."""
    right, wrong = make(awsAccount="123456789012"), make(awsAccount="210987654321")
    assert look(account.look_at_identity, right).met is True
    found = look(account.look_at_identity, wrong)
    assert found.met is False and found.found.endswith("; samebox:awsAccount is 210987654321")
    assert "credentials of account 210987654321" in found.next_step
    assert "samebox:awsAccount 123456789012`" in found.next_step
    unset = look(account.look_at_identity, make())
    assert unset.met is True and unset.found.endswith("samebox:awsAccount isn't set: any account would do")


def test_without_credentials_only_this_machine_is_asked(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identity isn't met and says what to set; of all else on AWS nothing is known."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name, value in {"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    found = {each.need: each for each in looks.look_around(make())}
    assert found["identity"].met is False
    assert "AWS_PROFILE" in found["identity"].next_step
    others = looks.AT_AWS.keys() - {"identity"}
    assert {found[need].met for need in others} == {None}
    assert found["room for the report"].met is True


def test_the_command_says_all_of_it(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One line for each look; as JSON too; exit 1 because the project's only stack has a wrong network."""
    make(operatorCidr="0.0.0.0/0")
    monkeypatch.chdir(tmp_path)
    campaign = str(CHECKOUT / "campaigns" / "demo.toml")
    typed = ["--stack", "sn", "--campaign", campaign]
    result = CliRunner().invoke(doctor.doctor, [*typed, "--json"], standalone_mode=False)
    assert result.exception is None
    lines = {line["need"]: line for line in json.loads(result.output)}
    assert list(lines) == [*looks.HERE, *looks.AT_AWS]
    assert lines["hosts may be launched"]["met"] is True
    assert lines["vCPUs"]["met"] is None  # moto knows no quotas of EC2
    assert (result.return_value, lines["config of the stack"]["met"]) == (1, False)
    result = CliRunner().invoke(doctor.doctor, typed, standalone_mode=False)
    assert "lets the whole internet" in " ".join(result.output.split())


def test_the_guide_has_every_line() -> None:
    """In the order in which they are printed."""
    section = (CHECKOUT / "docs/aws.md").read_text().split("## Before anything is paid\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\w ',]+) \| ", section, re.MULTILINE)
    needs = [*looks.HERE, *looks.AT_AWS]
    assert ", ".join(rows) == ", ".join(["line", *needs])


def test_what_is_not_known_does_not_fail_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is missing does."""
    for met, status in {None: 0, True: 0, False: 1}.items():
        monkeypatch.setattr(doctor, "findings_of", lambda *_, met=met: (Finding("a need", met, "what is [there]"),))
        result = CliRunner().invoke(doctor.doctor, ["--stack", "sn"], standalone_mode=False)
        assert (result.exception, result.return_value) == (None, status)
        assert "what is [there]" in result.output


def test_a_campaign_without_a_stack_is_refused() -> None:
    """There is nothing to compare it with."""
    result = CliRunner().invoke(doctor.doctor, ["--campaign", "demo.toml"], standalone_mode=False)
    assert isinstance(result.exception, InvalidInput)
