"""A `Host` over SSH connections, which ssh.py makes: commands, processes, files, reconnecting. It never sends a command twice.

Files are streamed through a command on the host (one round trip, no SFTP subsystem): whole or not there, and checked by SHA-256
on both sides.
"""

from __future__ import annotations

import hashlib
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Protocol

from provisioning.errors import CommandFailed, CommandTimedOut, Completed, HostError, HostUnreachable
from provisioning.hosts.host import COMMAND_TIMEOUT_S
from provisioning.hosts.inventory import HostRecord
from provisioning.hosts.ssh_process import STDERR_TAIL_BYTES, SshProcess
from provisioning.hosts.ssh_session import (
    Channel,
    CutOff,
    DeadlinePassed,
    LinkLost,
    Session,
    SessionRefused,
    in_own_group,
)

OPEN_TIMEOUT_S = 5.0
START_TIMEOUT_S = 30.0
END_GROUP_TIMEOUT_S = 10.0
FETCH_TIMEOUT_S = 3600.0
PIECE_BYTES = 1024 * 1024
SLOWEST_TRANSFER_BYTES_PER_S = 1_000_000


class Link(Protocol):
    """One authenticated connection to one host, shared by threads."""

    @property
    def alive(self) -> bool: ...

    def open_channel(self, timeout_s: float) -> Channel:
        """A new channel. Raises SessionRefused when the server allows no more on this connection, or LinkLost."""

    def execute(self, channel: Channel, command: str, timeout_s: float) -> None:
        """Sends the command. Raises LinkLost when its arrival was not confirmed."""

    def close(self) -> None: ...


class SshHost:
    """A Host over SSH. Safe to use from several threads; their commands share connections as far as the server allows."""

    def __init__(self, record: HostRecord, open_link: Callable[[float], Link]) -> None:
        self._record = record
        self._open_link = open_link
        self._links: list[Link] = []
        self._retired: list[Link] = []
        self._opening = threading.Lock()

    @property
    def record(self) -> HostRecord:
        return self._record

    @property
    def name(self) -> str:
        return self._record.name

    def run(
        self, command: str, *, timeout_s: float = COMMAND_TIMEOUT_S, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        stdout = bytearray()
        completed = self._execute(command, timeout_s, [stdin] if stdin else None, stdout.extend)
        completed = Completed(command, stdout.decode(errors="replace"), completed.stderr, completed.exit_status)
        if check and completed.exit_status != 0:
            raise CommandFailed(self.name, completed)
        return completed

    def spawn(self, command: str) -> SshProcess:
        session = self._send(command, START_TIMEOUT_S, reads_input=True, stderr_limit_bytes=STDERR_TAIL_BYTES)
        try:
            session.await_start(time.monotonic() + START_TIMEOUT_S)
        except (DeadlinePassed, CutOff):
            session.end()
            raise HostUnreachable(self.name, f"did not start: {command[:400]}\n{session.stderr()}".rstrip()) from None
        return SshProcess(self.name, command, session, self._end_group)

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> None:
        self._upload([content], len(content), hashlib.sha256(content).hexdigest(), path, mode)

    def push(self, source: Path, path: str, *, mode: int = 0o644) -> None:
        with source.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size_bytes = file.tell()
            file.seek(0)
            self._upload(iter(lambda: file.read(PIECE_BYTES), b""), size_bytes, sha256, path, mode)

    def get(self, path: str) -> bytes:
        content = bytearray()
        self._download(f"cat -- {shlex.quote(path)}", COMMAND_TIMEOUT_S, content.extend)
        return bytes(content)

    def fetch(self, path: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        received = hashlib.sha256()
        try:
            with partial.open("wb") as file:

                def keep(piece: bytes) -> None:
                    received.update(piece)
                    file.write(piece)

                there = self._download(_fetch_script(path), FETCH_TIMEOUT_S, keep).stderr.split()[0]
            if there != received.hexdigest():
                raise HostError(self.name, f"{path} arrived damaged: sha256 {received.hexdigest()}, there {there}.")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    def close(self) -> None:
        with self._opening:
            links, self._links, self._retired = [*self._links, *self._retired], [], []
        for link in links:
            link.close()

    def _upload(self, content: Iterable[bytes], size_bytes: int, sha256: str, path: str, mode: int) -> None:
        """Streams `content` into a file beside `path`; the host checks what it has stored before it renames it."""
        timeout_s = COMMAND_TIMEOUT_S + size_bytes / SLOWEST_TRANSFER_BYTES_PER_S
        completed = self._execute(_upload_script(path, sha256, mode), timeout_s, content, lambda _: None)
        if completed.exit_status != 0:
            raise HostError(self.name, f"{path} could not be written: {completed.stderr.strip()[-800:]}")

    def _download(self, command: str, timeout_s: float, sink: Callable[[bytes], object]) -> Completed:
        completed = self._execute(command, timeout_s, None, sink)
        if completed.exit_status != 0:
            raise CommandFailed(self.name, completed)
        return completed

    def _execute(
        self, command: str, timeout_s: float, stdin: Iterable[bytes] | None, sink: Callable[[bytes], object]
    ) -> Completed:
        deadline = time.monotonic() + timeout_s
        session = self._send(command, timeout_s, reads_input=stdin is not None)
        try:
            status = session.drain(stdin, sink, deadline)
        except DeadlinePassed:
            if session.process_group is not None:
                self._end_group(session.process_group)
            raise CommandTimedOut(self.name, command, timeout_s) from None
        except CutOff:
            raise self._cut(f"the connection was cut while running: {command[:400]}") from None
        finally:
            session.end()
        return Completed(command, "", session.stderr(), status)

    def _end_group(self, process_group: int) -> None:
        """Asks the group to end, gives it two seconds, then kills it. Raises HostUnreachable."""
        script = f"""kill -TERM -- -{process_group} 2>/dev/null
for _ in $(seq 20); do kill -0 -- -{process_group} 2>/dev/null || exit 0; sleep 0.1; done
kill -KILL -- -{process_group} 2>/dev/null"""
        session = self._send(script, END_GROUP_TIMEOUT_S, reads_input=False)
        try:
            session.drain(None, lambda _: None, time.monotonic() + END_GROUP_TIMEOUT_S)
        except (DeadlinePassed, CutOff):
            raise self._cut(f"stopped answering; process group {process_group} may still run there") from None
        finally:
            session.end()

    def _send(
        self, command: str, timeout_s: float, *, reads_input: bool, stderr_limit_bytes: int | None = None
    ) -> Session:
        link, channel = self._channel(timeout_s)
        try:
            link.execute(channel, in_own_group(command, reads_input=reads_input), timeout_s)
        except LinkLost as lost:
            raise self._cut(f"no answer to a command ({lost}); unknown whether it ran: {command[:400]}") from None
        return Session(channel, stderr_limit_bytes=stderr_limit_bytes)

    def _channel(self, timeout_s: float) -> tuple[Link, Channel]:
        """A new channel: on a live connection, else on a new one (cut off, or the server's MaxSessions is used up).

        A connection that doesn't answer in time is retired, not closed: commands on it may be fine on a busy host, and
        when it hangs indeed, its heartbeat closes it.
        """
        with self._opening:
            self._retired = [link for link in self._retired if link.alive]
            self._links = [link for link in self._links if link.alive]
            for link in list(self._links):
                try:
                    return link, link.open_channel(min(OPEN_TIMEOUT_S, timeout_s))
                except SessionRefused:
                    continue
                except LinkLost:
                    self._links.remove(link)
                    self._retired.append(link)
            link = self._open_link(max(OPEN_TIMEOUT_S, timeout_s))
            self._links.append(link)
            try:
                return link, link.open_channel(max(OPEN_TIMEOUT_S, timeout_s))
            except (SessionRefused, LinkLost) as error:
                raise self._cut(f"it accepts no new session: {error}") from None

    def _cut(self, message: str) -> HostUnreachable:
        next_step = "Check that the host is up; look at its load, its memory and its network."
        return HostUnreachable(self.name, message, next_step=next_step)


def _upload_script(path: str, sha256: str, mode: int) -> str:
    folder, name = PurePosixPath(path).parent, PurePosixPath(path).name
    return f"""set -e
partial={shlex.quote(f"{folder}/.{name}.{secrets.token_hex(4)}.part")}
mkdir -p -- {shlex.quote(str(folder))}
trap 'rm -f -- "$partial"' EXIT
(umask 077; cat > "$partial")
stored=$(sha256sum < "$partial")
if [ "${{stored%% *}}" != {sha256} ]; then
    echo "stored sha256 ${{stored%% *}}, expected {sha256}" >&2; exit 65
fi
chmod {mode:o} -- "$partial"
mv -fT -- "$partial" {shlex.quote(path)}"""


def _fetch_script(path: str) -> str:
    """As many bytes as there are when it begins, so that a log still being written can be fetched too."""
    return f"""p={shlex.quote(path)}
n=$(stat -Lc %s -- "$p") && head -c "$n" -- "$p" && head -c "$n" -- "$p" | sha256sum >&2"""
