"""A samebox command that goes on in the background of this machine: started, looked at for `samebox status`.

It is a process in a session of its own: no closed terminal and no Ctrl-C reaches it. It ends with the machine, and sleeps with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
from click.core import ParameterSource

from bench.checkout import BACKGROUND_STATE
from bench.cli.target import stack_state
from bench.cli.terminal import say, shown

SAMEBOX = (sys.executable, "-m", "bench.cli.main")
LOG, PROCESS = "log", "process"
# in the process' environment: tells it from another process that has been given its number since
MARK = "SAMEBOX_BACKGROUND"
LAST_LINES = 3
LAST_BYTES = 4000


@dataclass(frozen=True)
class Background:
    """The files of one such command, in a folder that has nothing else."""

    folder: Path

    @property
    def log(self) -> Path:
        """Everything that it prints."""
        return self.folder / LOG

    def begin(self, arguments: Sequence[str], program: Sequence[str] = SAMEBOX) -> int:
        """Starts `samebox ARGUMENTS` without standard input and returns its process id. Files of an earlier one are removed."""
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
        """For `samebox status`: whether it runs, since when, its log and the last lines of it. Empty if none was started."""
        try:
            number, _, arguments = (self.folder / PROCESS).read_text().partition(" ")
            since = datetime.fromtimestamp((self.folder / PROCESS).stat().st_mtime, UTC)
            last = self.log.read_bytes()[-LAST_BYTES:].decode(errors="replace").splitlines()[-LAST_LINES:]
        except FileNotFoundError:
            return []
        running = f"running in the background (pid {number})" if self._is_running(int(number)) else "ended"
        return [
            f"samebox {arguments}, started at {since:%Y-%m-%dT%H:%M:%SZ}: {running}; log: {self.log}",
            *(f"  | {line}" for line in last),
        ]

    def _is_running(self, pid: int) -> bool:
        """A process that has ended has no environment, reaped or not."""
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
        return f"{MARK}={self.folder}".encode() in environment


def background_of(stack_name: str) -> Background:
    """The campaign on a stack that runs, or ran, in the background of this machine."""
    return Background(BACKGROUND_STATE / stack_state(stack_name).name)


def continue_in_background(stack_name: str) -> None:
    """Starts the `campaign aws` under way, confirmed, once more as a process of its own, and says how to follow and end it."""
    campaign = background_of(stack_name)
    words = words_of(click.get_current_context(), but=("detach", "yes", "plain"))
    pid = campaign.begin(["campaign", "aws", *words, "--yes", "--plain"])
    say(f"It runs in the background of this machine (pid {pid}), which has to stay on; this terminal may be closed.")
    say(f"How far it is: samebox status --stack {stack_name}")
    say(f"Follow it: tail -f {shown(campaign.log)}")
    say(f"End it early, and take its hosts down: kill {pid}")


def words_of(context: click.Context, *, but: Collection[str]) -> list[str]:
    """The arguments and options of a command as they were typed, but for those named; paths are absolute.

    They come from the command's own parameters, so that one added later is among them.
    """
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in but or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        option = [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
        for each in value if isinstance(value, tuple) else (value,):
            words += option if each is True else [*option, str(each.resolve() if isinstance(each, Path) else each)]
    return words
