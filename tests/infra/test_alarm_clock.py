"""A schedule of the local cloud ends what it names when its time has come, if its role may: as EventBridge Scheduler does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from provisioning.testbeds.aws.emr import arm
from provisioning.testbeds.aws.emr_target import ClusterTimer
from provisioning.testbeds.aws.rehearsal.cloud.things import client, instances
from provisioning.testbeds.aws.time_to_live import utc_text
from tests.aws.world import IMAGE
from tests.cloud.faults import Cloud, Faults, local_cloud

pytestmark = pytest.mark.integration
WAIT_S = 120.0
GROUP = "samebox-end"
HOUR_S = 3600.0
TAGS = [{"Key": "project", "Value": "samebox"}, {"Key": "campaign", "Value": "c1"}]
END_HOSTS = "arn:aws:scheduler:::aws-sdk:ec2:terminateInstances"


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud with a schedule group and the role of its schedules, as infra/timer.py makes it."""
    with local_cloud(tmp_path, hosts=False) as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        client(running, "scheduler").create_schedule_group(Name=GROUP)
        make_role(running, "samebox-end", ["ec2:TerminateInstances", "elasticmapreduce:TerminateJobFlows"])
        yield running


def make_role(cloud: Cloud, name: str, actions: list[str]) -> None:
    """A role that the scheduler may take, for things of campaign c1."""
    trust = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
    own = {"StringEquals": {f"aws:ResourceTag/{each['Key']}": each["Value"] for each in TAGS}}
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*", "Condition": own}
    iam = client(cloud, "iam")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document)


def launched(cloud: Cloud, tags: list[dict[str, str]]) -> str:
    """An instance's id."""
    specification = [{"ResourceType": "instance", "Tags": tags}]
    asked = {"ImageId": IMAGE, "InstanceType": "i3en.large", "MinCount": 1, "MaxCount": 1}
    made = client(cloud, "ec2").run_instances(**asked, TagSpecifications=specification)
    return str(made["Instances"][0]["InstanceId"])


def schedule(cloud: Cloud, instance: str, *, role: str = "samebox-end") -> None:
    """Ends an instance in an hour."""
    client(cloud, "scheduler").create_schedule(
        Name=f"end-{instance}",
        GroupName=GROUP,
        ScheduleExpression=f"at({in_an_hour().removesuffix('Z')})",
        FlexibleTimeWindow={"Mode": "OFF"},
        ActionAfterCompletion="DELETE",
        Target={"Arn": END_HOSTS, "RoleArn": role_arn(role), "Input": json.dumps({"InstanceIds": [instance]})},
    )


def in_an_hour() -> str:
    """As a stack's config has it."""
    return utc_text(datetime.now(UTC) + timedelta(hours=1))


def role_arn(name: str) -> str:
    """A role's name in full."""
    return f"arn:aws:iam::123456789012:role/{name}"


def schedules(cloud: Cloud) -> list[Any]:
    """Those that are still to come, or have stayed."""
    found: list[Any] = client(cloud, "scheduler").list_schedules(GroupName=GROUP)["Schedules"]
    return found


def await_true(condition: Callable[[], bool]) -> None:
    """Returns once it holds."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


def test_what_a_role_may_end_ends_in_time(cloud: Cloud) -> None:
    """Nothing before; then our host and its schedule go, and a host of somebody else stays: the role is for our tags alone."""
    ours, others = launched(cloud, TAGS), launched(cloud, [{"Key": "project", "Value": "another"}])
    schedule(cloud, ours)
    schedule(cloud, others)
    cloud.inject(Faults(clock_ahead_s=HOUR_S - 60))
    time.sleep(1.0)
    assert instances(cloud).keys() == {ours, others}
    cloud.inject(Faults(clock_ahead_s=HOUR_S + 60))
    await_true(lambda: not schedules(cloud))
    assert instances(cloud).keys() == {others}
    assert "role samebox-end may not ec2:TerminateInstances" in (cloud.state_dir / "server.log").read_text()


def test_a_role_without_the_permission_ends_nothing(cloud: Cloud) -> None:
    """Which on AWS nobody sees either."""
    ours = launched(cloud, TAGS)
    make_role(cloud, "samebox-idle", ["ec2:DescribeInstances"])
    schedule(cloud, ours, role="samebox-idle")
    cloud.inject(Faults(clock_ahead_s=HOUR_S + 60))
    await_true(lambda: not schedules(cloud))
    assert instances(cloud).keys() == {ours}


def test_the_reports_cluster_ends_in_time(cloud: Cloud) -> None:
    """By the schedule that samebox makes with it."""
    emr = client(cloud, "emr")
    client(cloud, "iam").create_instance_profile(InstanceProfileName="machine")
    subnet = client(cloud, "ec2").describe_subnets()["Subnets"][0]["SubnetId"]
    alive = {"MasterInstanceType": "m5.xlarge", "InstanceCount": 1, "KeepJobFlowAliveWhenNoSteps": True}
    roles = {"JobFlowRole": "machine", "ServiceRole": "samebox-end"}
    made = emr.run_job_flow(
        Name="report", ReleaseLabel="emr-7.13.0", Instances={**alive, "Ec2SubnetId": subnet}, Tags=TAGS, **roles
    )
    cluster = made["JobFlowId"]
    arm(
        boto3.session.Session(region_name=cloud.region),
        ClusterTimer(GROUP, role_arn("samebox-end"), in_an_hour()),
        cluster,
    )
    await_true(lambda: bool(emr.list_clusters(ClusterStates=["WAITING"])["Clusters"]))
    cloud.inject(Faults(clock_ahead_s=HOUR_S + 60))
    await_true(lambda: bool(emr.list_clusters(ClusterStates=["TERMINATED"])["Clusters"]))
