"""The folder /run/sshd that an sshd started by root insists on: made when missing, removed when it was ours and is unused.

It never touches a folder that the system made, nor removes its own while any sshd runs on the machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from provisioning.testbeds.local.processes import any_runs

FOLDER = Path("/run/sshd")
_OURS = FOLDER / "made-by-samebox"


@contextlib.contextmanager
def provided() -> Iterator[None]:
    """The folder is there, and isn't removed by another samebox process before the sshd started inside has begun."""
    if not _is_needed():
        yield
        return
    with _locked():
        if not FOLDER.exists():
            FOLDER.mkdir(mode=0o755)
            _OURS.touch()
        yield


def release() -> None:
    """Removes the folder if samebox made it and no sshd runs any more."""
    if not _is_needed():
        return
    with _locked():
        if _OURS.exists() and not any_runs("sshd"):
            _OURS.unlink()
            with contextlib.suppress(OSError):
                FOLDER.rmdir()


def _is_needed() -> bool:
    return os.geteuid() == 0 and FOLDER.parent.is_dir()


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    parent = os.open(FOLDER.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(parent, fcntl.LOCK_EX)
        yield
    finally:
        os.close(parent)
