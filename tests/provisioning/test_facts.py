"""Facts of hosts: parsed from real output, in one round trip."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from provisioning.errors import HostsFailed
from provisioning.hosts.facts import FACTS_COMMAND, Disk, Facts, boot_ids, parse_disks, parse_facts, read_facts
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from provisioning.hosts.ssh import SshHost

DEBIAN_VM = """\
==samebox lscpu
Architecture:                            x86_64
CPU op-mode(s):                          32-bit, 64-bit
Byte Order:                              Little Endian
CPU(s):                                  2
On-line CPU(s) list:                     0,1
Vendor ID:                               AuthenticAMD
Model name:                              AMD EPYC
CPU family:                              26
==samebox memory
MemTotal:       24684092 kB
==samebox kernel
6.18.44-fc-v657
==samebox os
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
==samebox clock_source
tsc
==samebox boot_id
d0a98822-da50-4af3-82ab-06b8169b5510
==samebox lsblk
{
   "blockdevices": [
      {"name":"loop0", "type":"loop", "size":0, "model":null, "rota":false},
      {"name":"zram0", "type":"disk", "size":0, "model":null, "rota":false},
      {"name":"vda", "type":"disk", "size":274877906944, "model":null, "rota":true}
   ]
}
==samebox java
openjdk version "17.0.15" 2025-04-15
OpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)
==samebox python
Python 3.11.7
==samebox load
4.67 2.18 0.93 3/412 9184
"""
# util-linux 2.23 prints every value as text, models padded
OLD_LSBLK = """
{"blockdevices": [
  {"name": "nvme0n1", "type": "disk", "size": "8589934592", "model": "Amazon Elastic Block Store              ", "rota": "0"},
  {"name": "nvme1n1", "type": "disk", "size": "2500000000000", "model": "Amazon EC2 NVMe Instance Storage        ", "rota": "0"}
]}
"""
BARE = "==samebox lscpu\n==samebox kernel\n6.1.0\n==samebox boot_id\nabc\n==samebox lsblk\n"


def host(name: str, output: str) -> ScriptedHost:
    """A host that answers the facts command only."""
    record = HostRecord(name, "broker", SshAddress("::1", 22, "u", "k"), "::1", "/srv/s", (), "i-1", "local", 1)
    return ScriptedHost(record, {FACTS_COMMAND: output})


def test_a_debian_vm() -> None:
    """Every fact of a real host's output."""
    assert parse_facts(DEBIAN_VM) == Facts(
        cpu_model="AMD EPYC",
        cpus=2,
        memory_bytes=24684092 * 1024,
        kernel="6.18.44-fc-v657",
        os="Debian GNU/Linux 12 (bookworm)",
        clock_source="tsc",
        boot_id="d0a98822-da50-4af3-82ab-06b8169b5510",
        disks=(Disk("vda", None, 274877906944, True),),
        python3="3.11.7",
        load_1min=4.67,
    )


def test_old_lsblk_prints_text() -> None:
    """Numbers and booleans as text give the same disks; models are stripped."""
    assert parse_disks(OLD_LSBLK) == (
        Disk("nvme0n1", "Amazon Elastic Block Store", 8589934592, False),
        Disk("nvme1n1", "Amazon EC2 NVMe Instance Storage", 2500000000000, False),
    )


def test_what_a_host_does_not_tell_is_none() -> None:
    """No Python, no lscpu, no lsblk: None or empty, never a guess."""
    facts = parse_facts(BARE)
    assert (facts.python3, facts.cpu_model, facts.cpus, facts.disks, facts.load_1min) == (None, None, None, (), None)
    assert facts.kernel == "6.1.0"


def test_facts_take_one_round_trip() -> None:
    """Each host is asked once."""
    hosts = [host("broker-1", DEBIAN_VM), host("broker-2", BARE)]
    assert set(read_facts(hosts)) == {"broker-1", "broker-2"}
    assert [len(one.asked) for one in hosts] == [1, 1]


def test_unreadable_facts_name_the_host() -> None:
    """Output that isn't facts is an error with the host and what it said."""
    with pytest.raises(HostsFailed, match=r"broker-1: its facts can't be read.*bash: nonsense"):
        read_facts([host("broker-1", "bash: nonsense")])


@pytest.mark.integration
def test_facts_of_the_local_testbed(hosts: dict[str, SshHost]) -> None:
    """Over real sshd: all hosts are this machine, told by kernel and boot id."""
    here = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    facts = read_facts(list(hosts.values()))
    assert {one.boot_id for one in facts.values()} == {here}
    assert {one.kernel for one in facts.values()} == {platform.release()}
    assert all(one.cpus and one.memory_bytes and one.python3 for one in facts.values())
    assert boot_ids(list(hosts.values())) == dict.fromkeys(hosts, here)
