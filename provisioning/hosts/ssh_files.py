"""Files over SSH, streamed through a command on the host: whole or not there, and checked by SHA-256 on both sides.

A stream takes one round trip and no SFTP subsystem; no file is ever appended to or changed in place.
"""

from __future__ import annotations

import hashlib
import secrets
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Protocol

from provisioning.errors import CommandFailed, Completed, HostError
from provisioning.hosts.host import COMMAND_TIMEOUT_S

PIECE_BYTES = 1024 * 1024
SLOWEST_TRANSFER_BYTES_PER_S = 1_000_000
FETCH_TIMEOUT_S = 3600.0


class Execute(Protocol):
    """Runs a command with streamed input and output; its result has no standard output, the sink got that."""

    def __call__(
        self, command: str, timeout_s: float, stdin: Iterable[bytes] | None, sink: Callable[[bytes], object]
    ) -> Completed: ...


class RemoteFiles:
    """The file verbs of one host."""

    def __init__(self, host: str, execute: Execute) -> None:
        self._host = host
        self._execute = execute

    def put(self, content: bytes, path: str, mode: int) -> None:
        self.upload([content], len(content), hashlib.sha256(content).hexdigest(), path, mode)

    def push(self, source: Path, path: str, mode: int) -> None:
        with source.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size_bytes = file.tell()
            file.seek(0)
            self.upload(iter(lambda: file.read(PIECE_BYTES), b""), size_bytes, sha256, path, mode)

    def get(self, path: str) -> bytes:
        content = bytearray()
        completed = self._execute(f"cat -- {shlex.quote(path)}", COMMAND_TIMEOUT_S, None, content.extend)
        if completed.exit_status != 0:
            raise CommandFailed(self._host, completed)
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

                completed = self._execute(_fetch_script(path), FETCH_TIMEOUT_S, None, keep)
            if completed.exit_status != 0:
                raise CommandFailed(self._host, completed)
            there = completed.stderr.split()[0]
            if there != received.hexdigest():
                raise HostError(self._host, f"{path} arrived damaged: sha256 {received.hexdigest()}, there {there}.")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    def upload(self, content: Iterable[bytes], size_bytes: int, sha256: str, path: str, mode: int) -> None:
        """Streams `content` into a file beside `path`; the host checks what it has stored before it renames it."""
        timeout_s = COMMAND_TIMEOUT_S + size_bytes / SLOWEST_TRANSFER_BYTES_PER_S
        completed = self._execute(_upload_script(path, sha256, mode), timeout_s, content, lambda _: None)
        if completed.exit_status != 0:
            raise HostError(self._host, f"{path} could not be written: {completed.stderr.strip()[-800:]}")


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
