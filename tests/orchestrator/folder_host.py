"""A host that is a folder of this machine: its commands run here in a shell, with the folder as HOME. For tests without sshd."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from provisioning.errors import CommandFailed, Completed
from provisioning.hosts.host import COMMAND_TIMEOUT_S, ScriptedHost
from provisioning.hosts.inventory import HostRecord, Role, SshAddress


@dataclass
class FolderHost(ScriptedHost):
    """Runs what it is asked to run."""

    def run(
        self, command: str, *, timeout_s: float = COMMAND_TIMEOUT_S, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        self.asked.append(command)
        ran = subprocess.run(
            ["sh", "-c", command],
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=timeout_s,
            env={**os.environ, "HOME": self.record.root},
            check=False,
        )
        completed = Completed(command, ran.stdout.decode(), ran.stderr.decode(), ran.returncode)
        if check and completed.exit_status != 0:
            raise CommandFailed(self.name, completed)
        return completed

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
        Path(path).chmod(mode)

    def get(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def fetch(self, path: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def record(name: str, role: Role, root: str, *, public: str = "198.51.100.7") -> HostRecord:
    """A host whose SSH server the operator reaches by another address than its neighbours."""
    ssh = SshAddress(public, 22, "operator", "ssh-ed25519 AAAA")
    return HostRecord(name, role, ssh, "10.0.0.7", root, (), f"i-{name}", "t", 1)


def folder_host(root: Path, name: str = "client-1") -> FolderHost:
    """A host in an empty folder."""
    root.mkdir(parents=True, exist_ok=True)
    return FolderHost(record(name, "client", str(root)))
