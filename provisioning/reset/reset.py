"""Brings a testbed back to a clean state between trials; no step of it is ever silently skipped.

1. stop every system                     6. wait until the disks have nothing to do
2. wait until the processes are gone     7. a canary file per data directory, fully read: in the page cache
3. empty the data directories            8. drop the page caches, once per machine
4. fstrim owned devices                  9. verify: cached bytes before and after, canaries no longer resident; remove them
5. sync

The order matters: dropping before the processes are gone has no effect on files they have mapped, and dropping after the
start would measure a warm broker. What was found is reported as it is; whether the caches were cold enough is for the checks.

Caches are dropped the strongest way that the user may, and the report says which. `drop_caches`: of the whole machine, through
/proc/sys/vm/drop_caches, as root or by password-less sudo. `fadvise`: only the hosts' own files (data directories and everything else
below their roots) are evicted one by one with posix_fadvise(DONTNEED); system libraries and other users' files stay cached, which is
why the manifest carries the label.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from provisioning.errors import ResetError
from provisioning.hosts import daemons
from provisioning.hosts.disk_checks import install_checks, run_check
from provisioning.hosts.facts import boot_ids
from provisioning.hosts.host import Host, on_all
from provisioning.reset.wiping import NotTrimmed, Trimmed, check_wipeable, trim, wipe

CANARY_NAME = ".samebox-canary"
CANARY_BYTES = 8 * 1024 * 1024
GONE_TIMEOUT_S = 60.0
SYNC_TIMEOUT_S = 600.0
SETTLE_BOUND_S = 20.0
# Next to nothing: logs that a system writes all the time. A trial's own rest would be hundreds of MB.
SETTLED_DIRTY_BYTES = 16 * 1024 * 1024
_POLL_S = 0.5
# Drops the caches of one machine, given all its hosts, and returns how: "drop_caches" or "fadvise".
DropCaches = Callable[[Sequence[Host]], str]
# 3 = pages, dentries and inodes. `sync` first: dirty pages are not dropped.
DROP_COMMAND = (
    "sync; if [ -w /proc/sys/vm/drop_caches ]; then echo 3 > /proc/sys/vm/drop_caches;"
    " else echo 3 | sudo -n tee /proc/sys/vm/drop_caches >/dev/null; fi"
)
DROP_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class MachineCache:
    """Cached bytes of one machine just before and after the drop, read through `host`."""

    host: str
    cached_bytes_before: int
    cached_bytes_after: int


@dataclass(frozen=True)
class Canary:
    """The share of a canary file's pages in the page cache, before and after the drop."""

    host: str
    data_dir: str
    resident_before: float
    resident_after: float


@dataclass(frozen=True)
class Settled:
    """How long the disks of a machine, read through `host`, took to have nothing to do; not `quiet`: they still had when time was up.

    `in_flight`: requests on `disks` (empty: none there counts them), and bytes to be written back, at the last look.
    """

    host: str
    quiet: bool
    waited_s: float
    disks: tuple[str, ...]
    in_flight: int
    dirty_bytes: int
    writeback_bytes: int


@dataclass(frozen=True)
class ResetReport:
    """What the reset did and found; `as_observation` is `observations.reset` of docs/records.md."""

    method: str
    machines: tuple[MachineCache, ...]
    canaries: tuple[Canary, ...]
    trimmed: tuple[Trimmed, ...]
    not_trimmed: tuple[NotTrimmed, ...]
    settled: tuple[Settled, ...]

    def as_observation(self) -> dict[str, Any]:
        """Plain data for trial.json."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


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


def reset(
    hosts: Sequence[Host],
    stop_everything: Callable[[], object],
    *,
    running: Callable[[Host], Mapping[str, int]] = daemons.running,
    drop_caches: DropCaches = drop_page_caches,
    gone_timeout_s: float = GONE_TIMEOUT_S,
    canary_bytes: int = CANARY_BYTES,
) -> ResetReport:
    """All steps on all `hosts`. Raises ResetError (processes left, a path that may not be emptied) or HostsFailed.

    `running` tells a host's daemons (name -> pid); `drop_caches` drops one machine's caches and returns how.
    """
    for host in hosts:
        for data_dir in host.record.data_dirs:
            check_wipeable(host.record, data_dir)
    stop_everything()
    _await_gone(hosts, running, gone_timeout_s)
    on_all("emptying data directories", hosts, wipe)
    trims = [outcome for some in on_all("trimming", hosts, trim).values() for outcome in some]
    machines = _machines(hosts)
    on_all("sync", [members[0] for members in machines], lambda host: host.run("sync", timeout_s=SYNC_TIMEOUT_S))
    on_all("pushing disk-checks", hosts, install_checks)
    settled = _settle(machines)
    try:
        before = on_all("making canaries", hosts, lambda host: _canaries(host, "canary", "--bytes", canary_bytes))
        caches, methods = _drop(machines, drop_caches)
        after = on_all("reading canaries", hosts, lambda host: _canaries(host, "residency"))
    finally:
        on_all("removing canaries", hosts, _remove_canaries)
    return ResetReport(
        method="+".join(sorted(set(methods))),
        machines=caches,
        canaries=tuple(
            Canary(host.name, path, before[host.name][path], after[host.name][path])
            for host in hosts
            for path in before[host.name]
        ),
        trimmed=tuple(outcome for outcome in trims if isinstance(outcome, Trimmed)),
        not_trimmed=tuple(outcome for outcome in trims if isinstance(outcome, NotTrimmed)),
        settled=settled,
    )


def _await_gone(hosts: Sequence[Host], running: Callable[[Host], Mapping[str, int]], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        left = {name: found for name, found in on_all("looking for daemons", hosts, running).items() if found}
        if not left:
            return
        if time.monotonic() >= deadline:
            shown = "; ".join(
                f"{name}: {', '.join(f'{daemon} (pid {pid})' for daemon, pid in found.items())}"
                for name, found in sorted(left.items())
            )
            raise ResetError(
                f"still running {timeout_s:g} s after everything was stopped: {shown}",
                next_step="Check these processes on their hosts; one in state D is waiting for its disk.",
            )
        time.sleep(_POLL_S)


def _machines(hosts: Sequence[Host]) -> list[list[Host]]:
    """The hosts grouped by machine; the page cache belongs to the machine, not to the host."""
    found: dict[str, list[Host]] = {}
    ids = boot_ids(hosts)
    for host in hosts:
        found.setdefault(ids[host.name], []).append(host)
    return list(found.values())


def _settle(machines: Sequence[Sequence[Host]]) -> tuple[Settled, ...]:
    """Waits on all machines with data directories at once. A disk that doesn't come to rest is reported, not waited for for ever."""
    directories = {
        members[0].name: [data_dir.path for host in members for data_dir in host.record.data_dirs]
        for members in machines
    }

    def settle(first: Host) -> Settled:
        options = ("--seconds", SETTLE_BOUND_S, "--dirty", SETTLED_DIRTY_BYTES)
        found = run_check(first, "settle", *directories[first.name], *options, timeout_s=60 + SETTLE_BOUND_S)
        return Settled(first.name, **{**found, "disks": tuple(found["disks"])})

    there = [members[0] for members in machines if directories[members[0].name]]
    return tuple(on_all("waiting for quiet disks", there, settle).values())


def _drop(machines: Sequence[Sequence[Host]], drop_caches: DropCaches) -> tuple[tuple[MachineCache, ...], list[str]]:
    """Drops machine by machine, all at once; every drop lies between two readings of its machine's Cached."""
    members = {machine[0].name: machine for machine in machines}

    def drop(first: Host) -> tuple[MachineCache, str]:
        before = int(run_check(first, "cached")["cached_bytes"])
        method = drop_caches(members[first.name])
        return MachineCache(first.name, before, int(run_check(first, "cached")["cached_bytes"])), method

    dropped = on_all("dropping page caches", [machine[0] for machine in machines], drop)
    return tuple(cache for cache, _ in dropped.values()), [method for _, method in dropped.values()]


def _canary_paths(host: Host) -> dict[str, str]:
    return {data_dir.path: f"{data_dir.path}/{CANARY_NAME}" for data_dir in host.record.data_dirs}


def _canaries(host: Host, probe: str, *options: str | int) -> dict[str, float]:
    """Data directory -> how resident its canary is, by a probe that makes or looks at files."""
    paths = _canary_paths(host)
    if not paths:
        return {}
    found = {
        each["path"]: each["resident_share"] for each in run_check(host, probe, *paths.values(), *options)["files"]
    }
    return {directory: float(found[path]) for directory, path in paths.items()}


def _remove_canaries(host: Host) -> None:
    paths = list(_canary_paths(host).values())
    if paths:
        host.run(shlex.join(["rm", "-f", "--", *paths]))
