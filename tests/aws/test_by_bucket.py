"""Software to hosts on AWS: it leaves this machine once, whatever their number; and reaches them all the same where that fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from provisioning.cache import sha256_of
from provisioning.errors import CommandFailed, Completed
from provisioning.hosts.host import COMMAND_TIMEOUT_S
from provisioning.hosts.inventory import HostRecord, SshAddress
from provisioning.software.delivery import Content, deliver, directory, lacking, pack
from provisioning.testbeds.aws.by_bucket import ByBucket, fetch_command
from provisioning.testbeds.aws.rehearsal.cloud.things import client
from provisioning.testbeds.aws.storage import Bucket
from tests.cloud.faults import Cloud, Faults, local_cloud
from tests.provisioning.shell_host import ShellHost

pytestmark = pytest.mark.integration
BUCKET = "samebox-smoke-1"
BYTES = 3_000_000
NAMES = ("broker-1", "broker-2", "broker-3", "client-1")


class CountedHost(ShellHost):
    """A folder of this machine that runs commands; counts what is sent to it directly, in bytes."""

    pushed_bytes = 0
    has_curl = True

    def run(
        self, command: str, *, timeout_s: float = COMMAND_TIMEOUT_S, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        """In this machine's shell."""
        known = command if self.has_curl else command.replace("curl", "no-such-curl")
        done = super().run(known, timeout_s=timeout_s, check=False, stdin=stdin)
        if check and done.exit_status != 0:
            raise CommandFailed(self.name, done)
        return done

    def push(self, source: Path, path: str, *, mode: int = 0o644) -> None:
        """Sent from the operator's machine."""
        del mode
        self.pushed_bytes += source.stat().st_size
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(source.read_bytes())


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud with the results bucket of a stack."""
    with local_cloud(tmp_path_factory.mktemp("cloud"), hosts=False) as started:
        where = {"LocationConstraint": started.region}
        client(started, "s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=where)
        yield started


@pytest.fixture
def cloud(running: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """As the operator's environment has it; the bucket is empty again afterwards."""
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    yield running
    running.inject(Faults())
    for key in kept(running):
        client(running, "s3").delete_object(Bucket=BUCKET, Key=key)


@pytest.fixture
def hosts(tmp_path: Path) -> list[CountedHost]:
    """Four that have nothing."""
    address = SshAddress("127.0.0.1", 22, "ec2-user", "ssh-ed25519 AAAA")
    return [
        CountedHost(HostRecord(name, "broker", address, "127.0.0.1", str(tmp_path / name), (), name, "i3en.large", 1))
        for name in NAMES
    ]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A bundle of one file."""
    (tmp_path / "jar").write_bytes(b"j" * BYTES)
    pack([("libs/a.jar", tmp_path / "jar")], tmp_path / "bundle.tar")
    return tmp_path / "bundle.tar"


def kept(cloud: Cloud) -> dict[str, int]:
    """Key -> bytes of what lies in the bucket."""
    found = client(cloud, "s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return {each["Key"]: each["Size"] for each in found}


def bring(archive: Path, hosts: list[CountedHost], bucket: str = BUCKET) -> list[str]:
    """Delivers the archive to all hosts, which have it whole afterwards; returns what was said."""
    said: list[str] = []
    content = Content("kafka-1", "d" * 64)
    files = [("libs/a.jar", archive.with_name("jar"))]
    way = ByBucket(bucket, "us-west-2", said.append)
    deliver(hosts, content, lambda: files, archive.parent / "cache", notice=said.append, way=way)
    assert lacking(hosts, content) == []
    for host in hosts:
        assert (Path(directory(host, content)) / "libs" / "a.jar").stat().st_size == BYTES
    return said


def test_it_leaves_this_machine_once(cloud: Cloud, archive: Path, hosts: list[CountedHost]) -> None:
    """One upload for four hosts, named by what it is; hosts that come later cost nothing more."""
    said = bring(archive, hosts[:2])
    assert len(said) == 1
    assert kept(cloud) == {f"software/{sha256_of(archive)}.tar": archive.stat().st_size}
    assert bring(archive, hosts[2:]) == []
    assert [host.pushed_bytes for host in hosts] == [0] * len(hosts)


def test_equal_files_are_equal_archives(tmp_path: Path) -> None:
    """Whenever they were written: so that it is found in the bucket again."""
    sums = set()
    for name in ("first", "second"):
        file = tmp_path / name
        file.write_bytes(b"same")
        os.utime(file, (len(name), len(name)))
        pack([("a", file)], tmp_path / f"{name}.tar")
        sums.add(sha256_of(tmp_path / f"{name}.tar"))
    assert len(sums) == 1


def test_a_single_host_gets_it_directly(cloud: Cloud, archive: Path, hosts: list[CountedHost]) -> None:
    """By the bucket not a byte less would leave this machine."""
    assert bring(archive, hosts[:1]) == []
    assert (hosts[0].pushed_bytes, kept(cloud)) == (archive.stat().st_size, {})


@pytest.mark.parametrize("why", ["no bucket", "no credentials"])
def test_without_the_bucket_each_host_gets_it_directly(
    cloud: Cloud, archive: Path, hosts: list[CountedHost], why: str
) -> None:
    """The bucket is gone; or nobody here may ask AWS, as where somebody else made the inventory."""
    cloud.inject(Faults(credentials_expired=why == "no credentials"))
    said = bring(archive, hosts, bucket="samebox-gone-1" if why == "no bucket" else BUCKET)
    assert ["instead of by the bucket" in line for line in said] == ([True] if why == "no bucket" else [])
    assert {host.pushed_bytes for host in hosts} == {archive.stat().st_size}


def test_a_host_that_fetches_something_else_refuses_it(cloud: Cloud, tmp_path: Path, hosts: list[CountedHost]) -> None:
    """The link leads to other bytes than were meant, or nowhere: nothing is left of them."""
    client(cloud, "s3").put_object(Bucket=BUCKET, Key="software/a.tar", Body=b"other")
    bucket = Bucket(boto3.session.Session(region_name=cloud.region), BUCKET)
    target = tmp_path / "box" / "a.tar"
    for key in ("software/a.tar", "software/none.tar"):
        order = f'url = "{bucket.link(key, 60)}"\n'.encode()
        with pytest.raises(CommandFailed):
            hosts[0].run(fetch_command(str(target), "0" * 64), stdin=order)
        assert list(target.parent.iterdir()) == []


def test_a_host_without_a_way_to_the_bucket_gets_it_directly(
    cloud: Cloud, archive: Path, hosts: list[CountedHost]
) -> None:
    """The others fetch it; who didn't is said."""
    hosts[1].has_curl = False
    said = bring(archive, hosts)
    assert "broker-2 can't fetch from the bucket" in said[-1]
    assert [host.pushed_bytes > 0 for host in hosts] == [False, True, False, False]
    assert len(kept(cloud)) == 1


def test_a_link_leads_to_the_buckets_own_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts have a way to no other S3; and it lasts as long as was said."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    opened = boto3.session.Session("testing", "testing", region_name="us-west-2")
    link = Bucket(opened, BUCKET).link("software/a.tar", 60)
    assert link.startswith(f"https://{BUCKET}.s3.us-west-2.amazonaws.com/software/a.tar?")
    assert "X-Amz-Expires=60" in link
