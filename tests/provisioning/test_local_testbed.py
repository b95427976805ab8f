"""The local testbed's life: up, what its hosts are like, replace, down."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.hosts.inventory import Inventory, load_inventory
from provisioning.hosts.ssh import SshHost, connect
from provisioning.testbeds.local import addresses, sshd
from provisioning.testbeds.local.lock import exclusive
from provisioning.testbeds.local.processes import HOST_ROOT_VARIABLE
from provisioning.testbeds.local.testbed import LocalTestbed
from tests.provisioning.proc import processes_naming, runs

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[LocalTestbed]:
    """A small testbed, not up yet; taken down at the end."""
    testbed = LocalTestbed(tmp_path / "state", brokers=1, clients=1)
    yield testbed
    testbed.down()


def _listens(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def test_the_inventory_describes_the_hosts(hosts: dict[str, SshHost], local_testbed: Inventory) -> None:
    """Three brokers and a client on addresses of their own, of kind local, that don't expire."""
    assert (local_testbed.testbed.kind, local_testbed.expires) == ("local", None)
    assert [(h.name, h.role) for h in local_testbed.hosts] == [
        ("broker-1", "broker"), ("broker-2", "broker"), ("broker-3", "broker"), ("client-1", "client"),
    ]  # fmt: skip
    assert len({h.address for h in local_testbed.hosts}) == len({h.ssh.host_key for h in local_testbed.hosts}) == 4
    assert len({h.instance_id for h in local_testbed.hosts}) == 4
    assert all(h.generation == 1 and h.instance_type == "local" for h in local_testbed.hosts)
    state = Path(local_testbed.identity_file).parent
    assert load_inventory(state / "inventory.json") == local_testbed
    assert stat.S_IMODE(Path(local_testbed.identity_file).stat().st_mode) == 0o600
    for host in hosts.values():
        for data_dir in host.record.data_dirs:
            assert not data_dir.owned
            mount, device = host.run(f"df --output=target,source {data_dir.path} | tail -1").stdout.split()
            assert (data_dir.mount, data_dir.device) == (mount, device)


def test_sessions_live_inside_their_host(hosts: dict[str, SshHost]) -> None:
    """Home, working and temporary directory lie in the host's root; the operator's PATH is there."""
    for host in hosts.values():
        root = host.record.root
        told = host.run(f'echo "$HOME"; pwd; mktemp -u; echo "${HOST_ROOT_VARIABLE}"; echo "$PATH"').stdout.splitlines()
        assert told[:2] == [root, root]
        assert told[2].startswith(f"{root}/tmp/")
        assert told[3] == root
        assert told[4].endswith(os.environ["PATH"])
        host.run("command -v python3 sha256sum")


def test_no_version_manager_stands_between(hosts: dict[str, SshHost]) -> None:
    """A host's python3 is Python itself."""
    for host in hosts.values():
        found, itself = host.run("command -v python3; python3 -c 'import sys; print(sys.executable)'").stdout.split()
        assert found == itself


def test_up_again_changes_nothing(testbed: LocalTestbed) -> None:
    """A healthy testbed that is up is returned as it is."""
    assert testbed.inventory() is None
    first = testbed.up()
    assert testbed.up() == first == testbed.inventory()


def test_another_shape_is_refused(testbed: LocalTestbed, tmp_path: Path) -> None:
    """Asking for other hosts than those that are up is refused, not silently ignored."""
    testbed.up()
    with pytest.raises(InvalidInput, match="another shape is up"):
        LocalTestbed(tmp_path / "state", brokers=2, clients=1).up()


def test_metadata_hosts(tmp_path: Path) -> None:
    """Metadata hosts are hosts like the others, with their own role."""
    testbed = LocalTestbed(tmp_path / "state", brokers=1, clients=0, metadata=1)
    try:
        assert [h.role for h in testbed.up().hosts] == ["broker", "metadata"]
    finally:
        testbed.down()


def test_down_leaves_nothing(testbed: LocalTestbed, tmp_path: Path) -> None:
    """No process (not even a daemon that shed its marker), no listener and no directory is left; twice is fine."""
    inventory = testbed.up()
    host = connect(inventory)[0]
    root = host.record.root
    host.run("setsid sleep 300 < /dev/null > /dev/null 2>&1 &")
    shed = "setsid env -i sleep 301 < /dev/null > daemon.log 2>&1 & echo $!"
    daemon = int(host.run(shed).stdout)
    listener = "import socket, time; s = socket.create_server(('%s', 8080)); print('on', flush=True); time.sleep(300)"
    serving = host.spawn(f'python3 -c "{listener % host.record.address}"')
    assert next(serving.lines()) == "on"
    assert len(processes_naming(tmp_path / "state")) >= 4
    assert runs(daemon)
    testbed.down()
    assert processes_naming(tmp_path / "state") == []
    assert not runs(daemon)
    assert not _listens(host.record.address, 2222)
    assert not _listens(host.record.address, 8080)
    assert not Path(root).exists()
    assert list(tmp_path.iterdir()) == []
    assert testbed.inventory() is None
    host.close()
    testbed.down()


def test_down_spares_readers_and_the_operators_shell(testbed: LocalTestbed) -> None:
    """A program of the operator's that merely reads a log of the host is not killed."""
    root = testbed.up().hosts[0].root
    reader = subprocess.Popen(["tail", "-f", f"{root}/sshd/sshd.log"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.2)
        testbed.down()
        assert reader.poll() is None
    finally:
        reader.kill()
        reader.wait()


def test_replace_gives_a_new_host_of_the_same_name(testbed: LocalTestbed) -> None:
    """Same name and address; next generation, another instance id and host key, empty directories; others untouched."""
    old = testbed.up()
    host = connect(old)[0]
    host.put(b"old data", f"{host.record.data_dirs[0].path}/segment")
    host.run("setsid sleep 300 < /dev/null > /dev/null 2>&1 &")
    new = testbed.replace(["broker-1"])
    host.close()
    before, after = old.hosts[0], new.hosts[0]
    assert new.hosts[1] == old.hosts[1]
    assert (after.name, after.role, after.address, after.generation) == ("broker-1", "broker", before.address, 2)
    assert after.instance_id != before.instance_id
    assert after.ssh.host_key != before.ssh.host_key
    assert not Path(before.root).exists()
    assert processes_naming(Path(f"{before.root}/..").resolve()) == []
    assert testbed.inventory() == new
    fresh = connect(new)[0]
    assert fresh.run(f"ls -A {after.data_dirs[0].path} {after.data_dirs[1].path} | grep -v :").stdout.strip() == ""
    fresh.close()
    assert testbed.replace(["broker-1"]).hosts[0].generation == 3


def test_replace_refuses_unknown_names(testbed: LocalTestbed) -> None:
    """A wrong name is told with the right ones, and nothing is replaced."""
    with pytest.raises(InvalidInput, match="no local testbed is up"):
        testbed.replace(["broker-1"])
    inventory = testbed.up()
    with pytest.raises(InvalidInput, match="no host is called broker-9; the hosts are broker-1, client-1"):
        testbed.replace(["broker-1", "broker-9"])
    assert testbed.inventory() == inventory


def test_two_testbeds_take_different_blocks(tmp_path: Path) -> None:
    """Two checkouts that start at the same moment get addresses of their own, and both work."""
    script = (
        "import sys; from pathlib import Path; from provisioning.testbeds.local.testbed import LocalTestbed; sys.stdin.readline();"
        "print([h.address for h in LocalTestbed(Path(sys.argv[1]), brokers=2, clients=1).up().hosts])"
    )
    folders = [tmp_path / name for name in ("one", "two", "three")]
    starts = [
        subprocess.Popen([sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for folder in folders
    ]
    try:
        for start in starts:
            assert start.stdin is not None
            start.stdin.write(b"\n")
            start.stdin.flush()
        told = [start.communicate(timeout=60)[0].decode() for start in starts]
        assert [start.returncode for start in starts] == [0, 0, 0]
        assert len({address for line in told for address in eval(line)}) == 9
        for folder in folders:
            assert LocalTestbed(folder, brokers=2, clients=1).inventory() is not None
    finally:
        for folder in folders:
            LocalTestbed(folder, brokers=2, clients=1).down()


def test_a_lost_race_for_an_address_moves_on(testbed: LocalTestbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another sshd binds an address after it was found free, the next block is taken."""
    real, taken = sshd.start, list[socket.socket]()

    def late(slot: addresses.Slot, *rest: object) -> object:
        if slot.name == "client-1" and not taken:
            taken.append(socket.create_server((slot.address, 2222)))
        return real(slot, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sshd, "start", late)
    try:
        inventory = testbed.up()
        lost = taken[0].getsockname()[0]
    finally:
        for listener in taken:
            listener.close()
    assert lost.rsplit(".", 1)[0] != inventory.hosts[0].address.rsplit(".", 1)[0]
    assert testbed.inventory() == inventory


def test_a_busy_broker_port_makes_the_block_unusable(tmp_path: Path) -> None:
    """A block where something listens on a broker's port is passed over."""
    with socket.create_server((next(addresses.free_blocks([("broker-1", "broker")], ()))[0].address, 0)) as busy:
        address, port = busy.getsockname()
        testbed = LocalTestbed(tmp_path / "state", brokers=1, clients=1, broker_ports=(port,))
        try:
            assert address not in [host.address for host in testbed.up().hosts]
        finally:
            testbed.down()


def test_a_listener_on_all_addresses_is_named(tmp_path: Path) -> None:
    """A needed port that is taken on 0.0.0.0 is told with port and process, and nothing is started."""
    with socket.create_server(("0.0.0.0", 0)) as busy:
        port = busy.getsockname()[1]
        testbed = LocalTestbed(tmp_path / "state", brokers=1, clients=1, broker_ports=(port,))
        with pytest.raises(MissingRequirement, match=rf"port {port} .* process {os.getpid()} .* 0\.0\.0\.0:{port}"):
            testbed.up()
    assert testbed.inventory() is None


def test_a_missing_sshd_is_told_with_the_command_to_install_it(
    testbed: LocalTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the sshd program the operator learns what to install."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "sshd" else f"/usr/bin/{name}")
    with pytest.raises(MissingRequirement, match="sshd is missing") as caught:
        testbed.up()
    assert "apt-get install -y openssh-server" in caught.value.next_step


def test_only_one_process_uses_a_testbed(tmp_path: Path) -> None:
    """A second user of the same testbed is refused with the first one's pid; afterwards no trace is left."""
    state = tmp_path / "state"
    with exclusive(state), pytest.raises(MissingRequirement, match=rf"pid {os.getpid()}"), exclusive(state):
        pass
    assert not state.exists()


def test_a_killed_holder_frees_the_testbed(tmp_path: Path) -> None:
    """The lock ends with its process, however that ended."""
    script = (
        "import sys, time; from pathlib import Path; from provisioning.testbeds.local.lock import exclusive\n"
        "with exclusive(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "state")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with exclusive(tmp_path / "state"):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only an sshd of root needs the folder")
def test_the_systems_sshd_folder_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The privilege separation folder goes only if samebox made it and no sshd needs it."""
    folder = tmp_path / "run" / "sshd"
    folder.parent.mkdir()
    monkeypatch.setattr(sshd, "PRIVILEGE_FOLDER", folder)
    monkeypatch.setattr(sshd, "_OURS", folder / "made-by-samebox")
    monkeypatch.setattr(sshd, "any_runs", lambda _: True)
    with sshd.privilege_separation():
        assert folder.is_dir()
    sshd.release_privilege_separation()
    assert folder.is_dir()
    monkeypatch.setattr(sshd, "any_runs", lambda _: False)
    sshd.release_privilege_separation()
    assert not folder.exists()
    folder.mkdir()
    with sshd.privilege_separation():
        pass
    sshd.release_privilege_separation()
    assert folder.is_dir()
