"""Records that the client hosts sent to a bucket are brought here, without any stack. AWS is moto in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from bench.cli.main import samebox
from bench.results.folder import Results
from bench.results.sent_records import bring_here, require_here, sent_records
from provisioning.errors import InvalidInput, SameboxError
from provisioning.testbeds.aws.bucket_layout import results_folder
from provisioning.testbeds.aws.storage import Bucket
from tests.analysis.synthetic_results import Plan, Shape, write_results
from tests.aws.heard import Heard
from tests.aws.sent_records import let_hosts_send_records

REGION, NAME = "us-west-2", "samebox-smoke-1234567"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """The bucket of a stack that is gone."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        opened = boto3.session.Session(region_name=REGION)
        opened.client("s3").create_bucket(Bucket=NAME, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        yield Bucket(opened, NAME)


@pytest.fixture
def results(tmp_path: Path, bucket: Bucket) -> Results:
    """Two trials whose records the hosts have sent."""
    plans = [Plan("b01-1-pulsar-l1-steady", 1, 1, "pulsar"), Plan("b01-2-kafka-l1-steady", 1, 2, "kafka")]
    made = Results(write_results(tmp_path / "results" / "demo", plans, Shape(rate_per_s=20)))
    folder = results_folder(made.name_in_bucket())
    let_hosts_send_records(
        made, NAME, send=lambda name, file: bucket.upload({f"{folder}/{name}": file}, lambda _key: None)
    )
    return made


def test_records_come_back_whole(results: Results, bucket: Bucket) -> None:
    """All of them, with their bytes; then the report is no longer refused here, and nothing is fetched twice."""
    with pytest.raises(InvalidInput, match=f"are in the bucket {NAME}"):
        require_here(results)
    heard = Heard()

    bring_here(results, bucket, heard)

    require_here(results)
    sent = sent_records(results).completed
    assert {name: (results.root / name).stat().st_size for name in sent} == dict(sent)
    assert len(heard.details) == len(sent) == 8
    again = Heard()
    bring_here(results, bucket, again)
    assert (again.notices, again.details) == ([], [])


def test_what_is_half_here_is_fetched_again(results: Results, bucket: Bucket) -> None:
    """A fetch that was cut off is gone on with: of what is here only a file of another size is replaced."""
    bring_here(results, bucket, Heard())
    name = next(iter(sent_records(results).completed))
    (results.root / name).write_bytes(b"half")
    heard = Heard()

    bring_here(results, bucket, heard)

    assert len(heard.details) == 1
    require_here(results)
    assert not list(results.root.rglob(".partial-*"))


def test_a_bucket_that_lacks_records_is_refused_before_anything_is_fetched(results: Results, bucket: Bucket) -> None:
    """It names the bucket that the results name."""
    first = next(iter(sent_records(results).completed))
    bucket.delete([f"{results_folder(results.name_in_bucket())}/{first}"])

    with pytest.raises(SameboxError, match="lacks 1 record files") as lacking:
        bring_here(results, bucket, Heard())

    assert NAME in (lacking.value.next_step or "")
    assert not list(results.root.glob("trials/*/produced/*"))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--from", "s3://one/two"), "not a bucket"),
        (("--from", f"s3://{NAME}", "--on", "emr"), "--from needs --on local"),
    ],
)
def test_what_cannot_be_meant_is_refused(results: Results, typed: tuple[str, ...], said: str) -> None:
    """In a sentence, before anything is asked of AWS."""
    with pytest.raises(InvalidInput, match=said):
        samebox.main(["report", str(results.root), *typed], standalone_mode=False)


def test_records_that_are_here_never_were_in_a_bucket(tmp_path: Path) -> None:
    """--from means nothing for results of a local testbed."""
    here = Results(
        write_results(tmp_path / "demo", [Plan("b01-1-kafka-l1-steady", 1, 1, "kafka")], Shape(rate_per_s=20))
    )
    with pytest.raises(InvalidInput, match="never were in a bucket"):
        samebox.main(["report", str(here.root), "--from", "s3://b"], standalone_mode=False)
