"""A local cloud with what a stack makes for the report: bucket, private network, roles. And results to report on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.loaders
import pytest
from moto.utilities.utils import load_resource

from bench.results.folder import Results
from provisioning.testbeds.aws.emr_target import RELEASE, ClusterTimer, EmrTarget
from provisioning.testbeds.aws.rehearsal.cloud.cluster_machine import s3_libraries
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud, local_cloud
from tests.analysis.synthetic_results import Plan, Shape, write_results

BUCKET, EXPIRES = "samebox-results-demo", "2026-11-21T20:00:00Z"


@pytest.fixture(scope="session", autouse=True)
def services_read_once() -> Iterator[None]:
    """All sessions of a process share botocore's descriptions of the services, megabytes of JSON, which each would read for itself."""
    loader = botocore.loaders.create_loader()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("botocore.session.create_loader", lambda _search_path=None: loader)
        yield


@pytest.fixture
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """moto without the images of ECS: it makes 1,225 of them, each with a volume, for every test and region, and none is asked for."""

    def load_others(path: str) -> Any:
        if "/ecs/" in path:
            raise FileNotFoundError(path)
        return load_resource(path)

    monkeypatch.setattr("moto.ec2.models.amis.load_resource", load_others)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud whose EMR executes; every AWS client of this process speaks to it."""
    s3_libraries()  # the first time that is a download, which no step should wait for
    with pytest.MonkeyPatch.context() as patched, local_cloud(tmp_path_factory.mktemp("cloud"), hosts=False) as started:
        for name, value in started.environment.items():
            patched.setenv(name, value)
        yield started


@pytest.fixture(scope="module")
def target(cloud: Cloud) -> EmrTarget:
    """What the stack's outputs would say."""
    opened = boto3.session.Session(region_name=cloud.region)
    opened.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    ec2, iam = opened.client("ec2"), opened.client("iam")
    vpc = ec2.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
    groups = [
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"]
        for name in ("primary", "core", "service")
    ]
    for role in ("samebox-report-service", "samebox-report-machine"):
        iam.create_role(RoleName=role, AssumeRolePolicyDocument="{}")
    iam.create_instance_profile(InstanceProfileName="samebox-report-machine")
    role = iam.create_role(RoleName="samebox-end", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    opened.client("scheduler").create_schedule_group(Name="samebox-end")
    return EmrTarget(
        region=cloud.region,
        bucket=BUCKET,
        service_role="samebox-report-service",
        instance_profile="samebox-report-machine",
        subnet=ec2.create_subnet(VpcId=vpc, CidrBlock="10.20.2.0/24")["Subnet"]["SubnetId"],
        master_security_group=groups[0],
        slave_security_group=groups[1],
        service_access_security_group=groups[2],
        release=RELEASE,
        instance_type="m5.xlarge",
        instances=2,
        tags={"project": "samebox", "campaign": "demo", "owner": "tester", "expires": EXPIRES},
        timer=ClusterTimer("samebox-end", role, EXPIRES),
    )


@pytest.fixture
def results(tmp_path: Path, request: pytest.FixtureRequest) -> Results:
    """A small campaign's results, another campaign for each test: none finds another's report."""
    plans = [
        Plan("b01-1-pulsar-l1-steady", 1, 1, "pulsar"),
        Plan("b01-2-kafka-l1-steady", 1, 2, "kafka", lost=((0, 90),)),
    ]
    name = request.function.__name__.replace("_", "-")
    return Results(write_results(tmp_path / "results" / "demo", plans, Shape(rate_per_s=200), campaign=name))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell that starts tests in the background has SIGINT ignored, which the command would inherit."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
