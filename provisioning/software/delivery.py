"""Puts content-addressed directories on hosts, each only where it is missing.

`<root>/software/<key>/` with a `.complete` holding the digest is there whole or not at all: it is unpacked aside and renamed.
"""

from __future__ import annotations

import hashlib
import shlex
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from provisioning.cache import Notice
from provisioning.hosts.host import Host, on_all

UNPACK_TIMEOUT_S = 600.0
MARKER = ".complete"
# when all files of an archive were written, as hosts see it: any time but 0, which a JVM takes for "unknown"
WRITTEN_S = 946_684_800  # 2000-01-01, UTC
# puts the archive at an absolute path of a host; raises HostError
Put = Callable[[Host, str], None]


class Way(Protocol):
    """How an archive gets from this machine to hosts. `ready` does once what needs doing once, however many hosts there are."""

    def ready(self, archive: Path, hosts: Sequence[Host]) -> Put:
        """Makes an archive ready for these hosts; what it returns may be called for all of them at once."""


class Direct:
    """To each host over its own connection: as many bytes leave this machine as all hosts take."""

    def ready(self, archive: Path, hosts: Sequence[Host]) -> Put:
        del hosts
        return lambda host, path: host.push(archive, path)


DIRECT = Direct()


@dataclass(frozen=True)
class Content:
    """What is to be on a host: a directory name that tells the content, and the full digest that proves it."""

    key: str
    digest: str

    @property
    def relative_dir(self) -> str:
        """Where it lies, relative to a host's root."""
        return f"software/{self.key}"


def directory(host: Host, content: Content) -> str:
    """Where the content lies on this host."""
    return f"{host.record.root}/{content.relative_dir}"


def lacking(hosts: Sequence[Host], content: Content) -> list[Host]:
    """The hosts that don't have the content whole."""

    def marker_of(host: Host) -> str:
        marker = shlex.quote(f"{directory(host, content)}/{MARKER}")
        return host.run(f"cat {marker} 2>/dev/null || true").stdout.strip()

    found = on_all(f"looking for {content.key}", hosts, marker_of)
    return [host for host in hosts if found[host.name] != content.digest]


def deliver(
    hosts: Sequence[Host],
    content: Content,
    files: Callable[[], Iterable[tuple[str, Path]]],
    cache_dir: Path,
    *,
    notice: Notice,
    what: str = "",
    way: Way = DIRECT,
    then: Callable[[Host, str], None] | None = None,
) -> None:
    """Brings `files`, as `pack` takes them, to the hosts that lack them, all hosts at once; they are asked for only if one does.

    `what` is told with its size; things too small to be told have no name. `then` finishes the directory on the host (its path is
    given) before it counts as complete.
    """
    without = lacking(hosts, content)
    if not without:
        return
    packed = files()
    cache_dir.mkdir(parents=True, exist_ok=True)
    # in the cache: /tmp may be small or in memory
    with tempfile.TemporaryDirectory(prefix=".sending-", dir=cache_dir) as scratch:
        archive = Path(scratch) / "content.tar"
        pack(packed, archive)
        if what:
            names = ", ".join(host.name for host in without)
            notice(f"{what}: sending {archive.stat().st_size // 10**6} MB to {names}")
        put = way.ready(archive, without)
        on_all(f"delivering {content.key}", without, lambda host: _deliver_to(host, content, put, then))


def _deliver_to(host: Host, content: Content, put: Put, then: Callable[[Host, str], None] | None) -> None:
    final = directory(host, content)
    incoming = f"{host.record.root}/software/.incoming-{content.key}"
    pushed = f"{incoming}.tar"
    put(host, pushed)
    quoted = shlex.quote(incoming)
    host.run(
        f"rm -rf {quoted} && mkdir -p {quoted} && "
        f"tar --no-same-owner -xf {shlex.quote(pushed)} -C {quoted} && rm -f {shlex.quote(pushed)}",
        timeout_s=UNPACK_TIMEOUT_S,
    )
    if then is not None:
        then(host, incoming)
    host.run(
        f"printf %s {content.digest} > {quoted}/{MARKER} && rm -rf {shlex.quote(final)} && mv {quoted} {shlex.quote(final)}",
        timeout_s=UNPACK_TIMEOUT_S,
    )


def pack(files: Iterable[tuple[str, Path]], archive: Path) -> None:
    """An uncompressed tar of (name inside, file) pairs; what is sent is compressed already (jars, wheels) or tiny.

    Same names, contents and modes, same bytes: whose file it was and when it was written isn't in it.
    """
    with tarfile.open(archive, "w") as tar:
        for name, path in files:
            tar.add(path, arcname=name, recursive=False, filter=_of_nobody)


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = WRITTEN_S
    return member


def digest_of(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 over the names and contents of (name inside, file) pairs, in the order given."""
    digest = hashlib.sha256()
    for name, path in files:
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
