"""Drops the page caches of a machine, the strongest way its user may: says which, and never does less in silence.

`drop_caches`: the whole machine, through /proc/sys/vm/drop_caches, as root or by password-less sudo. `fadvise`: only the hosts'
own files (data directories and everything else below their roots) are evicted one by one with posix_fadvise(DONTNEED); system
libraries and other users' files stay cached, which is why the manifest carries the label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from provisioning.errors import ResetError
from provisioning.hosts.disk_checks import run_check
from provisioning.hosts.host import Host

# Drops the caches of one machine, given all its hosts, and returns how: "drop_caches" or "fadvise".
DropCaches = Callable[[Sequence[Host]], str]
# 3 = pages, dentries and inodes. `sync` first: dirty pages are not dropped.
DROP_COMMAND = (
    "sync; if [ -w /proc/sys/vm/drop_caches ]; then echo 3 > /proc/sys/vm/drop_caches;"
    " else echo 3 | sudo -n tee /proc/sys/vm/drop_caches >/dev/null; fi"
)
DROP_TIMEOUT_S = 600.0


def drop_page_caches(machine: Sequence[Host]) -> str:
    """Drops by the kernel's switch through the first host that may; else evicts every host's own files."""
    for host in machine:
        if host.run(DROP_COMMAND, timeout_s=DROP_TIMEOUT_S, check=False).exit_status == 0:
            return "drop_caches"
    for host in machine:
        evict_own_files(host)
    return "fadvise"


def evict_own_files(host: Host) -> None:
    """posix_fadvise(DONTNEED) on every file of the host. Raises ResetError when a file could not be opened."""
    root = PurePosixPath(host.record.root)
    trees = [str(root), *(d.path for d in host.record.data_dirs if not PurePosixPath(d.path).is_relative_to(root))]
    result = run_check(host, "evict", *trees, timeout_s=DROP_TIMEOUT_S)
    if result["unreadable"]:
        raise ResetError(
            f"{host.name}: {len(result['unreadable'])} files can't be evicted from the page cache,"
            f" the first: {result['unreadable'][0]}",
            next_step="Give the SSH user of the host password-less sudo, or ownership of every file below its root.",
        )
