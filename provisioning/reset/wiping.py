"""Empties data directories and trims owned devices. It refuses every path that isn't plainly the testbed's own.

A path may be emptied only if it is a data directory of the inventory, lies below the host's root or on an owned mount, and
still does so on the host after every symbolic link is followed.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath

from provisioning.errors import HostError, ResetError
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import DataDir, HostRecord

WIPE_TIMEOUT_S = 600.0
TRIM_TIMEOUT_S = 900.0
_LEAST_DEPTH = 2


@dataclass(frozen=True)
class Trimmed:
    """A device that took the trim, and how much of it."""

    host: str
    device: str
    mount: str
    bytes: int


@dataclass(frozen=True)
class NotTrimmed:
    """A device that wasn't trimmed, and why."""

    host: str
    device: str
    why: str


def is_plain(path: PurePosixPath) -> bool:
    """Whether it may be anybody's data directory: "/", "/home" and the like are nobody's, whatever an inventory says."""
    return path.is_absolute() and ".." not in path.parts and len(path.parts) > _LEAST_DEPTH


def check_wipeable(record: HostRecord, data_dir: DataDir) -> str:
    """The base directory that `data_dir` lies below. Raises ResetError if it may not be emptied."""
    bases = [record.root, *([data_dir.mount] if data_dir.owned and data_dir.mount != "/" else [])]
    path = PurePosixPath(data_dir.path)
    for base in bases:
        root = PurePosixPath(base)
        below = path != root or base != record.root  # an owned mount itself may be a data directory, the root never
        if is_plain(path) and root.is_absolute() and len(root.parts) > 1 and path.is_relative_to(root) and below:
            return base
    raise ResetError(
        f"{record.name}: refusing to empty {data_dir.path}: it is neither below the host's root {record.root}"
        " nor on a mount that the inventory marks as owned.",
        next_step="Correct the host's data_dirs in the inventory.",
    )


def wipe_command(base: str, path: str) -> str:
    """Empties `path` (made if missing), following no link out of `base`; lost+found belongs to the file system and stays."""
    return (
        f'set -eu; dir={shlex.quote(path)}; mkdir -p -- "$dir"; real=$(readlink -f -- "$dir");'
        f" base=$(readlink -f -- {shlex.quote(base)});"
        ' case "$real/" in "$base"/*) ;; *) echo "$dir leads to $real, outside $base" >&2; exit 97;; esac;'
        ' find "$real" -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf --one-file-system -- {} +;'
        ' left=$(find "$real" -mindepth 1 -maxdepth 1 ! -name lost+found | head -n 3);'
        ' if [ -n "$left" ]; then echo "still there: $left" >&2; exit 98; fi'
    )


def wipe(host: Host) -> None:
    """Empties all data directories of a host; all are checked before the first is touched."""
    checked = [(check_wipeable(host.record, data_dir), data_dir.path) for data_dir in host.record.data_dirs]
    if checked:
        host.run("\n".join(wipe_command(base, path) for base, path in checked), timeout_s=WIPE_TIMEOUT_S)


def trim_command(mount: str) -> str:
    """fstrim of a mount point, as root or by password-less sudo; anything but a mount point is refused."""
    quoted = shlex.quote(mount)
    return (
        f"mountpoint -q -- {quoted} || {{ echo {quoted} is not a mount point >&2; exit 96; }};"
        f' if [ "$(id -u)" = 0 ]; then LC_ALL=C fstrim -v -- {quoted}; else LC_ALL=C sudo -n fstrim -v -- {quoted}; fi'
    )


def trim(host: Host) -> list[Trimmed | NotTrimmed]:
    """Trims each owned device once; every device that wasn't trimmed is named with its reason."""
    outcomes: dict[str, Trimmed | NotTrimmed] = {}
    for data_dir in host.record.data_dirs:
        device = data_dir.device
        if device in outcomes:
            continue
        if not data_dir.owned:
            outcomes[device] = NotTrimmed(host.name, device, "not owned by the testbed")
        elif data_dir.mount == "/":
            outcomes[device] = NotTrimmed(host.name, device, "its mount is the root file system")
        else:
            outcomes[device] = _trim_mount(host, data_dir)
    return list(outcomes.values())


def parse_trimmed_bytes(output: str) -> int | None:
    """From "/data: 3.4 TiB (3749532966912 bytes) trimmed on /dev/nvme1n1"."""
    found = re.search(r"\((\d+) bytes\) trimmed", output)
    return int(found.group(1)) if found else None


def _trim_mount(host: Host, data_dir: DataDir) -> Trimmed | NotTrimmed:
    completed = host.run(trim_command(data_dir.mount), timeout_s=TRIM_TIMEOUT_S, check=False)
    if completed.exit_status != 0:
        why = completed.stderr.strip()[-200:] or f"fstrim exit {completed.exit_status}"
        return NotTrimmed(host.name, data_dir.device, why)
    size = parse_trimmed_bytes(completed.stdout)
    if size is None:
        raise HostError(host.name, f"unexpected output of fstrim {data_dir.mount}: {completed.stdout[-200:]}")
    return Trimmed(host.name, data_dir.device, data_dir.mount, size)
