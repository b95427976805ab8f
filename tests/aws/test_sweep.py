"""The sweep over AWS on this machine: lists exactly what is samebox's, takes it away in order, and says what it can't."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse, HTTPHeaders
from moto import mock_aws

from provisioning.testbeds.aws.leftovers import Leftover
from provisioning.testbeds.aws.rehearsal.cloud import capacity_reservations, moto_patches, placement_groups
from provisioning.testbeds.aws.sweep import Found, NotRemoved, Sweep
from tests.aws.world import World, make_world

REGION = "us-west-2"


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Timed(Sweep):
    """A sweep of one region whose waiting takes no time."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__([REGION], clock=self.clock, sleep=self.clock.sleep)


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch, few_images: None) -> Iterator[None]:
    """moto in this process, with placement groups and capacity reservations."""
    del few_images
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    moto_patches.install(placement_groups, capacity_reservations)
    with mock_aws():
        yield


def ours(campaign: str = "c1") -> World:
    """What a stack of samebox leaves if nobody takes it away."""
    return make_world(REGION, {"project": "samebox", "campaign": campaign, "owner": "o"}, f"samebox-{campaign}")


def somebody_elses() -> World:
    """The same things of another project, with names that look like ours."""
    return make_world(REGION, {"project": "other", "campaign": "c1", "owner": "o"}, "samebox-look-alike")


def things(leftovers: tuple[Leftover, ...]) -> set[tuple[str, str]]:
    """Kind and id of each."""
    return {(leftover.kind, leftover.id) for leftover in leftovers}


def still_there(world: World) -> set[tuple[str, str]]:
    """Which of a world's EC2 things exist, asked of EC2 itself."""
    ec2 = world.session.client("ec2")
    groups = {group["GroupId"] for group in ec2.describe_security_groups()["SecurityGroups"]}
    vpcs = {vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"]}
    subnets = {subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"]}
    pages = ec2.describe_instances()["Reservations"]
    running = {i["InstanceId"] for page in pages for i in page["Instances"] if i["State"]["Name"] == "running"}
    volumes = {volume["VolumeId"] for volume in ec2.describe_volumes()["Volumes"]}
    existing = groups | vpcs | subnets | running | volumes
    return {thing for thing in world.things if thing[1] in existing}


def test_it_lists_what_was_made_and_nothing_else() -> None:
    """Every kind, by tag alone; the bucket is shown as kept; nothing of another project, whatever it is called."""
    world = ours()
    somebody_elses()
    found = Sweep([REGION, "us-east-1"]).find()
    assert things(found.left) == world.things
    assert [(kept.id, kept.campaign) for kept in found.leftovers if kept.kept] == [(world.bucket, "c1")]
    assert found.refused == ()
    assert not found.clean


def test_reserved_capacity_says_how_much_of_it_stands_empty() -> None:
    """It costs as its hosts do; taken away it isn't listed, though AWS still shows it."""
    world = ours()
    (reserved,) = (each for each in Sweep([REGION]).find().left if each.kind == "capacity reservation")
    assert reserved.detail == "i3en.large: 3 of 3 places empty"
    world.session.client("ec2").cancel_capacity_reservation(CapacityReservationId=reserved.id)
    assert reserved.id not in {each.id for each in Sweep([REGION]).find().leftovers}


def test_one_campaign_alone() -> None:
    """With a campaign's name, another campaign's things don't count."""
    first, second = ours("c1"), ours("c10")
    assert things(Sweep([REGION], "c1").find().left) == first.things
    assert things(Sweep([REGION]).find().left) == first.things | second.things


def test_an_empty_account_is_clean() -> None:
    """Nothing there, nothing refused; what has ended isn't there either."""
    sweep = Sweep([REGION])
    assert sweep.find() == Found((REGION,), (), ())
    image = "ami-0d53cc9bd365ad65b"
    ec2 = boto3.client("ec2", REGION)
    tags: Any = [{"ResourceType": "instance", "Tags": [{"Key": "project", "Value": "samebox"}]}]
    answer = ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, TagSpecifications=tags)
    assert not sweep.find().clean
    ec2.terminate_instances(InstanceIds=[answer["Instances"][0]["InstanceId"]])
    assert sweep.find().clean


def test_stacks_of_one_campaign_are_told_apart() -> None:
    """One stack's sweep leaves another's things alone, of every kind; what has no tag of a stack is any stack's of its campaign."""
    tags = {"project": "samebox", "campaign": "c1", "owner": "o"}
    first = make_world(REGION, {**tags, "stack": "first"}, "samebox-first")
    second = make_world(REGION, {**tags, "stack": "second"}, "samebox-second")
    assert things(Sweep([REGION], "c1", "first").find().left) == first.things
    assert things(Sweep([REGION], "c1").find().left) == first.things | second.things
    found = Sweep([REGION], "c1", "second").find()
    assert {each.whose for each in found.leftovers} == {"c1 (second)"}
    untagged = ours()
    assert things(Sweep([REGION], "c1", "first").find().left) == first.things | untagged.things


def test_a_bucket_kept_on_purpose_does_not_count() -> None:
    """The results bucket alone is a clean end, and is said."""
    s3: Any = boto3.client("s3", REGION)
    s3.create_bucket(Bucket="samebox-c1-0123456", CreateBucketConfiguration={"LocationConstraint": REGION})
    tags = [{"Key": "project", "Value": "samebox"}, {"Key": "campaign", "Value": "c1"}]
    s3.put_bucket_tagging(Bucket="samebox-c1-0123456", Tagging={"TagSet": tags})
    found = Sweep([REGION]).find()
    assert found.clean
    assert found.to_json()["kept"][0]["id"] == "samebox-c1-0123456"


def test_taking_away_leaves_nothing_but_the_bucket() -> None:
    """Everything of ours goes, in one order that AWS accepts; everything of others stays; a second time there is nothing to do."""
    world, others = ours(), somebody_elses()
    before = still_there(others)
    sweep = Timed()
    found = sweep.remove_all(sweep.find().left, lambda _: None)
    assert found.clean
    assert still_there(world) == set()
    assert still_there(others) == before
    assert len(before) == 6
    assert [bucket["Name"] for bucket in world.session.client("s3").list_buckets()["Buckets"]] == [
        world.bucket,
        others.bucket,
    ]
    assert sweep.remove_all(sweep.find().left, lambda _: None).clean


def test_only_what_was_shown_is_taken_away() -> None:
    """What appears between the list and the deletion stays: it was never confirmed."""
    first = ours("c1")
    sweep = Timed()
    shown = sweep.find().left
    second = ours("c2")
    found = sweep.remove_all(shown, lambda _: None)
    assert things(found.left) == second.things
    assert still_there(first) == set()


def test_a_protected_host_is_told_and_keeps_what_it_stands_on() -> None:
    """Termination protection ends the attempt at once, with AWS's reason; the timer that will end the host is left alone."""
    world = ours()
    instance = world.id_of("instance")
    ec2 = world.session.client("ec2")
    ec2.modify_instance_attribute(InstanceId=instance, DisableApiTermination={"Value": True})
    sweep = Timed()
    with pytest.raises(NotRemoved, match=f"instance {instance}: .*OperationNotPermitted") as caught:
        sweep.remove_all(sweep.find().left, lambda _: None)
    assert f"schedule group samebox-c1-end: waits for instance {instance}" in str(caught.value)
    assert sweep.clock.now_s < 10
    left = things(caught.value.found.left)
    assert left == {thing for thing in world.things if thing[0] not in ("EMR cluster", "capacity reservation")}
    ec2.modify_instance_attribute(InstanceId=instance, DisableApiTermination={"Value": False})
    assert sweep.remove_all(sweep.find().left, lambda _: None).clean


class SlowlyEnding(Timed):
    """AWS as it is: what was told to end is there for a while."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks
        self.ending = Leftover("EMR cluster", "j-1", REGION, state="terminating")

    def find(self) -> Found:
        self.looks -= 1
        return Found((REGION,), (self.ending,) if self.looks >= 0 else (), ())


def test_it_waits_for_what_is_ending() -> None:
    """A cluster that takes minutes to end is waited for, and not told again; for ever it isn't."""
    sweep = SlowlyEnding(30)
    assert sweep.remove_all((sweep.ending,), lambda _: None).clean
    assert 300 < sweep.clock.now_s < 600
    sweep = SlowlyEnding(10_000)
    with pytest.raises(NotRemoved, match="EMR cluster j-1: still terminating"):
        sweep.remove_all((sweep.ending,), lambda _: None)
    assert 1800 < sweep.clock.now_s < 1900


def test_what_is_refused_is_not_taken_for_nothing() -> None:
    """A list that AWS refuses makes the answer unclean, and names what isn't known; the rest is listed all the same."""
    world = ours()

    def refuse(request: Any, **_: Any) -> AWSResponse:
        body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>"
        raw: Any = io.BytesIO(body.encode())
        raw.stream = lambda **_: iter([body.encode()])
        return AWSResponse(request.url, 403, HTTPHeaders(), raw)

    sweep = Sweep([REGION])
    sweep._regions[0].client("iam").meta.events.register_first("before-send.iam.ListRoles", refuse)
    found = sweep.find()
    assert [refusal.split(":")[0] for refusal in found.refused] == ["IAM role"]
    assert "AccessDenied" in found.refused[0]
    assert things(found.left) == {thing for thing in world.things if thing[0] != "IAM role"}
    empty = Found((REGION,), (), found.refused)
    assert not empty.clean


def test_a_tagged_thing_of_an_unknown_service_is_listed_and_left() -> None:
    """The tagging API finds what the kit doesn't make; the sweep says so and won't delete it."""
    topic = boto3.client("sns", REGION).create_topic(Name="alarms", Tags=[{"Key": "project", "Value": "samebox"}])
    sweep = Timed()
    found = sweep.find()
    assert things(found.left) == {("other", topic["TopicArn"])}
    with pytest.raises(NotRemoved, match="alarms: samebox doesn't make this kind of thing"):
        sweep.remove_all(found.left, lambda _: None)
    assert sweep.clock.now_s < 1


def test_it_waits_until_what_is_ending_has_ended() -> None:
    """The look after a teardown: what is on its way out isn't left; how long it waits has a bound, and is said."""
    said: list[str] = []
    sweep = SlowlyEnding(10)
    assert sweep.await_ending(said.append).clean
    assert 60 < sweep.clock.now_s < 120
    assert said[0] == "waiting for what is ending, 0 s: EMR cluster j-1"
    assert said[-1] == f"waiting for what is ending, {sweep.clock.now_s - 15:.0f} s: EMR cluster j-1"
    sweep = SlowlyEnding(10_000)
    found = sweep.await_ending(lambda _: None)
    assert [found.is_ending(each) for each in found.left] == [True]
    assert 900 < sweep.clock.now_s < 1000


def test_what_lives_is_not_waited_for() -> None:
    """A host that nobody has told to end is left at once."""
    world, sweep = ours(), Timed()
    found = sweep.await_ending(lambda _: None)
    assert things(found.left) == world.things
    assert sweep.clock.now_s == 0


def test_what_hangs_on_something_ending_is_ending() -> None:
    """The machine of a terminating cluster still runs, and its volume is in use: both go by themselves."""
    cluster = Leftover("EMR cluster", "j-1", REGION, state="terminating")
    machine = Leftover("instance", "i-1", REGION, state="running", holder="j-1")
    disk = Leftover("volume", "vol-1", REGION, state="in-use", holder="i-1")
    other = Leftover("volume", "vol-2", REGION, state="in-use", holder="i-2")
    found = Found((REGION,), (cluster, machine, disk, other), ())
    assert [found.is_ending(each) for each in found.left] == [True, True, True, False]


def test_an_empty_bucket_may_go_and_one_with_results_never() -> None:
    """Empty ones are kept, don't count and are offered; S3 itself refuses one into which something has come meanwhile."""
    s3: Any = boto3.client("s3", REGION)
    for name in ("samebox-c1-empty", "samebox-c1-results", "samebox-c1-filling"):
        s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
        s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": [{"Key": "project", "Value": "samebox"}]})
    s3.put_object(Bucket="samebox-c1-results", Key="results/x", Body=b"x")
    sweep = Timed()
    found = sweep.find()
    assert found.clean
    assert {each.id for each in found.empty} == {"samebox-c1-empty", "samebox-c1-filling"}
    s3.put_object(Bucket="samebox-c1-filling", Key="results/x", Body=b"x")
    after = sweep.remove_all(found.empty, lambda _: None)
    assert {each.id for each in after.leftovers} == {"samebox-c1-results", "samebox-c1-filling"}
    assert after.empty == ()
