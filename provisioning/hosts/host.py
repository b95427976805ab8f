"""A host as everything else sees it: run commands, move files, start processes. How that is done is in ssh.py.

`ScriptedHost` is the strict fake for unit tests: a command it was not told about is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from provisioning.errors import CommandFailed, Completed, HostsFailed
from provisioning.hosts.inventory import HostRecord

T = TypeVar("T")
COMMAND_TIMEOUT_S = 60.0


class RemoteProcess(Protocol):
    """A remote process held open over its own channel: lines in, lines out. It ends when its standard input closes."""

    def send_line(self, line: str) -> None:
        """Writes one line to its standard input. Raises HostUnreachable if the connection is gone, HostError if the process is."""

    def lines(self) -> Iterator[str]:
        """Its standard output line by line as it comes, without newlines, until it ends. Raises HostUnreachable."""

    def wait(self, *, timeout_s: float) -> Completed:
        """Its exit; `stdout` is empty (read by `lines`), `stderr` holds the last 64 KiB. Raises CommandTimedOut."""

    def close(self) -> None:
        """Closes its input and the channel, which ends it. Idempotent, never raises."""


class Host(Protocol):
    """One host of the inventory. All paths are absolute remote paths below `record.root`, but for system files."""

    @property
    def record(self) -> HostRecord:
        """The inventory's entry."""

    @property
    def name(self) -> str:
        """The stable name, e.g. broker-1."""

    def run(
        self, command: str, *, timeout_s: float = COMMAND_TIMEOUT_S, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        """Runs a shell command line to its end. Raises CommandFailed (unless check=False), CommandTimedOut, HostUnreachable."""

    def spawn(self, command: str) -> RemoteProcess:
        """Starts a command whose input and output stay connected."""

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> None:
        """Writes a file: aside, checked by SHA-256, renamed. Makes the parent directories."""

    def push(self, source: Path, path: str, *, mode: int = 0o644) -> None:
        """Like `put`, streaming a local file of any size."""

    def get(self, path: str) -> bytes:
        """A small remote file's content. Raises HostError if there is none."""

    def fetch(self, path: str, target: Path) -> None:
        """Streams a remote file to a local one, checked by SHA-256 and renamed into place."""

    def close(self) -> None:
        """Closes the connection. Idempotent, never raises."""


def on_all(
    action: str, hosts: Sequence[Host], work: Callable[[Host], T], *, failures: dict[str, BaseException] | None = None
) -> dict[str, T]:
    """Runs `work` on all hosts at once and waits for all: host name -> result.

    Raises HostsFailed (with every failing host's own error) when one or more failed, or puts the errors into `failures`, where that
    is given. `action` is a noun phrase for its message.
    """
    if not hosts:
        return {}
    with ThreadPoolExecutor(max_workers=len(hosts), thread_name_prefix=f"on_all-{action}") as pool:
        futures = {host.name: pool.submit(work, host) for host in hosts}
        try:
            wait(futures.values())
        except BaseException:
            # Ctrl-C: cutting the connections ends the commands; leaving the pool would else wait for their deadlines
            for host in hosts:
                host.close()
            raise
    failed = {name: error for name, future in futures.items() if (error := future.exception()) is not None}
    for error in failed.values():
        if not isinstance(error, Exception):
            raise error
    if failures is not None:
        failures.update(failed)
    elif failed:
        raise HostsFailed(action, failed)
    return {name: future.result() for name, future in futures.items() if name not in failed}


class UnscriptedCommand(AssertionError):
    """A ScriptedHost was asked something it was not told about."""


@dataclass
class ScriptedHost:
    """The strict fake: answers scripted commands in any order, keeps files in memory, records what was asked.

    `answers` maps a command line to its stdout, a Completed, or an exception to raise; a list is used up one by one.
    """

    record: HostRecord
    answers: dict[str, str | Completed | Exception | list[str | Completed | Exception]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.record.name

    def run(
        self, command: str, *, timeout_s: float = COMMAND_TIMEOUT_S, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        del timeout_s, stdin
        self.asked.append(command)
        if command not in self.answers:
            raise UnscriptedCommand(f"{self.name} has no scripted answer to: {command}")
        answer = self.answers[command]
        if isinstance(answer, list):
            if not answer:
                raise UnscriptedCommand(f"{self.name} has used up its scripted answers to: {command}")
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        completed = Completed(command, answer, "", 0) if isinstance(answer, str) else answer
        if check and completed.exit_status != 0:
            raise CommandFailed(self.name, completed)
        return completed

    def spawn(self, command: str) -> RemoteProcess:
        raise UnscriptedCommand(f"{self.name} has no scripted process for: {command}")

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> None:
        del mode
        self.files[path] = content

    def push(self, source: Path, path: str, *, mode: int = 0o644) -> None:
        self.put(source.read_bytes(), path, mode=mode)

    def get(self, path: str) -> bytes:
        if path not in self.files:
            raise UnscriptedCommand(f"{self.name} has no file {path}")
        return self.files[path]

    def fetch(self, path: str, target: Path) -> None:
        target.write_bytes(self.get(path))

    def close(self) -> None:
        return None
