"""Preparation over scripted hosts: what is asked for, what is changed, what is refused, and that all of it is read back."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from provisioning.errors import Completed, HostError, HostsFailed
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from provisioning.preparation.disks import look, provide_disks
from provisioning.preparation.packages import (
    MANAGERS,
    distribution_of,
    install_command,
    provide_packages,
    requirements_of,
)
from provisioning.preparation.prepare import FIRST_BOOT, await_first_boot, prepare, provide_settings, read_command
from provisioning.preparation.settings import settings_of
from provisioning.preparation.step import as_root
from provisioning.preparation.time_service import PTP_DEVICE, SOURCES, follow_script, provide_time_server, selected
from systems.jvm.processes import JAVA

Answer = str | Completed | Exception | list[str | Completed | Exception]
SERVER = "192.0.2.123"
OWNED = DataDir("/mnt/data-1", "/dev/nvme1n1", "/mnt/data-1", owned=True)
AMAZON = 'NAME="Amazon Linux"\nVERSION="2023"\nID="amzn"\nID_LIKE="fedora"\nVERSION_ID="2023"\n'
DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n'


def record(role: Role = "broker", *, owned: bool = False) -> HostRecord:
    """A host, with an owned data disk or without a data directory."""
    return HostRecord(
        name=f"{role}-1",
        role=role,
        ssh=SshAddress("192.0.2.1", 22, "bench", "ssh-ed25519 AAAA"),
        address="192.0.2.1",
        root="/opt/samebox",
        data_dirs=(OWNED,) if owned else (),
        instance_id="i-1",
        instance_type="x9.large",
        generation=1,
    )


@dataclass
class Machine(ScriptedHost):
    """Keeps its settings as a kernel does: `values` can be read and written, those in `stubborn` take no write."""

    values: dict[str, str] = field(default_factory=dict)
    stubborn: tuple[str, ...] = ()
    written: list[str] = field(default_factory=list)
    connections: int = 1

    def run(
        self, command: str, *, timeout_s: float = 60.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        settings = settings_of(self.record)
        if command == read_command(settings):
            printed = "".join(f"==samebox {at}\n{self.values.get(each.name, '')}\n" for at, each in enumerate(settings))
            return Completed(command, printed, "", 0)
        for setting in settings:
            if command == as_root(setting.write):
                self.written.append(setting.name)
                if setting.name in self.stubborn:
                    return Completed(command, "", "Permission denied", 1)
                self.values[setting.name] = setting.wanted
                return Completed(command, "", "", 0)
        return super().run(command, timeout_s=timeout_s, check=check, stdin=stdin)

    def close(self) -> None:
        self.connections += 1


FOUND = {"vm.swappiness": "60", "vm.dirty_ratio": "20", "vm.max_map_count": "1048576", "open files": "524288"}


def test_settings_that_differ_are_set_and_read_back() -> None:
    """What differs is changed; larger than asked for is fine; what the host doesn't have is told as such."""
    machine = Machine(record(), values=dict(FOUND))
    steps = {step.name: step for step in provide_settings(machine, may_change=True)}
    assert machine.written == ["vm.swappiness", "vm.dirty_ratio"]
    assert (steps["vm.swappiness"].before, steps["vm.swappiness"].after) == ("60", "1")
    assert steps["vm.swappiness"].status == "changed"
    assert steps["vm.max_map_count"].status == "as wanted"
    assert steps["CPU governor"].status == "not there"
    assert machine.connections == 2, "limits are given at login: they must be read over a new connection"


def test_a_second_time_changes_nothing() -> None:
    """Found as wanted, nothing is written and the connection stays."""
    machine = Machine(record(), values=dict(FOUND))
    provide_settings(machine, may_change=True)
    machine.written.clear()
    steps = provide_settings(machine, may_change=True)
    assert machine.written == []
    assert {step.status for step in steps} == {"as wanted", "not there"}
    assert machine.connections == 2


def test_a_setting_that_does_not_hold_is_an_error() -> None:
    """The error names host, setting, what was wanted, what was found, and the host's own words."""
    machine = Machine(record(), values=dict(FOUND), stubborn=("vm.swappiness",))
    with pytest.raises(HostError, match=r"broker-1: vm\.swappiness: wanted 1, found 60 \(Permission denied\)"):
        provide_settings(machine, may_change=True)


def test_too_low_a_limit_is_raised_and_unlimited_is_enough() -> None:
    """A minimum is met by more, and by "unlimited"."""
    [limit] = [setting for setting in settings_of(record()) if setting.name == "open files"]
    assert limit.met_by("unlimited")
    assert limit.met_by("300000")
    assert not limit.met_by("1024")
    assert not limit.met_by("")


def test_only_owned_disks_have_their_queues_set() -> None:
    """A device that isn't owned is the operator's: no setting of it is ours."""
    named = {setting.name for setting in settings_of(record(owned=True))}
    assert {"/dev/nvme1n1 scheduler", "/dev/nvme1n1 read-ahead KiB"} <= named
    not_owned = replace(record(), data_dirs=(replace(OWNED, owned=False),))
    assert not any("/dev/" in setting.name for setting in settings_of(not_owned))


def test_requirements_follow_role_disk_and_time_server() -> None:
    """Brokers need Java, clients the locked Python; xfsprogs where a disk is owned, chrony where there is a server to follow."""

    def names(role: Role, *, owned: bool = False, server: str | None = None) -> set[str]:
        return {one.name for one in requirements_of(record(role, owned=owned), time_server=server, of_systems=[JAVA])}

    assert "Java 17" in names("broker") & names("metadata")
    assert "Java 17" not in names("client")
    assert "Python 3.11" in names("client")
    assert "Python 3.11" not in names("broker")
    assert ("strace" in names("broker"), "strace" in names("client")) == (True, False)
    assert ("xfsprogs" in names("broker", owned=True), "xfsprogs" in names("broker")) == (True, False)
    assert ("chrony" in names("client", server=SERVER), "chrony" in names("client")) == (True, False)


@pytest.mark.parametrize(
    ("os_release", "kind"),
    [
        (AMAZON, "amazon"),
        (DEBIAN, "debian"),
        ('ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"', "debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', "redhat"),
        ("ID=alpine", None),
        ("", None),
    ],
)
def test_distributions_are_told_apart(os_release: str, kind: str | None) -> None:
    """By ID and ID_LIKE; Amazon Linux, which calls itself like Fedora, has package names of its own."""
    assert distribution_of(os_release) == kind


def scripted(role: Role, answers: dict[str, Answer], *, os_release: str = AMAZON) -> ScriptedHost:
    """A host that answers what is asked about packages."""
    return ScriptedHost(record(role), {"cat /etc/os-release": os_release, **answers})


def questions(role: Role) -> str:
    """The command line that asks which programs are there."""
    needed = requirements_of(record(role), time_server=None, of_systems=[JAVA])
    return "; ".join(f"if ( {one.test} ) >/dev/null 2>&1; then echo yes; else echo no; fi" for one in needed)


def amazon_install(*packages: str) -> str:
    """The command line that installs on Amazon Linux."""
    return install_command("amazon", packages)


def test_what_is_missing_is_installed_from_the_release_of_the_image() -> None:
    """Only the missing package, from the locked release, and looked for again afterwards."""
    listing = "bash.x86_64 5.2.15-1\nkernel.x86_64 6.1.1\nkernel.x86_64 6.1.2\n"
    install = amazon_install("java-17-amazon-corretto-devel")
    host = scripted(
        "broker",
        {
            questions("broker"): ["no\nyes\nyes\nyes\nyes\n", "yes\nyes\nyes\nyes\nyes\n"],
            MANAGERS["amazon"].installed: [listing, listing + "java-17-amazon-corretto-devel.x86_64 17.0.9\n"],
            install: "",
        },
    )
    steps = {step.name: step for step in provide_packages(host, None, [JAVA], may_change=True)}
    assert steps["Java 17"].status == "changed"
    assert steps["tar"].status == "as wanted"
    assert '--releasever="$(rpm -q --qf' in install
    assert host.asked.count(install) == 1


def test_an_installation_that_upgrades_something_is_an_error() -> None:
    """A package that was there before must have the version that it had."""
    host = scripted(
        "client",
        {
            questions("client"): ["yes\nno\nyes\n", "yes\nyes\nyes\n"],
            MANAGERS["amazon"].installed: ["glibc.x86_64 2.34-1\n", "glibc.x86_64 2.34-2\npython3.11.x86_64 3.11\n"],
            amazon_install("python3.11"): "",
        },
    )
    with pytest.raises(HostError, match=r"glibc\.x86_64 2\.34-1 -> 2\.34-2"):
        provide_packages(host, None, [JAVA], may_change=True)


def test_still_missing_and_unknown_distributions_are_errors() -> None:
    """An installation that changes nothing, one that fails, and one that can't be tried, each say what is missing."""
    listing = "bash.x86_64 5.2.15-1\n"
    shadowed = scripted(
        "client",
        {
            questions("client"): ["yes\nno\nyes\n", "yes\nno\nyes\n"],
            MANAGERS["amazon"].installed: [listing, listing],
            amazon_install("python3.11"): "",
        },
    )
    with pytest.raises(HostError, match=r"still missing after the installation: Python 3\.11"):
        provide_packages(shadowed, None, [JAVA], may_change=True)
    install = amazon_install("python3.11")
    failed = scripted(
        "client",
        {
            questions("client"): "yes\nno\nyes\n",
            MANAGERS["amazon"].installed: listing,
            install: Completed(install, "", "Error: cannot reach the mirror", 1),
        },
    )
    with pytest.raises(HostError, match="cannot reach the mirror"):
        provide_packages(failed, None, [JAVA], may_change=True)
    alpine = scripted("client", {questions("client"): "yes\nno\nyes\n"}, os_release="ID=alpine")
    with pytest.raises(HostError, match=r"Python 3\.11; unsupported distribution"):
        provide_packages(alpine, None, [JAVA], may_change=True)


class DiskHost(ScriptedHost):
    """A host with one disk: answers what is asked about it, and takes note of what root is told to do."""

    def __init__(self, *, signature: str = "", mounts: tuple[str, ...] = (), options: str = "xfs rw,noatime") -> None:
        super().__init__(record(owned=True))
        self.signature, self.mounts, self.options = signature, mounts, options
        self.done: list[str] = []

    def run(
        self, command: str, *, timeout_s: float = 60.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        del timeout_s, check, stdin
        if "blkid" in command:
            kind, _, label = self.signature.partition(" ")
            node: dict[str, object] = {
                "name": "nvme1n1",
                "mountpoint": None,
                "children": [{"name": "part", "mountpoint": m} for m in self.mounts],
            }
            if self.mounts == ("/mnt/data-1",):
                node = {"name": "nvme1n1", "mountpoint": "/mnt/data-1"}
            return Completed(command, f"/dev/nvme1n1\n{kind}\n{label}\n{json.dumps({'blockdevices': [node]})}", "", 0)
        if command.startswith("findmnt"):
            return Completed(command, f"{self.options}\n" if self.mounts else "", "", 0)
        if "set -e;" in command:
            self.done.append(command)
            self.mounts, self.signature = ("/mnt/data-1",), "xfs samebox"
            self.options = "xfs rw,noatime"
            return Completed(command, "", "", 0)
        assert command.startswith("[ -d "), command
        return Completed(command, "", "", 0)


def test_a_blank_disk_is_formatted_and_mounted() -> None:
    """xfs, noatime, nodiscard; a second time nothing is done."""
    host = DiskHost()
    steps = provide_disks(host, may_change=True, erase=False)
    assert "mkfs.xfs" in host.done[0]
    assert "mount -t xfs -o noatime,nodiscard /dev/nvme1n1 /mnt/data-1" in host.done[0]
    assert (steps[0].before, steps[0].status) == ("blank, not mounted", "changed")
    assert [step.status for step in provide_disks(host, may_change=True, erase=False)] == ["as wanted"] * 3
    assert len(host.done) == 1


def test_our_own_file_system_is_mounted_as_it_is() -> None:
    """After a reboot the disk isn't mounted; what is on it isn't formatted again."""
    host = DiskHost(signature="xfs samebox")
    provide_disks(host, may_change=True, erase=False)
    assert "mkfs" not in host.done[0]
    assert "mount -t xfs" in host.done[0]


def test_a_file_system_that_the_inventory_names_is_mounted_as_it_is() -> None:
    """A device given by its label is that file system; one with another label is somebody's."""
    named = DiskHost(signature="xfs data-1")
    by_label = replace(OWNED, device="/dev/disk/by-label/data-1")
    named.record = replace(named.record, data_dirs=(by_label,))
    provide_disks(named, may_change=True, erase=False)
    assert "mkfs" not in named.done[0]
    with pytest.raises(HostError, match="it holds xfs data-1"):
        provide_disks(DiskHost(signature="xfs data-1"), may_change=True, erase=False)


def test_a_first_boot_is_waited_for() -> None:
    """A host that cloud-init is still setting up isn't touched; when that failed, its words are told."""
    await_first_boot(ScriptedHost(record(), {FIRST_BOOT: Completed(FIRST_BOOT, "status: done", "", 2)}))
    failed = ScriptedHost(record(), {FIRST_BOOT: Completed(FIRST_BOOT, "status: error\nno disk is blank", "", 1)})
    with pytest.raises(HostError, match="no disk is blank"):
        await_first_boot(failed)


def test_a_disk_that_holds_something_is_refused() -> None:
    """A foreign file system is kept unless erasing was asked for; wrong mount options are mended in place."""
    foreign = DiskHost(signature="ext4 photos")
    with pytest.raises(HostError, match=r"/dev/nvme1n1 is not empty: it holds ext4 photos") as raised:
        provide_disks(foreign, may_change=True, erase=False)
    assert "--erase" in raised.value.next_step
    assert foreign.done == []
    provide_disks(foreign, may_change=True, erase=True)
    assert "wipefs" in foreign.done[0]
    lax = DiskHost(signature="xfs data", mounts=("/mnt/data-1",), options="xfs rw,relatime,discard")
    provide_disks(lax, may_change=True, erase=False)
    assert "remount,noatime,nodiscard" in lax.done[0]
    assert "mkfs" not in lax.done[0]


@pytest.mark.parametrize("mounts", [("/",), ("/boot/efi", "/"), ("/mnt/data-2",), ("[SWAP]",)])
def test_a_disk_in_use_is_refused_whatever_is_asked(mounts: tuple[str, ...]) -> None:
    """Neither `owned` nor `erase` touches a disk that is mounted elsewhere, the root disk least of all."""
    host = DiskHost(signature="gpt", mounts=mounts)
    with pytest.raises(HostError, match="it is in use"):
        provide_disks(host, may_change=True, erase=True)
    assert host.done == []


def test_another_file_system_on_the_mount_is_refused() -> None:
    """ext4 where xfs is wanted is another box."""
    with pytest.raises(HostError, match="has ext4 on /dev/nvme1n1, wanted xfs"):
        provide_disks(DiskHost(mounts=("/mnt/data-1",), options="ext4 rw,noatime"), may_change=True, erase=True)


def test_looking_reads_partitions_and_mounts() -> None:
    """A partitioned disk isn't blank even where no file system is seen."""
    disk = look(DiskHost(signature="gpt", mounts=("/srv",)), OWNED)
    assert (disk.signature, disk.parts, disk.mounts) == ("gpt", ("part",), ("/srv",))


def test_a_time_server_that_is_followed_is_left_alone() -> None:
    """Nothing is written when chrony follows it already."""
    host = ScriptedHost(record(), {SOURCES: f"^,*,{SERVER},3,4,377,10,0.000001,0.000001,0.000230\n"})
    assert provide_time_server(host, SERVER, may_change=True).status == "as wanted"
    assert host.asked == [SOURCES]


def test_a_time_server_is_followed_after_a_while() -> None:
    """chrony is told, and asked until it has selected the server."""
    reachable = f"^,?,{SERVER},0,4,0,10,0,0,0\n^,*,198.51.100.7,2,6,377,10,0,0,0.01\n"
    slept: list[float] = []
    host = ScriptedHost(
        record(),
        {
            SOURCES: ["^,*,198.51.100.7,2,6,377,10,0,0,0.01\n", reachable, f"^,*,{SERVER},3,4,1,10,0,0,0\n"],
            as_root(follow_script(SERVER)): "",
        },
    )
    step = provide_time_server(host, SERVER, may_change=True, sleep=slept.append)
    assert (step.before, step.after, step.status) == ("follows 198.51.100.7", f"follows {SERVER}", "changed")
    assert len(slept) == 1


def test_a_time_server_out_of_reach_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has what was wanted, what was found, and chrony's own table."""
    monkeypatch.setattr("provisioning.preparation.time_service.AWAIT_S", 0.0)
    host = ScriptedHost(
        record(),
        {SOURCES: "", as_root(follow_script(SERVER)): "", "chronyc -n sources": f"^? {SERVER}  0  4  0"},
    )
    with pytest.raises(HostError, match=rf"wanted chrony to follow {SERVER}, found follows no server"):
        provide_time_server(host, SERVER, may_change=True)


PTP_FOLLOWED = (
    f"#,*,PHC0,0,0,377,1,0.000000002,0.000000001,0.000005031\n^,-,{SERVER},1,4,377,8,0,0,0.0001\n{PTP_DEVICE}\n"
)


def test_a_ptp_clock_is_followed_where_the_host_has_one() -> None:
    """Beside the server, which stays as the one to fall back on; a second time nothing is written."""
    host = ScriptedHost(
        record(),
        {
            SOURCES: [f"^,*,{SERVER},3,4,1,10,0,0,0\n{PTP_DEVICE}\n", PTP_FOLLOWED],
            as_root(follow_script(SERVER, ptp=True)): "",
        },
    )
    step = provide_time_server(host, SERVER, may_change=True, sleep=lambda _s: None)
    assert (step.wanted, step.after, step.status) == ("follows PHC0", "follows PHC0", "changed")
    again = ScriptedHost(record(), {SOURCES: PTP_FOLLOWED})
    assert provide_time_server(again, SERVER, may_change=True).status == "as wanted"


def test_a_ptp_clock_that_chrony_does_not_take_is_replaced_by_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row shows that another one was wanted."""
    monkeypatch.setattr("provisioning.preparation.time_service.AWAIT_S", 0.0)
    refused = f"#,?,PHC0,0,0,0,1,0,0,0\n^,*,{SERVER},3,4,377,8,0,0,0.0001\n{PTP_DEVICE}\n"
    host = ScriptedHost(record(), {SOURCES: refused, as_root(follow_script(SERVER, ptp=True)): ""})
    step = provide_time_server(host, SERVER, may_change=True)
    assert (step.wanted, step.after) == ("follows PHC0", f"follows {SERVER}")


def test_the_ptp_clock_stands_once_in_chronys_own_file(tmp_path: Path) -> None:
    """The very script, with its folders moved, run twice; a service that isn't there is said at the end."""
    (tmp_path / "etc/chrony.d").mkdir(parents=True)
    config = tmp_path / "etc/chrony.conf"
    config.write_text("sourcedir /etc/chrony.d\n")
    script = follow_script(SERVER, ptp=True).replace("/etc/", f"{tmp_path}/etc/")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    (tmp_path / "systemctl").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "systemctl").chmod(0o755)
    for _ in range(2):
        subprocess.run(["sh", "-c", script], env=environment, check=True, capture_output=True)
    assert config.read_text() == "sourcedir /etc/chrony.d\nrefclock PHC /dev/ptp_ena poll 0 delay 0.000010 prefer\n"
    assert (
        tmp_path / "etc/chrony.d/samebox.sources"
    ).read_text() == f"server {SERVER} prefer iburst minpoll 4 maxpoll 4\n"


def test_selected_server() -> None:
    """The line with the star; none is none."""
    assert selected("^,+,192.0.2.9,2,6\n^,*,192.0.2.8,2,6\n") == "192.0.2.8"
    assert selected("506 Cannot talk to daemon\n") is None


def test_the_operators_own_machine_is_only_looked_at() -> None:
    """A host with this machine's boot id: everything that differs is told, nothing is written."""
    machine = Machine(
        record("client"),
        {
            "cat /proc/sys/kernel/random/boot_id": "boot-1\n",
            questions("client"): "yes\nno\nyes\n",
            "[ -d /opt/samebox ] && [ -w /opt/samebox ]": Completed("", "", "", 1),
        },
        values=dict(FOUND),
    )
    said: list[str] = []
    preparation = prepare([machine], of_systems=[JAVA], time_server=None, notice=said.append, own_boot_id="boot-1")
    assert machine.written == []
    assert preparation.changed == ()
    assert {row.name for row in preparation.left} == {"Python 3.11", "/opt/samebox", "vm.swappiness", "vm.dirty_ratio"}
    assert said == ["first boot", "packages", "disks and directories", "settings"]


def test_all_failing_hosts_are_named() -> None:
    """One error for all hosts, each with its own setting."""
    machines = [
        Machine(
            replace(record("client"), name=name),
            {
                "cat /proc/sys/kernel/random/boot_id": f"boot-{name}\n",
                FIRST_BOOT: "",
                questions("client"): "yes\nyes\nyes\n",
                "[ -d /opt/samebox ] && [ -w /opt/samebox ]": "",
            },
            values=dict(FOUND),
            stubborn=("vm.dirty_ratio",),
        )
        for name in ("client-1", "client-2")
    ]
    with pytest.raises(HostsFailed) as raised:
        prepare(machines, of_systems=[JAVA], time_server=None, notice=lambda _: None, own_boot_id="elsewhere")
    assert set(raised.value.errors) == {"client-1", "client-2"}
    assert "vm.dirty_ratio: wanted 10, found 20" in str(raised.value)
