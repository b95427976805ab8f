"""The look after a teardown, where AWS is as slow as AWS: a cluster that terminates, machines that run on meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest

from bench.cli.teardown import Leftovers
from provisioning.testbeds.aws.pulumi_command import ScriptedPulumi
from provisioning.testbeds.aws.stack import Stack
from tests.aws.world import make_world
from tests.cloud.faults import Cloud, Faults, local_cloud

pytestmark = pytest.mark.integration
CONFIG = (
    "config --non-interactive --stack sn --json",
    '{"samebox:region": {"value": "us-west-2"}, "samebox:campaign": {"value": "c1"}}',
)
TAGS = {"project": "samebox", "campaign": "c1"}
WAIT_S = 300.0


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud to which every AWS client of this process speaks."""
    with local_cloud(tmp_path / "cloud", hosts=False) as started:
        for name, value in started.environment.items():
            monkeypatch.setenv(name, value)
        yield started


@dataclass
class Said:
    """A reporter that keeps what it is told."""

    details: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def step(self, title: str) -> None:
        """Not asked here."""
        raise AssertionError(title)

    def detail(self, text: str) -> None:
        """What goes on."""
        self.details.append(text)

    def notice(self, text: str) -> None:
        """Worth keeping."""
        self.notices.append(text)


@contextmanager
def ends_once_waited_for(cloud: Cloud, said: Said) -> Iterator[None]:
    """What was told to end has ended as soon as somebody has said that he waits for it, however long looking took him."""

    def end() -> None:
        deadline_s = time.monotonic() + WAIT_S / 2
        while not said.details and time.monotonic() < deadline_s:
            time.sleep(0.05)
        cloud.inject(Faults())

    ending = threading.Thread(target=end)
    ending.start()
    yield
    ending.join()


def leftovers(said: Said) -> Leftovers:
    """What `samebox campaign aws` looks with, for a stack with nothing but its config."""
    reporter: Any = said
    return Leftovers(Stack("sn", Path(), command=ScriptedPulumi([CONFIG])), reporter)


def instance(cloud: Cloud) -> str:
    """One tagged instance."""
    ec2: Any = boto3.client("ec2", cloud.region)
    tags = [{"Key": key, "Value": value} for key, value in TAGS.items()]
    specification: Any = [{"ResourceType": "instance", "Tags": tags}]
    made = ec2.run_instances(
        ImageId="ami-0d53cc9bd365ad65b",
        InstanceType="i3en.large",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=specification,
    )
    return str(made["Instances"][0]["InstanceId"])


def test_what_is_ending_is_waited_for_and_not_left(cloud: Cloud) -> None:
    """An instance shuts down for a while, as on EC2: nothing is left of a good campaign, and that it waits is said."""
    host = instance(cloud)
    cloud.inject(Faults(ending_s=WAIT_S))
    boto3.client("ec2", cloud.region).terminate_instances(InstanceIds=[host])
    said = Said()
    with ends_once_waited_for(cloud, said):
        assert leftovers(said).find() == []
    assert f"instance {host}" in said.details[0]
    assert said.notices == []


def test_what_lives_is_left(cloud: Cloud) -> None:
    """A host that nobody told to end is found at once, beside one that is ending."""
    lives, ends = instance(cloud), instance(cloud)
    cloud.inject(Faults(ending_s=2.0))
    boto3.client("ec2", cloud.region).terminate_instances(InstanceIds=[ends])
    assert leftovers(Said()).find() == [f"instance {lives}"]


def test_a_terminating_cluster_takes_its_machines_along(cloud: Cloud) -> None:
    """While it terminates, its machines still run: neither is left."""
    world = make_world(cloud.region, TAGS, "samebox-c1", endpoint=cloud.endpoint, cluster=False)
    emr = boto3.client("emr", cloud.region)
    cluster = emr.run_job_flow(
        Name="samebox-report",
        ReleaseLabel="emr-7.13.0",
        Instances={
            "MasterInstanceType": "m5.xlarge",
            "SlaveInstanceType": "m5.xlarge",
            "InstanceCount": 2,
            "KeepJobFlowAliveWhenNoSteps": True,
            "Ec2SubnetId": world.id_of("subnet"),
        },
        JobFlowRole="samebox-c1-profile",
        ServiceRole="samebox-c1-role",
        VisibleToAllUsers=True,
        Tags=[{"Key": key, "Value": value} for key, value in TAGS.items()],
    )["JobFlowId"]
    began_s, state = time.monotonic(), ""
    while state != "WAITING":
        assert time.monotonic() - began_s < WAIT_S, state
        time.sleep(0.1)
        state = emr.describe_cluster(ClusterId=cluster)["Cluster"]["Status"]["State"]
    cloud.inject(Faults(ending_s=WAIT_S))
    emr.terminate_job_flows(JobFlowIds=[cluster])
    said = Said()
    with ends_once_waited_for(cloud, said):
        left = leftovers(said).find()
    assert {line.rpartition(" ")[0] for line in left} >= {"VPC", "instance"}, "its subnet and the world's own host live"
    assert len([line for line in left if line.startswith("instance i-")]) == 1
    assert not [line for line in left if cluster in line]
    assert cluster in said.details[0]
