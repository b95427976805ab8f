"""The `pulumi` command as a process: found, run to its end, interrupted gently.

`ScriptedPulumi` is the strict fake for unit tests: a command it was not told about is an error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, Protocol

from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.failures import masked
from provisioning.testbeds.aws.followed_file import FollowedFile
from provisioning.testbeds.aws.update_record import ERRORS, OUTPUT, PROCESS, RECORD_VARIABLE

# before it, a host's replacement could be triggered by changes of what it depends on
OLDEST = (3, 226, 0)
INSTALL = (
    "Install it as https://www.pulumi.com/docs/install says (`brew install pulumi`, or the script there), then again."
)
STDERR_LINES = 60
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The process notes its own number before it becomes pulumi: whoever started it may be killed before it could. $0 is the note's file.
NOTE_AND_RUN = 'echo "$$ $2" >"$0.part" && mv "$0.part" "$0" && exec "$@"'


@dataclass(frozen=True)
class Ended:
    """How a command ended. `interrupted`: Ctrl-C came, was handed on, and the command was waited for."""

    exit_status: int
    stderr: str = ""
    interrupted: bool = False


class PulumiCommand(Protocol):
    """Something that runs pulumi in the project's folder."""

    def run(
        self, arguments: Sequence[str], on_line: Callable[[str], None], *, stdin: str = "", record: Path | None = None
    ) -> Ended:
        """Runs `pulumi ARGUMENTS` to its end; every line of its standard output goes to `on_line` (from another thread).

        Ctrl-C is handed to pulumi once; it then finishes what it has begun, so that no machine is made that no stack knows. So it does
        when this process is killed; the folder `record` then has all that it prints, and its process (update_record.py).
        """


class InstalledPulumi:
    """The operator's own pulumi, in the operator's environment. Raises MissingRequirement when first used if it isn't there."""

    def __init__(self, directory: Path, notice: Callable[[str], None]) -> None:
        self._directory = directory
        self._notice = notice
        self._program = ""

    def run(
        self, arguments: Sequence[str], on_line: Callable[[str], None], *, stdin: str = "", record: Path | None = None
    ) -> Ended:
        if not self._program:
            self._program = find_pulumi()
        environment, command = _environment(), [self._program, *arguments]
        if record is not None:
            environment[RECORD_VARIABLE] = str(record)
            command = ["/bin/sh", "-c", NOTE_AND_RUN, str(record / PROCESS), *command]
        with ExitStack() as opened, _Interrupts(self._notice) as interrupts:
            # Into files: a pipe would end with this process, and pulumi, which writes into it, with the pipe.
            output, errors = (opened.enter_context(each) for each in _output_files(record))
            # A session of its own: Ctrl-C reaches this process only, which then tells pulumi, once. Twice would cut it short.
            process = subprocess.Popen(
                command,
                cwd=self._directory,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            interrupts.hand_to(process)
            followed = FollowedFile(output, lambda line: on_line(masked(line, environment)))
            assert process.stdin is not None
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(stdin.encode())
            process.wait()
            followed.finish()
            errors.seek(0)
            said = errors.read().decode(errors="replace").splitlines()
        return Ended(process.returncode, masked("\n".join(said[-STDERR_LINES:]), environment), interrupts.came)


def _output_files(record: Path | None) -> tuple[BinaryIO, BinaryIO]:
    """Where standard output and standard error go: into the record, empty at first, or into files that nobody else sees."""
    if record is None:
        return tempfile.TemporaryFile(), tempfile.TemporaryFile()
    shutil.rmtree(record, ignore_errors=True)
    record.mkdir(mode=0o700, parents=True)
    return (record / OUTPUT).open("w+b"), (record / ERRORS).open("w+b")


class _Interrupts:
    """Within it Ctrl-C and its like reach pulumi, the first of them only, and nothing else.

    By a handler, not by catching KeyboardInterrupt: that may arrive anywhere, even while another one is being handled.
    """

    def __init__(self, notice: Callable[[str], None]) -> None:
        self.came = False
        self._handed = False
        self._notice = notice
        self._process: subprocess.Popen[bytes] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> _Interrupts:
        if threading.current_thread() is threading.main_thread():  # no other thread is ever interrupted
            for number in INTERRUPTS:
                # what is ignored (by nohup, or while tearing down) stays ignored
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def hand_to(self, process: subprocess.Popen[bytes]) -> None:
        """From now on to this process; at once if one came while it was being started."""
        self._process = process
        if self.came:
            self._interrupt()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if not self.came:
            self.came = True
            self._interrupt()
        pid = self._process.pid if self._process else "PID"
        notice = (
            "Pulumi finishes what it has started, then stops, so that the stack knows of everything it creates. "
            f"(To cut it short anyway: kill {pid}, then `pulumi cancel` and `samebox sweep --orphans`.)"
        )
        with suppress(OSError):  # a terminal that has gone must not end the waiting
            self._notice(notice)

    def _interrupt(self) -> None:
        if self._process is not None and not self._handed:
            self._handed = True
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)


def find_pulumi() -> str:
    """The pulumi on the PATH. Raises MissingRequirement if there is none, or too old a one."""
    program = shutil.which("pulumi", path=_environment()["PATH"])
    if program is None:
        raise MissingRequirement(
            f"pulumi is not on the PATH; {_text(OLDEST)} or newer is needed for hosts on AWS.", next_step=INSTALL
        )
    answer = pulumi_version(program)
    numbers = re.match(r"v?(\d+)\.(\d+)\.(\d+)", answer)
    if numbers is None:
        raise MissingRequirement(f"{program} prints {answer!r} instead of its version.", next_step=INSTALL)
    if tuple(map(int, numbers.groups())) < OLDEST:
        raise MissingRequirement(
            f"{program} is version {answer}; {_text(OLDEST)} or newer is needed to replace single hosts.",
            next_step=INSTALL,
        )
    return program


def pulumi_version(program: str) -> str:
    """Its own version: v3.259.0. Raises MissingRequirement if it doesn't run."""
    return _answer(program, "version").strip()


def plugin_versions(program: str, name: str) -> tuple[str, ...]:
    """The versions of a provider's plugin that are installed for its user: 7.51.1. Raises MissingRequirement if it can't say."""
    listed = _answer(program, "plugin", "ls", "--json")
    try:
        found = json.loads(listed)
        return tuple(str(each["version"]) for each in found if (each["kind"], each["name"]) == ("resource", name))
    except (ValueError, KeyError, TypeError) as error:
        raise MissingRequirement(f"{program} plugin ls --json: {error!r}", next_step=INSTALL) from None


def _answer(*command: str) -> str:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, env=_environment()
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingRequirement(f"{command[0]} doesn't run: {error}", next_step=INSTALL) from None


def _text(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def _environment() -> dict[str, str]:
    """The operator's, with this Python first on the PATH: the program runs in it, and so finds its packages."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {
        **os.environ,
        "PATH": path,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # progress of a preview, too, one event a line
        "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true",
    }


class UnscriptedPulumi(AssertionError):
    """A ScriptedPulumi was asked something it was not told about."""


@dataclass(frozen=True)
class Answer:
    """One scripted end of a command: what it prints and how it ends; `then` runs just before its end."""

    stdout: str = ""
    stderr: str = ""
    exit_status: int = 0
    interrupted: bool = False
    then: Callable[[], None] | None = None


@dataclass
class ScriptedPulumi:
    """The strict fake: the commands in the order given, each once, with their answers. Records what was asked, and told by stdin."""

    script: list[tuple[str, str | Answer]]
    asked: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def run(
        self, arguments: Sequence[str], on_line: Callable[[str], None], *, stdin: str = "", record: Path | None = None
    ) -> Ended:
        del record
        command = " ".join(arguments)
        self.asked.append(command)
        if stdin:
            self.told.append(stdin)
        if not self.script:
            raise UnscriptedPulumi(f"nothing more was scripted, and then came: pulumi {command}")
        expected, given = self.script[0]
        if command != expected:
            raise UnscriptedPulumi(f"scripted next: pulumi {expected}\nbut then came: pulumi {command}")
        self.script.pop(0)
        answer = given if isinstance(given, Answer) else Answer(given)
        for line in answer.stdout.splitlines():
            on_line(line)
        if answer.then is not None:
            answer.then()
        return Ended(answer.exit_status, answer.stderr, answer.interrupted)

    def require_done(self) -> None:
        """Raises UnscriptedPulumi if something scripted was never asked."""
        if self.script:
            raise UnscriptedPulumi(f"never asked for: {[command for command, _ in self.script]}")
