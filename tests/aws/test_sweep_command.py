"""`samebox sweep` as an operator types it, against AWS on this machine as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud, local_cloud
from provisioning.testbeds.aws.rehearsal.cloud.things import client
from tests.aws.world import IMAGE, World, make_world
from tests.campaign.command import samebox

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """One cloud for all tests: every one leaves it without anything of samebox's."""
    with local_cloud(tmp_path_factory.mktemp("cloud"), hosts=False) as started:
        yield started


def world_of(cloud: Cloud, project: str, campaign: str, name: str) -> World:
    """One of everything in that cloud but a cluster, which would make instances of its own there."""
    tags = {"project": project, "campaign": campaign}
    return make_world(cloud.region, tags, name, endpoint=cloud.endpoint, cluster=False)


def sweep(cloud: Cloud, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, to its end."""
    return samebox(home, "sweep", *arguments, **cloud.environment)


def answered(cloud: Cloud, home: Path, answer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with somebody who types `answer`."""
    program = str(Path(sys.executable).with_name("samebox"))
    environment = {**os.environ, "SAMEBOX_HOME": str(home), "COLUMNS": "200", **cloud.environment}
    command = [program, "sweep", *arguments]
    return subprocess.run(
        command, input=answer, capture_output=True, text=True, env=environment, timeout=120, check=False
    )


def listed(done: subprocess.CompletedProcess[str]) -> set[tuple[str, str]]:
    """What --json says is left."""
    return {(each["kind"], each["id"]) for each in json.loads(done.stdout)["left"]}


def test_from_everything_left_to_nothing(cloud: Cloud, tmp_path: Path) -> None:
    """Listed, asked, refused, agreed, gone; another project's and another campaign's things are as before."""
    ours = world_of(cloud, "samebox", "c1", "samebox-c1")
    neighbour = world_of(cloud, "samebox", "c2", "samebox-c2")
    world_of(cloud, "other", "c1", "samebox-look-alike")
    for world in (ours, neighbour):
        world.session.client("s3", endpoint_url=cloud.endpoint).put_object(
            Bucket=world.bucket, Key="results/x", Body=b"x"
        )

    everything = sweep(cloud, tmp_path, "--json")
    assert everything.returncode == 1, everything.stderr
    assert listed(everything) == ours.things | neighbour.things
    shown = sweep(cloud, tmp_path, "--campaign", "c1")
    assert shown.returncode == 1
    assert all(identifier in shown.stdout for _, identifier in ours.things)
    assert f"{len(ours.things)} of campaign c1 left in us-west-2. 1 kept on purpose." in shown.stdout

    refused = answered(cloud, tmp_path, "n\n", "--campaign", "c1", "--delete")
    assert (refused.returncode, refused.stderr.endswith("Nothing was deleted.\n")) == (1, True)
    assert ours.id_of("instance") in refused.stdout
    unanswered = answered(cloud, tmp_path, "", "--campaign", "c1", "--delete")
    assert (unanswered.returncode, "--delete --yes" in unanswered.stderr) == (130, True)
    assert listed(sweep(cloud, tmp_path, "--json")) == ours.things | neighbour.things

    agreed = answered(cloud, tmp_path, "y\n", "--campaign", "c1", "--delete")
    assert agreed.returncode == 0, agreed.stderr
    assert "Nothing of campaign c1 is left in us-west-2. 1 kept on purpose." in agreed.stdout
    assert listed(sweep(cloud, tmp_path, "--json")) == neighbour.things
    done = sweep(cloud, tmp_path, "--delete", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["clean"], document["left"]) == (True, [])
    assert {kept["id"] for kept in document["kept"]} == {ours.bucket, neighbour.bucket}


def test_a_host_that_no_state_knows(cloud: Cloud, tmp_path: Path) -> None:
    """What a killed `pulumi up` leaves: one tagged instance. Found by its tag, taken away, and then nothing is left."""
    ec2 = client(cloud, "ec2")
    tags = [{"Key": key, "Value": value} for key, value in {"project": "samebox", "campaign": "c9"}.items()]
    answer = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType="i3en.large",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    orphan = answer["Instances"][0]["InstanceId"]
    assert listed(sweep(cloud, tmp_path, "--campaign", "c9", "--json")) == {("instance", orphan)}
    assert sweep(cloud, tmp_path, "--campaign", "c9", "--delete", "--yes").returncode == 0
    assert sweep(cloud, tmp_path, "--campaign", "c9").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (("--yes",), {}, "--yes goes with --delete"),
        (("--orphans",), {}, "--orphans: whose state is to be asked?"),
        (("--stack", "smoke", "--campaign", "c1"), {}, "--stack says campaign and region itself"),
        (("--stack", "nobody"), {}, "Pulumi.nobody.yaml"),
        (("--region", "us-west-2"), {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "AWS didn't confirm the credentials"),
        (
            ("--region", "us-west-2"),
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID",
        ),
        (("--region", "us west"), {}, "us west"),
        (("--regions", "x"), {}, "No such option"),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    cloud: Cloud, tmp_path: Path, arguments: tuple[str, ...], variables: dict[str, str], words: str
) -> None:
    """Exit 1 and one error that says what to do; never "nothing is left"."""
    done = samebox(tmp_path, "sweep", *arguments, **{**cloud.environment, **variables})
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "is left" not in done.stdout


PULUMI = """#!/bin/sh
case "$*" in
  version) echo v3.259.0 ;;
  config*) echo '{"samebox:region": {"value": "us-west-2"}, "samebox:campaign": {"value": "c5"}}' ;;
  "stack ls"*) echo '[{"name": "sn", "resourceCount": 9}]' ;;
  "stack export"*) cat state.json ;;
  refresh*) ;;
  *) echo "not expected: $*" >&2; exit 9 ;;
esac
"""


def project(folder: Path, known: set[str]) -> dict[str, str]:
    """A project with a stack sn whose state knows these ids; the variables with which the command finds it."""
    provider = {"urn": "urn:p", "type": "pulumi:providers:aws", "id": "0-1"}
    resources = [provider, *({"urn": f"urn:{each}", "type": "x", "id": each} for each in sorted(known))]
    (folder / "state.json").write_text(json.dumps({"deployment": {"resources": resources}}))
    (folder / "Pulumi.yaml").write_text("name: samebox\nruntime: python\n")
    (folder / "Pulumi.sn.yaml").write_text("config: {}\n")
    program = folder / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(PULUMI)
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


def test_orphans_go_and_the_testbed_stays(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One host of a running testbed isn't in the state: it goes. All else of the testbed, its root volumes and all results stay."""
    ours = world_of(cloud, "samebox", "c5", "samebox-c5")
    ec2, s3 = client(cloud, "ec2"), client(cloud, "s3")
    tags = [{"Key": "project", "Value": "samebox"}, {"Key": "campaign", "Value": "c5"}]
    launched = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType="i3en.large",
        MinCount=2,
        MaxCount=2,
        TagSpecifications=[{"ResourceType": each, "Tags": tags} for each in ("instance", "volume")],
    )
    host, orphan = (each["InstanceId"] for each in launched["Instances"])
    for name in ("samebox-c5-old", "samebox-c5-empty"):
        s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": cloud.region})
        s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": tags})
    s3.put_object(Bucket="samebox-c5-old", Key="results/x", Body=b"x")
    variables = project(tmp_path, {*(identifier for _, identifier in ours.things), host, ours.bucket})
    monkeypatch.chdir(tmp_path)

    def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
        return samebox(tmp_path, "sweep", "--stack", "sn", *arguments, **{**cloud.environment, **variables})

    (orphans_disk,) = {
        volume["VolumeId"]
        for volume in ec2.describe_volumes()["Volumes"]
        if [each["InstanceId"] for each in volume["Attachments"]] == [orphan]
    }
    everything = typed("--json")
    assert {each["id"] for each in json.loads(everything.stdout)["left"] if not each["in_state"]} > {orphan}
    shown = typed("--orphans")
    assert shown.returncode == 1, shown.stderr
    assert "2 orphans of campaign c5 left in us-west-2. 1 kept on purpose. 1 of these empty" in shown.stdout
    assert f"Left alone: {len(ours.things) + 2} things known to stack sn." in shown.stdout
    assert f"attached to {host} of stack sn." in shown.stdout
    assert "Left alone: S3 bucket samebox-c5-old: holds results." in shown.stdout
    listed_orphans = json.loads(typed("--orphans", "--json").stdout)
    assert {each["id"] for each in listed_orphans["left"]} == {orphan, orphans_disk}

    done = typed("--orphans", "--delete", "--yes")
    assert done.returncode == 0, done.stderr
    assert "No orphan of campaign c5 is left in us-west-2." in done.stdout
    after = json.loads(typed("--json").stdout)
    assert {each["id"] for each in after["left"]} >= {host, *(identifier for _, identifier in ours.things)}
    assert {each["id"] for each in after["kept"]} == {ours.bucket, "samebox-c5-old"}
    assert not {orphan, orphans_disk} & {each["id"] for each in after["left"]}
    sweep(cloud, tmp_path, "--campaign", "c5", "--delete", "--yes")
