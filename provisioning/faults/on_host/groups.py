"""A control group for a host that shares its machine with others, so that its packets can be told from theirs.

A socket belongs to the group in which its process was when it made it. So daemons join as they start
(`provisioning.hosts.daemon_agent`), which is why the group is made ahead, and its name written where they find it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from pathlib import Path

from provisioning.faults.on_host.effect import NoEffect

MOUNTS = Path("/sys/fs/cgroup")
GONE_WITHIN_S, _LOOK_EVERY_S = 10.0, 0.02
GROUP_FILE = "cgroup"  # in the host's run folder: the path of its group


def mounted() -> Path:
    """Where cgroup 2 is mounted and groups may be made. Raises NoEffect."""
    for place in (MOUNTS, MOUNTS / "unified"):
        if (place / "cgroup.procs").is_file() and (place / "cgroup.controllers").is_file():
            if not os.access(place, os.W_OK):
                raise NoEffect(f"this user may not make control groups in {place}")
            return place
    raise NoEffect(f"no cgroup 2 in {MOUNTS} or {MOUNTS / 'unified'}")


def own_group(run_dir: Path) -> str:
    """Makes the host's group and notes it for the daemons; its path below /sys/fs/cgroup, as nftables wants it. Raises NoEffect."""
    group = mounted() / f"samebox-{hashlib.sha256(str(run_dir).encode()).hexdigest()[:12]}"
    group.mkdir(exist_ok=True)
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / GROUP_FILE).write_text(f"{group}\n")
    return str(group.relative_to(MOUNTS))


def remove_group(run_dir: Path) -> None:
    """Forgets the group, and removes it where nothing runs in it any more."""
    noted = run_dir / GROUP_FILE
    if noted.is_file():
        group = Path(noted.read_text().strip())
        if group.is_dir() and not (group / "cgroup.procs").read_text().strip():
            remove(group)
        noted.unlink()


def remove(group: Path) -> None:
    """Removes a group in which nothing runs. A process that is ending isn't listed any more, and keeps it busy until it is gone: of one
    with much memory that takes a while. Raises OSError.
    """
    deadline = time.monotonic() + GONE_WITHIN_S
    while True:
        try:
            group.rmdir()
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_EVERY_S)
