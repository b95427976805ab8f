"""Another machine to prepare, on this one: an sshd in namespaces of its own over a copy-on-write root. Nothing of it outlives it.

Its root is an overlay in memory, so that packages are really installed and files really written, and its kernel settings are files
bound over the real ones: what is set there is read back there, and this machine keeps its own. It has a boot id of its own. Mounts
made there are seen nowhere else and go with its last process. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from provisioning.hosts.inventory import (
    INVENTORY_SCHEMA,
    DataDir,
    HostRecord,
    Inventory,
    Role,
    SshAddress,
    TestbedRecord,
)
from provisioning.testbeds.local.sshd import make_key

PORT = 2222
START_TIMEOUT_S = 30.0
BOOT_ID = "11111111-2222-3333-4444-555555555555"
# As a distribution may come: none of these is what samebox wants.
SETTINGS = {
    "/proc/sys/kernel/random/boot_id": BOOT_ID,
    "/proc/sys/vm/swappiness": "60",
    "/proc/sys/vm/dirty_background_ratio": "10",
    "/proc/sys/vm/dirty_ratio": "40",
    "/proc/sys/vm/max_map_count": "65530",
    "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
}


@dataclass(frozen=True)
class OtherMachine:
    """`inventory` has it as its only host; `settings`: real path -> the file that stands for it there."""

    inventory: Inventory
    settings: dict[str, Path]


def free_address() -> str:
    """A loopback address on whose port nobody listens; drawn, so that tests of two clones at once don't choose the same."""
    for _ in range(100):
        address = f"127.0.{random.randint(201, 254)}.{random.randint(1, 254)}"
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((address, PORT))
            return address
    raise OSError(f"none of 100 loopback addresses has port {PORT} free")


@contextlib.contextmanager
def other_machine(folder: Path, *, role: Role, data_dirs: tuple[DataDir, ...] = ()) -> Iterator[OtherMachine]:
    """Starts the machine with its sshd on a loopback address of its own, and ends all of it."""
    address = free_address()
    layers = folder / "layers"
    layers.mkdir()
    settings = {path: folder / path.strip("/").replace("/", "-") for path in SETTINGS}
    for path, file in settings.items():
        file.write_text(f"{SETTINGS[path]}\n")
    for name in ("operator_key", "host_key"):
        make_key(folder / name, name)
    (folder / "start").write_text(_start_script(folder, layers, settings))
    (folder / "sshd_config").write_text(_sshd_config(address))
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-eu", str(folder / "start")],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _await(process, address, log)
        key = " ".join((folder / "host_key.pub").read_text().split()[:2])
        host = HostRecord(
            name=f"{role}-1",
            role=role,
            ssh=SshAddress(address, PORT, "root", key),
            address=address,
            root="/opt/samebox",
            data_dirs=data_dirs,
            instance_id="other",
            instance_type="other",
            generation=1,
        )
        testbed = TestbedRecord("inventory", "other")
        yield OtherMachine(
            Inventory(INVENTORY_SCHEMA, testbed, "", None, str(folder / "operator_key"), (host,)), settings
        )
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills the first process of the namespace, with which all others and all mounts go; its parent then ends by itself."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    first = children.read_text().split() if process.poll() is None else []
    if first:
        os.kill(int(first[0]), signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _start_script(folder: Path, layers: Path, settings: dict[str, Path]) -> str:
    """Runs in the new namespaces. The overlay's upper half is on a tmpfs: below the lower half it would not be allowed."""
    quoted, upper, work, merged = (
        shlex.quote(str(path)) for path in (folder, layers / "upper", layers / "work", layers / "merged")
    )
    bindings = "\n".join(f"mount --bind {shlex.quote(str(file))} {merged}{path}" for path, file in settings.items())
    return f"""
mount --make-rprivate /
mount -t tmpfs -o size=1500m tmpfs {shlex.quote(str(layers))}
mkdir {upper} {work} {merged}
mount -t overlay -o lowerdir=/,upperdir={upper},workdir={work} overlay {merged}
mount -t proc proc {merged}/proc
mount --rbind /sys {merged}/sys
mount --rbind /dev {merged}/dev
{bindings}
mkdir -p {merged}/run/sshd {merged}/other
cp {quoted}/sshd_config {quoted}/host_key {merged}/other/
cp {quoted}/operator_key.pub {merged}/other/authorized_keys
chmod 600 {merged}/other/host_key
# sshd lets nobody into an account whose password is locked
sed -i 's/^root:[^:]*:/root:*:/' {merged}/etc/shadow
# no package that is installed there may start a daemon
printf '#!/bin/sh\\nexit 101\\n' > {merged}/usr/sbin/policy-rc.d
chmod 755 {merged}/usr/sbin/policy-rc.d
exec chroot {merged} /usr/sbin/sshd -D -e -f /other/sshd_config
"""


def _sshd_config(address: str) -> str:
    lines = [
        f"ListenAddress {address}:{PORT}",
        "HostKey /other/host_key",
        "PidFile none",
        "AuthorizedKeysFile /other/authorized_keys",
        "AuthenticationMethods publickey",
        "PermitRootLogin prohibit-password",
        "StrictModes no",
        "UsePAM no",
        f'SetEnv "PATH={os.environ.get("PATH", os.defpath)}"',
    ]
    return "\n".join(lines) + "\n"


def _await(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection((address, PORT), timeout=1) as connection:
            if connection.recv(4) == b"SSH-":
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError(f"the machine at {address} did not start: {log.read_text()[-800:]}")
        time.sleep(0.05)
