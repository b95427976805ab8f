"""One command over one SSH channel: its output, its deadline, its process group.

Every command runs as `bash -c` in a process group of its own, whose number it reports first: closing a channel without a
terminal leaves the remote process running, so ending one means signalling that group over another channel.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Iterable
from typing import Protocol

READ_BYTES = 4 * 1024 * 1024
SEND_BYTES = 1024 * 1024
TICK_S = 0.5  # how often a blocked read looks at its deadline
LINGER_S = 1.0  # a background child may hold the output open after the command itself has exited
_GROUP_MARK = b"samebox-process-group:"


class Channel(Protocol):
    """What is used of an SSH channel; reads return b"" at the end and raise TimeoutError after `settimeout` seconds.

    `status_event` is set when the exit status has come or the channel has gone.
    """

    exit_status: int
    eof_received: int
    status_event: threading.Event

    def exec_command(self, command: str) -> None: ...
    def settimeout(self, timeout: float | None) -> None: ...
    def recv(self, nbytes: int) -> bytes: ...
    def recv_stderr(self, nbytes: int) -> bytes: ...
    def send(self, s: bytes) -> int: ...
    def shutdown_write(self) -> None: ...
    def close(self) -> None: ...


class SessionRefused(Exception):
    """The server takes no further session on this connection (its MaxSessions)."""


class LinkLost(Exception):
    """The connection has gone or doesn't answer in time."""


class DeadlinePassed(Exception):
    """The command has not ended in time; it still runs."""


class CutOff(Exception):
    """The channel ended without an end of output or an exit status: the connection is gone, the command's fate unknown."""


def in_own_group(command: str, *, reads_input: bool) -> str:
    """The command line as sent: bash whatever the login shell, from the home directory, process group told first.

    The last line keeps bash from replacing itself by the command, so that a death by signal n reads as 128 + n. A command
    without input has an empty one from the beginning, and needs no end of input sent to it.
    """
    source = "" if reads_input else "exec </dev/null\n"
    script = f'{source}cd "$HOME" 2>/dev/null\necho {_GROUP_MARK.decode()}$$\n{command}\nexit $?'
    return f"exec bash -c {shlex.quote(script)}"


class Session:
    """A command that has been sent. One thread calls `drain` (or `read`), a thread of its own reads standard error."""

    def __init__(self, channel: Channel, *, stderr_limit_bytes: int | None = None) -> None:
        self.channel = channel
        self.process_group: int | None = None
        self._head = b""
        self._stderr = bytearray()
        self._stderr_limit_bytes = stderr_limit_bytes
        channel.settimeout(TICK_S)
        self._feeder: threading.Thread | None = None
        self._stderr_reader = threading.Thread(target=self._read_stderr, name="ssh-stderr", daemon=True)
        self._stderr_reader.start()

    def read(self, deadline: float) -> bytes:
        """The next piece of standard output, b"" at its end. Raises DeadlinePassed at the monotonic time `deadline`."""
        exited_at: float | None = None
        while True:
            try:
                piece = self.channel.recv(READ_BYTES)
            except TimeoutError:
                now = time.monotonic()
                if self.channel.status_event.is_set():
                    exited_at = exited_at or now
                    if now - exited_at >= LINGER_S:
                        return b""
                if now >= deadline:
                    raise DeadlinePassed from None
                continue
            if self.process_group is None and piece:
                piece = self._after_mark(piece)
                if not piece:
                    continue
            if time.monotonic() >= deadline and not self.channel.status_event.is_set():
                raise DeadlinePassed
            return piece

    def drain(self, stdin: Iterable[bytes] | None, sink: Callable[[bytes], object], deadline: float) -> int:
        """Feeds `stdin` (None: the command reads none), gives standard output to `sink`, and returns the exit status (-1: ended by a
        signal)."""
        if stdin is not None:
            self._feeder = threading.Thread(target=self._feed, args=(stdin, deadline), name="ssh-stdin", daemon=True)
            self._feeder.start()
        while piece := self.read(deadline):
            sink(piece)
        if self.process_group is None:
            sink(self._head)  # no shell came up: what was printed instead (a disabled account's notice) is the evidence
        return self.exit_status(deadline)

    @property
    def has_ended(self) -> bool:
        """Whether the server has said that the command ended; False also if the connection was lost first."""
        return self.channel.exit_status != -1 or bool(self.channel.eof_received)

    def exit_status(self, deadline: float) -> int:
        """Waits for the exit. Raises DeadlinePassed, or CutOff when the connection has gone before it came."""
        if not self.channel.status_event.wait(max(0.0, deadline - time.monotonic())):
            raise DeadlinePassed
        if not self.has_ended:
            raise CutOff
        self._stderr_reader.join(timeout=LINGER_S)
        return self.channel.exit_status

    def await_start(self, deadline: float) -> None:
        """Waits until the command's process group is known."""
        while self.process_group is None:
            try:
                piece = self.channel.recv(READ_BYTES)
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise DeadlinePassed from None
                continue
            if not piece:
                raise CutOff
            self._head = self._after_mark(piece)

    def end(self) -> None:
        """Closes the channel and lets go of the input; the remote process is not ended by it."""
        self.channel.close()
        if self._feeder is not None:
            self._feeder.join()

    def take_head(self) -> bytes:
        """Output that came together with the process group's number."""
        head, self._head = self._head, b""
        return head

    def stderr(self) -> str:
        """What has come on standard error so far."""
        return bytes(self._stderr).decode(errors="replace")

    def send(self, content: bytes, deadline: float) -> None:
        """Writes to standard input. Raises OSError when the channel is closed, DeadlinePassed when nothing is read there."""
        rest = memoryview(content)
        while rest:
            try:
                sent = self.channel.send(bytes(rest[:SEND_BYTES]))
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise DeadlinePassed from None
                continue
            if sent == 0:
                raise OSError("the channel is closed")
            rest = rest[sent:]

    def _after_mark(self, piece: bytes) -> bytes:
        """Strips everything up to and including the process group's line (login scripts may print before it)."""
        self._head += piece
        start = self._head.find(_GROUP_MARK)
        end = self._head.find(b"\n", start)
        if start < 0 or end < 0:
            return b""
        self.process_group = int(self._head[start + len(_GROUP_MARK) : end])
        rest, self._head = self._head[end + 1 :], b""
        return rest

    def _feed(self, stdin: Iterable[bytes], deadline: float) -> None:
        try:
            for piece in stdin:
                self.send(piece, deadline)
        except (OSError, EOFError, DeadlinePassed):
            return  # the command ended without reading it all (its exit status tells), or its reader sees the deadline
        finally:
            self.close_input()

    def close_input(self) -> None:
        try:
            self.channel.shutdown_write()
        except (OSError, EOFError):
            return  # already closed

    def _read_stderr(self) -> None:
        while True:
            try:
                piece = self.channel.recv_stderr(READ_BYTES)
            except TimeoutError:
                continue
            except (OSError, EOFError):
                return
            if not piece:
                return
            self._stderr += piece
            if self._stderr_limit_bytes is not None:
                del self._stderr[: -self._stderr_limit_bytes]
