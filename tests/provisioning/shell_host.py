"""A host that is this machine's shell."""

from __future__ import annotations

import subprocess

from provisioning.errors import Completed
from provisioning.hosts.host import COMMAND_TIMEOUT_S, ScriptedHost


class ShellHost(ScriptedHost):
    """Runs what it is asked in this machine's shell: for command lines whose meaning is in the shell."""

    def run(
        self, command: str, *, timeout_s: float = COMMAND_TIMEOUT_S, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        shell = ["sh", "-c", command]
        done = subprocess.run(shell, input=stdin or b"", capture_output=True, timeout=timeout_s, check=check)
        return Completed(command, done.stdout.decode(), done.stderr.decode(), done.returncode)
