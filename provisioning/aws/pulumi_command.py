"""The `pulumi` command as a process: found, run to its end, interrupted gently. It knows nothing of what the commands mean.

`ScriptedPulumi` is the strict fake for unit tests: a command it was not told about is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any, Protocol

from provisioning.aws.failures import masked
from provisioning.errors import MissingRequirement

# before it, a host's replacement could be triggered by changes of what it depends on
OLDEST = (3, 226, 0)
INSTALL = (
    "Install it as https://www.pulumi.com/docs/install says (`brew install pulumi`, or the script there), then again."
)
STDERR_LINES = 60
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Ended:
    """How a command ended. `interrupted`: Ctrl-C came, was handed on, and the command was waited for."""

    exit_status: int
    stderr: str = ""
    interrupted: bool = False


class PulumiCommand(Protocol):
    """Something that runs pulumi in the project's folder."""

    def run(self, arguments: Sequence[str], on_line: Callable[[str], None], *, stdin: str = "") -> Ended:
        """Runs `pulumi ARGUMENTS` to its end; every line of its standard output goes to `on_line` (from another thread).

        Ctrl-C is handed to pulumi once; it then finishes what it has begun, so that no machine is made that no stack knows.
        """


class InstalledPulumi:
    """The operator's own pulumi, in the operator's environment. Raises MissingRequirement when first used if it isn't there."""

    def __init__(self, directory: Path, notice: Callable[[str], None]) -> None:
        self._directory = directory
        self._notice = notice
        self._program = ""

    def run(self, arguments: Sequence[str], on_line: Callable[[str], None], *, stdin: str = "") -> Ended:
        if not self._program:
            self._program = find_pulumi()
        environment = _environment()
        said: list[str] = []
        with _Interrupts(self._notice) as interrupts:
            # A session of its own: Ctrl-C reaches this process only, which then tells pulumi, once. Twice would cut it short.
            process = subprocess.Popen(
                [self._program, *arguments],
                cwd=self._directory,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            assert process.stdin is not None and process.stdout is not None and process.stderr is not None
            interrupts.hand_to(process)
            with suppress(BrokenPipeError), process.stdin:
                process.stdin.write(stdin)
            output = _Reader(process.stdout, lambda line: on_line(masked(line, environment)))
            errors = _Reader(process.stderr, said.append)
            output.join()
            errors.join()
            process.wait()
        output.raise_what_went_wrong()
        stderr = masked("\n".join(said[-STDERR_LINES:]), environment)
        return Ended(process.returncode, stderr, interrupts.came)


class _Interrupts:
    """Within it Ctrl-C and its like reach pulumi, the first of them only, and nothing else.

    By a handler, not by catching KeyboardInterrupt: that may arrive anywhere, even while another one is being handled.
    """

    def __init__(self, notice: Callable[[str], None]) -> None:
        self.came = False
        self._handed = False
        self._notice = notice
        self._process: subprocess.Popen[str] | None = None
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

    def hand_to(self, process: subprocess.Popen[str]) -> None:
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
        self._notice(
            "Pulumi finishes what it has begun, then stops; what it makes now, the stack must know of. "
            f"(To cut it short all the same: kill {pid}, then `pulumi cancel` and `samebox sweep`.)"
        )

    def _interrupt(self) -> None:
        if self._process is not None and not self._handed:
            self._handed = True
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)


class _Reader(threading.Thread):
    """Reads one pipe to its end, in a thread where Ctrl-C never arrives: no line is lost between two steps."""

    def __init__(self, stream: IO[str], take: Callable[[str], None]) -> None:
        super().__init__(name="pulumi-output", daemon=True)
        self._stream = stream
        self._take = take
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        with self._stream:
            for line in self._stream:
                self._take_one(line.rstrip("\n"))

    def _take_one(self, line: str) -> None:
        try:
            if self._error is None:
                self._take(line)
        except BaseException as error:  # raised in the thread that waits; here the pipe must be emptied all the same
            self._error = error

    def raise_what_went_wrong(self) -> None:
        """Raises what taking a line raised, if anything."""
        if self._error is not None:
            raise self._error


def find_pulumi() -> str:
    """The pulumi on the PATH. Raises MissingRequirement if there is none, or too old a one."""
    program = shutil.which("pulumi", path=_environment()["PATH"])
    if program is None:
        raise MissingRequirement(
            f"pulumi is not on the PATH; {_text(OLDEST)} or newer is needed for hosts on AWS.", next_step=INSTALL
        )
    try:
        answer = subprocess.run(
            [program, "version"], capture_output=True, text=True, timeout=60, check=False, env=_environment()
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingRequirement(f"{program} doesn't run: {error}", next_step=INSTALL) from None
    numbers = re.match(r"v?(\d+)\.(\d+)\.(\d+)", answer)
    if numbers is None:
        raise MissingRequirement(f"{program} doesn't say its version but {answer!r}.", next_step=INSTALL)
    if tuple(map(int, numbers.groups())) < OLDEST:
        raise MissingRequirement(
            f"{program} is version {answer}; {_text(OLDEST)} or newer is needed to replace single hosts.",
            next_step=INSTALL,
        )
    return program


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

    def run(self, arguments: Sequence[str], on_line: Callable[[str], None], *, stdin: str = "") -> Ended:
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
            raise UnscriptedPulumi(f"never asked: {[command for command, _ in self.script]}")
