"""`samebox sweep` as an operator types it, against AWS on this machine as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.aws.world import IMAGE, World, make_world
from tests.campaign.command import samebox
from tests.infra.double.cloud import Cloud, local_cloud

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
    ec2: Any = boto3.client(
        "ec2", cloud.region, endpoint_url=cloud.endpoint, aws_access_key_id="testing", aws_secret_access_key="testing"
    )
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
        (("--region", "us-west-2"), {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "AWS doesn't know who is calling"),
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
