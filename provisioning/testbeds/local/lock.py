"""One samebox process at a time per testbed, by flock: a crashed holder frees it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from provisioning.errors import MissingRequirement

LOCK_FILE = "lock"


@contextlib.contextmanager
def exclusive(state_dir: Path) -> Iterator[None]:
    """Holds the testbed in `state_dir` for this process. Raises MissingRequirement when another one has it.

    Leaves no trace: the lock file goes, and with it the folder if nothing else is in it.
    """
    lock = _acquire(state_dir / LOCK_FILE)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if [entry.name for entry in state_dir.iterdir()] == [LOCK_FILE]:
                (state_dir / LOCK_FILE).unlink()
                state_dir.rmdir()
        os.close(lock)


def _acquire(path: Path) -> int:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            continue  # another process removed the folder in between
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise MissingRequirement(
                f"the testbed in {path.parent} is in use by another samebox process (pid {holder}).",
                next_step=f"Wait until it ends, or end it: kill -INT {holder}",
            ) from None
        if _is_still(path, lock):
            os.ftruncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())
            return lock
        os.close(lock)  # the previous holder removed the file between our open and our lock


def _is_still(path: Path, lock: int) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False
