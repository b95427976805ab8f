"""Client hosts sending their records to a bucket: the real program over real SSH, the bucket in the local cloud."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest

from bench.checkout import CHECKOUT
from bench.load.collect import Upload
from bench.load.load import LoadResult
from bench.load.workers import RecordFile
from provisioning.errors import HostError, HostsFailed
from provisioning.hosts.inventory import RecordsBucket
from provisioning.hosts.ssh import SshHost
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud, local_cloud

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.integration
BUCKET, FOLDER, TRIAL = "records-of-tests", "results/demo-20261121T000000Z", "b01-1-kafka-l2-steady"
RUN = "load/0badcafe"
FILES = {
    "produced/producer-0000-0.parquet": b"p" * 300_000,
    "produced/producer-0000-1.parquet": b"",
    "consumed/consumer-0000-0.parquet": b"c" * 20,
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud with a bucket."""
    with local_cloud(tmp_path_factory.mktemp("cloud"), hosts=False) as running:
        s3(running).create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        yield running


def s3(cloud: Cloud) -> S3Client:
    """The operator's view of it."""
    return boto3.client(
        "s3",
        endpoint_url=cloud.endpoint,
        region_name=cloud.region,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


@pytest.fixture
def client(hosts: dict[str, SshHost]) -> Iterator[SshHost]:
    """A client host that has recorded a run."""
    host = hosts["client-1"]
    for name, content in FILES.items():
        host.put(content, f"{host.record.root}/{RUN}/{name}")
    yield host
    host.run(f"rm -rf {host.record.root}/{RUN}")


def result(**sizes: int) -> LoadResult:
    """What the run's workers said of it; `sizes` contradict."""
    files = tuple(
        RecordFile("client-1", name, rows=1, bytes=sizes.get(name, len(content))) for name, content in FILES.items()
    )
    return LoadResult(RUN, (), (), files, (), None, 0, None, None)


def upload_to(cloud: Cloud, bucket: str = BUCKET) -> tuple[Upload, list[str]]:
    """The collector, and what it says meanwhile. Credentials stand in the environment, as an instance has its role's."""
    settings = " ".join(f"{name}={value}" for name, value in cloud.environment.items())
    python = f"env {settings} PYTHONPATH={CHECKOUT} {sys.executable}"
    said: list[str] = []
    return Upload(RecordsBucket(bucket, cloud.region), FOLDER, {"client-1": python}, said.append), said


def in_bucket(cloud: Cloud) -> dict[str, int]:
    """Name inside the trial -> bytes."""
    prefix = f"{FOLDER}/trials/{TRIAL}/"
    found = s3(cloud).list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    return {each["Key"].removeprefix(prefix): each["Size"] for each in found if not each["Key"].endswith("/")}


def test_records_arrive_and_only_those(client: SshHost, cloud: Cloud) -> None:
    """Every file, whole, and nothing stays on the host."""
    collector, said = upload_to(cloud)
    collector.collect(result(), [client], TRIAL)
    assert in_bucket(cloud) == {name: len(content) for name, content in FILES.items()}
    assert said[-1] == "client-1: 3 of 3 record files sent"
    assert client.run(f"test -e {client.record.root}/{RUN}", check=False).exit_status != 0


def test_what_did_not_arrive_whole_stays_on_the_host(client: SshHost, cloud: Cloud) -> None:
    """A size other than the writer's is an error with both, and nothing is removed here."""
    collector, _ = upload_to(cloud)
    with pytest.raises(HostsFailed, match="has 20 bytes instead of 21"):
        collector.collect(result(**{"consumed/consumer-0000-0.parquet": 21}), [client], TRIAL)
    for name, content in FILES.items():
        assert client.get(f"{client.record.root}/{RUN}/{name}") == content


def test_a_bucket_that_cannot_be_written_is_said(client: SshHost, cloud: Cloud) -> None:
    """In AWS' words, with what to look at; the records stay."""
    collector, _ = upload_to(cloud, "no-such-bucket")
    with pytest.raises((HostError, HostsFailed)) as failed:
        collector.collect(result(), [client], TRIAL)
    assert "no-such-bucket" in str(failed.value)
    assert "NO_SUCH_BUCKET" in str(failed.value) or "does not exist" in str(failed.value)
    assert (
        client.get(f"{client.record.root}/{RUN}/consumed/consumer-0000-0.parquet")
        == FILES["consumed/consumer-0000-0.parquet"]
    )
