"""Takes the probes of vetting on hosts and keeps every sample; it never judges one.

1. push the probes, ask which device is under every data directory
2. group: a device of a machine (boot id and device number) is probed once, whichever hosts use it
3. `repeats` rounds spread over time; machines at the same time, the disks of one machine one after another
4. client hosts: record writing and CPU, once per machine and round
5. network from every client to every broker, pair by pair (see network.py)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from provisioning.hosts.disk_checks import ProbeFailed, install_checks, run_check
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import HostRecord
from provisioning.vetting.thresholds import Profile

Progress = Callable[[int, int, str], None]  # (steps done, of, what comes next)
DeviceKey = tuple[str, str]  # boot id, device number
_SLOWEST_FSYNC_S = 0.05  # of a deadline, judges nothing
_STARTUP_S = 60.0  # allowance of a deadline for starting Python on a busy host


@dataclass(frozen=True)
class Repeat:
    """One round on one disk: results as the probes printed them; `errors` maps a probe to why it could not be taken."""

    started_ns: int
    results: Mapping[str, Mapping[str, Any]]
    errors: Mapping[str, str]


@dataclass(frozen=True)
class Series:
    """All rounds on one disk or client machine. `hosts` are all that use it; it was taken through the first."""

    kind: str  # "disk" or "client"
    key: DeviceKey
    device: str
    directory: str
    facts: Mapping[str, Any]
    hosts: tuple[HostRecord, ...]
    repeats: tuple[Repeat, ...]


@dataclass(frozen=True)
class Pair:
    """The network from one client to one broker; `result` None when there was no connection (`error` says why)."""

    client: str
    broker: str
    machines: tuple[str, str]
    result: Mapping[str, Any] | None
    error: str


@dataclass(frozen=True)
class Probes:
    """Everything measured about a set of hosts, before any judgement."""

    hosts: tuple[HostRecord, ...]
    boot_ids: Mapping[str, str]
    series: tuple[Series, ...]
    pairs: tuple[Pair, ...] = field(default=())


@dataclass(frozen=True)
class Target:
    """One device to be probed: the host it is probed through, and all hosts that use it."""

    kind: str
    key: DeviceKey
    through: Host
    directory: str
    facts: Mapping[str, Any]
    profile: Profile
    hosts: tuple[HostRecord, ...]


def find_targets(
    hosts: Sequence[Host], profile_of: Callable[[HostRecord], Profile]
) -> tuple[tuple[Target, ...], dict[str, str]]:
    """What is to be probed, each device once, and every host's boot id; pushes the probes to all hosts first."""

    def look(host: Host) -> list[tuple[str, str, dict[str, Any]]]:
        install_checks(host)
        wanted = [("client" if host.record.role == "client" else "root", host.record.root)]
        wanted += [("disk", data_dir.path) for data_dir in host.record.data_dirs]
        devices = run_check(host, "device", *(path for _, path in wanted))["devices"]
        return [(kind, path, facts) for (kind, path), facts in zip(wanted, devices, strict=True)]

    found = on_all("reading device facts", hosts, look)
    boot_ids = {name: str(seen[0][2]["boot_id"]) for name, seen in found.items()}
    targets: dict[tuple[str, DeviceKey], Target] = {}
    for host in hosts:
        for kind, directory, facts in found[host.name]:
            if kind == "root":
                continue  # asked for the boot id only
            key = (facts["boot_id"], facts["device_number"])
            before = targets.get((kind, key))
            if before is None:
                targets[kind, key] = Target(
                    kind, key, host, directory, facts, profile_of(host.record), hosts=(host.record,)
                )
            elif host.record not in before.hosts:
                targets[kind, key] = replace(before, hosts=(*before.hosts, host.record))
    return tuple(targets.values()), boot_ids


def take_series(
    targets: Sequence[Target],
    *,
    progress: Progress,
    steps: tuple[int, int],
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Series, ...]:
    """All rounds on all targets. `steps` are (done before, of all) for `progress`."""
    if not targets:
        return ()
    rounds: list[dict[int, Repeat]] = []
    machines: dict[str, list[int]] = {}
    for number, target in enumerate(targets):
        machines.setdefault(target.key[0], []).append(number)
    through = {numbers[0]: targets[numbers[0]].through for numbers in machines.values()}
    by_host = {host.name: machines[targets[number].key[0]] for number, host in through.items()}
    repeats = max(target.profile.repeats for target in targets)
    for index in range(repeats):
        if index:
            sleep(max(target.profile.spread_s for target in targets))
        progress(steps[0] + index, steps[1], f"disks and clients, repeat {index + 1} of {repeats}")
        taken = on_all(
            "probing",
            list(through.values()),
            lambda host: _take_round({number: targets[number] for number in by_host[host.name]}),
        )
        rounds.append({number: repeat for some in taken.values() for number, repeat in some.items()})
    return tuple(
        Series(
            target.kind,
            target.key,
            str(target.facts["disk"] or target.facts["device"] or target.facts["device_number"]),
            target.directory,
            target.facts,
            target.hosts,
            tuple(one_round[number] for one_round in rounds),
        )
        for number, target in enumerate(targets)
    )


def _take_round(targets: Mapping[int, Target]) -> dict[int, Repeat]:
    """One round on one machine. Idleness first and once: a probe would make the machine busy."""
    results: dict[str, dict[str, Any]] = {}
    errors: dict[str, str] = {}
    first = next(iter(targets.values()))
    _take(first, "idle", ("--seconds", first.profile.idle_s), results, errors)
    return {number: _probe(target, results, errors) for number, target in targets.items()}


def _probe(target: Target, idle: Mapping[str, dict[str, Any]], idle_errors: Mapping[str, str]) -> Repeat:
    profile, started_ns = target.profile, time.time_ns()
    results, errors = dict(idle), dict(idle_errors)
    if target.kind == "disk":
        _take(target, "throughput", (target.directory, "--bytes", profile.throughput_bytes), results, errors)
        _take(target, "fsync", (target.directory, "--count", profile.fsync_count), results, errors)
    else:
        _take(target, "records", (target.directory, "--bytes", profile.records_bytes), results, errors)
        _take(target, "cpu", ("--seconds", profile.cpu_s), results, errors)
    return Repeat(started_ns, results, errors)


def _take(
    target: Target,
    probe: str,
    arguments: tuple[str | int | float, ...],
    results: dict[str, dict[str, Any]],
    errors: dict[str, str],
) -> None:
    profile = target.profile
    deadline_s = _STARTUP_S + profile.idle_s + profile.cpu_s + profile.fsync_count * _SLOWEST_FSYNC_S
    deadline_s += 2 * max(profile.throughput_bytes, profile.records_bytes) / profile.slowest_bytes_per_s
    try:
        results[probe] = run_check(target.through, probe, *arguments, timeout_s=deadline_s)
    except ProbeFailed as error:
        errors[probe] = error.reason
