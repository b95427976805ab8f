"""The user's cache: what can be had again, shared by all checkouts of a user, and the locks that let several of them use it."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# tells the user, in a line, of work that takes its time
Notice = Callable[[str], None]


def user_cache() -> Path:
    """Where samebox keeps what can be had again: `$XDG_CACHE_HOME/samebox`, by default ~/.cache/samebox."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".cache") / "samebox"


@contextmanager
def locked(lock_file: Path) -> Iterator[None]:
    """Holds an exclusive lock among all processes of this machine; released when the process ends, however it ends."""
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def sha256_of(path: Path) -> str:
    """A file's SHA-256 in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
