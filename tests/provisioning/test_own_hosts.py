"""inventory.toml: what it becomes, and each way in which it or the machines that it names can be wrong."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from provisioning.errors import Completed, HostError, InvalidInput
from provisioning.hosts.clocks import ClockReading
from provisioning.hosts.facts import Disk, Facts
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import load_inventory
from provisioning.preparation.step import as_root
from provisioning.testbeds.own.checks import (
    check_mounted,
    check_ours_to_empty,
    refuse_clocks_apart,
    refuse_different,
    require_root,
)
from provisioning.testbeds.own.hosts import load_own_hosts

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEx1bm9ib3JlYWxpc2hhbGxvd21vcm5pbmdkZXcx"
FILE = f"""
schema = 1
name = "rack-7"
identity_file = "key"
ssh_user = "bench"
instance_type = "r640"

[[hosts]]
name = "broker-1"
role = "broker"
address = "192.0.2.11"
host_key = "{KEY} bench@rack"
data_dirs = [{{ path = "/mnt/data-1", device = "/dev/nvme1n1", owned = true }}, {{ path = "/opt/samebox/data-2" }}]

[[hosts]]
name = "client-1"
role = "client"
address = "192.0.2.21"
ssh_address = "198.51.100.21"
ssh_port = 2222
host_key = "{KEY}"
"""


def written(folder: Path, text: str = FILE) -> Path:
    """The text as inventory.toml, beside a key file."""
    (folder / "key").write_text("private")
    path = folder / "inventory.toml"
    path.write_text(text)
    return path


def refusal(folder: Path, text: str) -> str:
    """What is said against the text."""
    with pytest.raises(InvalidInput) as raised:
        load_own_hosts(written(folder, text), known_hosts=folder / "known_hosts")
    return f"{raised.value} {raised.value.next_step}"


def test_it_becomes_an_inventory(tmp_path: Path) -> None:
    """Defaults of the file reach every host, hosts' own keys win, and the result is an inventory as any other."""
    own, inventory = load_own_hosts(written(tmp_path))
    broker, client = inventory.hosts
    assert (inventory.testbed.kind, inventory.testbed.name) == ("inventory", "rack-7")
    assert inventory.identity_file == str(tmp_path / "key")
    assert (broker.ssh.address, broker.ssh.port, broker.ssh.user) == ("192.0.2.11", 22, "bench")
    assert (client.ssh.address, client.ssh.port, client.address) == ("198.51.100.21", 2222, "192.0.2.21")
    assert broker.ssh.host_key == KEY
    assert [(d.mount, d.owned) for d in broker.data_dirs] == [("/mnt/data-1", True), ("/", False)]
    assert {host.instance_type for host in inventory.hosts} == {"r640"}
    assert not own.different_machines
    written_out = tmp_path / "inventory.json"
    written_out.write_text(inventory.to_json())
    assert load_inventory(written_out) == inventory


def test_the_same_machines_are_the_same_instances(tmp_path: Path) -> None:
    """Read twice, instance ids are equal, so that a vetting counts for the run; a machine installed anew has another."""
    path = written(tmp_path)
    first, again = load_own_hosts(path)[1], load_own_hosts(path)[1]
    assert first == again
    path.write_text(FILE.replace(KEY + '"', KEY[:-1] + 'y"'))
    assert load_own_hosts(path)[1].hosts[1].instance_id != first.hosts[1].instance_id


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('role = "broker"', 'role = "brokre"', ("'hosts.0.role'", "'broker', 'client' or 'metadata'")),
        ("ssh_port = 2222", "shh_port = 2222", ("unknown key 'hosts.1.shh_port'", "Did you mean 'ssh_port'")),
        ("ssh_port = 2222", 'ssh_port = "a"', ("'hosts.1.ssh_port'",)),
        ('ssh_user = "bench"', "", ("key 'ssh_user' is missing",)),
        ("schema = 1", "schema = 2", ("reads schema = 1",)),
        ('name = "client-1"', 'name = "broker-1"', ("2 hosts are called 'broker-1'",)),
        ('name = "client-1"', 'name = "../client"', ("'hosts.1.name'", "letters, digits and dashes")),
        ('role = "client"', 'role = "broker"', ('no host has role = "client"', "'hosts.1.data_dirs' is missing")),
        ('device = "/dev/nvme1n1", ', "", ("'hosts.0.data_dirs.0.device'", "name the device")),
        ('"/opt/samebox/data-2"', '"/home/bench/data"', ("'hosts.0.data_dirs.1.path'", "must lie below root")),
        ('"/opt/samebox/data-2"', '"/opt"', ("'hosts.0.data_dirs.1.path'", "two folders deep")),
        ("owned = true", 'owned = true, mount = "/mnt/other"', ("'hosts.0.data_dirs.0.mount'", "isn't below it")),
        ("owned = true", 'owned = true, mount = "/"', ("'hosts.0.data_dirs.0.mount'",)),
        ('"key"', '"no-such-key"', ("'identity_file'", "no such file")),
        ('instance_type = "r640"', 'root = "/"', ("'hosts.0.root'",)),
    ],
)
def test_each_mistake_is_named_by_its_key(tmp_path: Path, before: str, after: str, words: tuple[str, ...]) -> None:
    """File, key, and what would be right."""
    assert before in FILE
    said = refusal(tmp_path, FILE.replace(before, after, 1))
    assert str(tmp_path / "inventory.toml") in said
    for word in words:
        assert word in said


def test_a_host_key_is_looked_up_where_ssh_keeps_it(tmp_path: Path) -> None:
    """Without host_key the operator's known_hosts is asked, hashed names and other ports included; unknown = refused, with a hint."""
    without = FILE.replace(f'host_key = "{KEY}"\n', "")
    said = refusal(tmp_path, without)
    assert "'hosts.1.host_key' is missing" in said
    assert "ssh-keyscan -t ed25519 -p 2222 198.51.100.21" in said
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen here")
    known_hosts = tmp_path / "known_hosts"
    key = KEY.split()[1]
    known_hosts.write_text(f"[198.51.100.21]:2222 {KEY}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known_hosts)], check=True, capture_output=True)
    assert "198.51.100.21" not in known_hosts.read_text(), "must be hashed for this test"
    _, inventory = load_own_hosts(written(tmp_path, without), known_hosts=known_hosts)
    assert inventory.hosts[1].ssh.host_key == f"ssh-ed25519 {key}"


def scripted(folder: Path, number: int = 0) -> ScriptedHost:
    """One host of the file."""
    return ScriptedHost(load_own_hosts(written(folder))[1].hosts[number])


FACTS = Facts(
    cpu_model="Xeon Gold 6136",
    cpus=24,
    memory_bytes=192 * 2**30,
    kernel="6.1",
    os="Debian",
    clock_source="tsc",
    boot_id="boot",
    disks=(Disk("nvme0n1", "P4610", 1_600_321_314_816, False),),
    python3=None,
    load_1min=0.0,
)


def test_machines_of_one_role_must_be_alike(tmp_path: Path) -> None:
    """The odd one is named with what differs; another role may be another machine; a little memory more or less is the same."""
    broker, client = (scripted(tmp_path, number) for number in (0, 1))
    brokers = [ScriptedHost(replace(broker.record, name=f"broker-{n}")) for n in (1, 2, 3)]
    alike = {host.name: FACTS for host in brokers}
    smaller = replace(FACTS, cpus=4, memory_bytes=8 * 2**30)
    refuse_different([*brokers, client], {**alike, "client-1": smaller})
    refuse_different(brokers, {**alike, "broker-2": replace(FACTS, memory_bytes=191 * 2**30)})
    for odd, word in (
        (replace(FACTS, cpu_model="Xeon Gold 6248"), "CPU Xeon Gold 6248 x 24"),
        (replace(FACTS, memory_bytes=96 * 2**30), "memory 96.0 GiB"),
        (replace(FACTS, disks=(Disk("sda", "SSD 870", 10**12, False),)), "disks SSD 870 1000 GB"),
    ):
        with pytest.raises(InvalidInput, match="hosts of the same role differ") as raised:
            refuse_different(brokers, {**alike, "broker-3": odd})
        assert f"broker-3: {word}" in str(raised.value)
        assert "broker-1" not in str(raised.value)
        assert "different_machines = true" in raised.value.next_step


def test_clocks_certainly_apart_are_refused() -> None:
    """Only what the exchange can't explain: a slow connection alone is no reason."""

    def reading(offset_ns: int, uncertainty_ns: int) -> ClockReading:
        return ClockReading("boot", offset_ns, uncertainty_ns, 0, 0, None)

    refuse_clocks_apart({"broker-1": reading(0, 50_000_000), "client-1": reading(30_000_000, 50_000_000)})
    with pytest.raises(InvalidInput, match=r"broker-1 and client-1 are at least 4\.0 ms apart"):
        refuse_clocks_apart({"broker-1": reading(0, 500_000), "client-1": reading(5_000_000, 500_000)})


def test_sudo_is_asked_for_with_the_line_to_type(tmp_path: Path) -> None:
    """Without root nothing else is worth asking."""
    host = scripted(tmp_path)
    host.answers[as_root("true")] = Completed("", "", "sudo: a password is required", 1)
    with pytest.raises(HostError, match="bench can't become root") as raised:
        require_root(host)
    assert "NOPASSWD" in raised.value.next_step


class Answering(ScriptedHost):
    """Answers every command alike and remembers them."""

    def __init__(self, host: ScriptedHost, answer: str) -> None:
        super().__init__(host.record)
        self.answer = answer

    def run(
        self, command: str, *, timeout_s: float = 60.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        del timeout_s, check, stdin
        self.asked.append(command)
        return Completed(command, self.answer, "", 0)


def test_an_owned_directory_must_lie_on_its_device(tmp_path: Path) -> None:
    """After a reboot it would lie on the root disk, and nobody would notice."""
    host = scripted(tmp_path)
    owned = host.record.data_dirs[0]
    check_mounted(Answering(host, "/dev/nvme1n1\n/dev/nvme1n1\n"), owned)
    with pytest.raises(HostError, match="is on /dev/sda2, not on /dev/nvme1n1") as raised:
        check_mounted(Answering(host, "/dev/nvme1n1\n/dev/sda2\n"), owned)
    assert "samebox prepare" in raised.value.next_step


def test_a_directory_with_somebodys_files_is_refused(tmp_path: Path) -> None:
    """It would be emptied; found empty it is marked, so that our own data is no reason later."""
    host = scripted(tmp_path)
    directory = host.record.data_dirs[1]
    with pytest.raises(HostError, match=r"is not empty \(thesis\.odt\)"):
        check_ours_to_empty(Answering(host, "thesis.odt\n"), directory)
    empty = Answering(host, "")
    check_ours_to_empty(empty, directory)
    assert "/opt/samebox/.samebox-data-" in empty.asked[-1]
