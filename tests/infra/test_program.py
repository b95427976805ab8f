"""What the Pulumi program registers, seen by a recorder in the engine's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from provisioning.hosts.inventory import load_inventory
from tests.infra.recorded_program import SECRET_SIGNATURE, Recording, Registered, forks, preset, record
from tests.infra.stack_rules import UNTAGGABLE

INSTANCE = "ec2/instance:Instance"


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The smoke preset, with broker-2 in its third generation."""
    return record(preset("smoke", tmp_path_factory.mktemp("operator"), generations={"broker-2": 3}))


def policy_of(recording: Recording, name: str) -> Any:
    """A role's own policy, read."""
    return json.loads(recording.of_type("iam/rolePolicy:RolePolicy")[name].inputs["policy"])["Statement"]


def cloud_config(instance: Registered) -> Any:
    """The user data of an instance, which must be wrapped as a secret."""
    wrapped = instance.inputs["userData"]
    assert SECRET_SIGNATURE in wrapped, "user data holds the private host key: it must be a secret"
    first, _, document = wrapped["value"].partition("\n")
    assert first == "#cloud-config"
    assert len(wrapped["value"].encode()) <= 16_384, "more than EC2 takes"
    return json.loads(document)


@pytest.mark.parametrize(
    ("stack", "brokers", "clients", "metadata"),
    [
        ("sn2022", (3, "i3en.6xlarge"), (4, "m5n.8xlarge"), (3, "m5.large")),
        ("sn2020", (3, "i3en.2xlarge"), (4, "c5n.2xlarge"), (3, "m5.large")),
        ("smoke", (3, "i3en.large"), (1, "m5n.large"), (1, "t3.medium")),
        ("tiny", (3, "i3en.large"), (1, "m5.large"), (0, "")),
    ],
)
def test_each_preset_gives_its_hosts(
    tmp_path: Path, stack: str, brokers: tuple[int, str], clients: tuple[int, str], metadata: tuple[int, str]
) -> None:
    """A committed preset and what the operator adds are a whole config."""
    recording = record(preset(stack, tmp_path), stack=stack)
    assert recording.error == ""
    types: dict[str, list[str]] = {}
    for name, instance in recording.of_type(INSTANCE).items():
        types.setdefault(name.rpartition("-")[0], []).append(instance.inputs["instanceType"])
    wanted = {"broker": brokers, "client": clients, "metadata": metadata}
    assert types == {role: [kind] * count for role, (count, kind) in wanted.items() if count}


def test_the_inventory_is_one_that_samebox_reads(smoke: Recording, tmp_path: Path) -> None:
    """The output `inventory` passes the strict reader, and says what the instances are."""
    path = tmp_path / "inventory.json"
    path.write_text(json.dumps(smoke.outputs["inventory"]))
    inventory = load_inventory(path)
    assert [host.name for host in inventory.hosts] == ["broker-1", "broker-2", "broker-3", "client-1", "metadata-1"]
    assert (inventory.testbed.kind, inventory.testbed.name) == ("aws", "smoke")
    second = inventory.hosts[1]
    assert (second.instance_id, second.generation, second.instance_type) == ("broker-2-id", 3, "i3en.large")
    assert second.ssh.address.startswith("198.51.100.") and second.address.startswith("10.20.1.")
    assert [(disk.device, disk.mount, disk.owned) for disk in second.data_dirs] == [
        ("/dev/disk/by-label/data-1", "/mnt/data-1", True)
    ]
    assert inventory.with_role("client")[0].data_dirs == ()
    (metadata_disk,) = inventory.with_role("metadata")[0].data_dirs
    assert (metadata_disk.path, metadata_disk.owned) == ("/opt/samebox/data-1", False)


def test_a_broker_with_several_disks_has_a_directory_on_each(tmp_path: Path) -> None:
    """Data directories follow the instance type's disks, in the inventory and on the host alike."""
    recording = record(preset("sn2022", tmp_path), stack="sn2022")
    first = recording.outputs["inventory"]["hosts"][0]
    assert [disk["mount"] for disk in first["data_dirs"]] == ["/mnt/data-1", "/mnt/data-2"]
    files = {each["path"]: each for each in cloud_config(recording.of_type(INSTANCE)["broker-1"])["write_files"]}
    assert files["/etc/samebox/disks"]["content"] == "COUNT=2\nLOGIN=ec2-user\n"


def test_host_keys_are_known_before_the_hosts_are(smoke: Recording) -> None:
    """The key in the inventory is the one that the host gets, and no two hosts have the same."""
    hosts = {host["name"]: host for host in smoke.outputs["inventory"]["hosts"]}
    for name, instance in smoke.of_type(INSTANCE).items():
        document = cloud_config(instance)
        assert document["ssh_keys"]["ed25519_public"] == hosts[name]["ssh"]["host_key"]
        assert document["ssh_deletekeys"] is True
    assert len({host["ssh"]["host_key"] for host in hosts.values()}) == len(hosts)


def test_nothing_secret_leaves_by_an_output(smoke: Recording) -> None:
    """Outputs are plain (none is wrapped as a secret), and hold no private key."""
    text = json.dumps(smoke.outputs)
    assert SECRET_SIGNATURE not in text and "PRIVATE KEY" not in text


def test_an_instance_is_replaced_by_its_generation_and_by_nothing_else(smoke: Recording) -> None:
    """The trigger is the generation, user data may change, and the new host comes before the old one goes."""
    for name, instance in smoke.of_type(INSTANCE).items():
        generation = 3 if name == "broker-2" else 1
        assert instance.options["replacementTrigger"] == generation
        assert instance.inputs["tags"]["generation"] == str(generation)
        assert instance.options["ignoreChanges"] == ["userData"]
        assert "deleteBeforeReplace" not in instance.options and "protect" not in instance.options
        assert instance.options["customTimeouts"] == {"create": "15m", "update": "15m", "delete": "15m"}


def test_an_instance_is_safe_to_leave_alone(smoke: Recording) -> None:
    """It ends when it shuts down, gives its credentials to no forwarded request, and its volumes are encrypted and go with it."""
    for instance in smoke.of_type(INSTANCE).values():
        assert instance.inputs["instanceInitiatedShutdownBehavior"] == "terminate"
        assert instance.inputs["metadataOptions"] == {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
        }
        volume = instance.inputs["rootBlockDevice"]
        assert volume["encrypted"] is True and volume["deleteOnTermination"] is True
        assert volume["volumeType"] == "gp3" and instance.inputs["volumeTags"] == instance.inputs["tags"]


def test_hosts_that_can_stand_side_by_side_do(smoke: Recording) -> None:
    """Brokers and clients; metadata hosts need no nearness, and every host more is one that AWS may have no room for."""
    (group,) = smoke.of_type("ec2/placementGroup:PlacementGroup").values()
    assert group.inputs["strategy"] == "cluster"
    placed = {name: "placementGroup" in each.inputs for name, each in smoke.of_type(INSTANCE).items()}
    assert placed == {"broker-1": True, "broker-2": True, "broker-3": True, "client-1": True, "metadata-1": False}


def test_metadata_hosts_stand_outside(tmp_path: Path) -> None:
    """Of a type, too, that EC2 could place."""
    recording = record(preset("sn2022", tmp_path), stack="sn2022")
    placed = {name for name, each in recording.of_type(INSTANCE).items() if "placementGroup" in each.inputs}
    assert placed == {f"broker-{at}" for at in range(1, 4)} | {f"client-{at}" for at in range(1, 5)}


def test_instances_go_before_their_gateway(smoke: Recording) -> None:
    """An internet gateway can't be detached while instances behind it have public addresses."""
    for instance in smoke.of_type(INSTANCE).values():
        assert any("ec2/route:Route::" in urn for urn in instance.dependencies)
    (route,) = smoke.of_type("ec2/route:Route").values()
    assert any("internetGateway" in urn for urn in route.dependencies)


def test_the_only_way_out_leads_to_the_operator_and_to_s3(smoke: Recording) -> None:
    """No route and no security group rule lets a host, or the report's cluster, reach the internet."""
    (route,) = smoke.of_type("ec2/route:Route").values()
    assert route.inputs["destinationCidrBlock"] == "203.0.113.7/32"
    assert not any("routes" in table.inputs for table in smoke.of_type("ec2/routeTable:RouteTable").values())
    assert not any(subnet.inputs["mapPublicIpOnLaunch"] for subnet in smoke.of_type("ec2/subnet:Subnet").values())
    for rule in smoke.of_type("vpc/securityGroupEgressRule:SecurityGroupEgressRule").values():
        assert "cidrIpv4" not in rule.inputs and "cidrIpv6" not in rule.inputs
        assert ("prefixListId" in rule.inputs) != ("referencedSecurityGroupId" in rule.inputs)
    assert not any({"ingress", "egress"} & set(group.inputs) for group in smoke.of_type(":SecurityGroup").values())


def test_ssh_is_all_that_comes_in_from_outside(smoke: Recording) -> None:
    """Port 22 from the operator's network; every other rule names a security group."""
    from_networks = {
        name: rule.inputs
        for name, rule in smoke.of_type("vpc/securityGroupIngressRule:SecurityGroupIngressRule").items()
        if "cidrIpv4" in rule.inputs
    }
    (ssh,) = from_networks.values()
    assert (ssh["fromPort"], ssh["toPort"], ssh["ipProtocol"]) == (22, 22, "tcp")
    assert ssh["cidrIpv4"] == "203.0.113.7/32" and ssh["securityGroupId"] == "samebox-hosts-id"


def test_everything_that_can_have_tags_says_whose_it_is(smoke: Recording) -> None:
    """The sweep finds leftovers by tags alone."""
    checked = 0
    for resource in smoke.resources:
        if not resource.type.startswith(UNTAGGABLE):
            tags = resource.inputs["tags"]
            assert {key: tags[key] for key in ("project", "campaign", "stack", "owner")} == {
                "project": "samebox",
                "campaign": "smoke",
                "stack": "smoke",
                "owner": "tester",
            }, resource.name
            assert tags["expires"] == smoke.outputs["inventory"]["expires"]
            checked += 1
    assert checked > 30


def test_two_stacks_of_one_campaign_are_told_apart(tmp_path: Path) -> None:
    """By a tag that has the stack's own name, whatever its campaign is called; the report's cluster gets it by an output."""
    recording = record(preset("smoke", tmp_path), stack="second")
    tags = [each.inputs["tags"] for each in recording.resources if "tags" in each.inputs]
    assert {each["stack"] for each in tags} == {"second"} and {each["campaign"] for each in tags} == {"smoke"}
    assert recording.outputs["stack"] == "second"


def test_everything_goes_to_the_stacks_region(smoke: Recording) -> None:
    """No resource falls back to a provider made from the operator's environment."""
    for resource in smoke.resources:
        if resource.type.startswith("aws:"):
            assert "pulumi:providers:aws::aws::" in resource.provider, resource.name
    (provider,) = smoke.of_type("pulumi:providers:aws").values()
    assert provider.inputs["region"] == "us-west-2"


def test_a_stack_may_be_for_one_account_only(smoke: Recording, tmp_path: Path) -> None:
    """The provider itself refuses every other; without the key it refuses none."""
    (provider,) = smoke.of_type("pulumi:providers:aws").values()
    assert "allowedAccountIds" not in provider.inputs
    (only,) = record(preset("smoke", tmp_path, awsAccount="012345678901")).of_type("pulumi:providers:aws").values()
    assert json.loads(only.inputs["allowedAccountIds"]) == ["012345678901"]


def test_the_bucket_and_what_protects_it_outlive_the_testbed(smoke: Recording) -> None:
    """`pulumi destroy` leaves the bucket, still private and encrypted; a name of its own keeps the next `up` from meeting it."""
    kept = [resource for resource in smoke.resources if resource.type.startswith("aws:s3/")]
    assert len(kept) == 6 and all(resource.options["retainOnDelete"] is True for resource in kept)
    bucket = smoke.of_type("s3/bucket:Bucket")["samebox-smoke"]
    assert "bucket" not in bucket.inputs and bucket.inputs["forceDestroy"] is False
    (access,) = smoke.of_type("s3/bucketPublicAccessBlock:BucketPublicAccessBlock").values()
    assert [value for key, value in access.inputs.items() if key != "bucket"] == [True] * 4
    others = [resource for resource in smoke.resources if resource not in kept]
    assert not any("retainOnDelete" in resource.options for resource in others)


def test_a_schedule_per_host_ends_it_from_outside(smoke: Recording) -> None:
    """Each ends its own instance at `expires` and then removes itself; its role can end this campaign's hosts only."""
    schedules = smoke.of_type("scheduler/schedule:Schedule")
    assert set(schedules) == {f"end-{name}" for name in smoke.of_type(INSTANCE)}
    for name, schedule in schedules.items():
        target = schedule.inputs["target"]
        assert json.loads(target["input"]) == {"InstanceIds": [f"{name.removeprefix('end-')}-id"]}
        assert target["arn"] == "arn:aws:scheduler:::aws-sdk:ec2:terminateInstances"
        expires = smoke.outputs["inventory"]["expires"].removesuffix("Z")
        assert schedule.inputs["scheduleExpression"] == f"at({expires})"
        assert schedule.inputs["scheduleExpressionTimezone"] == "UTC"
        assert schedule.inputs["actionAfterCompletion"] == "DELETE"
    statements = policy_of(smoke, "samebox-end")
    # a report's cluster is started by a command, which makes its schedule in the same group
    assert [each["Action"] for each in statements] == [
        ["ec2:TerminateInstances"],
        ["elasticmapreduce:TerminateJobFlows"],
    ]
    of_this_campaign = {"aws:ResourceTag/project": "samebox", "aws:ResourceTag/campaign": "smoke"}
    assert [each["Condition"]["StringEquals"] for each in statements] == [of_this_campaign, of_this_campaign]
    assert smoke.outputs["timer"] == {"group": "samebox-end-0a1b2c3", "role": "arn:aws:mock:::samebox-end"}


def test_hosts_may_add_results_and_not_remove_them(smoke: Recording) -> None:
    """No host can delete, and none can reach another bucket."""
    statements = policy_of(smoke, "samebox-host")
    actions = {action for statement in statements for action in statement["Action"]}
    assert "s3:PutObject" in actions
    assert not any("Delete" in action or "*" in action for action in actions)
    bucket = "arn:aws:mock:::samebox-smoke"
    assert {statement["Resource"] for statement in statements} == {bucket, f"{bucket}/*"}


def test_the_output_for_emr_is_whole(smoke: Recording) -> None:
    """The EMR runner finds roles, subnet, security groups, and the pinned release."""
    assert smoke.outputs["emr"] == {
        "service_role": "arn:aws:mock:::samebox-report-service",
        "instance_profile": "samebox-report-machine-0a1b2c3",
        "subnet": "samebox-report-id",
        "master_security_group": "samebox-report-primary-id",
        "slave_security_group": "samebox-report-core-id",
        "service_access_security_group": "samebox-report-service-id",
        "release": "emr-7.13.0",
        "instance_type": "m5.xlarge",
        "instances": 2,
    }
    (passing,) = policy_of(smoke, "samebox-report-service")
    assert passing["Resource"] == "arn:aws:mock:::samebox-report-machine"
    assert smoke.outputs["resultsBucket"] == "samebox-smoke-0a1b2c3"
    assert smoke.outputs["region"] == "us-west-2"


def test_ssh_config_has_every_host(smoke: Recording) -> None:
    """By the name, address and host key that the inventory has."""
    config = smoke.outputs["sshConfig"]
    for host in smoke.outputs["inventory"]["hosts"]:
        block = config.partition(f"Host {host['name']}\n")[2].partition("\n\n")[0]
        assert f"HostName {host['ssh']['address']}\n" in block
        assert f"KnownHostsCommand /bin/echo %H {host['ssh']['host_key']}\n" in f"{block}\n"


def test_the_reports_machines_read_every_results_bucket_of_the_account(smoke: Recording) -> None:
    """A bucket outlives its stack, and the next stack's cluster makes its report; it writes into its own only."""
    of_others = [each for each in policy_of(smoke, "samebox-report-machine") if "arn:aws:s3:::samebox-*" in str(each)]
    actions = {action for statement in of_others for action in statement["Action"]}
    assert actions == {"s3:ListBucket", "s3:GetBucketLocation", "s3:GetObject"}
    account = {"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}}
    assert [statement["Condition"] for statement in of_others] == [account, account]


def test_no_cluster_is_a_resource(smoke: Recording) -> None:
    """One that ends with its step would be made again by the next `pulumi up --refresh`."""
    assert not any(resource.type.startswith("aws:emr") for resource in smoke.resources)


def test_nothing_of_a_run_is_left_for_the_next(tmp_path: Path) -> None:
    """Runs are forked from one process: after another stack's, a run registers what it registered before."""
    before = record(preset("tiny", tmp_path), stack="tiny")
    other = record(preset("smoke", tmp_path, owner=""))
    assert "owner" in other.error and not other.resources
    after = record(preset("tiny", tmp_path), stack="tiny")
    assert {(each.type, each.name) for each in after.resources} == {(each.type, each.name) for each in before.resources}
    assert after.outputs.keys() == before.outputs.keys()
    assert (after.error, after.warnings) == (before.error, before.warnings)


def test_a_run_that_fails_says_why() -> None:
    """Its last words are the assertion's, and the next run is none the worse."""
    with pytest.raises(AssertionError, match="KeyError: 'images'"):
        forks().run({}, {})
