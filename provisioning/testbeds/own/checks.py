"""What must hold of the operator's own machines before anything is put on them. `samebox prepare` mends what it can.

It leaves one empty mark file per data directory there: that the directory was found empty once.
"""

from __future__ import annotations

import hashlib
import shlex
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from provisioning.errors import HostError, InvalidInput
from provisioning.hosts.clocks import ClockReading, read_clock
from provisioning.hosts.facts import Facts, read_facts
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import DataDir
from provisioning.preparation.step import as_root
from provisioning.testbeds.own.hosts import OwnHosts

CLOCKS_APART_S = 0.001
_SAME_MEMORY_SHARE = 0.02  # firmware keeps a little more or less of the same modules


def check_own_hosts(own: OwnHosts, hosts: Sequence[Host], *, prepared: bool = True) -> None:
    """Reachable, root without a password, alike within a role, data directories ours to empty, clocks that agree.

    `prepared=False` leaves out what `samebox prepare` brings about: Python, mounts. Raises HostsFailed or InvalidInput.
    """
    on_all("checking own hosts", hosts, require_root)
    facts = read_facts(hosts)
    if not own.different_machines:
        refuse_different(hosts, facts)
    on_all("checking data directories", hosts, lambda host: _check_data_dirs(host, prepared=prepared))
    if prepared:
        refuse_clocks_apart(on_all("reading clocks", hosts, read_clock))


def refuse_different(hosts: Sequence[Host], facts: Mapping[str, Facts]) -> None:
    """Raises InvalidInput naming each host that isn't the machine that the others of its role are."""
    found = []
    for role in dict.fromkeys(host.record.role for host in hosts):
        names = [host.name for host in hosts if host.record.role == role]
        for what, values in _traits({name: facts[name] for name in names}).items():
            usual, _ = Counter(values.values()).most_common(1)[0]
            found += [
                f"{name}: {what} {value}, the other {role} hosts: {usual}"
                for name, value in values.items()
                if value != usual
            ]
    if found:
        raise InvalidInput(
            "hosts of the same role differ, so results would depend on the host:\n  " + "\n  ".join(found),
            next_step="Use machines of one type, or set `different_machines = true` in the inventory; the manifest records them.",
        )


def refuse_clocks_apart(readings: Mapping[str, ClockReading]) -> None:
    """Raises InvalidInput when two clocks are certainly further apart than end-to-end latencies allow."""
    names = list(readings)
    for position, one in enumerate(names):
        for other in names[position + 1 :]:
            left, right = readings[one], readings[other]
            apart_ns = abs(left.offset_ns - right.offset_ns) - left.uncertainty_ns - right.uncertainty_ns
            if apart_ns > CLOCKS_APART_S * 1e9:
                raise InvalidInput(
                    f"the clocks of {one} and {other} are at least {apart_ns / 1e6:.1f} ms apart"
                    f" (allowed: {CLOCKS_APART_S * 1e3:g} ms).",
                    next_step="Have both follow the same time server, e.g. with chrony, and wait until they agree.",
                )


def require_root(host: Host) -> None:
    """Raises HostError with the line to type when the SSH user can't become root without a password."""
    if host.run(as_root("true"), check=False).exit_status != 0:
        user = host.record.ssh.user
        raise HostError(
            host.name,
            f"{user} can't become root without a password, which page caches, disks and packages require.",
            next_step=f"As root there: echo '{user} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/{user}",
        )


def _check_data_dirs(host: Host, *, prepared: bool) -> None:
    """An owned one lies on its device; any other is empty, or was already when samebox first saw it."""
    for data_dir in host.record.data_dirs:
        if data_dir.owned:
            if prepared:
                check_mounted(host, data_dir)
        else:
            check_ours_to_empty(host, data_dir)


def check_mounted(host: Host, data_dir: DataDir) -> None:
    """Raises HostError when an owned directory lies on another device than its own, as after a reboot."""
    path, device = shlex.quote(data_dir.path), shlex.quote(data_dir.device)
    command = (
        f'readlink -f -- {device}; readlink -f -- "$(findmnt --noheadings --output SOURCE --target {path} | tail -n 1)"'
    )
    lines = host.run(command, check=False).stdout.split()
    if len(lines) != 2 or lines[0] != lines[1]:
        found = lines[1] if len(lines) == 2 else "nothing"
        raise HostError(
            host.name,
            f"{data_dir.path} is on {found}, not on {data_dir.device}.",
            next_step="Run `samebox prepare` for this inventory, which mounts owned disks; they aren't mounted again after a reboot.",
        )


def check_ours_to_empty(host: Host, data_dir: DataDir) -> None:
    """Raises HostError when a directory holds what isn't the kit's.

    The mark that it was found empty once stands beside it, below the root, because the directory itself is emptied.
    """
    mark = f"{host.record.root}/.samebox-data-{hashlib.sha256(data_dir.path.encode()).hexdigest()[:12]}"
    path = shlex.quote(data_dir.path)
    command = (
        f"if [ -e {shlex.quote(mark)} ] || [ ! -e {path} ]; then exit 0; fi;"
        f" ls -A -- {path} | grep -v -x -e lost+found | head -n 3"
    )
    held = host.run(command, check=False).stdout.split()
    if held:
        raise HostError(
            host.name,
            f"{data_dir.path} is not empty ({', '.join(held)}), and it would be emptied before every trial.",
            next_step=f"Name another directory, or empty it there yourself, for good: rm -r {data_dir.path}/*",
        )
    root, user = shlex.quote(host.record.root), shlex.quote(host.record.ssh.user)
    host.run(
        as_root(f"[ -d {root} ] || {{ mkdir -p -- {root} && chown {user}: -- {root}; }}; touch -- {shlex.quote(mark)}")
    )


def _traits(facts: Mapping[str, Facts]) -> dict[str, dict[str, str]]:
    """What must be the same: trait -> host -> value as people read it. Memory counts as the same within a little."""
    memory = [each.memory_bytes for each in facts.values() if each.memory_bytes]
    usual = statistics.median_high(memory) if memory else 0

    def memory_of(each: Facts) -> str:
        same = each.memory_bytes is not None and abs(each.memory_bytes - usual) <= _SAME_MEMORY_SHARE * usual
        return f"{(usual if same else each.memory_bytes or 0) / 2**30:.1f} GiB"

    return {
        "CPU": {name: f"{each.cpu_model or 'unknown'} x {each.cpus or '?'}" for name, each in facts.items()},
        "memory": {name: memory_of(each) for name, each in facts.items()},
        "disks": {
            name: ", ".join(sorted(f"{disk.model or 'unnamed'} {disk.size_bytes // 10**9} GB" for disk in each.disks))
            for name, each in facts.items()
        },
    }
