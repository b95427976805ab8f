"""A probe's scratch file: opened and unlinked before a byte is written, so that no ending, not even SIGKILL, leaves data behind.

Never overwrites an existing file and never starts on a disk that would be filled by it.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Brokers and the file system need room beside the probe; a disk filled to the brim also measures slower than it is.
SPARE_BYTES = 256 * 1024 * 1024


class ProbeError(Exception):
    """A probe that can't be taken here; `kind` is a stable word for machines, the message is for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def require_free_space(directory: str, needed_bytes: int) -> None:
    """Raises ProbeError(no-space) when `directory`'s disk has less than `needed_bytes` and a spare margin free."""
    try:
        state = os.statvfs(directory)
    except OSError as error:
        raise ProbeError("no-directory", f"{directory}: {os.strerror(error.errno or 0)}") from None
    free_bytes = state.f_bavail * state.f_frsize
    if free_bytes < needed_bytes + SPARE_BYTES:
        raise ProbeError(
            "no-space",
            f"{directory} has {free_bytes / 1e6:.0f} MB free; the probe needs {needed_bytes / 1e6:.0f} MB"
            f" and leaves {SPARE_BYTES / 1e6:.0f} MB spare",
        )


@contextmanager
def probe_file(directory: str, needed_bytes: int, flags: int = 0) -> Iterator[int]:
    """The descriptor of a new, already unlinked file in `directory`; `flags` are added to O_RDWR (say, O_DIRECT).

    >>> with probe_file("/data", 4096) as descriptor: os.write(descriptor, b"x" * 4096)
    """
    require_free_space(directory, needed_bytes)
    try:
        named, path = tempfile.mkstemp(prefix=".samebox-probe-", dir=directory)
    except OSError as error:
        raise ProbeError("not-writable", f"{directory}: {os.strerror(error.errno or 0)}") from None
    try:
        descriptor = os.open(path, os.O_RDWR | flags)
    except OSError as error:
        if error.errno == errno.EINVAL and flags & os.O_DIRECT:
            raise ProbeError("no-direct-io", f"{directory}: its file system has no direct I/O (O_DIRECT)") from None
        raise ProbeError("not-writable", f"{directory}: {os.strerror(error.errno or 0)}") from None
    finally:
        Path(path).unlink()
        os.close(named)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
