"""A testbed's life with the real Pulumi engine, from nothing to nothing, and all that may come between."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from provisioning.testbeds.aws.rehearsal.cloud.things import buckets, client, instances, things
from tests.cloud.faults import Faults
from tests.infra.project import NewProject, Project, Step, moment

pytestmark = [pytest.mark.integration, pytest.mark.infra]
WAIT_S = 300.0
# a test run in the background ignores interrupts, and so would all that it starts
signal.signal(signal.SIGINT, signal.default_int_handler)
SMOKE_HOSTS = {"broker-1", "broker-2", "broker-3", "client-1", "metadata-1"}


def ids(project: Project) -> dict[str, str]:
    """Host name -> instance id, as the stack exports them."""
    return {host.name: host.instance_id for host in project.inventory().hosts}


def test_from_nothing_to_the_bucket_and_again(new_project: NewProject) -> None:
    """Up makes everything once; destroy leaves the results bucket alone; a second up after it works."""
    project = new_project()
    before = things(project.cloud)
    made = project.up().changes
    assert set(made) == {"create"}
    first = project.inventory()
    assert {host.name for host in first.hosts} == SMOKE_HOSTS
    assert {host.instance_id for host in first.hosts} == set(instances(project.cloud))
    assert first.testbed.kind == "aws"

    assert project.up().changes == {}
    project.pulumi("preview", "--expect-no-changes")
    project.pulumi("preview", "--refresh", "--expect-no-changes")

    assert project.destroy().changes == {"delete": made["create"]}
    bucket = buckets(project.cloud)
    assert len(bucket) == 1
    assert things(project.cloud) - before == bucket
    assert project.samebox("sweep").exit_status == 0

    assert set(project.up().changes) == {"create"}
    assert not set(ids(project).values()) & {host.instance_id for host in first.hosts}
    project.destroy()
    assert things(project.cloud) - before == buckets(project.cloud)


def test_one_generation_more_replaces_one_host(new_project: NewProject) -> None:
    """The new instance is there before the old one goes; no other host is touched; its host key is another one."""
    project = new_project()
    project.up()
    old = project.inventory()
    project.set("generations.broker-2", 2)
    ran = project.up()
    assert ran.changes["replace"] == 1
    done = [step.operation for step in ran.steps if step.resource == "broker-2"]
    assert done.index("create-replacement") < done.index("delete-replaced")
    assert {step.resource for step in ran.steps if "replace" in step.operation} == {"broker-2"}

    new = project.inventory()
    changed = {host.name for host, before in zip(new.hosts, old.hosts, strict=True) if host != before}
    assert changed == {"broker-2"}
    host, before = (next(host for host in each.hosts if host.name == "broker-2") for each in (new, old))
    assert host.generation == 2
    assert host.instance_id != before.instance_id
    assert host.ssh.host_key != before.ssh.host_key
    assert set(instances(project.cloud)) == {host.instance_id for host in new.hosts}


def test_a_later_end_replaces_nothing(new_project: NewProject) -> None:
    """Extending the testbed changes tags and timers in place."""
    project = new_project()
    project.up()
    hosts, later = ids(project), moment(datetime.now(UTC) + timedelta(hours=9))
    project.set("expires", later)
    ran = project.up()
    assert [step.resource for step in ran.steps if step.operation != "update"] == []
    assert set(ran.changes) == {"update"}
    assert ids(project) == hosts
    assert {tags["expires"] for tags in instances(project.cloud).values()} == {later}
    scheduler = client(project.cloud, "scheduler")
    for timer in scheduler.list_schedules()["Schedules"]:
        found = scheduler.get_schedule(GroupName=timer["GroupName"], Name=timer["Name"])
        assert found["ScheduleExpression"] == f"at({later.removesuffix('Z')})"


def test_at_its_end_nothing_that_is_paid_runs(new_project: NewProject) -> None:
    """Nobody is there to take it down: the stack's own timers end the hosts, by the role that the program gives them."""
    project = new_project()
    project.up()
    project.cloud.inject(Faults(clock_ahead_s=timedelta(hours=4).total_seconds()))
    time.sleep(2.0)
    assert len(instances(project.cloud)) == len(SMOKE_HOSTS)
    project.cloud.inject(Faults(clock_ahead_s=timedelta(hours=6).total_seconds()))
    deadline_s = time.monotonic() + WAIT_S
    while instances(project.cloud):
        assert time.monotonic() < deadline_s, (project.cloud.state_dir / "server.log").read_text()[-2000:]
        time.sleep(0.2)
    project.destroy()


def test_a_host_lost_outside_is_found(new_project: NewProject) -> None:
    """A plain preview believes its state; with a refresh the lost host alone is made anew."""
    project = new_project()
    project.up()
    before = ids(project)
    client(project.cloud, "ec2").terminate_instances(InstanceIds=[before["broker-1"]])
    project.pulumi("preview", "--expect-no-changes")
    ran = project.up("--refresh")
    assert Step("create", "broker-1") in ran.steps
    after = ids(project)
    assert {name for name in before if before[name] != after[name]} == {"broker-1"}


def test_a_year_old_file_stands_up_and_outlives_its_image(new_project: NewProject) -> None:
    """Deprecated, the image is found and launched. Gone, it keeps no running host from living longer: only from being replaced."""
    project = new_project()
    project.cloud.inject(Faults(images_age_days=365))
    ran = project.pulumi("preview")
    assert "ami-0d53cc9bd365ad65b has been deprecated since" in ran.output
    project.up()
    old, image = ids(project), "ami-0d53cc9bd365ad65b"
    client(project.cloud, "ec2").deregister_image(ImageId=image)

    project.set("expires", moment(datetime.now(UTC) + timedelta(hours=9)))
    ran = project.up()
    assert set(ran.changes) == {"update"}
    assert f"The 5 hosts that run with samebox:ami {image} stay as they are" in ran.output
    project.set("generations.broker-2", 2)
    assert "InvalidAMIID.NotFound" in project.up(exit_status=1).output
    assert set(instances(project.cloud)) == set(old.values())

    project.destroy()
    assert f"samebox:ami {image} doesn't exist in us-west-2" in project.pulumi("preview", exit_status=None).output


def test_up_without_capacity_is_completed_later(new_project: NewProject) -> None:
    """A creation that fails keeps what was made; the next up makes the missing host and what waited for it."""
    project = new_project()
    project.cloud.inject(Faults(no_capacity=("broker-2",)))
    assert "InsufficientInstanceCapacity" in project.up(exit_status=None).output
    made = set(instances(project.cloud))
    assert len(made) == len(SMOKE_HOSTS) - 1

    project.cloud.inject(Faults())
    ran = project.up()
    assert [step for step in ran.steps if step.resource in SMOKE_HOSTS] == [Step("create", "broker-2")]
    assert made < set(instances(project.cloud))
    assert project.up().changes == {}


def test_a_replacement_that_cannot_be_had_keeps_the_old_host(new_project: NewProject) -> None:
    """No capacity for the new one: the old one lives on, and a later up replaces it."""
    project = new_project()
    project.up()
    old = ids(project)
    project.set("generations.broker-2", 2)
    project.cloud.inject(Faults(no_capacity=("broker-2",)))
    project.up(exit_status=1)
    assert set(instances(project.cloud)) == set(old.values())
    project.cloud.inject(Faults())
    assert project.up().changes["replace"] == 1
    assert old["broker-2"] not in instances(project.cloud)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_destroy_is_repeated(new_project: NewProject, how: signal.Signals) -> None:
    """Broken off after the first deletion, politely or not, a destroy done again ends at nothing but the bucket."""
    project = new_project()
    before = things(project.cloud)
    project.up()
    project.cloud.inject(Faults(termination_delay_s=15.0))  # what waits for the instances' end isn't begun yet
    process = project.start("destroy", "--yes", "--skip-preview", "--json")
    assert process.stdout is not None
    for line in process.stdout:
        if '"resOutputsEvent"' in line and '"op":"delete"' in line:
            break
    _send(process.pid, how)
    process.communicate(timeout=WAIT_S)  # its exit status says nothing: an interrupted destroy ends with 0
    assert things(project.cloud) - before > buckets(project.cloud), "it was over before it was interrupted"
    project.cloud.inject(Faults())

    if how == signal.SIGKILL:
        assert "locked" in project.destroy(exit_status=None).output
        project.pulumi("cancel", "--yes", project.preset)
    project.destroy()
    assert things(project.cloud) - before == buckets(project.cloud)


def test_secrets_are_not_in_the_state(new_project: NewProject) -> None:
    """Neither a host's private key nor the seed of all of them is readable in the backend or in what pulumi prints."""
    project = new_project()
    printed = project.pulumi("up", "--yes").output + project.state()
    assert '"userData"' in printed
    for secret in ("OPENSSH PRIVATE KEY", "5a" * 32):
        assert secret not in printed


@pytest.mark.parametrize(("preset", "hosts"), [("sn2022", 10), ("sn2020", 10), ("smoke", 5), ("tiny", 4)])
def test_every_preset_has_a_plan(new_project: NewProject, preset: str, hosts: int) -> None:
    """The committed configuration, completed as documented, previews whole: so many instances and nothing wrong."""
    project = new_project(preset)
    printed = project.pulumi("preview").output
    assert printed.count("aws:ec2:Instance ") == hosts
    assert not instances(project.cloud)


@pytest.mark.parametrize(
    ("key", "value"), [("brokers.instanceType", "i3en.7xlarge"), ("operatorCidr", "0.0.0.0/0"), ("brokers.count", 0)]
)
def test_bad_config_fails_in_preview(new_project: NewProject, key: str, value: str | int) -> None:
    """One clear message that names the key, no traceback, nothing made."""
    _refused_in_preview(new_project(), key, value)


def test_credentials_of_another_account_are_refused(new_project: NewProject) -> None:
    """In preview, and in everything else that the provider is asked for; those of the stack's own account pass."""
    project = new_project()
    account = client(project.cloud, "sts").get_caller_identity()["Account"]
    project.set("awsAccount", "999999999999")
    refused = project.pulumi("preview", exit_status=None)
    assert refused.exit_status != 0 and f"AWS account ID not allowed: {account}" in refused.output
    project.set("awsAccount", account)
    project.pulumi("preview")


def test_an_image_of_another_region_fails_in_preview(new_project: NewProject) -> None:
    """Image ids look alike everywhere: the region is asked."""
    project = new_project()
    filters = [{"Name": "name", "Values": ["al2023-ami-2023*-kernel-6.18-x86_64"]}]
    images = client(replace(project.cloud, region="us-east-1"), "ec2").describe_images(Filters=filters)["Images"]
    _refused_in_preview(project, "ami", images[0]["ImageId"])


def _refused_in_preview(project: Project, key: str, value: str | int) -> None:
    before = things(project.cloud)
    project.set(key, value)
    ran = project.pulumi("preview", exit_status=None)
    assert ran.exit_status != 0
    assert f"samebox:{key}" in ran.output
    assert "Traceback" not in ran.output
    assert things(project.cloud) == before


def _send(pid: int, how: signal.Signals) -> None:
    """To the engine alone, as Ctrl-C reaches it or as a crash would hit it."""
    os.kill(pid, how)
