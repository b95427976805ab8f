"""Owned disks: xfs on those that are blank, mounted noatime,nodiscard, read back. It never touches a disk that isn't owned.

A disk that holds anything (a file system, a partition table, a mount elsewhere, the root) is refused; only `erase`, which the
operator gives for one run, lets it be overwritten, and nothing lets a disk be that is in use.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from provisioning.errors import HostError
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import DataDir
from provisioning.preparation.step import Status, Step, as_root

FORMAT_TIMEOUT_S = 900.0  # mkfs.xfs discards the whole disk first
OPTIONS = "noatime,nodiscard"
WANTED = f"xfs {OPTIONS}"
LABEL = "samebox"
_BY_LABEL = "/dev/disk/by-label/"
WHY = "noatime: reading writes nothing; nodiscard: trims come between trials, not within one (as in the published campaigns)"


@dataclass(frozen=True)
class Disk:
    """An owned device as it is. `signature`: what blkid sees on it, e.g. "xfs samebox"; empty = nothing.

    `mounts`: where it or a part of it is mounted; `parts`: its partitions and what is built on it.
    """

    path: str
    signature: str
    parts: tuple[str, ...]
    mounts: tuple[str, ...]


def provide_disks(host: Host, *, may_change: bool, erase: bool) -> list[Step]:
    """Formats and mounts every owned disk of a host that isn't yet, and makes its data directories. Raises HostError."""
    by_mount = {data_dir.mount: data_dir for data_dir in host.record.data_dirs if data_dir.owned}
    if may_change:
        # every disk is looked at before the first is touched
        looked = {mount: look(host, data_dir) for mount, data_dir in by_mount.items()}
        plans = {mount: list(_plan(host, by_mount[mount], looked[mount], erase)) for mount in by_mount}
        steps = [_apply(host, by_mount[mount], looked[mount], plan) for mount, plan in plans.items()]
    else:
        steps = [_only_looked_at(host, data_dir) for data_dir in by_mount.values()]
    return [*steps, *_directories(host, may_change=may_change)]


def look(host: Host, data_dir: DataDir) -> Disk:
    """What is on an owned device now. Raises HostError when it is no block device there."""
    device = shlex.quote(data_dir.device)
    completed = host.run(
        as_root(
            f'device=$(readlink -f -- {device}); [ -b "$device" ] || exit 90; echo "$device";'
            ' echo $(blkid -p -o value -s TYPE -s PTTYPE "$device"); echo $(blkid -p -o value -s LABEL "$device");'
            ' lsblk --json --output NAME,MOUNTPOINT "$device"'
        ),
        check=False,
    )
    if completed.exit_status == 90:
        disks = host.run("lsblk -ndo NAME,SIZE,MODEL", check=False).stdout.strip()
        raise HostError(
            host.name,
            f"{data_dir.device} is not a block device there.",
            next_step=f"Correct data_dirs of {host.name}; its disks:\n{disks}",
        )
    if completed.exit_status != 0:
        raise HostError(host.name, f"{data_dir.device} can't be inspected: {completed.stderr.strip()[-400:]}")
    path, kind, label, listed = completed.stdout.split("\n", 3)
    tree = json.loads(listed)["blockdevices"]
    names = [node["name"] for node in _walk(tree)]
    mounts = [node["mountpoint"] for node in _walk(tree) if node.get("mountpoint")]
    return Disk(path, f"{kind} {label}".strip(), tuple(names[1:]), tuple(mounts))


def _walk(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from _walk(node.get("children", []))


def _plan(host: Host, data_dir: DataDir, disk: Disk, erase: bool) -> Iterator[str]:
    """The root commands that a disk still needs; none = as wanted. Raises HostError when it must not be touched."""
    device, mount = disk.path, data_dir.mount
    if mount == "/" or not PurePosixPath(mount).is_absolute():
        raise HostError(host.name, f"{data_dir.device} is marked owned, but {mount} can't be the mount of a data disk.")
    elsewhere = [where for where in disk.mounts if where != mount]
    if elsewhere:
        raise HostError(
            host.name,
            f"{data_dir.device} is marked owned, but it is in use: mounted on {', '.join(elsewhere)}, not on {mount}.",
            next_step="Correct its device or mount in the inventory, or unmount it there.",
        )
    if mount in disk.mounts:
        filesystem, options = _mounted(host, mount)
        if filesystem != "xfs":
            raise HostError(
                host.name,
                f"{mount} has {filesystem} on {data_dir.device}, wanted xfs.",
                next_step="Unmount it there, then `samebox prepare --erase` formats it as xfs (its content is lost).",
            )
        if not _as_wanted(options):
            yield f"mount -o remount,{OPTIONS} {shlex.quote(mount)}"
        return
    held = disk.signature or ", ".join(disk.parts)
    # an inventory that names a disk by the label of its file system means that file system
    if disk.signature not in (f"xfs {LABEL}", f"xfs {data_dir.device.removeprefix(_BY_LABEL)}"):
        if held and not erase:
            raise HostError(
                host.name,
                f"{data_dir.device} is not empty: it holds {held}.",
                next_step="Check whether anybody needs it. `samebox prepare --erase` overwrites every owned disk that isn't empty.",
            )
        yield f"wipefs --all --quiet {shlex.quote(device)}"
        yield f"mkfs.xfs -f -q -L {LABEL} {shlex.quote(device)}"
    quoted = shlex.quote(mount)
    yield f"mkdir -p -- {quoted}"
    # mounted over, files would be hidden and stay on the root disk
    yield f'[ -z "$(ls -A -- {quoted})" ] || {{ echo {quoted} is not an empty directory >&2; exit 91; }}'
    yield f"mount -t xfs -o {OPTIONS} {shlex.quote(device)} {quoted}"


def _apply(host: Host, data_dir: DataDir, disk: Disk, plan: list[str]) -> Step:
    name = _name(data_dir)
    if plan:
        completed = host.run(as_root("set -e; " + "; ".join(plan)), timeout_s=FORMAT_TIMEOUT_S, check=False)
        if completed.exit_status != 0:
            raise HostError(host.name, f"{name}: {completed.stderr.strip()[-600:]}")
    filesystem, options = _mounted(host, data_dir.mount)
    again = look(host, data_dir)
    if filesystem != "xfs" or not _as_wanted(options) or again.mounts != (data_dir.mount,):
        where = ", ".join(again.mounts) or "nowhere"
        found = f"{filesystem or 'nothing'} {options}".strip()
        raise HostError(host.name, f"{name}: wanted {WANTED} there, found {found}; the disk is mounted {where}.")
    status: Status = "changed" if plan else "as wanted"
    return Step(host.name, name, WANTED, _shown(data_dir, disk), f"{filesystem} {options}", status, WHY)


def _only_looked_at(host: Host, data_dir: DataDir) -> Step:
    """What differs on the operator's own machine, where nothing is refused because nothing is done."""
    try:
        disk = look(host, data_dir)
        wanted = not list(_plan(host, data_dir, disk, erase=True))
        shown = _shown(data_dir, disk)
    except HostError as error:
        wanted, shown = False, str(error)
    return Step(host.name, _name(data_dir), WANTED, shown, shown, "as wanted" if wanted else "left", WHY)


def _name(data_dir: DataDir) -> str:
    return f"{data_dir.device} on {data_dir.mount}"


def _shown(data_dir: DataDir, disk: Disk) -> str:
    return f"{disk.signature or 'blank'}, {'mounted' if data_dir.mount in disk.mounts else 'not mounted'}"


def _directories(host: Host, *, may_change: bool) -> Iterator[Step]:
    """The root and the data directories: there, and the SSH user's to write in."""
    for path in dict.fromkeys([host.record.root, *(data_dir.path for data_dir in host.record.data_dirs)]):
        quoted = shlex.quote(path)
        test = f"[ -d {quoted} ] && [ -w {quoted} ]"
        there = host.run(test, check=False).exit_status == 0
        if not there and may_change:
            user = shlex.quote(host.record.ssh.user)
            # only the directory itself changes hands: what lies below may be somebody's
            host.run(as_root(f"mkdir -p -- {quoted} && chown {user}: -- {quoted}"))
            if host.run(test, check=False).exit_status != 0:
                raise HostError(
                    host.name, f"{path}: {user} still can't write there after it was made and given to that user."
                )
        before = "there" if there else "missing or not writable"
        after = "there" if there or may_change else before
        status: Status = "as wanted" if there else "changed" if may_change else "left"
        yield Step(host.name, path, "a writable directory", before, after, status, "the kit's files go there")


def _mounted(host: Host, mount: str) -> tuple[str, str]:
    """(file system, options) of a mount point; the latest where one lies over another; empty = none."""
    command = f"findmnt --noheadings --output FSTYPE,OPTIONS --mountpoint {shlex.quote(mount)}"
    lines = host.run(command, check=False).stdout.strip().splitlines()
    filesystem, _, options = lines[-1].partition(" ") if lines else ("", "", "")
    return filesystem, options.strip()


def _as_wanted(options: str) -> bool:
    given = options.split(",")
    return "noatime" in given and "discard" not in given
