"""The EMR step's parts without a cluster: what is asked for, what is found again, what is refused. AWS is moto in this process."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from botocore.validate import ParamValidator
from moto import mock_aws

from bench.checkout import CHECKOUT
from bench.cli.report import require_consistent
from bench.report.here import analysis_files, analysis_requirements, make_report, zip_analysis
from bench.report.on_emr import report_job
from bench.results.folder import Results
from provisioning.errors import InvalidInput, SameboxError
from provisioning.testbeds.aws.emr import Emr, Ended, Running
from provisioning.testbeds.aws.emr_logs import last_words
from provisioning.testbeds.aws.emr_sizes import sizes_on
from provisioning.testbeds.aws.emr_target import RELEASE, EmrTarget, emr_target
from provisioning.testbeds.aws.libraries import CLUSTER_PYTHON, libraries
from provisioning.testbeds.aws.rehearsal.cloud.yarn import require_room
from provisioning.testbeds.aws.rehearsal.cloud.yarn_submit import Refused, parse
from provisioning.testbeds.aws.report_job import ReportJob, report_on_emr
from provisioning.testbeds.aws.spark_step import SparkStep, cluster_request
from provisioning.testbeds.aws.storage import Bucket, Location, location
from tests.analysis.synthetic_results import Plan, Shape, write_results
from tests.aws.heard import Heard
from tests.aws.sent_records import let_hosts_send_records

REGION = "us-west-2"
OUTPUTS: dict[str, Any] = {
    "region": REGION,
    "resultsBucket": "samebox-demo",
    "emr": {
        "service_role": "samebox-emr",
        "instance_profile": "samebox-emr-hosts",
        "subnet": "subnet-1",
        "master_security_group": "sg-1",
        "slave_security_group": "sg-2",
        "service_access_security_group": "sg-3",
        "release": RELEASE,
        "instance_type": "m5.xlarge",
        "instances": 3,
    },
    "timer": {"group": "samebox-end-1234567", "role": "arn:aws:iam::123456789012:role/samebox-end-1234567"},
    "inventory": {
        "schema": 1,
        "testbed": {"kind": "aws", "name": "demo"},
        "expires": "2026-11-21T20:00:00Z",
        "hosts": [],
    },
}
STEP = SparkStep(
    name="samebox-report-demo-0123",
    program="s3://b/code/job.py",
    package="s3://b/code/analysis.zip",
    archive="s3://b/code/libraries.tar.gz",
    arguments=("s3://b/results/demo", "--out", "s3://b/reports/demo"),
    sizes=sizes_on("m5.xlarge", 2, where="", next_step=""),
)


def target() -> EmrTarget:
    """The target of OUTPUTS."""
    return emr_target(OUTPUTS, where="stack demo")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.session.Session]:
    """moto in this process, with a bucket."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        opened = boto3.session.Session(region_name=REGION)
        opened.client("s3").create_bucket(Bucket="bbb", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        yield opened


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A small campaign's results."""
    plans = [Plan("b01-1-pulsar-l1-steady", 1, 1, "pulsar"), Plan("b01-2-kafka-l1-steady", 1, 2, "kafka")]
    return Results(write_results(tmp_path / "results" / "demo", plans, Shape(rate_per_s=20)))


# --- where ---------------------------------------------------------------------------------------------------------------
def test_target_is_what_the_stack_exports() -> None:
    """Every field comes from the outputs; the tags are those by which a sweep finds leftovers."""
    found = emr_target({**OUTPUTS, "owner": "someone", "stack": "mine"}, where="stack demo")
    assert (found.bucket, found.region, found.subnet, found.instances) == ("samebox-demo", REGION, "subnet-1", 3)
    assert found.tags == {
        "project": "samebox", "campaign": "demo", "stack": "mine", "expires": "2026-11-21T20:00:00Z", "owner": "someone",
        "for-use-with-amazon-emr-managed-policies": "true",
    }  # fmt: skip


def test_inventory_may_be_json_text() -> None:
    """A stack may export it as text."""
    as_text = {**OUTPUTS, "inventory": json.dumps(OUTPUTS["inventory"])}
    assert emr_target(as_text, where="stack demo") == target()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"resultsBucket": None}, "resultsBucket"),
        ({"emr": {**OUTPUTS["emr"], "release": "emr-7.5.0"}}, "emr-7.5.0"),
        ({"emr": {**OUTPUTS["emr"], "instance_type": "m7g.xlarge"}}, "m7g.xlarge"),
        ({"emr": {**OUTPUTS["emr"], "instance_type": "r5.xlarge"}}, r"r5.xlarge: .*Valid ones: .*m5.xlarge"),
        ({"emr": {**OUTPUTS["emr"], "instances": 0}}, "emr.instances"),
        ({"emr": {key: value for key, value in OUTPUTS["emr"].items() if key != "subnet"}}, "subnet"),
    ],
)
def test_a_target_that_cannot_work_is_refused(changes: dict[str, Any], named: str) -> None:
    """Before anything is uploaded, naming the output."""
    with pytest.raises(InvalidInput, match=named) as refused:
        emr_target({**OUTPUTS, **changes}, where="stack demo")
    assert "stack demo" in str(refused.value)


def test_release_has_the_tested_versions() -> None:
    """emr-7.13.0 is Spark 3.5.6; the job's Python is the repository's."""
    assert RELEASE == "emr-7.13.0"
    assert metadata.version("pyspark") == "3.5.6"
    assert CLUSTER_PYTHON.version == "3.11"


# --- what is asked for ----------------------------------------------------------------------------------------------------
def test_step_names_s3_only_and_the_program_after_every_option() -> None:
    """What follows the program is the program's; no word is a path of this machine."""
    command = STEP.command
    submission = parse(command[command.index("spark-submit") + 1 :])
    assert submission.program == STEP.program
    assert tuple(submission.arguments) == STEP.arguments
    assert submission.options["--archives"] == "s3://b/code/libraries.tar.gz#libraries"
    assert submission.options["--py-files"] == STEP.package
    assert (submission.options["--master"], submission.options["--deploy-mode"]) == ("yarn", "cluster")
    for place in ("spark.yarn.appMasterEnv.PYTHONPATH", "spark.executorEnv.PYTHONPATH"):
        assert submission.conf[place] == "./libraries"
    assert command[0] == "timeout"


@pytest.mark.parametrize("instances", [1, 2, 3, 20])
def test_the_steps_containers_have_room_on_its_cluster(instances: int) -> None:
    """As YARN counts, on the nodes that the request asks for, with the memory that it tells them to give."""
    where = replace(target(), instances=instances)
    step = replace(STEP, sizes=where.sizes())
    request = cluster_request(where, step, "s3://b/logs/emr/")
    command = step.command
    submission = parse(command[command.index("spark-submit") + 1 :])
    (yarn,) = request["Configurations"]
    assert yarn["Properties"]["yarn.nodemanager.resource.memory-mb"] == "12288"
    working = max(1, sum(one["InstanceCount"] for one in request["Instances"]["InstanceGroups"]) - 1)
    require_room(submission.sizes, [12_288] * working)


def test_a_misspelt_option_is_no_program() -> None:
    """The double reads a command line as spark-submit does."""
    with pytest.raises(Refused, match="--archive"):
        parse(["--archive", "s3://b/x", "s3://b/job.py"])
    assert parse(["s3://b/job.py", "--archives", "s3://b/x"]).arguments == ["--archives", "s3://b/x"]


def test_a_cluster_ends_with_its_step() -> None:
    """Transient, not protected, tagged, one step whose failure ends it too."""
    request = cluster_request(target(), STEP, "s3://b/logs/emr/")
    instances = request["Instances"]
    assert instances["KeepJobFlowAliveWhenNoSteps"] is False
    assert instances["TerminationProtected"] is False
    # it would never be idle, and EMR would ask for a permission to set the policy of any cluster: this one has no tags yet
    assert "AutoTerminationPolicy" not in request
    assert [step["ActionOnFailure"] for step in request["Steps"]] == ["TERMINATE_CLUSTER"]
    assert {tag["Key"] for tag in request["Tags"]} >= {"project", "campaign", "expires"}
    assert [(group["InstanceRole"], group["InstanceCount"]) for group in instances["InstanceGroups"]] == [
        ("MASTER", 1), ("CORE", 2)
    ]  # fmt: skip
    alone = cluster_request(replace(target(), instances=1), STEP, "s3://b/logs/emr/")
    assert [group["InstanceRole"] for group in alone["Instances"]["InstanceGroups"]] == ["MASTER"]


def test_the_request_is_one_that_the_api_takes(aws: boto3.session.Session) -> None:
    """botocore checks names and types of every parameter."""
    client = aws.client("emr")
    model = client.meta.service_model.operation_model("RunJobFlow").input_shape
    assert model is not None
    report = ParamValidator().validate(cluster_request(target(), STEP, "s3://b/logs/emr/"), model)
    assert not report.has_errors(), report.generate_report()


# --- what makes two submissions the same ----------------------------------------------------------------------------------
def job_of(results: Results, tmp_path: Path) -> ReportJob:
    """The job for a results folder."""
    return report_job(results, tmp_path / "analysis.zip")


def test_digest_follows_the_content(results: Results, tmp_path: Path) -> None:
    """The same for the same; another one for another trial.json, record, code, package or release."""
    job = job_of(results, tmp_path)
    same = job.digest(RELEASE)
    os.utime(results.manifest_file)
    assert job_of(results, tmp_path).digest(RELEASE) == same
    assert job.digest("emr-7.12.0") != same
    assert replace(job, code={**job.code, "analysis/new.py": results.manifest_file}).digest(RELEASE) != same
    assert replace(job, libraries=replace(job.libraries, lock="x==1\n")).digest(RELEASE) != same
    assert replace(job, records=dict(list(job.records.items())[1:])).digest(RELEASE) != same
    trial = results.trial_dir("b01-2-kafka-l1-steady") / "trial.json"
    trial.write_text(trial.read_text().replace('"position": 2', '"position": 3'))
    assert job_of(results, tmp_path).digest(RELEASE) != same


def test_job_has_all_that_the_report_reads(results: Results, tmp_path: Path) -> None:
    """Manifest, vetting, trials and every record; the package whole; a name that a campaign run again doesn't share."""
    job = job_of(results, tmp_path)
    trial = "trials/b01-1-pulsar-l1-steady"
    assert {"manifest.json", "vetting/broker-1.json", f"{trial}/trial.json"} <= job.documents.keys()
    assert {
        f"{trial}/produced/{file.name}" for file in results.root.glob(f"{trial}/produced/*.parquet")
    } <= job.records.keys()
    assert len(job.records) == len(list(results.root.rglob("*.parquet")))
    assert job.package == zip_analysis(tmp_path / "analysis.zip")
    assert "analysis/templates/report.html.j2" in analysis_files()
    assert results.name_in_bucket() == "demo-20231114T221320Z"


def test_records_that_hosts_sent_are_asked_for_not_sent(results: Results, tmp_path: Path) -> None:
    """Those of completed trials must be there, of others they may be; no report is made here, but the command for there is told."""
    sent = let_hosts_send_records(results, "bbb")
    job = job_of(results, tmp_path)
    assert (job.uploaded, job.perhaps_uploaded) == (sent, frozenset())
    assert {Path(name).parent.name for name in job.records} == {"hosts"}
    with pytest.raises(InvalidInput, match="in the bucket bbb") as refused:
        make_report(results, master="local[1]", on_line=print)
    assert "--on emr" in refused.value.next_step
    assert f"samebox report {results.root} --from s3://bbb" in refused.value.next_step

    first = next(results.root.glob("trials/*/trial.json"))
    first.write_text(json.dumps({**json.loads(first.read_text()), "abort": {"rule": "host-lost"}}))
    job = job_of(results, tmp_path)
    assert job.perhaps_uploaded == {name for name in sent if first.parent.name in name}
    assert job.uploaded.keys() == sent.keys() - job.perhaps_uploaded


def test_a_bucket_without_the_records_is_another_one(
    aws: boto3.session.Session, results: Results, tmp_path: Path
) -> None:
    """Before a cluster is started; nothing is sent there."""
    let_hosts_send_records(results, "bbb")
    where = replace(target(), bucket="bbb")
    with pytest.raises(SameboxError, match="lacks 8 record files that the client hosts sent"):
        report_on_emr(
            job_of(results, tmp_path), where, tmp_path / "report", cluster=None, cache_dir=tmp_path, progress=Heard()
        )
    assert Bucket(aws, "bbb").sizes("") == {}


def test_the_report_is_made_on_any_stack_of_ones_own(
    aws: boto3.session.Session, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are read from the bucket that they name, which outlived its stack; job and report are the new stack's."""
    folder, old = f"results/{results.name_in_bucket()}", Bucket(aws, "bbb")
    let_hosts_send_records(
        results, "bbb", send=lambda name, file: old.upload({f"{folder}/{name}": file}, lambda _key: None)
    )
    aws.client("s3").create_bucket(Bucket="new", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    job, new = job_of(results, tmp_path), Bucket(aws, "new")
    archive = tmp_path / "libraries.tar.gz"
    archive.touch()
    new.upload({f"code/{job.libraries.archive_name}": archive}, lambda _key: None)
    asked: list[SparkStep] = []

    def start(_emr: Emr, _target: EmrTarget, step: SparkStep, _log_uri: str) -> Running:
        asked.append(step)
        raise SameboxError("no cluster today")

    monkeypatch.setattr(Emr, "start", start)
    with pytest.raises(SameboxError, match="no cluster today"):
        report_on_emr(
            job,
            replace(target(), bucket="new"),
            tmp_path / "report",
            cluster=None,
            cache_dir=tmp_path,
            progress=Heard(),
        )
    (step,) = asked
    assert step.arguments[0] == f"s3://bbb/{folder}"
    assert all(place.startswith("s3://new/") for place in (step.program, step.package, step.archive, step.arguments[2]))
    assert f"{folder}/manifest.json" in old.sizes("")
    assert not any(key.startswith("results/") for key in new.sizes(""))


# --- its end ----------------------------------------------------------------------------------------------------------------
def test_a_cluster_ends_with_the_testbed_at_the_latest(aws: boto3.session.Session) -> None:
    """A schedule of the stack's own group terminates it when the hosts end, whoever is still looking."""
    group = OUTPUTS["timer"]["group"]
    aws.client("scheduler").create_schedule_group(Name=group)

    started = Emr(aws).start(replace(target(), release=RELEASE), STEP, "s3://bbb/logs/")

    schedule = aws.client("scheduler").get_schedule(GroupName=group, Name=f"end-{started.cluster}")
    assert schedule["ScheduleExpression"] == "at(2026-11-21T20:00:00)"
    assert json.loads(schedule["Target"]["Input"]) == {"JobFlowIds": [started.cluster]}
    assert schedule["Target"]["Arn"] == "arn:aws:scheduler:::aws-sdk:emr:terminateJobFlows"
    assert schedule["Target"]["RoleArn"] == OUTPUTS["timer"]["role"]
    assert schedule["ActionAfterCompletion"] == "DELETE"


def test_a_cluster_without_its_schedule_is_ended_at_once(
    aws: boto3.session.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nothing would end it, should its step hang and nobody look."""

    def refused(*_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "CreateSchedule")

    monkeypatch.setattr("provisioning.testbeds.aws.emr.arm", refused)
    with pytest.raises(SameboxError, match=r"can't start an EMR cluster: .*CreateSchedule"):
        Emr(aws).start(target(), STEP, "s3://bbb/logs/")
    (cluster,) = aws.client("emr").list_clusters()["Clusters"]
    assert cluster["Status"]["State"].startswith("TERMINAT")


# --- packages -------------------------------------------------------------------------------------------------------------
def test_packages_are_the_locked_ones_and_all_they_need() -> None:
    """What pip says is needed, in the versions installed here, which are the lock's."""
    wanted = libraries(analysis_requirements(), (CHECKOUT / "requirements.lock").read_text(), where="the lock")
    pins = dict(line.split(" ")[0].split("==") for line in wanted.lock.splitlines() if "==" in line)
    assert {"jinja2", "matplotlib", "numpy", "pandas", "pyarrow", "markupsafe", "python-dateutil", "six"} <= pins.keys()
    assert pins == {name: metadata.version(name) for name in pins}
    assert not {"pyspark", "boto3", "pytest", "paramiko"} & pins.keys()
    assert wanted.lock.count("--hash=sha256:") > 2 * len(pins)


def test_a_package_that_is_not_locked_is_refused() -> None:
    """Its name is told, nothing is guessed."""
    with pytest.raises(InvalidInput, match="polars"):
        libraries(["polars"], (CHECKOUT / "requirements.lock").read_text(), where="requirements.lock")


# --- finding it again -----------------------------------------------------------------------------------------------------
def test_a_step_on_its_way_is_found_by_name(aws: boto3.session.Session) -> None:
    """On its own cluster, and on a given one; not when the cluster has ended, not under another name."""
    client, emr = aws.client("emr"), Emr(aws)
    assert emr.find(STEP.name, None) is None
    request: Any = {
        "Name": STEP.name,
        "ReleaseLabel": RELEASE,
        "Instances": {"KeepJobFlowAliveWhenNoSteps": True},
        "Steps": [STEP.request(on_failure="TERMINATE_CLUSTER")],
    }
    cluster = client.run_job_flow(**request)["JobFlowId"]
    found = emr.find(STEP.name, None)
    assert found is not None and (found.cluster, found.transient) == (cluster, True)
    assert emr.find("samebox-report-demo-4567", None) is None
    client.terminate_job_flows(JobFlowIds=[cluster])
    assert emr.find(STEP.name, None) is None

    given = client.run_job_flow(**{**request, "Name": "ours", "Steps": []})["JobFlowId"]
    assert emr.find(STEP.name, given) is None
    added = emr.add(given, STEP)
    assert emr.find(STEP.name, given) == Running(given, added.step, transient=False)


class Scripted:
    """A session whose EMR gives these answers, a look each: state and reason of the cluster, then the state of its step."""

    def __init__(self, *looks: tuple[str, str, str]) -> None:
        self._emr = boto3.client(
            "emr", region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing"
        )
        self.stubber = Stubber(self._emr)
        for state, reason, step in looks:
            status = {"State": state, "StateChangeReason": {"Message": reason} if reason else {}}
            asked = {"ClusterId": "j-1"}
            self.stubber.add_response("describe_cluster", {"Cluster": {"Id": "j-1", "Status": status}}, asked)
            self.stubber.add_response("describe_step", {"Step": {"Status": {"State": step}}}, asked | {"StepId": "s-1"})
        self.stubber.activate()

    def client(self, name: str) -> Any:
        """The one that is asked for."""
        assert name == "emr"
        return self._emr


@pytest.mark.parametrize(
    ("looks", "ended"),
    [
        # the cluster fails between the two questions of a look
        ([("STARTING", "", "CANCELLED"), ("TERMINATING", "no subnet", "CANCELLED"), ("TERMINATING", "no subnet", "CANCELLED")],
         Ended(ran=False, completed=False, reason="no subnet", log_uri="")),
        ([("TERMINATING", "", "CANCELLED"), ("TERMINATED_WITH_ERRORS", "no role", "CANCELLED")],
         Ended(ran=False, completed=False, reason="no role", log_uri="")),
        ([("TERMINATED", "ended by hand", "RUNNING"), ("TERMINATED", "ended by hand", "COMPLETED")],
         Ended(ran=True, completed=True, reason="ended by hand", log_uri="")),
    ],
)  # fmt: skip
def test_the_reason_is_the_one_after_the_end(looks: list[tuple[str, str, str]], ended: Ended) -> None:
    """Cluster and step are asked one after the other: what was said before the end isn't taken for why it came."""
    aws: Any = Scripted(*looks)
    assert Emr(aws, poll_every_s=0.0).follow(Running("j-1", "s-1", transient=True), Heard()) == ended
    aws.stubber.assert_no_pending_responses()


def test_a_given_cluster_must_be_alive_and_of_the_tested_release(aws: boto3.session.Session) -> None:
    """Refused before anything is uploaded."""
    client, emr = aws.client("emr"), Emr(aws)
    request: Any = {"Name": "ours", "Instances": {"KeepJobFlowAliveWhenNoSteps": True}}
    other = client.run_job_flow(**request, ReleaseLabel="emr-7.5.0")["JobFlowId"]
    with pytest.raises(InvalidInput, match=r"emr-7\.5\.0"):
        emr.require_usable(other)
    ended = client.run_job_flow(**request, ReleaseLabel=RELEASE)["JobFlowId"]
    emr.require_usable(ended)
    client.terminate_job_flows(JobFlowIds=[ended])
    with pytest.raises(InvalidInput, match="terminated"):
        emr.require_usable(ended)
    with pytest.raises(SameboxError, match="j-NONE"):
        emr.require_usable("j-NONE")


# --- S3 -------------------------------------------------------------------------------------------------------------------
def test_files_go_up_and_come_down(aws: boto3.session.Session, tmp_path: Path) -> None:
    """The same bytes under the rest of the key."""
    bucket, told = Bucket(aws, "bbb"), list[str]()
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "two").write_bytes(b"22")
    bucket.upload({"r/one": tmp_path / "one", "r/data/two": tmp_path / "two"}, told.append)
    assert sorted(told) == ["r/data/two", "r/one"]
    assert bucket.sizes("r/") == {"r/one": 1, "r/data/two": 2}
    assert (bucket.exists("r/one"), bucket.exists("r")) == (True, False)
    assert bucket.download("r/", tmp_path / "down") == 2
    assert (tmp_path / "down" / "data" / "two").read_bytes() == b"22"


def test_an_object_cannot_be_written_outside_of_the_folder(aws: boto3.session.Session, tmp_path: Path) -> None:
    """Keys are anybody's words."""
    aws.client("s3").put_object(Bucket="bbb", Key="r/../../escaped", Body=b"x")
    with pytest.raises(SameboxError, match="outside"):
        Bucket(aws, "bbb").download("r/", tmp_path / "down")
    assert not (tmp_path.parent / "escaped").exists()


def test_a_missing_bucket_is_named(aws: boto3.session.Session) -> None:
    """With what to look at next."""
    with pytest.raises(SameboxError, match="s3://nowhere") as refused:
        Bucket(aws, "nowhere").sizes("r/")
    assert refused.value.next_step


def test_locations() -> None:
    """EMR shows s3n:// for what it was given as s3://."""
    assert location("s3n://bbb/logs/emr/") == Location("bbb", "logs/emr/")
    with pytest.raises(InvalidInput, match="/tmp/x"):
        location("/tmp/x")


# --- logs -----------------------------------------------------------------------------------------------------------------
RUNNING = Running("j-1", "s-1", transient=True)
APPLICATION = "application_1700000000000_0001"


def test_last_words_are_the_drivers(aws: boto3.session.Session) -> None:
    """What Python printed, not what spark-submit thinks of it."""
    client = aws.client("s3")
    submit = f'Exception in thread "main" org.apache.spark.SparkException: Application {APPLICATION} finished with failed status'
    words = "25/11/21 12:00:00 INFO SparkContext: hello\nerror: manifest.json: schema is 9\nnext: upgrade\n"
    container = f"logs/j-1/containers/{APPLICATION}/container_1700000000000_0001_01_000001"
    client.put_object(Bucket="bbb", Key="logs/j-1/steps/s-1/stderr.gz", Body=gzip.compress(submit.encode()))
    client.put_object(Bucket="bbb", Key=f"{container}/stdout.gz", Body=gzip.compress(words.encode()))
    client.put_object(Bucket="bbb", Key=f"{container[:-1]}2/stdout.gz", Body=gzip.compress(b"an executor"))
    found = last_words(aws, "s3n://bbb/logs/", RUNNING, Heard(), timeout_s=0)
    assert found == "error: manifest.json: schema is 9\nnext: upgrade"


def test_last_words_of_a_step_that_never_became_an_application(aws: boto3.session.Session) -> None:
    """Then spark-submit's own."""
    body = gzip.compress(b"java.io.FileNotFoundException: s3://b/code/libraries.tar.gz")
    aws.client("s3").put_object(Bucket="bbb", Key="logs/j-1/steps/s-1/stderr.gz", Body=body)
    assert "libraries.tar.gz" in last_words(aws, "s3n://bbb/logs/", RUNNING, Heard(), timeout_s=0)


def test_logs_that_are_never_shipped_end_the_wait(aws: boto3.session.Session) -> None:
    """And nothing is made up."""
    heard = Heard()
    assert last_words(aws, "s3n://bbb/logs/", RUNNING, heard, timeout_s=1.5, poll_every_s=0.1) == ""
    assert heard.details
    assert last_words(aws, "", RUNNING, heard, timeout_s=0) == ""


# --- the command ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("place", "given", "named"),
    [
        ("local", {"cluster": "j-1"}, "--cluster"),
        ("local", {"stack": "demo"}, "--stack"),
        ("local", {"outputs_file": Path("o.json")}, "--outputs"),
        ("emr", {"master_given": True}, "--master"),
        ("emr", {"stack": "demo", "outputs_file": Path("o.json")}, "--outputs"),
    ],
)
def test_options_that_mean_nothing_are_refused(place: str, given: dict[str, Any], named: str) -> None:
    """An option is never silently ignored."""
    nothing = {"master_given": False, "bucket": None, "stack": None, "outputs_file": None, "cluster": None}
    options: dict[str, Any] = {**nothing, **given}
    with pytest.raises(InvalidInput, match=named):
        require_consistent(place, **options)
