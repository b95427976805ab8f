"""Bad config is refused by one message that names the key, what is wrong with it, and what to type."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from infra.instance_types import INSTANCE_TYPES
from infra.settings import InvalidSettings, Settings, parse_settings
from infra.user_data import host_key
from tests.infra.recorded_program import preset, record, texts

NOW = datetime.now(UTC)


def parsed(folder: Path, *, secret: bool = True, **changes: Any) -> Settings:
    """The smoke preset with `changes`, as settings."""
    config = texts(preset("smoke", folder, **changes))
    return parse_settings(config, secret_keys={"hostKeySeed"} if secret else set(), now=NOW)


def in_hours(hours: float) -> str:
    """A time from now, as config has it."""
    return f"{NOW + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def group(**changes: Any) -> dict[str, Any]:
    """The table of a role, with `changes`."""
    table = {"count": 3, "instanceType": "i3en.large", "rootVolumeGib": 40, "rootThroughputMibPerS": 125, **changes}
    return {key: value for key, value in table.items() if value is not None}


@pytest.mark.parametrize("stack", ["sn2022", "sn2020", "smoke", "tiny"])
def test_presets_lack_only_what_the_operator_adds(stack: str, tmp_path: Path) -> None:
    """A missing key is named with the command that sets it; all of them at once."""
    operators = ("owner", "operatorCidr", "identityFile", "created", "expires", "hostKeySeed")
    with pytest.raises(InvalidSettings) as refused:
        parse_settings(texts(preset(stack, tmp_path, **dict.fromkeys(operators))), secret_keys={"hostKeySeed"}, now=NOW)
    assert len(refused.value.problems) == len(operators)
    for key in operators:
        (problem,) = (each for each in refused.value.problems if each.startswith(f"samebox:{key} is missing"))
        assert "pulumi config set" in problem and f"samebox:{key}" in problem.partition("pulumi config set")[2]


def test_the_times_that_a_message_proposes_would_do(tmp_path: Path) -> None:
    """The commands can be copied as they are."""
    with pytest.raises(InvalidSettings) as refused:
        parsed(tmp_path, created=None, expires=None)
    created, expires = (problem.split()[-1] for problem in refused.value.problems)
    assert parsed(tmp_path, created=created, expires=expires).expires == expires


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"operatorCidr": "0.0.0.0/0"}, "samebox:operatorCidr = '0.0.0.0/0': this lets the whole internet"),
        ({"operatorCidr": "::/0"}, "this lets the whole internet"),
        ({"operatorCidr": "2001:db8::1/128"}, "IPv4"),
        ({"operatorCidr": "10.0.0.0/8"}, "16,777,216 addresses are too many"),
        ({"operatorCidr": "203.0.113.7/24"}, "not a network"),
        ({"operatorCidr": "home"}, "not a network"),
        ({"brokers": group(count=0)}, "samebox:brokers.count = 0: at least one is needed"),
        ({"brokers": group(count=-1)}, "samebox:brokers.count = -1"),
        ({"brokers": group(count=99)}, "samebox:brokers.count = 99"),
        ({"clients": group(count=0)}, "samebox:clients.count = 0: at least one is needed"),
        ({"brokers": group(count=None)}, "samebox:brokers.count is missing"),
        ({"brokers": group(instanceType="i3en.7xlarge")}, "Did you mean 'i3en."),
        ({"brokers": group(instanceType="quantum")}, "Valid ones: i3en.large, "),
        ({"brokers": group(instanceType="m5n.large")}, "this type has no disks of its own. Valid ones: i3en.large, "),
        (
            {"brokers": group(instanceType="t3.large")},
            "samebox:brokers.instanceType = 't3.large': this type is burstable",
        ),
        (
            {"clients": group(instanceType="t3.medium")},
            "samebox:clients.instanceType = 't3.medium': this type is burstable",
        ),
        ({"brokers": group(instancetype="i3en.large")}, "Did you mean 'instanceType'?"),
        ({"brokers": group(rootThroughputMibPerS=100)}, "samebox:brokers.rootThroughputMibPerS = 100"),
        ({"brokers": "three"}, "samebox:brokers = 'three'"),
        ({"broker": group()}, "samebox:broker is unknown. Did you mean 'brokers'?"),
        ({"ami": "ami-latest"}, "samebox:ami = 'ami-latest'"),
        ({"campaign": "My Campaign"}, "samebox:campaign = 'My Campaign'"),
        ({"availabilityZone": "eu-west-1a"}, "eu-west-1a isn't a zone of region us-west-2"),
        ({"expires": "tomorrow"}, "samebox:expires = 'tomorrow': not a UTC time"),
        ({"expires": "2026-11-21T20:00:00"}, "not a UTC time"),
        ({"expires": "2026-11-21T20:00:00+02:00"}, "not a UTC time"),
        ({"expires": in_hours(-1)}, "is in the past"),
        ({"expires": in_hours(7 * 24 + 1)}, "is more than 7 days ahead"),
        ({"created": in_hours(9)}, "isn't before samebox:expires"),
        ({"hostKeySeed": "short"}, "samebox:hostKeySeed: "),
        ({"identityFile": "nowhere/key"}, "nowhere/key doesn't exist; make a pair by: ssh-keygen"),
        ({"generations": {"broker-9": 2}}, "broker-9; the hosts are broker-1, "),
        ({"generations": {"broker-1": 0}}, "samebox:generations.broker-1 = 0"),
        (
            {"reportInstanceType": "t3.medium"},
            "how much room that has for driver and executors, isn't known here. Valid ones: m5.xlarge, ",
        ),
        (
            {"reportInstanceType": "m5.large"},
            "samebox:reportInstanceType = 'm5.large': what EMR charges for a cluster of it, or",
        ),
        ({"reportInstanceType": "i4i.4xlarge"}, "Valid ones: m5.xlarge, "),
        ({"awsAccount": "12345"}, "samebox:awsAccount = '12345': an account's number has 12 digits"),
        ({"reportInstanceType": "c5n.2xlarge"}, "'c5n.2xlarge': what EMR charges for a cluster of it, or"),
        ({"reportInstances": "0"}, "samebox:reportInstances = '0'"),
    ],
)
def test_one_wrong_value_is_one_sentence(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    """Whatever is wrong, the message says which key, and only that."""
    with pytest.raises(InvalidSettings) as refused:
        parsed(tmp_path, **changes)
    (problem,) = refused.value.problems
    assert says in problem


def test_a_seed_that_stands_there_plainly_is_refused(tmp_path: Path) -> None:
    """It would end in a commit; the message doesn't repeat it."""
    with pytest.raises(InvalidSettings, match="--secret samebox:hostKeySeed") as refused:
        parsed(tmp_path, secret=False)
    assert "5a5a" not in str(refused.value)


def test_a_bad_seed_is_not_printed(tmp_path: Path) -> None:
    """What is nearly a secret is one."""
    with pytest.raises(InvalidSettings) as refused:
        parsed(tmp_path, hostKeySeed="c0ffee" * 10)
    assert "c0ffee" not in str(refused.value)


def test_settings_never_show_the_seed(tmp_path: Path) -> None:
    """Not even when somebody prints them."""
    assert "5a5a" not in repr(parsed(tmp_path))


def test_an_identity_file_is_found_from_the_projects_folder(tmp_path: Path) -> None:
    """A relative one, and one with ~, become the absolute path that the inventory carries."""
    identity = parsed(tmp_path).identity_file
    assert identity.is_absolute() and identity == tmp_path / "operator_key"
    with pytest.raises(InvalidSettings, match=r"operator_key\.pub doesn't exist"):
        config = preset("smoke", tmp_path)
        Path(f"{identity}.pub").unlink()
        parse_settings(texts(config), secret_keys={"hostKeySeed"}, now=NOW)


@pytest.mark.parametrize("kind", ["ecdsa-sha2-nistp256", "sk-ssh-ed25519@openssh.com", "ssh-dss"])
def test_a_key_that_ec2_does_not_import_is_refused_by_its_type(kind: str, tmp_path: Path) -> None:
    """ImportKeyPair takes RSA and ED25519 alone, and would refuse it when the network stands already."""
    config = preset("smoke", tmp_path)
    public = Path(f"{config['identityFile']}.pub")
    public.write_text(f"{kind} AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY= operator\n")
    with pytest.raises(InvalidSettings) as refused:
        parse_settings(texts(config), secret_keys={"hostKeySeed"}, now=NOW)
    (problem,) = refused.value.problems
    assert f"{public} is a key of type {kind}; EC2 takes ssh-ed25519 and ssh-rsa only" in problem
    assert "ssh-keygen -t ed25519 -f" in problem
    public.write_text("ssh-rsa AAAAB3NzaC1yc2E= operator\n")
    assert parse_settings(texts(config), secret_keys={"hostKeySeed"}, now=NOW).public_key.startswith("ssh-rsa")


def test_the_program_refuses_before_it_registers_anything(tmp_path: Path) -> None:
    """Two mistakes, one message, no resource."""
    recording = record(preset("smoke", tmp_path, operatorCidr="0.0.0.0/0", brokers=group(count=0)))
    assert "Pulumi.smoke.yaml can't be used; nothing was changed." in recording.error
    assert "samebox:operatorCidr = '0.0.0.0/0'" in recording.error and "samebox:brokers.count = 0" in recording.error
    assert recording.error.count("\n") == 2
    assert not [each for each in recording.resources if each.type != "pulumi:pulumi:Stack"]


def test_an_image_of_another_region_is_refused(tmp_path: Path) -> None:
    """Before any resource but the provider, with the command that finds the region's own."""
    recording = record(preset("smoke", tmp_path), images=("ami-0123456789abcdef0",))
    assert "ami-0d53cc9bd365ad65b doesn't exist in us-west-2" in recording.error
    assert "pulumi config set samebox:ami" in recording.error
    assert [each.type for each in recording.resources] == ["pulumi:providers:aws"]


def test_a_deprecated_image_is_taken_with_a_warning(tmp_path: Path) -> None:
    """Amazon deprecates an image 90 days after it was made, and it launches as before: a year-old stack file still stands up."""
    recording = record(preset("smoke", tmp_path), deprecated="2025-12-05T23:59:59.000Z")
    assert (recording.error, len(recording.of_type("ec2/instance:Instance"))) == ("", 5)
    (warning,) = recording.warnings
    assert "samebox:ami ami-0d53cc9bd365ad65b has been deprecated since 2025-12-05" in warning
    tomorrow = in_hours(24)
    assert record(preset("smoke", tmp_path), deprecated=tomorrow).warnings == ()


def test_hosts_that_run_need_their_image_no_more(tmp_path: Path) -> None:
    """Their end can be moved, and others replaced or added, while the image can't be found: the program only warns."""
    recording = record(preset("smoke", tmp_path), images=(), running=5)
    assert (recording.error, len(recording.of_type("ec2/instance:Instance"))) == ("", 5)
    (warning,) = recording.warnings
    assert "The 5 hosts that run with samebox:ami ami-0d53cc9bd365ad65b stay as they are" in warning
    assert "doesn't exist in us-west-2" in warning and "aws ssm get-parameter" in warning


GRAVITON = {
    "brokers": group(instanceType="im4gn.large"),
    "clients": group(count=1, instanceType="c6gn.large"),
    "metadata": group(count=1, instanceType="m6g.large"),
}


def test_an_image_for_another_processor_is_refused(tmp_path: Path) -> None:
    """With the command that finds the hosts' own."""
    recording = record(preset("smoke", tmp_path, ami="ami-a4000000000000000"))
    assert "ami-a4000000000000000 is for arm64; the hosts are x86_64" in recording.error
    assert "al2023-ami-kernel-default-x86_64\n" in recording.error
    recording = record(preset("smoke", tmp_path, **GRAVITON))
    assert "is for x86_64; the hosts are arm64" in recording.error
    assert "al2023-ami-kernel-default-arm64\n" in recording.error


def test_hosts_of_arm64_stand_up_with_their_image(tmp_path: Path) -> None:
    """The report's cluster stays what it is: it has an image of its own."""
    recording = record(preset("smoke", tmp_path, ami="ami-a4000000000000000", **GRAVITON))
    assert (recording.error, len(recording.of_type("ec2/instance:Instance"))) == ("", 5)


def test_hosts_of_two_architectures_are_refused(tmp_path: Path) -> None:
    """Each role that isn't as the brokers are is named; one without hosts isn't."""
    with pytest.raises(InvalidSettings) as refused:
        parsed(tmp_path, brokers=group(instanceType="i8g.large"))
    assert [problem.partition(":")[2].split()[:3] for problem in refused.value.problems] == [
        ["clients.instanceType", "m5n.large", "is"],
        ["metadata.instanceType", "t3.medium", "is"],
    ]
    assert "is x86_64, samebox:brokers.instanceType i8g.large arm64, and samebox:ami is one image" in str(refused.value)
    assert "Families of arm64: i4g, im4gn, i8g, c6gn, m6g, m7g. Set it: pulumi config set --path" in str(refused.value)
    none = group(count=0, instanceType="t3.medium")
    parsed(tmp_path, brokers=group(instanceType="i8g.large"), clients=GRAVITON["clients"], metadata=none)


def test_the_table_of_instance_types_says_what_aws_says() -> None:
    """Against DescribeInstanceTypes as moto has recorded it."""
    packed = resources.files("moto").joinpath("ec2/resources/instance_types.json.gz").read_bytes()
    recorded = json.loads(gzip.decompress(packed))
    for name, known in INSTANCE_TYPES.items():
        theirs = recorded[name]
        disks = sum(each["Count"] for each in theirs.get("InstanceStorageInfo", {"Disks": []})["Disks"])
        placement = "cluster" in theirs["PlacementGroupInfo"]["SupportedStrategies"]
        assert (known.vcpus, known.instance_disks, known.cluster_placement, known.burstable, known.ptp) == (
            theirs["VCpuInfo"]["DefaultVCpus"],
            disks,
            placement,
            theirs["BurstablePerformanceSupported"],
            theirs["PhcSupport"] == "supported",
        ), name
        assert [known.architecture] == theirs["ProcessorInfo"]["SupportedArchitectures"], name


def test_a_host_key_is_the_same_until_the_host_is_another() -> None:
    """By seed, campaign, name and generation; the private half never shows."""
    first = host_key("5a" * 32, campaign="c", host="broker-1", generation=1)
    assert first.public == host_key("5a" * 32, campaign="c", host="broker-1", generation=1).public
    others = [
        host_key("5b" * 32, campaign="c", host="broker-1", generation=1),
        host_key("5a" * 32, campaign="d", host="broker-1", generation=1),
        host_key("5a" * 32, campaign="c", host="broker-2", generation=1),
        host_key("5a" * 32, campaign="c", host="broker-1", generation=2),
    ]
    assert len({first.public, *(key.public for key in others)}) == 5
    assert "PRIVATE" not in repr(first)
