"""A remote process held open over its own channel: lines in, lines out."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from provisioning.errors import CommandTimedOut, Completed, HostError, HostUnreachable
from provisioning.hosts.ssh_session import CutOff, DeadlinePassed, Session

STDERR_TAIL_BYTES = 64 * 1024
CLOSE_GRACE_S = 1.0
SEND_STALL_S = 60.0


class SshProcess:
    """A RemoteProcess over a session. `end_group` signals a process group on the same host over another channel."""

    def __init__(self, host: str, command: str, session: Session, end_group: Callable[[int], None]) -> None:
        self._host = host
        self._command = command
        self._session = session
        self._end_group = end_group
        self._closed = False
        self._writing = threading.Lock()

    def send_line(self, line: str) -> None:
        if self._session.channel.status_event.is_set():
            raise self._gone()  # the server says how a command ended before it closes the channel, which takes input until then
        try:
            with self._writing:
                self._session.send(line.encode() + b"\n", time.monotonic() + SEND_STALL_S)
        except DeadlinePassed:
            raise HostError(self._host, f"it doesn't read its input: {self._command[:400]}") from None
        except (OSError, EOFError):
            raise self._gone() from None

    def lines(self) -> Iterator[str]:
        rest = self._session.take_head()
        while True:
            *whole, rest = rest.split(b"\n")
            for line in whole:
                yield line.decode(errors="replace")
            piece = self._session.read(deadline=float("inf"))
            if not piece:
                break
            rest += piece
        if rest:
            yield rest.decode(errors="replace")
        channel = self._session.channel
        if not channel.eof_received and not self._closed:
            raise self._gone()

    def wait(self, *, timeout_s: float) -> Completed:
        try:
            status = self._session.exit_status(time.monotonic() + timeout_s)
        except DeadlinePassed:
            raise CommandTimedOut(self._host, self._command, timeout_s) from None
        except CutOff:
            raise self._gone() from None
        return Completed(self._command, "", self._session.stderr(), status)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        session = self._session
        session.close_input()
        if not session.channel.status_event.wait(CLOSE_GRACE_S) and session.process_group is not None:
            with contextlib.suppress(HostError):  # unreachable: nothing more can be done, and closing never raises
                self._end_group(session.process_group)
        with contextlib.suppress(OSError, EOFError):
            session.channel.close()

    def _gone(self) -> HostError:
        tail = self._session.stderr().strip()[-800:]
        if self._session.has_ended:
            return HostError(self._host, f"has ended: {self._command[:400]}\n{tail}".rstrip())
        return HostUnreachable(
            self._host, f"the connection was cut while running: {self._command[:400]}\n{tail}".rstrip()
        )
