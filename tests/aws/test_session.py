"""AWS that says "not now" or "not you any more": asked again, or said with what to do. In the local cloud, through the real doors."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from pathlib import Path

import botocore.endpoint
import pytest

from provisioning.errors import MissingRequirement, SameboxError
from provisioning.testbeds.aws.clusters import end_clusters as end_clusters_of
from provisioning.testbeds.aws.pulumi_command import ScriptedPulumi
from provisioning.testbeds.aws.rehearsal.cloud.things import client
from provisioning.testbeds.aws.session import session
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.storage import Bucket
from provisioning.testbeds.aws.sweep import Sweep
from tests.aws.test_campaign_aws import CONFIG
from tests.aws.test_clusters import STACK
from tests.cloud.faults import Cloud, Faults, local_cloud

pytestmark = pytest.mark.integration
# more than boto3 asks by itself, however it is configured
REFUSALS = 6


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud without hosts."""
    with local_cloud(tmp_path_factory.mktemp("cloud"), hosts=False) as started:
        yield started


@pytest.fixture
def cloud(running: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """Reached as an operator reaches AWS; what waits before it asks again doesn't."""
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(botocore.endpoint, "time", types.SimpleNamespace(sleep=lambda _: None))
    yield running
    running.inject(Faults())


def test_a_sweep_outlasts_too_many_requests(cloud: Cloud) -> None:
    """Of EC2, of IAM, of S3, and of the question who is calling."""
    actions = ("ec2:DescribeVpcs", "iam:ListRoles", "s3:ListAllMyBuckets", "sts:GetCallerIdentity", "tag:GetResources")
    cloud.inject(Faults(throttled=dict.fromkeys(actions, REFUSALS)))
    found = Sweep([cloud.region]).find()
    assert found.refused == ()


def end_clusters(cloud: Cloud) -> None:
    """Those of a stack with nothing but its config."""
    del cloud
    end_clusters_of(Stack("sn", Path(), command=ScriptedPulumi([(CONFIG, STACK)])), lambda _: None)


def read_bucket(cloud: Cloud) -> None:
    """What is in one."""
    Bucket(session(cloud.region), "samebox-kept").sizes("")


@pytest.mark.parametrize("door", [end_clusters, read_bucket])
def test_ended_credentials_are_said_with_what_to_do(
    cloud: Cloud, door: Callable[[Cloud], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They end after AWS was asked who is calling: in the middle. With new ones the same command goes on."""
    if not client(cloud, "s3").list_buckets()["Buckets"]:
        where = {"LocationConstraint": cloud.region}
        client(cloud, "s3").create_bucket(Bucket="samebox-kept", CreateBucketConfiguration=where)
    opened = session(cloud.region)
    with monkeypatch.context() as patched:
        for module in ("provisioning.testbeds.aws.clusters", __name__):
            patched.setattr(f"{module}.session", lambda _: opened)
        cloud.inject(Faults(credentials_expired=True))
        with pytest.raises(SameboxError, match=r"the credentials have expired: .*Expired") as ended:
            door(cloud)
        assert "aws sso login" in ended.value.next_step
        assert "the same command again" in ended.value.next_step
    cloud.inject(Faults())
    door(cloud)


def test_credentials_that_have_ended_before_are_refused_at_once(cloud: Cloud) -> None:
    """With the same advice."""
    cloud.inject(Faults(credentials_expired=True))
    with pytest.raises(MissingRequirement, match=r"AWS didn't confirm the credentials: .*ExpiredToken") as refused:
        session(cloud.region)
    assert "aws sso login" in refused.value.next_step
