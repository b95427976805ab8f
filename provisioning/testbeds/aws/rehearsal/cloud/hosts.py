"""Instances that are hosts: each a set of namespaces of this machine with an sshd on a loopback address. It needs root.

A host has a file system, processes, a name and NVMe disks (files) of its own, runs its first boot's commands, and ends itself
as an instance does. It shares the kernel, the clock, the processors and the network: addresses are 127.X.Y.Z, private and
public alike, and no security group holds anything off.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.rehearsal.cloud.first_boot import MACHINE, SSH_PORT, lay_out
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import CHECKOUT, state_dir

PROGRAMS = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "losetup": "mount",
    "sshd": "openssh-server",
    "mkfs.xfs": "xfsprogs",
    "blkid": "util-linux",
}
FOLDER = "hosts"
HOST_TAG = "host"
DISK_BYTES = 16 * 2**30  # files with holes: they take what is written to them
BLOCKS = range(100, 255)
END_TIMEOUT_S = 20.0
CONTROL_GROUPS = ("/sys/fs/cgroup/blkio", "/sys/fs/cgroup")


def require_hosts() -> None:
    """Raises MissingRequirement saying what this machine lacks for hosts."""
    if os.geteuid() != 0:
        raise MissingRequirement(
            "a rehearsal needs root: each of its hosts has a file system, processes and disks of its own.",
            next_step="Run samebox as root, for example in a container.",
        )
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        packages = " ".join(sorted({PROGRAMS[name] for name in missing}))
        raise MissingRequirement(
            f"programs that a rehearsal's hosts need aren't installed: {', '.join(missing)}.",
            next_step=f"sudo apt-get install -y {packages}",
        )


class Hosts:
    """The hosts of the cloud whose process this is."""

    def __init__(self) -> None:
        require_hosts()
        self._folder = state_dir() / FOLDER
        self._reserved, self._addresses = _reserve_block()
        self.environment: Mapping[str, str] = {}  # by which a host reaches the cloud
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ending = threading.Lock()
        # its thread is the hosts' parent: a request's thread would take them with it when it ends
        self._starter = ThreadPoolExecutor(max_workers=1)

    def launched(self, instance: Any) -> None:
        """Starts the host of a new instance, which answers soon."""
        address = next(self._addresses)
        card = instance.nics[0]
        card.private_ip_address = card.public_ip = address
        for each in card.private_ip_addresses:
            each["PrivateIpAddress"] = address
        folder = self._folder / instance.id
        for name in ("upper", "work", "root", "tmp", "disks"):
            (folder / name).mkdir(parents=True)
        (folder / "tmp").chmod(0o1777)
        for _ in range(_disk_count(instance)):
            with (folder / "disks" / secrets.token_hex(6).upper()).open("wb") as disk:
                disk.truncate(DISK_BYTES)
        key = instance.ec2_backend.key_pairs[instance.key_name].public_key
        user_data = instance.user_data.decode() if instance.user_data else ""
        upper, environment = folder / "upper", self.environment
        name = lay_out(upper, user_data=user_data, authorized_key=key, address=address, environment=environment)
        self._run(instance, folder, name)

    def disk_bytes_per_s(self, host: str) -> int:
        """How fast the disks of a host are made, by its tag; 0 leaves them as they are."""
        del host
        return 0

    def end(self, instance_id: str) -> None:
        """Ends a host and removes its files; one that has none is fine."""
        with self._ending:
            host = self._running.pop(instance_id, None)
        if host is None:
            return
        _kill(host)
        shutil.rmtree(self._folder / instance_id)
        for group in CONTROL_GROUPS:
            with contextlib.suppress(FileNotFoundError):
                Path(group, f"samebox-{instance_id}").rmdir()

    def end_all(self) -> None:
        """Ends every host."""
        for instance_id in list(self._running):
            self.end(instance_id)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._reserved.close()

    def _run(self, instance: Any, folder: Path, name: str) -> None:
        # a killed server takes its hosts with it, and each host's first process everything in it
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--kill-child=KILL", "--fork"]
        command += ["--mount", "--pid", "--uts", "--ipc", "--propagation", "private"]
        tags = {tag["key"]: tag["value"] for tag in instance.get_tags()}
        bytes_per_s = self.disk_bytes_per_s(tags.get(HOST_TAG, ""))
        arguments = [str(folder), name, str(bytes_per_s), str(CHECKOUT), str(Path.home())]

        def start() -> subprocess.Popen[bytes]:
            with (folder / "console.log").open("wb") as console:
                return subprocess.Popen(
                    [*command, str(MACHINE / "init"), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=console,
                    start_new_session=True,
                )

        host = self._running[instance.id] = self._starter.submit(start).result()
        threading.Thread(target=self._watch, args=(instance, host), daemon=True).start()

    def _watch(self, instance: Any, host: subprocess.Popen[bytes]) -> None:
        """A host that ended itself is an instance that was shut down from inside."""
        host.wait()
        if self._running.get(instance.id) is host:
            if instance.instance_initiated_shutdown_behavior == "terminate":
                instance.terminate()
            else:
                instance.stop()


def _kill(host: subprocess.Popen[bytes]) -> None:
    """Kills the host's first process; once that has gone, nothing of the host is left."""
    first = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split() if host.poll() is None else []
    if first:
        os.kill(int(first[0]), signal.SIGKILL)
    else:
        host.kill()
    host.wait(END_TIMEOUT_S)


def _disk_count(instance: Any) -> int:
    described = instance.ec2_backend.describe_instance_types([instance.instance_type])[0]
    return sum(disk["Count"] for disk in described.get("InstanceStorageInfo", {}).get("Disks", []))


def _reserve_block() -> tuple[socket.socket, Iterator[str]]:
    """A block 127.X.0.0/16 that no other cloud has, held by listening in it; and its addresses, none of them given twice."""
    for block in BLOCKS:
        holder = socket.socket()
        try:
            holder.bind((f"127.{block}.0.1", SSH_PORT))
            holder.listen()
        except OSError:
            holder.close()
            continue
        return holder, (f"127.{block}.{number // 250 + 1}.{number % 250 + 2}" for number in range(60_000))
    raise MissingRequirement(
        f"port {SSH_PORT} is taken on every loopback address from 127.{BLOCKS[0]}.0.1 to 127.{BLOCKS[-1]}.0.1.",
        next_step=f"Find out what listens there: ss -ltnp 'sport = {SSH_PORT}'",
    )
