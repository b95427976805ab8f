"""A stack's update (`pulumi up`, `destroy`) that was begun on this machine: its output and its process, in files of its own.

They outlive the command that started it. Of an update that was started elsewhere only Pulumi's own lock tells.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from provisioning.testbeds.aws.events import EventLog
from provisioning.testbeds.aws.failures import StackFailed, masked

OUTPUT, ERRORS, PROCESS = "output", "errors", "process"
# in the environment of the update's process: what tells it from another one that has got its number since
RECORD_VARIABLE = "SAMEBOX_UPDATE"
_PROC = Path("/proc")


@dataclass(frozen=True)
class Update:
    """An update as its files show it. `since` is UTC; `done` counts the resources changed so far, `last` is the newest progress.

    `ended` says that its end is in its output: one that neither runs nor has ended was cut off.
    """

    command: str
    pid: int
    since: str
    running: bool
    ended: bool
    done: int
    last: str
    evidence: tuple[str, ...]

    @property
    def progress(self) -> str:
        """How far it is, in words."""
        return f"{self.done} resources done" + (f", last: {self.last}" if self.last else "")


def still_running(update: Update, stack: str) -> StackFailed:
    """The error of a command that would change a stack while this update of it runs."""
    return StackFailed(
        "lock",
        told(update, stack)[0],
        next_step="Wait until it has ended, then run the same command again. To stop it safely: "
        f"kill -INT {update.pid} (it finishes what it has started).",
    )


def told(update: Update, stack: str) -> list[str]:
    """For people: that an update runs, how far it is, or how it ended without whoever began it."""
    what = f"`pulumi {update.command}` of stack {stack}"
    if update.running:
        return [f"{what} is still running (pid {update.pid}, since {update.since}; {update.progress})."]
    if update.ended:
        return [
            f"{what}, started at {update.since} by a command that was killed, has ended: {update.progress}.",
            *update.evidence,
        ]
    return [
        f"{what}, started at {update.since}, was cut off: {update.progress}. No state may know what it was creating then: "
        f"`pulumi cancel {stack}`, then `samebox sweep --stack {stack} --orphans`.",
        *update.evidence,
    ]


@dataclass(frozen=True)
class UpdateRecord:
    """The files of a stack's update, in a folder of their own; no folder, no update."""

    folder: Path

    def read(self) -> Update | None:
        """The update, running or not; None if there is none."""
        try:
            number, command = (self.folder / PROCESS).read_text().split()
            since = datetime.fromtimestamp((self.folder / PROCESS).stat().st_mtime, UTC)
            output, errors = (
                masked((self.folder / name).read_text(errors="replace"), os.environ) for name in (OUTPUT, ERRORS)
            )
        except (OSError, ValueError):
            return None
        running = self._is_running(int(number))
        said: list[str] = []
        log = EventLog(said.append)
        for line in output.splitlines():
            log.take(line)
        return Update(
            command,
            int(number),
            f"{since:%Y-%m-%dT%H:%M:%SZ}",
            running,
            log.ended,
            len(log.finished),
            said[-1] if said else "",
            tuple(each for each in (*log.evidence, errors.strip()) if each),
        )

    def remove(self) -> None:
        """Forgets the update. To be called when it no longer runs."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_running(self, pid: int) -> bool:
        """Whether the process carries this record in its environment; one that has ended has no environment, reaped or not."""
        try:
            environment = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:
            return False
        return f"{RECORD_VARIABLE}={self.folder}".encode() in environment
