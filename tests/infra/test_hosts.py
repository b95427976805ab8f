"""Instances that are hosts of this machine: reached as the inventory says, prepared by their own user data, ended with the instance."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from provisioning.errors import HostUnreachable
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connect
from provisioning.testbeds.aws.rehearsal.cloud.things import client, instances
from tests.infra.project import NewProject, moment

pytestmark = [pytest.mark.integration, pytest.mark.infra, pytest.mark.usefixtures("possible_hosts")]
WAIT_S = 300.0
GIVEN_ANEW_WITHIN_S = 25.0


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder so deep that its path is longer than what the kernel's tools keep of a device's name."""
    deep = tmp_path / ("deep-" * 20) / ("deeper-" * 20)
    deep.mkdir(parents=True)
    return deep


def hosts_of(inventory: Inventory) -> dict[str, Host]:
    """The hosts by name, once each of them answers and has its disks."""
    hosts: dict[str, Host] = {host.name: host for host in connect(inventory)}
    for host in hosts.values():
        mounts = [data_dir.mount for data_dir in host.record.data_dirs if data_dir.owned]
        await_true(lambda host=host, mounts=mounts: _is_ready(host, mounts))  # type: ignore[misc]
    return hosts


def _is_ready(host: Host, mounts: list[str]) -> bool:
    try:
        return all(host.run(f"mountpoint -q {mount}", check=False).exit_status == 0 for mount in ["/", *mounts])
    except HostUnreachable:
        return False


def await_true(condition: Callable[[], bool]) -> None:
    """Returns once the condition holds."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.1)


def test_the_inventory_leads_to_hosts(new_project: NewProject) -> None:
    """Every host answers under the key known beforehand, is who it should be, and has the disks that the inventory names."""
    project = new_project(hosts=True)
    project.up()
    hosts = hosts_of(project.inventory())
    assert len({host.run("cat /proc/sys/kernel/random/boot_id").stdout for host in hosts.values()}) == len(hosts)
    for name, host in hosts.items():
        assert host.run("hostname").stdout.strip() == name
        assert host.run("systemctl is-active samebox-expires.timer", check=False).exit_status == 0
        assert host.run(f"test -d {host.record.root} && echo there").stdout.strip() == "there"
        for data_dir in host.record.data_dirs:
            if data_dir.owned:
                found = host.run(f"findmnt -no FSTYPE,OPTIONS {data_dir.mount}").stdout
                assert found.startswith("xfs ") and "noatime" in found
                device = host.run(f"readlink -f {data_dir.device}").stdout.strip()
                assert device.startswith("/dev/nvme")
        assert str(project.folder) not in host.run("cat /proc/self/mountinfo").stdout
        host.close()


def test_a_replaced_host_is_another_machine(new_project: NewProject) -> None:
    """It has another address, another key and empty disks; the old one is gone from this machine, and after destroy so are all."""
    project = new_project(hosts=True)
    project.up()
    old = {host.name: host for host in project.inventory().hosts}
    for host in hosts_of(project.inventory()).values():
        host.run(f"touch {host.record.root}/left-behind")
        host.close()
    project.set("generations.broker-1", 2)
    project.up()
    hosts = hosts_of(project.inventory())
    new = hosts["broker-1"].record
    assert new.ssh.host_key != old["broker-1"].ssh.host_key
    assert new.address != old["broker-1"].address
    for name, host in hosts.items():
        found = host.run(f"test -e {host.record.root}/left-behind", check=False).exit_status == 0
        assert found == (name != "broker-1")
        host.close()

    folder = project.cloud.state_dir / "hosts"
    assert {each.name for each in folder.iterdir()} == set(instances(project.cloud))
    project.destroy()
    assert list(folder.iterdir()) == []
    assert not [pid for pid in Path("/proc").glob("[0-9]*") if _names(pid, str(folder))]


def test_a_host_ends_itself_when_its_time_is_over(new_project: NewProject) -> None:
    """What its user data armed ends the instance from inside, and a later time given to it holds instead."""
    project = new_project(hosts=True)
    project.up()
    hosts = hosts_of(project.inventory())
    began = datetime.now(UTC)
    first, later = began + timedelta(seconds=GIVEN_ANEW_WITHIN_S), began + timedelta(hours=1)
    for at in (first, later):
        hosts["broker-2"].run(f"/usr/local/sbin/samebox-expire-at {moment(at)}")
    assert datetime.now(UTC) < first, "too slow a machine to see anything"
    hosts["broker-1"].run(f"/usr/local/sbin/samebox-expire-at {moment(datetime.now(UTC) + timedelta(seconds=4))}")
    await_true(lambda: hosts["broker-1"].record.instance_id not in instances(project.cloud))
    await_true(lambda: datetime.now(UTC) > first + timedelta(seconds=2))
    assert hosts["broker-2"].record.instance_id in instances(project.cloud)
    assert hosts["broker-2"].run("hostname").stdout.strip() == "broker-2"
    for host in hosts.values():
        host.close()


def test_an_instance_ended_from_outside_is_a_host_gone(new_project: NewProject) -> None:
    """Terminating by any client of AWS takes the host off this machine."""
    project = new_project(hosts=True)
    project.up()
    hosts = hosts_of(project.inventory())
    client(project.cloud, "ec2").terminate_instances(InstanceIds=[hosts["client-1"].record.instance_id])
    hosts["client-1"].close()
    with pytest.raises(HostUnreachable):
        hosts["client-1"].run("true", timeout_s=60)
    for host in hosts.values():
        host.close()


def _names(pid: Path, text: str) -> bool:
    try:
        return text.encode() in (pid / "cmdline").read_bytes()
    except OSError:
        return False
