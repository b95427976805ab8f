"""A command of samebox that goes on by itself on this machine, whatever becomes of the terminal: begun, and looked at.

It is a process in a session of its own: no closed terminal and no Ctrl-C reaches it. It ends with the machine, and sleeps with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SAMEBOX = (sys.executable, "-m", "bench.cli.main")
LOG, PROCESS = "log", "process"
# in the process' environment: what tells it from another one that has got its number since
MARK = "SAMEBOX_BY_ITSELF"
LAST_LINES = 3
LAST_BYTES = 4000


@dataclass(frozen=True)
class ByItself:
    """The files of one such command, in a folder that has nothing else."""

    folder: Path

    @property
    def log(self) -> Path:
        """All that it says."""
        return self.folder / LOG

    def begin(self, arguments: Sequence[str], program: Sequence[str] = SAMEBOX) -> int:
        """Begins `samebox ARGUMENTS` with nobody to ask and returns its process id. What an earlier one left is removed."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [*program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, MARK: str(self.folder), "PYTHONUNBUFFERED": "1"},
            )
        (self.folder / PROCESS).write_text(f"{process.pid} {shlex.join(arguments)}")
        return process.pid

    def lines(self) -> list[str]:
        """For `samebox status`: whether it runs, since when, where its log is and how that ends. Empty if none was begun."""
        try:
            number, _, arguments = (self.folder / PROCESS).read_text().partition(" ")
            since = datetime.fromtimestamp((self.folder / PROCESS).stat().st_mtime, UTC)
            last = self.log.read_bytes()[-LAST_BYTES:].decode(errors="replace").splitlines()[-LAST_LINES:]
        except FileNotFoundError:
            return []
        stands = f"runs by itself on this machine (pid {number})" if self._is_running(int(number)) else "has ended"
        return [
            f"samebox {arguments}, begun at {since:%Y-%m-%dT%H:%M:%SZ}: {stands}; log: {self.log}",
            *(f"  | {line}" for line in last),
        ]

    def _is_running(self, pid: int) -> bool:
        """A process that has ended has no environment, reaped or not."""
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
        return f"{MARK}={self.folder}".encode() in environment
