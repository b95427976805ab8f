"""The report on EMR, end to end: upload, cluster, spark-submit, S3 in and out, download. The double executes; nothing is made up.

What it can't show: containers on several machines, IAM's refusals, what a real release has installed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from bench.report.here import Verdicts, make_report
from bench.report.on_emr import make_report_on_emr
from bench.results.folder import Results
from provisioning.errors import SameboxError
from provisioning.testbeds.aws.bucket_layout import results_folder
from provisioning.testbeds.aws.emr_target import RELEASE, EmrTarget
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud
from provisioning.testbeds.aws.report_job import Timing
from provisioning.testbeds.aws.spark_step import SparkStep
from tests.aws.sent_records import let_hosts_send_records

pytestmark = [pytest.mark.integration, pytest.mark.timeout(2400)]
# what is to come comes: these are limits for a machine that is busy with others
PATIENCE_S = 900.0
QUICK = Timing(poll_every_s=0.3, logs_within_s=300.0, cluster_ends_within_s=300.0)
TRIAL = "b01-2-kafka-l1-steady"


class Heard:
    """Keeps what it is told; `event` is set when a notice holds `awaited`."""

    def __init__(self, awaited: str = "") -> None:
        self.notices: list[str] = []
        self.event = threading.Event()
        self._awaited = awaited

    def notice(self, text: str) -> None:
        self.notices.append(text)
        if self._awaited and self._awaited in text:
            self.event.set()

    def detail(self, text: str) -> None:
        del text

    @property
    def text(self) -> str:
        return "\n".join(self.notices)


def make(results: Results, target: EmrTarget, *, cluster: str | None = None, heard: Heard | None = None) -> Verdicts:
    """The report of `results`, on EMR."""
    return make_report_on_emr(results, target, cluster=cluster, progress=heard or Heard(), timing=QUICK)


def clusters(cloud: Cloud, results: Results) -> list[dict[str, Any]]:
    """The clusters that were ever started for these results, described."""
    emr = boto3.client("emr", region_name=cloud.region)
    mine = [one["Id"] for one in emr.list_clusters()["Clusters"] if results.name_in_bucket() in one["Name"]]
    return [dict(emr.describe_cluster(ClusterId=cluster)["Cluster"]) for cluster in mine]


def keys(bucket: str, prefix: str) -> set[str]:
    """What lies below a prefix."""
    pages = boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return {found["Key"] for page in pages for found in page.get("Contents", [])}


Reworded = Callable[[Callable[[list[str]], list[str]]], None]


@pytest.fixture
def reworded(monkeypatch: pytest.MonkeyPatch) -> Reworded:
    """Makes the step's command another one: reworded(lambda words: ...)."""
    full = SparkStep.command.fget  # type: ignore[attr-defined]

    def reword(change: Callable[[list[str]], list[str]]) -> None:
        monkeypatch.setattr(SparkStep, "command", property(lambda self: change(full(self))))

    return reword


def test_report_from_results_to_report(cloud: Cloud, target: EmrTarget, results: Results) -> None:
    """Uploaded, computed from s3:// to s3://, fetched; the cluster was tagged and has ended, and so have its machines."""
    heard = Heard()
    verdicts = make(results, target, heard=heard)
    assert verdicts.not_met == (f"{TRIAL}: no-loss: {_sentence(results, 'no-loss')}",)
    assert {"index.html", "checks.json", "report.json", "summary.parquet", "_SUCCESS"} <= {
        file.name for file in results.report_dir.iterdir()
    }
    assert list((results.report_dir / "data").glob("time-*.csv"))
    [cluster] = clusters(cloud, results)
    assert cluster["Status"]["State"] in ("TERMINATING", "TERMINATED")
    assert {tag["Key"]: tag["Value"] for tag in cluster["Tags"]} == dict(target.tags)
    assert "the step running" in heard.text and "the step completed" in heard.text
    assert _within(PATIENCE_S, lambda: not _running_machines(cloud))
    # in the bucket, results are as docs/records.md has them, reports are apart, and nothing half-written stays
    name = results.name_in_bucket()
    found = keys(target.bucket, f"results/{name}/")
    local = {str(file.relative_to(results.root)) for file in results.root.rglob("*") if file.is_file()}
    assert {key.removeprefix(f"results/{name}/") for key in found} == {
        file for file in local if not file.startswith("report/")
    }
    assert not [key for key in keys(target.bucket, f"reports/{name}/") if ".writing" in key]


def _running_machines(cloud: Cloud) -> list[Any]:
    alive: Any = {"Name": "instance-state-name", "Values": ["pending", "running"]}
    return list(boto3.client("ec2", region_name=cloud.region).describe_instances(Filters=[alive])["Reservations"])


def _within(timeout_s: float, holds: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.2)
    return True


def _sentence(results: Results, check: str) -> str:
    checks = json.loads(results.checks_file.read_text())
    return str(next(one["sentence"] for one in checks if (one["trial"], one["check"]) == (TRIAL, check)))


@pytest.mark.infra
def test_a_report_on_records_that_the_hosts_sent(target: EmrTarget, results: Results) -> None:
    """The same figures as from records here; what an attempt at a trial left there that was cut off isn't counted."""
    make_report(results, master="local[2]", on_line=lambda _: None)
    wanted = (results.report_dir / "summary.csv").read_text()
    s3, folder = boto3.client("s3"), results_folder(results.name_in_bucket())

    def send(name: str, file: Path) -> None:
        s3.upload_file(str(file), target.bucket, f"{folder}/{name}")
        if "00000" in file.name:
            s3.upload_file(str(file), target.bucket, f"{folder}/{name.replace('00000', 'of-another-attempt')}")

    sent = let_hosts_send_records(results, target.bucket, send=send)
    make(results, target)
    assert (results.report_dir / "summary.csv").read_text() == wanted
    records = {
        key for key in keys(target.bucket, f"{folder}/trials/") if "/hosts/" not in key and key.endswith(".parquet")
    }
    assert records == {f"{folder}/{name}" for name in sent}


@pytest.mark.infra
def test_it_is_the_report_that_this_machine_makes(target: EmrTarget, results: Results, tmp_path: Path) -> None:
    """The same job from the same records: the same numbers and verdicts."""
    make(results, target)
    kept = results.report_dir.rename(tmp_path / "from-emr")
    make_report(results, master="local[2]", on_line=lambda _: None)
    for name in ("checks.json", "summary.csv"):
        assert (kept / name).read_text() == (results.report_dir / name).read_text(), name


@pytest.mark.infra
def test_typed_twice_it_is_paid_once(cloud: Cloud, target: EmrTarget, results: Results) -> None:
    """The second time the report is only fetched; after a change of the results it is made anew, and no record is sent again."""
    make(results, target)
    first = results.checks_file.read_bytes()
    heard = Heard()
    make(results, target, heard=heard)
    assert results.checks_file.read_bytes() == first
    assert len(clusters(cloud, results)) == 1
    assert "already" in heard.text and "uploading" not in heard.text

    manifest = json.loads(results.manifest_file.read_text())
    results.manifest_file.write_text(json.dumps({**manifest, "question": "Another?"}))
    again = Heard()
    make(results, target, heard=again)
    assert len(clusters(cloud, results)) == 2
    assert "uploading records" not in again.text and "uploading Python packages" not in again.text
    assert "Another?" in results.report_file.read_text()


@pytest.mark.infra
def test_while_it_runs_a_second_command_follows_the_first(
    cloud: Cloud, target: EmrTarget, results: Results, tmp_path: Path
) -> None:
    """Both get the report, one cluster is paid."""
    heard, errors = Heard("is running"), list[BaseException]()

    def first() -> None:
        try:
            make(results, target, heard=heard)
        except BaseException as error:
            errors.append(error)

    copy = Results(tmp_path / "copy" / "demo")
    subprocess.run(["cp", "-r", str(results.root), str(_made(copy.root.parent))], check=True)
    thread = threading.Thread(target=first)
    thread.start()
    try:
        assert heard.event.wait(PATIENCE_S), heard.text
        second = Heard()
        make(copy, target, heard=second)
    finally:
        thread.join(PATIENCE_S)
    assert not errors
    assert "submitted already" in second.text
    assert len(clusters(cloud, results)) == 1
    assert copy.checks_file.read_bytes() == results.checks_file.read_bytes()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def given_cluster(cloud: Cloud, target: EmrTarget) -> Iterator[str]:
    """A cluster of the operator's own, which waits for steps."""
    emr = boto3.client("emr", region_name=cloud.region)
    request: Any = {
        "Name": "ours",
        "ReleaseLabel": RELEASE,
        "ServiceRole": target.service_role,
        "JobFlowRole": target.instance_profile,
        "LogUri": f"s3://{target.bucket}/other-logs/",
        "Instances": {
            "InstanceGroups": [
                {"InstanceRole": "MASTER", "InstanceType": "m5.xlarge", "InstanceCount": 1},
                {"InstanceRole": "CORE", "InstanceType": "m5.2xlarge", "InstanceCount": 2},
            ],
            "KeepJobFlowAliveWhenNoSteps": True,
            "Ec2SubnetId": target.subnet,
            "EmrManagedMasterSecurityGroup": target.master_security_group,
            "EmrManagedSlaveSecurityGroup": target.slave_security_group,
        },
    }
    cluster = emr.run_job_flow(**request)["JobFlowId"]
    yield cluster
    emr.terminate_job_flows(JobFlowIds=[cluster])


@pytest.mark.infra
def test_a_given_cluster_is_used_and_left(
    cloud: Cloud, target: EmrTarget, results: Results, given_cluster: str
) -> None:
    """It runs the step, none is started, it waits for more; a failed step doesn't end it either."""
    make(results, target, cluster=given_cluster)
    assert clusters(cloud, results) == []
    emr = boto3.client("emr", region_name=cloud.region)
    assert emr.describe_cluster(ClusterId=given_cluster)["Cluster"]["Status"]["State"] in ("RUNNING", "WAITING")
    _break_a_record(results)
    with pytest.raises(SameboxError, match="not a readable Parquet file"):
        make(results, target, cluster=given_cluster)
    assert emr.describe_cluster(ClusterId=given_cluster)["Cluster"]["Status"]["State"] in ("RUNNING", "WAITING")


def _break_a_record(results: Results) -> None:
    record = next(results.trial_dir(TRIAL).glob("produced/*.parquet"))
    record.write_bytes(record.read_bytes()[:-9])


@pytest.mark.infra
def test_a_job_that_fails_says_why(cloud: Cloud, target: EmrTarget, results: Results) -> None:
    """The job's own words, from the driver's log; where the rest is; an earlier report stays; the cluster has ended."""
    _break_a_record(results)
    results.report_dir.mkdir()
    results.report_file.write_text("an earlier report")
    with pytest.raises(SameboxError) as failed:
        make(results, target)
    assert "not a readable Parquet file" in str(failed.value)
    assert f"{TRIAL}/produced/" in str(failed.value)
    assert "Traceback" not in str(failed.value)
    assert "logs/emr/" in failed.value.next_step
    assert results.report_file.read_text() == "an earlier report"
    [cluster] = clusters(cloud, results)
    assert cluster["Status"]["State"] in ("TERMINATING", "TERMINATED", "TERMINATED_WITH_ERRORS")
    # what failed isn't taken for what is on its way
    with pytest.raises(SameboxError):
        make(results, target)
    assert len(clusters(cloud, results)) == 2


@pytest.mark.infra
def test_without_its_packages_the_job_fails(target: EmrTarget, results: Results, reworded: Reworded) -> None:
    """The cluster's Python has none of them, so nothing of this machine's can have leaked in."""

    def without_archive(words: list[str]) -> list[str]:
        at = words.index("--archives")
        return words[:at] + words[at + 2 :]

    reworded(without_archive)
    with pytest.raises(SameboxError, match="No module named"):
        make(results, target)


@pytest.mark.infra
def test_executors_need_the_packages_too(target: EmrTarget, results: Results, reworded: Reworded) -> None:
    """What the driver is given, no executor inherits."""
    reworded(lambda words: [word.replace("spark.executorEnv.PYTHONPATH", "spark.executorEnv.OTHER") for word in words])
    with pytest.raises(SameboxError, match="failed on") as failed:
        make(results, target)
    assert "must be installed" in str(failed.value) or "No module named" in str(failed.value)


@pytest.mark.infra
def test_an_archive_that_is_gone_fails_the_step(target: EmrTarget, results: Results, reworded: Reworded) -> None:
    """spark-submit's own words are shown when there is no driver yet."""
    reworded(lambda words: [word.replace("/code/libraries-", "/code/gone-") for word in words])
    with pytest.raises(SameboxError, match=r"FileNotFoundException.*gone-"):
        make(results, target)


@pytest.mark.infra
def test_executors_without_room_beside_the_driver_fail_the_step(
    target: EmrTarget, results: Results, reworded: Reworded
) -> None:
    """On AWS nothing would happen until the step's time is up; the double says at once what Spark would say again and again."""
    size = f"spark.executor.memory={target.sizes().executor.heap_mib}m"
    reworded(lambda words: [word.replace(size, "spark.executor.memory=8g") for word in words])
    with pytest.raises(SameboxError, match="Initial job has not accepted any resources"):
        make(results, target)


@pytest.mark.infra
@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"instance_profile": "nobody"}, "Invalid InstanceProfile: nobody"),
        ({"subnet": "subnet-0123456789abcdef0"}, "subnet-0123456789abcdef0"),
    ],
)
def test_a_cluster_that_cannot_start_says_why(
    target: EmrTarget, results: Results, wrong: dict[str, str], named: str
) -> None:
    """In EMR's words, without waiting for logs that can't come."""
    with pytest.raises(SameboxError, match=named):
        make(results, replace(target, **wrong))  # type: ignore[arg-type]


def outputs(target: EmrTarget, folder: Path) -> Path:
    """The target as `pulumi stack output --json` prints it."""
    file = folder / "outputs.json"
    emr = {key: value for key, value in vars(target).items() if key not in ("region", "bucket", "tags", "timer")}
    assert target.timer is not None
    document = {
        "region": target.region,
        "resultsBucket": target.bucket,
        "emr": emr,
        "timer": {"group": target.timer.group, "role": target.timer.role},
        "inventory": {
            "schema": 1,
            "testbed": {"kind": "aws", "name": "demo"},
            "expires": target.timer.expires,
            "hosts": [],
        },
    }
    file.write_text(json.dumps(document))
    return file


@pytest.mark.infra
@pytest.mark.usefixtures("interruptible")
def test_interrupted_the_step_goes_on_and_the_same_command_comes_back(
    cloud: Cloud, target: EmrTarget, results: Results, tmp_path: Path
) -> None:
    """Ctrl-C says what goes on and how to end it; typed again, the command brings the report, and one cluster is paid."""
    samebox = str(Path(sys.executable).with_name("samebox"))
    command = [
        samebox,
        "report",
        str(results.root),
        "--on",
        "emr",
        "--outputs",
        str(outputs(target, tmp_path)),
        "--plain",
    ]
    environment = {**os.environ, "SAMEBOX_HOME": str(tmp_path), "COLUMNS": "400"}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        heard = []
        for line in process.stderr:
            heard.append(line)
            if "is running" in line:
                process.send_signal(signal.SIGINT)
                break
        _, rest = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, "".join(heard) + rest
    [cluster] = clusters(cloud, results)
    assert f"{cluster['Id']} keeps running and ends by itself" in rest
    assert f"terminate-clusters --region {cloud.region} --cluster-ids {cluster['Id']}" in rest
    assert "Traceback" not in rest

    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert again.returncode == 0, again.stderr
    assert "Report: " in again.stdout
    assert len(clusters(cloud, results)) == 1
    assert results.report_file.is_file()
