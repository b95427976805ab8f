"""Faults done to the processes of a local testbed, by process id, and undone whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import inet_aton, inet_ntoa

import pytest

from provisioning.testbeds.local.processes import belongs_to, listener_of
from systems.deployment import Deployment
from systems.processes import states


def pids_of(deployment: Deployment, hosts: Sequence[str] | None = None) -> list[int]:
    """The running daemons of a deployment, on all hosts or on those named; there must be some."""
    found = [state for state in states(deployment.processes) if hosts is None or state.host in hosts]
    pids = [state.pid for state in found if state.pid is not None]
    assert pids and len(pids) == len(found), found
    return pids


def signal_all(pids: Sequence[int], number: signal.Signals) -> None:
    """One signal to each; a process that has gone meanwhile needs none."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class Freeze:
    """Freezes processes `after_s` into a load and lets them go on `for_s` later (None: at the end of the block).

    `on_progress` is the load's: its first line with time left comes when the workers are told to start.
    """

    def __init__(self, pids: Sequence[int], *, after_s: float, for_s: float | None) -> None:
        self.began_ns = 0
        self.ended_ns = 0
        self._pids = tuple(pids)
        self._after_s, self._for_s = after_s, for_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="freeze", daemon=True)

    def on_progress(self, text: str) -> None:
        if text.endswith(" s left") and self._thread.ident is None:
            self._thread.start()

    def __enter__(self) -> Freeze:
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        signal_all(self._pids, signal.SIGCONT)

    def _run(self) -> None:
        if self._over.wait(self._after_s):
            return
        signal_all(self._pids, signal.SIGSTOP)
        self.began_ns = time.time_ns()
        self._over.wait(self._for_s)
        self.ended_ns = time.time_ns()
        signal_all(self._pids, signal.SIGCONT)


def processes_of(root: Path) -> dict[int, str]:
    """What runs for the local host with this root, but for its SSH server: pid -> command line."""
    belongs = belongs_to(root)
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and belongs(int(folder.name)):
            with suppress(OSError):
                found[int(folder.name)] = (
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
    return {
        pid: command for pid, command in found.items() if command and not command.startswith(("sshd", "/usr/sbin/sshd"))
    }


def worker_pids(client_root: Path) -> list[int]:
    """The load workers on a client host, in the order of their start: consumers first."""
    return sorted(pid for pid, command in processes_of(client_root).items() if "bench.worker.main" in command)


def peers_of(pid: int) -> set[str]:
    """The IPv4 addresses that a process has open TCP connections to."""
    links = [str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()]
    own = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:")}
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    remote = [row[2].split(":")[0] for row in rows if row[3] == "01" and row[9] in own]
    return {inet_ntoa(bytes.fromhex(address)[::-1]) for address in remote}


def connection_pids(root: Path) -> list[int]:
    """The sshd processes that serve the connections to a local host: the children of its listener."""
    listener = listener_of(root)
    assert listener is not None, f"no sshd runs for {root}"
    children = Path(f"/proc/{listener}/task/{listener}/children").read_text()
    return [int(pid) for pid in children.split()]


def listening_ports(address: str) -> set[int]:
    """The TCP ports that somebody listens on at an IPv4 address of this machine, as the kernel lists them."""
    wanted = inet_aton(address)[::-1].hex().upper()
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    rows = [line.split() for line in lines]
    local = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {int(port, 16) for bound, port in local if bound.endswith(wanted)}


SMALL_DISK_BYTES = 512 * 2**20


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A small disk of its own at `folder` while inside. Skips the test where none can be mounted."""
    if os.geteuid() != 0:
        pytest.skip("a full disk needs a small one, and only root may mount it")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a full disk needs a small one, and this root may not mount it: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        # what still writes there loses its disk, and the name is free again at once
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Takes all the room that a disk has left, at once."""
    with (folder / "filler").open("wb") as filler:
        taken, piece = 0, SMALL_DISK_BYTES
        while piece >= os.sysconf("SC_PAGESIZE"):
            try:
                os.posix_fallocate(filler.fileno(), taken, piece)
                taken += piece
            except OSError:
                piece //= 2
