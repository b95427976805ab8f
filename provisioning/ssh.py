"""The SSH door: hosts of an inventory as `Host` over paramiko, the only import of it. It never retries a command it has sent.

Key login only, with the inventory's identity file; the server must show the host key that the inventory pins.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

import paramiko

from provisioning.errors import (
    CommandFailed,
    CommandTimedOut,
    Completed,
    HostError,
    HostUnreachable,
    InvalidInput,
)
from provisioning.host import COMMAND_TIMEOUT_S
from provisioning.inventory import HostRecord, Inventory, SshAddress
from provisioning.ssh_session import (
    STDERR_TAIL_BYTES,
    CutOff,
    DeadlinePassed,
    Session,
    SshProcess,
    in_own_group,
)

CONNECT_TIMEOUT_S = 15.0
OPEN_TIMEOUT_S = 5.0
START_TIMEOUT_S = 30.0
END_GROUP_TIMEOUT_S = 10.0
HEARTBEAT_S = 10.0
DEAD_AFTER_S = 20.0
PIECE_BYTES = 1024 * 1024
SLOWEST_TRANSFER_BYTES_PER_S = 1_000_000
FETCH_TIMEOUT_S = 3600.0
# Authenticated ciphers first: one pass over the bytes instead of two, which is what a big push is bound by.
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr")

# paramiko prints tracebacks of lost connections through logging; they reach the operator as HostUnreachable instead.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


def connect(inventory: Inventory) -> tuple[SshHost, ...]:
    """A host per inventory entry. Nothing is sent yet: each connects when it is first used, and again when cut off.

    Raises InvalidInput when the identity file can't be used.
    """
    key = _identity(inventory.identity_file)
    return tuple(SshHost(record, key) for record in inventory.hosts)


def _identity(path: str) -> paramiko.PKey:
    try:
        return paramiko.PKey.from_path(path)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: the inventory's identity file doesn't exist.") from None
    except paramiko.PasswordRequiredException:
        raise InvalidInput(f"{path}: the identity file has a passphrase; use a key without one.") from None
    except (OSError, ValueError, TypeError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as error:
        raise InvalidInput(f"{path}: not a private key that can be used: {error}") from None


class _SessionRefused(Exception):
    """The server takes no further session on this connection (its MaxSessions)."""


class _Link:
    """One authenticated connection. Closes itself when the server stops answering, which wakes every thread waiting on it."""

    def __init__(self, ssh: SshAddress, key: paramiko.PKey) -> None:
        connection = socket.create_connection((ssh.address, ssh.port), timeout=CONNECT_TIMEOUT_S)
        _notice_dead_peer(connection)
        try:
            self._transport = paramiko.Transport(connection)
        except BaseException:
            connection.close()
            raise
        try:
            self._log_in(ssh, key)
        except BaseException:
            self._transport.close()
            raise
        self._ended = threading.Event()
        threading.Thread(target=self._heartbeat, name=f"ssh-heartbeat-{ssh.address}", daemon=True).start()

    def _log_in(self, ssh: SshAddress, key: paramiko.PKey) -> None:
        transport = self._transport
        transport.banner_timeout = transport.auth_timeout = CONNECT_TIMEOUT_S
        options = transport.get_security_options()
        options.ciphers = CIPHERS
        pinned_type, pinned_key = ssh.host_key.split()[:2]
        wanted = [name for name in options.key_types if _family(name) == _family(pinned_type)]
        options.key_types = (*wanted, *(name for name in options.key_types if name not in wanted))
        transport.start_client(timeout=CONNECT_TIMEOUT_S)
        shown = transport.get_remote_server_key()
        if (shown.get_name(), shown.get_base64()) != (pinned_type, pinned_key):
            raise _HostKeyMismatch(f"{shown.get_name()} {shown.get_base64()}")
        transport.auth_publickey(ssh.user, key)

    @property
    def alive(self) -> bool:
        return bool(self._transport.is_active())

    def open_channel(self, timeout_s: float) -> paramiko.Channel:
        try:
            return self._transport.open_session(timeout=timeout_s)
        except paramiko.ChannelException as error:
            raise _SessionRefused(str(error)) from None

    def close(self) -> None:
        self._ended.set()
        self._transport.close()

    def _heartbeat(self) -> None:
        # A thread of its own per beat: with a peer that has stopped reading, sending the beat blocks too.
        while not self._ended.wait(HEARTBEAT_S) and self.alive:
            beat = threading.Thread(target=self._beat, name="ssh-beat", daemon=True)
            beat.start()
            beat.join(DEAD_AFTER_S)
            if beat.is_alive():
                self.close()

    def _beat(self) -> None:
        try:
            self._transport.global_request("keepalive@openssh.com", wait=True)
        except (OSError, EOFError, paramiko.SSHException):
            return  # the connection has ended meanwhile


class _HostKeyMismatch(Exception):
    """The server showed another host key than the pinned one; carries the key shown."""


def _family(key_type: str) -> str:
    return "rsa" if "rsa" in key_type else key_type


def _notice_dead_peer(connection: socket.socket) -> None:
    """A cut cable shows after DEAD_AFTER_S, idle or not, instead of after the kernel's two hours."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(HEARTBEAT_S))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(DEAD_AFTER_S * 1000))


class SshHost:
    """A Host over SSH. Safe to use from several threads; their commands share connections as far as the server allows."""

    def __init__(self, record: HostRecord, key: paramiko.PKey) -> None:
        self._record = record
        self._key = key
        self._links: list[_Link] = []
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
        session = self._send(command, START_TIMEOUT_S, stderr_limit_bytes=STDERR_TAIL_BYTES)
        try:
            session.await_start(time.monotonic() + START_TIMEOUT_S)
        except (DeadlinePassed, CutOff):
            session.channel.close()
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
        completed = self._execute(f"cat -- {shlex.quote(path)}", COMMAND_TIMEOUT_S, None, content.extend)
        if completed.exit_status != 0:
            raise CommandFailed(self.name, completed)
        return bytes(content)

    def fetch(self, path: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        received = hashlib.sha256()
        # As many bytes as there are now: a log that is still being written can be fetched too.
        script = 'p={}; n=$(stat -Lc %s -- "$p") && head -c "$n" -- "$p" && head -c "$n" -- "$p" | sha256sum >&2'
        try:
            with partial.open("wb") as file:

                def keep(piece: bytes) -> None:
                    received.update(piece)
                    file.write(piece)

                completed = self._execute(script.format(shlex.quote(path)), FETCH_TIMEOUT_S, None, keep)
            if completed.exit_status != 0:
                raise CommandFailed(self.name, completed)
            sent = completed.stderr.split()[0]
            if sent != received.hexdigest():
                raise HostError(self.name, f"{path} arrived damaged: sha256 {received.hexdigest()}, there {sent}.")
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)

    def close(self) -> None:
        with self._opening:
            links, self._links = self._links, []
        for link in links:
            link.close()

    def _upload(self, content: Iterable[bytes], size_bytes: int, sha256: str, path: str, mode: int) -> None:
        """Streams into a file beside `path`; the host itself checks what it has stored before it renames it."""
        folder = PurePosixPath(path).parent
        partial = folder / f".{PurePosixPath(path).name}.{secrets.token_hex(4)}.part"
        script = f"""set -e
partial={shlex.quote(str(partial))}
mkdir -p -- {shlex.quote(str(folder))}
trap 'rm -f -- "$partial"' EXIT
(umask 077; cat > "$partial")
stored=$(sha256sum < "$partial")
if [ "${{stored%% *}}" != {sha256} ]; then echo "stored sha256 ${{stored%% *}}, expected {sha256}" >&2; exit 65; fi
chmod {mode:o} -- "$partial"
mv -fT -- "$partial" {shlex.quote(path)}"""
        timeout_s = COMMAND_TIMEOUT_S + size_bytes / SLOWEST_TRANSFER_BYTES_PER_S
        completed = self._execute(script, timeout_s, content, lambda _: None)
        if completed.exit_status != 0:
            raise HostError(self.name, f"{path} could not be written: {completed.stderr.strip()[-800:]}")

    def _execute(
        self, command: str, timeout_s: float, stdin: Iterable[bytes] | None, sink: Callable[[bytes], object]
    ) -> Completed:
        deadline = time.monotonic() + timeout_s
        session = self._send(command, timeout_s)
        try:
            status = session.drain(stdin, sink, deadline)
        except DeadlinePassed:
            if session.process_group is not None:
                self._end_group(session.process_group)
            raise CommandTimedOut(self.name, command, timeout_s) from None
        except CutOff:
            raise self._unreachable(f"the connection was cut while running: {command[:400]}") from None
        finally:
            session.channel.close()
        return Completed(command, "", session.stderr(), status)

    def _end_group(self, process_group: int) -> None:
        """Asks the group to end, gives it two seconds, then kills it. Raises HostUnreachable."""
        script = f"""kill -TERM -- -{process_group} 2>/dev/null
for _ in $(seq 20); do kill -0 -- -{process_group} 2>/dev/null || exit 0; sleep 0.1; done
kill -KILL -- -{process_group} 2>/dev/null"""
        session = self._send(script, END_GROUP_TIMEOUT_S)
        try:
            session.drain(None, lambda _: None, time.monotonic() + END_GROUP_TIMEOUT_S)
        except (DeadlinePassed, CutOff):
            raise self._unreachable(f"stopped answering; process group {process_group} may still run") from None
        finally:
            session.channel.close()

    def _send(self, command: str, timeout_s: float, *, stderr_limit_bytes: int | None = None) -> Session:
        channel = self._channel(min(OPEN_TIMEOUT_S, timeout_s))
        # exec_command waits for the server's answer without a limit of its own.
        limit = threading.Timer(min(OPEN_TIMEOUT_S, timeout_s), channel.close)
        limit.daemon = True
        limit.start()
        try:
            channel.exec_command(in_own_group(command))
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise self._unreachable(
                f"cut off while sending ({error}), so it is unknown whether it ran: {command[:400]}"
            ) from None
        finally:
            limit.cancel()
        return Session(channel, stderr_limit_bytes=stderr_limit_bytes)

    def _channel(self, timeout_s: float) -> paramiko.Channel:
        """A new channel: on a live connection, else on a new one (cut off, or the server's MaxSessions is used up)."""
        with self._opening:
            self._links = [link for link in self._links if link.alive]
            for link in list(self._links):
                try:
                    return link.open_channel(timeout_s)
                except _SessionRefused:
                    continue
                except (OSError, EOFError, paramiko.SSHException):
                    link.close()  # dead or hung; nothing was sent on it, so another one may be tried
            link = self._connect()
            self._links.append(link)
            try:
                return link.open_channel(OPEN_TIMEOUT_S)
            except (_SessionRefused, OSError, EOFError, paramiko.SSHException) as error:
                raise self._unreachable(f"opens no session: {error}") from None

    def _connect(self) -> _Link:
        """A new connection. Raises HostUnreachable that says where, why, and what to do."""
        ssh = self._record.ssh
        where = f"no SSH connection to {ssh.user}@{ssh.address}:{ssh.port}"
        try:
            return _Link(ssh, self._key)
        except _HostKeyMismatch as shown:
            raise HostUnreachable(
                self.name,
                f"{where}: it shows host key\n  {shown}\nbut the inventory pins\n  {ssh.host_key}",
                next_step="Find out who answers there. If the host was rebuilt on purpose, write its new key into the inventory.",
            ) from None
        except paramiko.AuthenticationException as error:
            raise HostUnreachable(
                self.name,
                f"{where}: the inventory's identity file was not accepted ({error}).",
                next_step=f"Put its public half into {ssh.user}'s authorized_keys there, or correct identity_file.",
            ) from None
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise self._unreachable(f"{where}: {error or type(error).__name__}") from None

    def _unreachable(self, message: str) -> HostUnreachable:
        next_step = "Check that the host is up and that its address and port in the inventory are right."
        return HostUnreachable(self.name, message, next_step=next_step)
