"""The SSH door: hosts of an inventory as `Host` over paramiko, which nothing else imports.

Key login only, with the inventory's identity file; the server must show the host key that the inventory pins.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import paramiko

from provisioning.errors import HostUnreachable, InvalidInput
from provisioning.hosts.inventory import HostRecord, Inventory, SshAddress
from provisioning.hosts.ssh_host import SshHost
from provisioning.hosts.ssh_session import Channel, LinkLost, SessionRefused

__all__ = ["SshHost", "connect", "connected"]

CONNECT_TIMEOUT_S = 20.0
HEARTBEAT_S = 10.0
DEAD_AFTER_S = 20.0
CABLE_CUT_AFTER_S = 20
# Authenticated ciphers first: one pass over the bytes instead of two, which is what a big push is bound by.
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr")

# paramiko logs lost connections with tracebacks; the operator gets them as HostUnreachable instead.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


def connect(inventory: Inventory) -> tuple[SshHost, ...]:
    """A host per inventory entry. Nothing is sent yet: each connects when it is first used, and again when cut off.

    Raises InvalidInput when the identity file can't be used.
    """
    key = _identity(inventory.identity_file)

    def host(record: HostRecord) -> SshHost:
        return SshHost(record, lambda timeout_s: _open_link(record, key, min(CONNECT_TIMEOUT_S, timeout_s)))

    return tuple(host(record) for record in inventory.hosts)


@contextmanager
def connected(inventory: Inventory) -> Iterator[tuple[SshHost, ...]]:
    """`connect`, with every connection closed at the end."""
    hosts = connect(inventory)
    try:
        yield hosts
    finally:
        for host in hosts:
            host.close()


def _identity(path: str) -> paramiko.PKey:
    try:
        return paramiko.PKey.from_path(path)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: the inventory's identity file doesn't exist.") from None
    except paramiko.PasswordRequiredException:
        raise InvalidInput(f"{path}: the identity file has a passphrase; use a key without one.") from None
    except (OSError, ValueError, TypeError, paramiko.SSHException, paramiko.pkey.UnknownKeyType) as error:
        raise InvalidInput(f"{path}: not a private key that can be used: {error}") from None


class _HostKeyMismatch(Exception):
    """The server showed another host key than the pinned one; carries the key shown."""


class _OrderedChannel:
    """paramiko's channel, whose end of input never reaches the server after its close.

    paramiko makes the message under the channel's lock and sends it without: the answer to the server's own close may overtake it
    there, and an SSH server takes an end of input for a channel that is no more as a reason to cut the whole connection.
    """

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> object:
        return getattr(self._channel, name)

    def shutdown_write(self) -> None:
        transport = self._channel.get_transport()
        transport.clear_to_send.wait(CONNECT_TIMEOUT_S)  # an exchange of keys may need the lock to be finished
        with self._channel.lock:
            message = self._channel._send_eof()  # type: ignore[attr-defined]  # None: a close has said it already
            if message is not None:
                transport._send_user_message(message)  # type: ignore[attr-defined]


class ParamikoLink:
    """One authenticated connection. Closes itself when the server stops answering, which wakes every thread waiting on it."""

    def __init__(self, ssh: SshAddress, key: paramiko.PKey, timeout_s: float) -> None:
        connection = socket.create_connection((ssh.address, ssh.port), timeout=timeout_s)
        try:
            _notice_dead_peer(connection)
            self._transport = paramiko.Transport(connection)
        except BaseException:
            connection.close()
            raise
        try:
            self._log_in(ssh, key, timeout_s)
        except BaseException:
            self._transport.close()
            raise
        self._ended = threading.Event()
        threading.Thread(target=self._heartbeat, name=f"ssh-heartbeat-{ssh.address}", daemon=True).start()

    def _log_in(self, ssh: SshAddress, key: paramiko.PKey, timeout_s: float) -> None:
        transport = self._transport
        transport.banner_timeout = transport.auth_timeout = timeout_s
        options = transport.get_security_options()
        options.ciphers = CIPHERS
        pinned_type, pinned_key = ssh.host_key.split()[:2]
        wanted = [name for name in options.key_types if _family(name) == _family(pinned_type)]
        options.key_types = (*wanted, *(name for name in options.key_types if name not in wanted))
        transport.start_client(timeout=timeout_s)
        shown = transport.get_remote_server_key()
        if (shown.get_name(), shown.get_base64()) != (pinned_type, pinned_key):
            raise _HostKeyMismatch(f"{shown.get_name()} {shown.get_base64()}")
        transport.auth_publickey(ssh.user, key)

    @property
    def alive(self) -> bool:
        return bool(self._transport.is_active())

    def open_channel(self, timeout_s: float) -> Channel:
        try:
            return cast(Channel, _OrderedChannel(self._transport.open_session(timeout=timeout_s)))
        except paramiko.ChannelException as error:
            raise SessionRefused(str(error)) from None
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise LinkLost(str(error) or type(error).__name__) from None

    def execute(self, channel: Channel, command: str, timeout_s: float) -> None:
        # Waiting for the server's answer has no limit of its own; closing the channel ends it.
        limit = threading.Timer(timeout_s, channel.close)
        limit.daemon = True
        limit.start()
        try:
            channel.exec_command(command)
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise LinkLost(str(error) or type(error).__name__) from None
        finally:
            limit.cancel()

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
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):  # the connection has ended meanwhile
            self._transport.global_request("keepalive@openssh.com", wait=True)


def _open_link(record: HostRecord, key: paramiko.PKey, timeout_s: float) -> ParamikoLink:
    """A new connection. Raises HostUnreachable that says where, why, and what to do."""
    ssh = record.ssh
    try:
        return ParamikoLink(ssh, key, timeout_s)
    except _HostKeyMismatch as error:
        cause = f"it shows host key\n  {error}\nbut the inventory pins\n  {ssh.host_key}"
        next_step = (
            "Find out who answers there. If the host was rebuilt on purpose, put its new key into the inventory."
        )
    except paramiko.AuthenticationException as error:
        cause = f"the inventory's identity file was not accepted ({error})"
        next_step = f"Put its public half into {ssh.user}'s authorized_keys there, or correct identity_file."
    except (OSError, EOFError, paramiko.SSHException) as error:
        cause = str(error) or type(error).__name__
        next_step = "Check that the host is up and that its address and port in the inventory are right."
    where = f"no SSH connection to {ssh.user}@{ssh.address}:{ssh.port}"
    raise HostUnreachable(record.name, f"{where}: {cause}", next_step=next_step)


def _family(key_type: str) -> str:
    return "rsa" if "rsa" in key_type else key_type


def _notice_dead_peer(connection: socket.socket) -> None:
    """A cut cable shows after CABLE_CUT_AFTER_S, idle or not, instead of after the kernel's two hours."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, CABLE_CUT_AFTER_S // 2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, CABLE_CUT_AFTER_S * 1000)
