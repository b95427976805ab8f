"""`samebox extend` on a testbed that is up: the real engine, hosts of this machine, their own timers and the ones outside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from provisioning.hosts.host import Host
from provisioning.hosts.ssh import connect
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import Cloud
from provisioning.testbeds.aws.rehearsal.cloud.things import client, instances
from tests.infra.project import NewProject, Project, moment

pytestmark = [pytest.mark.integration, pytest.mark.infra, pytest.mark.usefixtures("possible_hosts")]
TIMER_FILE = "/etc/systemd/system/samebox-expires.timer"


def expires(project: Project) -> datetime:
    """When the stack says that everything ends."""
    text = project.inventory().expires
    assert text is not None
    return datetime.fromisoformat(text)


def outside(cloud: Cloud) -> set[str]:
    """When the schedules outside the hosts end them."""
    scheduler = client(cloud, "scheduler")
    found = scheduler.list_schedules()["Schedules"]
    return {scheduler.get_schedule(GroupName=s["GroupName"], Name=s["Name"])["ScheduleExpression"] for s in found}


def inside(hosts: Sequence[Host]) -> dict[str, str]:
    """When each host ends itself."""
    return {host.name: host.run(f"sed -n s/^OnCalendar=//p {TIMER_FILE}").stdout.strip() for host in hosts}


def systemd_time(time: datetime) -> str:
    """As the timer's file has it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC")


def test_extend_moves_every_timer(new_project: NewProject) -> None:
    """Config, tags, the timers outside and every host's own have the new end; no host is another one; a host left out is named."""
    project = new_project(hosts=True)
    project.up()
    begun, ids = expires(project), set(instances(project.cloud))
    hosts = connect(project.inventory())
    for host in hosts:
        host.run(
            "timeout 60 sh -c 'until systemctl is-active --quiet samebox-expires.timer; do sleep 0.1; done'",
            timeout_s=90,
        )
    assert set(inside(hosts).values()) == {systemd_time(begun)}

    ran = project.samebox("extend", "2", "--stack", project.preset)
    assert ran.exit_status == 0, ran.output
    later = begun + timedelta(hours=2)
    assert f"{len(hosts)} hosts end at {moment(later)}, in 7.0 h" in ran.output
    assert expires(project) == later
    assert outside(project.cloud) == {f"at({moment(later).removesuffix('Z')})"}
    assert inside(hosts) == {host.name: systemd_time(later) for host in hosts}
    assert {tags["expires"] for tags in instances(project.cloud).values()} == {moment(later)}
    assert set(instances(project.cloud)) == ids
    volumes = client(project.cloud, "ec2").describe_volumes()["Volumes"]
    tagged = [{tag["Key"]: tag["Value"] for tag in volume.get("Tags", [])} for volume in volumes]
    assert {tags["expires"] for tags in tagged if tags.get("project") == "samebox"} == {moment(later)}

    broken = hosts[1]
    broken.run("mv /usr/local/sbin/samebox-expire-at /usr/local/sbin/away")
    ran = project.samebox("extend", "1", "--stack", project.preset)
    assert ran.exit_status == 1
    assert f"{broken.name}: its own timer wasn't moved" in ran.output
    assert f"samebox extend 0 --stack {project.preset}" in ran.output
    last = later + timedelta(hours=1)
    expected = {host.name: systemd_time(later if host is broken else last) for host in hosts}
    assert inside(hosts) == expected

    broken.run("mv /usr/local/sbin/away /usr/local/sbin/samebox-expire-at")
    assert project.samebox("extend", "0", "--stack", project.preset).exit_status == 0
    assert set(inside(hosts).values()) == {systemd_time(last)}
    assert outside(project.cloud) == {f"at({moment(last).removesuffix('Z')})"}

    refused = project.samebox("extend", "168", "--stack", project.preset)
    assert refused.exit_status == 1
    assert "more than 7 days ahead" in refused.output
    assert expires(project) == last
    for host in hosts:
        host.close()
